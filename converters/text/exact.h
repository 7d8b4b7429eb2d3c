// Tests whether a text is a value in its type's one notation, which all readers understand alike (the option `values`).
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "jg/stream.h"

namespace jg::text {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline bool are_digits(std::string_view v) { return !v.empty() && std::all_of(v.begin(), v.end(), is_digit); }

// Letters as in `form`, where d stands for a digit.
inline bool has_form(std::string_view v, std::string_view form) {
  return v.size() == form.size() && std::equal(v.begin(), v.end(), form.begin(), [](char letter, char wanted) {
           return wanted == 'd' ? is_digit(letter) : letter == wanted;
         });
}

// [-]digits, perhaps followed by a point and at most fraction_max digits.
inline bool is_plain_number(std::string_view v, size_t fraction_max) {
  if (!v.empty() && v[0] == '-') v.remove_prefix(1);
  const size_t point = v.find('.');
  if (point == v.npos) return are_digits(v);
  return are_digits(v.substr(0, point)) && are_digits(v.substr(point + 1)) && v.size() - point - 1 <= fraction_max;
}

// So few digits that the nearest double's nearest float is the text's nearest float: the text is then further than a
// double's rounding from the middle of two floats.
inline bool is_exact_float(std::string_view v) {
  constexpr size_t kDigits = 15, kFraction = 8;
  return v.size() <= kDigits && is_plain_number(v, kFraction);
}

inline bool is_exact_double(std::string_view v) {
  const size_t e = v.find_first_of("eE");
  std::string_view exponent = e == v.npos ? "0" : v.substr(e + 1);
  if (!exponent.empty() && (exponent[0] == '-' || exponent[0] == '+')) exponent.remove_prefix(1);
  return is_plain_number(v.substr(0, e), v.npos) && are_digits(exponent);
}

inline bool is_exact_moment(std::string_view v) {
  constexpr size_t kDay = 10, kTime = 19, kFraction = 6;
  if (v.size() < kTime || !has_form(v.substr(0, kDay), "dddd-dd-dd") || (v[kDay] != ' ' && v[kDay] != 'T'))
    return false;
  if (!has_form(v.substr(kDay + 1, kTime - kDay - 1), "dd:dd:dd")) return false;
  v.remove_prefix(kTime);
  return v.empty() || (v[0] == '.' && v.size() <= 1 + kFraction && are_digits(v.substr(1)));
}

// Test a field's text, without quotes. Text always passes.
inline bool is_exact(const ColumnSpec& spec, std::string_view v) {
  auto says = [v](std::string_view word) {
    return std::equal(v.begin(), v.end(), word.begin(), word.end(), [](char a, char b) { return (a | ' ') == b; });
  };
  switch (spec.type) {
    case JG_BOOL:
      return says("true") || says("false");
    case JG_I8:
    case JG_I16:
    case JG_I32:
    case JG_I64:
      return is_plain_number(v, 0);
    case JG_F32:
      return is_exact_float(v);
    case JG_F64:
      return is_exact_double(v);
    case JG_DEC64:
    case JG_DEC128:
      return is_plain_number(v, static_cast<size_t>(spec.scale));
    case JG_DATE:
      return has_form(v, "dddd-dd-dd");
    case JG_TIMESTAMP:
      return is_exact_moment(v);
    default:
      return spec.type == JG_STRING;
  }
}

}  // namespace jg::text
