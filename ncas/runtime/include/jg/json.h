// A small JSON writer: correct escaping, commas in the right places. What is not UTF-8 (a message may quote a file's
// bytes) becomes U+FFFD, so that every reader accepts the text.
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
    for (size_t i = 0; i < value.size();) {
      const char c = value[i];
      const size_t length = character(value.substr(i));
      if (length == 0) {
        text_ += "\\ufffd";
        i++;
        continue;
      }
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
        text_ += escaped;
      } else {
        text_ += value.substr(i, length);
      }
      i += length;
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
  // Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none (Unicode 15, table 3-7).
  static size_t character(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned a = byte(0), b = byte(1);
    if (a < 0x80) return 1;
    if (a >= 0xC2 && a <= 0xDF) return follows(1) ? 2 : 0;
    if (a >= 0xE0 && a <= 0xEF) {
      const bool allowed = a == 0xE0 ? b >= 0xA0 : a == 0xED ? b < 0xA0 : true;  // not overlong, no surrogates
      return allowed && follows(1) && follows(2) ? 3 : 0;
    }
    if (a >= 0xF0 && a <= 0xF4) {
      const bool allowed = a == 0xF0 ? b >= 0x90 : a == 0xF4 ? b < 0x90 : true;  // not overlong, at most U+10FFFF
      return allowed && follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
  }

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
