// Common parts of scalar functions: code points of UTF-8, and the calendar.
#pragma once
#include <algorithm>
#include <chrono>
#include <string_view>

#include "jg/kernel.h"

namespace jg {

// The longest text that functions may make: jumpgate/dataflow/functions_text.py has the same.
constexpr uint64_t kTextBytesMax = 1 << 28;

inline std::string_view view(JgStr s) { return {s.data, static_cast<size_t>(s.size)}; }

inline bool digit(char c) { return c >= '0' && c <= '9'; }

inline std::string_view without_blanks(JgStr s) {
  constexpr const char* kBlanks = " \t\n\r\f";
  std::string_view v = view(s);
  v.remove_prefix(std::min(v.find_first_not_of(kBlanks), v.size()));
  return v.substr(0, v.find_last_not_of(kBlanks) + 1);
}

// Bytes of the code point that starts at p (lead byte decides; text is valid UTF-8).
inline int width(const char* p, const char* end) {
  const auto c = static_cast<unsigned char>(*p);
  const int n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
  return end - p < n ? static_cast<int>(end - p) : n;
}

inline const char* skip(const char* p, const char* end, int64_t code_points) {
  while (code_points-- > 0 && p < end) p += width(p, end);
  return p;
}

// The code point that starts at p; text is valid UTF-8.
inline uint32_t code_point(const char* p, int n) {
  uint32_t code = static_cast<unsigned char>(*p);
  if (n > 1) code &= 0xFF >> (n + 1);
  for (int i = 1; i < n; i++) code = code << 6 | (p[i] & 0x3F);
  return code;
}

// Writes a code point; returns its bytes, four at most.
inline int put_code_point(char* p, uint32_t code) {
  const int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = n - 1; i > 0; i--, code >>= 6) p[i] = static_cast<char>(0x80 | (code & 0x3F));
  p[0] = static_cast<char>(n == 1 ? code : (0xF00 >> n & 0xFF) | code);
  return n;
}

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// std::chrono's calendar has years up to 32767; it repeats after 400 years, so that any number of days will do.
constexpr int64_t kEraYears = 400, kEraDays = 146097;

// Days since 1970-01-01 of a proleptic Gregorian date.
inline int64_t days_of(int64_t year, int month, int day) {
  const int64_t era = floor_div(year, kEraYears);
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year - era * kEraYears)},
                                         std::chrono::month(month), std::chrono::day(day)};
  return std::chrono::sys_days{date}.time_since_epoch().count() + era * kEraDays;
}

inline void civil_of(int64_t days, int64_t* year, int* month, int* day) {
  const int64_t era = floor_div(days, kEraDays);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days - era * kEraDays}}};
  *year = static_cast<int>(date.year()) + era * kEraYears;
  *month = static_cast<int>(static_cast<unsigned>(date.month()));
  *day = static_cast<int>(static_cast<unsigned>(date.day()));
}

}  // namespace jg
