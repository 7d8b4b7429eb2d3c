// A small JSON writer: correct escaping, commas in the right places.
#pragma once
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace jg {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void begin_object(std::string_view key) { name(key), open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void begin_array(std::string_view key) { name(key), open('['); }
  void end_array() { close(']'); }
  void member(std::string_view key, std::string_view value) { name(key), string(value); }
  void member(std::string_view key, const char* value) { member(key, std::string_view(value)); }
  void member(std::string_view key, int64_t value) { name(key), number(value); }
  void member(std::string_view key, bool value) { name(key), text_ += value ? "true" : "false", comma_ = true; }
  // `json` is already JSON.
  void raw_member(std::string_view key, std::string_view json) { name(key), text_ += json, comma_ = true; }

  void string(std::string_view value) {
    separate();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
        text_ += escaped;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
    comma_ = true;
  }
  void number(int64_t value) {
    separate();
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    comma_ = true;
  }

  // The text; the writer is empty afterwards.
  std::string take() {
    comma_ = false;
    return std::move(text_);
  }

 private:
  void separate() {
    if (comma_) text_ += ", ";
    comma_ = false;
  }
  void name(std::string_view key) {
    string(key);
    text_ += ": ";
    comma_ = false;
  }
  void open(char c) {
    separate();
    text_ += c;
  }
  void close(char c) {
    text_ += c;
    comma_ = true;
  }

  std::string text_;
  bool comma_ = false;
};

}  // namespace jg
