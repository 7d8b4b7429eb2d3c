// The raw text of a JSON value → a value of a column's physical type.
#pragma once
#include <cstring>
#include <string>
#include <string_view>

#include "simdjson.h"
#include "text/exact.h"
#include "text/values.h"

namespace jg::json {

using text::Parse;

// White space between tokens; other control characters are none.
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

inline std::string_view trim_end(std::string_view v) {
  while (!v.empty() && is_space(v.back())) v.remove_suffix(1);
  return v;
}

// RFC 8259, section 6.
inline bool is_number(std::string_view v) {
  size_t i = !v.empty() && v[0] == '-';
  auto digits = [&] {
    const size_t start = i;
    while (i < v.size() && static_cast<unsigned char>(v[i] - '0') < 10) i++;
    return i > start;
  };
  const bool zero = i < v.size() && v[i] == '0';
  const size_t start = i;
  if (!digits() || (zero && i > start + 1)) return false;
  if (i < v.size() && v[i] == '.' && (i++, !digits())) return false;
  if (i < v.size() && (v[i] == 'e' || v[i] == 'E')) {
    i++;
    if (i < v.size() && (v[i] == '+' || v[i] == '-')) i++;
    if (!digits()) return false;
  }
  return i == v.size();
}

// Up to 8 digits, as most numbers are; 8 bytes from `p` on are readable.
inline bool is_short_number(const char* p, size_t size) {
  if (size == 0 || size > 8 || (*p == '0' && size > 1)) return false;
  uint64_t word;
  std::memcpy(&word, p, 8);
  word ^= 0x3030303030303030;
  const uint64_t above = (word | (word + 0x7676767676767676)) & 0x8080808080808080;  // of bytes that are not 0 to 9
  return above << (64 - 8 * size) == 0;
}

// Return whether a scalar's raw text is plainly JSON; a string with an escape is not.
inline bool is_plain(std::string_view v) {
  switch (v[0]) {
    case '"': {
      bool plain = v.size() > 1 && v.back() == '"';
      for (const char c : v) plain &= static_cast<unsigned char>(c) >= ' ' && c != '\\';
      return plain;
    }
    case 't':
      return v == "true";
    case 'f':
      return v == "false";
    case 'n':
      return v == "null";
    default:
      return is_short_number(v.data(), v.size()) || is_number(v);
  }
}

// Decodes a string's raw text (without its quotes); false: it is not JSON.
class Unescaper {
 public:
  bool operator()(std::string_view raw, std::string* out) {
    std::string_view result;
    if (parser_.parse("\"" + std::string(raw) + "\"").get(result)) return false;
    out->assign(result);
    return true;
  }

 private:
  simdjson::dom::parser parser_;
};

// Return whether a scalar without quotes is in the notation of the column's type: 3.0 is no integer, 12 no text.
inline bool is_exact(const ColumnSpec& spec, std::string_view v) {
  if (spec.type >= JG_I8 && spec.type <= JG_I64) return v.find_first_of(".eE") == std::string_view::npos;
  return spec.type == JG_F32 ? text::is_exact_float(v) : spec.type < JG_DATE;
}

// Write the scalar with raw text `v`, not null, into row `i` of `data`. unescape(&text) replaces a string's raw text by
// its value, and keeps it. exact: as read option `values` has it.
template <class Unescape>
Parse store_token(const ColumnSpec& spec, std::string_view v, void* data, int i, bool exact, Unescape&& unescape) {
  if (v[0] != '"') {
    if (exact && !is_exact(spec, v)) return Parse::kWrong;
    if (spec.type == JG_BOOL) return v == "true" || v == "false" ? text::store(spec, v, data, i) : Parse::kWrong;
    if (spec.type < JG_DATE && is_number(v)) return text::store(spec, v, data, i);
    const bool simple = v == "true" || v == "false" || is_number(v);
    return spec.type >= JG_STRING && simple ? text::store(spec, v, data, i) : Parse::kWrong;  // 12 is "12"
  }
  if (exact && spec.type < JG_DATE) return Parse::kWrong;
  v = v.substr(1, v.size() - 2);
  if (v.find('\\') != std::string_view::npos && !unescape(&v)) return Parse::kWrong;
  if (exact && !text::is_exact(spec, v)) return Parse::kWrong;
  return text::store(spec, v, data, i);
}

}  // namespace jg::json
