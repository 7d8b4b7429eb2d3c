// Scalar functions that generated programs call instead of containing. The oracle is jumpgate/dataflow/reference.py.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "functions/scalars.h"
#include "functions/search.h"
#include "jg/kernel.h"

using namespace jg;

namespace {

std::string_view trimmed(JgStr s) { return view(jg_trim(s, 1, 1)); }

JgStr keep(JgTask* task, std::string_view v) {
  char* p = jg_temp(task, v.size());
  std::memcpy(p, v.data(), v.size());
  return {p, v.size()};
}

bool parse_date(std::string_view v, int64_t* days) {
  if (v.size() != 10 || v[4] != '-' || v[7] != '-') return false;
  for (int i : {0, 1, 2, 3, 5, 6, 8, 9})
    if (!digit(v[i])) return false;
  const int y = (v[0] - '0') * 1000 + (v[1] - '0') * 100 + (v[2] - '0') * 10 + (v[3] - '0');
  const int m = (v[5] - '0') * 10 + (v[6] - '0'), d = (v[8] - '0') * 10 + (v[9] - '0');
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
  if (y < 1 || m < 1 || m > 12 || d < 1 || d > kDays[m - 1] + (m == 2 && leap)) return false;
  *days = days_of(y, m, d);
  return true;
}

int date_text(int64_t days, char* out, size_t size) {
  int64_t year;
  int month, day;
  civil_of(days, &year, &month, &day);
  return std::snprintf(out, size, "%04lld-%02d-%02d", static_cast<long long>(year), month, day);
}

// A time of the day in units of 10^-digits seconds: HH:MM:SS, and a fraction without trailing zeros unless it is zero.
int clock_text(int64_t v, int digits, char* out, size_t size) {
  const int64_t units = digits == 9 ? 1000000000 : 1000000, seconds = v / units;
  int n = std::snprintf(out, size, "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                        static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  if (v % units == 0) return n;
  n += std::snprintf(out + n, size - n, ".%0*d", digits, static_cast<int>(v % units));
  while (out[n - 1] == '0') n--;
  return n;
}

JgStr timestamp_text(JgTask* task, int64_t v, int digits, bool zoned) {
  const int64_t day = 86400 * (digits == 9 ? 1000000000ll : 1000000ll), days = v / day - (v % day < 0);
  char buffer[80];
  int n = date_text(days, buffer, 32);
  buffer[n++] = ' ';
  n += clock_text(v - days * day, digits, buffer + n, 40);
  if (zoned) buffer[n++] = 'Z';
  return keep(task, {buffer, static_cast<size_t>(n)});
}

// `seek` moves to the first position where the pattern after a '%' can match at all, if there is one.
template <class Match, class Seek>
int like(JgStr s, JgStr pattern, int escape, Match match, Seek seek) {
  const char *p = pattern.data, *pe = p + pattern.size, *t = s.data, *te = t + s.size;
  const char *star = nullptr, *from = nullptr;
  while (true) {
    if (p < pe && *p == '%' && static_cast<unsigned char>(*p) != escape) {
      star = ++p;
      if (!seek(t, te, p, pe)) return 0;
      from = t;
      continue;
    }
    if (t == te) {
      if (p == pe) return 1;
      return 0;
    }
    if (p < pe) {
      if (*p == '_' && static_cast<unsigned char>(*p) != escape) {
        t += width(t, te);
        p++;
        continue;
      }
      const char* literal = static_cast<unsigned char>(*p) == escape && p + 1 < pe ? p + 1 : p;
      if (const int n = match(*literal, t, te)) {
        t += n;
        p = literal + 1;
        continue;
      }
    }
    if (!star) return 0;
    p = star;
    t = from + width(from, te);
    if (!seek(t, te, p, pe)) return 0;
    from = t;
  }
}

// The bytes that a pattern begins with and that mean themselves.
std::string_view literal(const char* p, const char* end, int escape) {
  const char* at = p;
  while (at < end && *at != '%' && *at != '_' && static_cast<unsigned char>(*at) != escape) ++at;
  return {p, static_cast<size_t>(at - p)};
}

// Bytes at t that Unicode's simple case folding makes equal to the ASCII character c: one, or the Kelvin sign's three
// and the long s's two.
int folded_match(char c, const char* t, const char* end) {
  auto low = [](char x) { return x >= 'A' && x <= 'Z' ? static_cast<char>(x | 0x20) : x; };
  if (low(*t) == low(c)) return 1;
  if (low(c) == 'k' && end - t >= 3 && std::memcmp(t, "\xE2\x84\xAA", 3) == 0) return 3;
  return low(c) == 's' && end - t >= 2 && std::memcmp(t, "\xC5\xBF", 2) == 0 ? 2 : 0;
}

}  // namespace

extern "C" {

int jg_like(JgStr s, JgStr pattern, int escape) {
  auto same = [](char c, const char* t, const char*) { return int{c == *t}; };
  return like(s, pattern, escape, same, [escape](const char*& t, const char* te, const char* p, const char* pe) {
    const std::string_view part = literal(p, pe, escape);
    return part.empty() || (t = find(t, te, part)) != nullptr;
  });
}

int jg_ilike(JgStr s, JgStr pattern, int escape) {
  return like(s, pattern, escape, folded_match, [](auto...) { return true; });
}

JgStr jg_concat(JgTask* task, const JgStr* parts, int n) {
  uint64_t size = 0;
  for (int i = 0; i < n; i++) size += parts[i].size;
  char *p = jg_temp(task, size), *at = p;
  for (int i = 0; i < n; i++) {
    if (parts[i].size) std::memcpy(at, parts[i].data, parts[i].size);
    at += parts[i].size;
  }
  return {p, size};
}

int jg_substring(JgStr s, int64_t start, int64_t length, JgStr* out) {
  if (length < 0) return JG_COMPUTE;
  int64_t last;  // the place behind the last code point
  if (__builtin_add_overflow(start, length, &last)) last = INT64_MAX;
  start = start < 1 ? 1 : start;
  const char* end = s.data + s.size;
  const char* from = skip(s.data, end, start - 1);
  const char* to = last <= start ? from : skip(from, end, last - start);
  *out = {from, static_cast<uint64_t>(to - from)};
  return JG_OK;
}

// Bytes that continue a character, 10xxxxxx, eight at a time; the last eight overlap those before them.
int64_t jg_char_length(JgStr s) {
  uint64_t n = 0, i = 0;
  if (s.size >= 8) {
    const auto continuing = [&](uint64_t at) {
      uint64_t word;
      std::memcpy(&word, s.data + at, sizeof word);
      return (word >> 7) & ~(word >> 6) & 0x0101010101010101;
    };
    for (; i + 8 <= s.size; i += 8) n += std::popcount(continuing(i));
    const uint64_t rest = s.size - i;  // on a little-endian host they are the word's last
    if (rest != 0) n += std::popcount(continuing(s.size - 8) >> 8 * (8 - rest));
    return static_cast<int64_t>(s.size - n);
  }
  for (; i < s.size; i++) n += (s.data[i] & 0xC0) == 0x80;
  return static_cast<int64_t>(s.size - n);
}

JgStr jg_trim(JgStr s, int left, int right) {
  while (left && s.size && s.data[0] == ' ') s.data++, s.size--;
  while (right && s.size && s.data[s.size - 1] == ' ') s.size--;
  return s;
}

int jg_contains(JgStr s, JgStr part) { return part.size == 0 || find(s.data, s.data + s.size, view(part)) != nullptr; }

JgStr jg_int_to_text(JgTask* task, int64_t v) {
  char buffer[24];
  return keep(task, {buffer, static_cast<size_t>(std::to_chars(buffer, buffer + sizeof buffer, v).ptr - buffer)});
}

JgStr jg_decimal_to_text(JgTask* task, jg_i128 v, int scale) {
  char buffer[48], *end = buffer + sizeof buffer, *p = end;
  unsigned __int128 u = v < 0 ? -static_cast<unsigned __int128>(v) : static_cast<unsigned __int128>(v);
  for (int i = 0; u != 0 || i <= scale; i++) {
    if (i == scale && scale > 0) *--p = '.';
    *--p = static_cast<char>('0' + static_cast<int>(u % 10));
    u /= 10;
  }
  if (v < 0) *--p = '-';
  return keep(task, {p, static_cast<size_t>(end - p)});
}

JgStr jg_bool_to_text(int v) { return v ? JgStr{"true", 4} : JgStr{"false", 5}; }

JgStr jg_date_to_text(JgTask* task, int32_t days, int) {
  char buffer[32];
  return keep(task, {buffer, static_cast<size_t>(date_text(days, buffer, sizeof buffer))});
}

JgStr jg_time_to_text(JgTask* task, int64_t us, int) {
  char buffer[32];
  return keep(task, {buffer, static_cast<size_t>(clock_text(us, 6, buffer, sizeof buffer))});
}

JgStr jg_timestamp_to_text(JgTask* task, int64_t us, int zoned) { return timestamp_text(task, us, 6, zoned); }
JgStr jg_timestamp_ns_to_text(JgTask* task, int64_t ns, int zoned) { return timestamp_text(task, ns, 9, zoned); }

int jg_text_to_int(JgStr s, int64_t low, int64_t high, int64_t* out) {
  std::string_view v = without_blanks(s);
  const bool plus = !v.empty() && v[0] == '+';
  if (plus) v.remove_prefix(1);
  if (v.empty() || (plus && v[0] == '-')) return JG_INVALID_CAST;
  const auto [end, code] = std::from_chars(v.data(), v.data() + v.size(), *out);
  if (code == std::errc::invalid_argument || end != v.data() + v.size()) return JG_INVALID_CAST;
  if (code != std::errc() || *out < low || *out > high) return JG_OVERFLOW;
  return JG_OK;
}

int jg_text_to_decimal(JgStr s, int precision, int scale, jg_i128* out) {
  std::string_view v = without_blanks(s);
  const bool negative = !v.empty() && v[0] == '-';
  if (!v.empty() && (v[0] == '-' || v[0] == '+')) v.remove_prefix(1);
  jg_i128 number = 0;
  int fraction = -1, digits = 0;
  bool overflow = false, round = false;
  for (char c : v) {
    if (c == '.' && fraction < 0) {
      fraction = 0;
      continue;
    }
    if (!digit(c)) return JG_INVALID_CAST;
    digits++;
    if (fraction >= scale) {  // beyond the scale: the first such digit rounds
      if (fraction++ == scale) round = c >= '5';
      continue;
    }
    if (fraction >= 0) fraction++;
    if (!overflow) {
      overflow = __builtin_mul_overflow(number, jg_i128{10}, &number) ||
                 __builtin_add_overflow(number, jg_i128{c - '0'}, &number);
    }
  }
  if (digits == 0) return JG_INVALID_CAST;
  const int missing = scale - (fraction < 0 ? 0 : fraction < scale ? fraction : scale);
  if (!overflow && missing > 0) overflow = !jg_rescale(number, missing, 38, &number);
  number += round;
  if (overflow || !jg_fits(number, precision)) return JG_OVERFLOW;
  *out = negative ? -number : number;
  return JG_OK;
}

int jg_text_to_float(JgStr s, double* out) {
  std::string_view v = without_blanks(s);
  const bool plus = !v.empty() && v[0] == '+';
  if (plus) v.remove_prefix(1);
  if (v.empty() || (plus && v[0] == '-')) return JG_INVALID_CAST;
  const auto [end, code] = std::from_chars(v.data(), v.data() + v.size(), *out);
  if (code == std::errc::invalid_argument || end != v.data() + v.size() || v.back() == ')') return JG_INVALID_CAST;
  if (code == std::errc::result_out_of_range) {
    char buffer[512];
    if (v.size() >= sizeof buffer) return JG_INVALID_CAST;
    std::memcpy(buffer, v.data(), v.size());
    buffer[v.size()] = 0;
    *out = std::strtod(buffer, nullptr);  // infinity or a denormal, as IEEE 754 rounds
  }
  return JG_OK;
}

int jg_text_to_bool(JgStr s, uint8_t* out) {
  const std::string_view v = trimmed(s);
  auto is = [v](std::string_view word) {
    if (v.size() != word.size()) return false;
    for (size_t i = 0; i < v.size(); i++)
      if ((v[i] >= 'A' && v[i] <= 'Z' ? v[i] + 32 : v[i]) != word[i]) return false;
    return true;
  };
  *out = is("true") || is("t") || is("1");
  return *out || is("false") || is("f") || is("0") ? JG_OK : JG_INVALID_CAST;
}

int jg_text_to_date(JgStr s, int32_t* out) {
  int64_t days;
  if (!parse_date(trimmed(s), &days)) return JG_INVALID_CAST;
  *out = static_cast<int32_t>(days);
  return JG_OK;
}

int jg_text_to_timestamp(JgStr s, int64_t* out) {
  const std::string_view v = trimmed(s);
  int64_t days;
  if (!parse_date(v.substr(0, 10), &days)) return JG_INVALID_CAST;
  *out = days * 86400000000;
  if (v.size() == 10) return JG_OK;
  if (v.size() < 19 || (v[10] != ' ' && v[10] != 'T') || v[13] != ':' || v[16] != ':') return JG_INVALID_CAST;
  for (int i : {11, 12, 14, 15, 17, 18})
    if (!digit(v[i])) return JG_INVALID_CAST;
  auto two = [v](int i) { return (v[i] - '0') * 10 + (v[i + 1] - '0'); };
  if (two(11) > 23 || two(14) > 59 || two(17) > 59) return JG_INVALID_CAST;
  *out += (two(11) * 3600ll + two(14) * 60 + two(17)) * 1000000;
  if (v.size() == 19) return JG_OK;
  if (v[19] != '.' || v.size() == 20 || v.size() > 26) return JG_INVALID_CAST;
  int64_t unit = 100000;
  for (size_t i = 20; i < v.size(); i++, unit /= 10) {
    if (!digit(v[i])) return JG_INVALID_CAST;
    *out += (v[i] - '0') * unit;
  }
  return JG_OK;
}

int jg_valid_utf8(JgStr s) {
  const auto *p = reinterpret_cast<const unsigned char*>(s.data), *end = p + s.size;
  while (p < end) {
    const unsigned c = *p;
    if (c < 0x80) {
      p++;
      continue;
    }
    const int n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || end - p < n) return 0;
    uint32_t code = c & (0xFF >> (n + 1));
    for (int i = 1; i < n; i++) {
      if ((p[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | (p[i] & 0x3F);
    }
    if ((n == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) ||
        (n == 4 && (code < 0x10000 || code > 0x10FFFF)))
      return 0;
    p += n;
  }
  return 1;
}

int jg_float_to_decimal(double v, int precision, int scale, jg_i128* out) {
  const double scaled = std::round(v * std::pow(10.0, scale));
  if (!(scaled > -1.7e38 && scaled < 1.7e38)) return JG_OVERFLOW;
  *out = static_cast<jg_i128>(scaled);
  return jg_fits(*out, precision) ? JG_OK : JG_OVERFLOW;
}

int jg_shortest_decimal(double v, int precision, int scale, jg_i128* out) {
  if (!std::isfinite(v)) return JG_OVERFLOW;
  char text[32];  // d.ddddde±ddd, of 17 digits at most
  const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr;
  const char* at = text;
  const bool negative = *at == '-';
  at += negative;
  jg_i128 digits = 0;
  int behind = 0, exponent = 0;
  for (bool point = false; *at != 'e'; at++) {
    if (*at == '.') {
      point = true;
    } else {
      digits = digits * 10 + (*at - '0');
      behind += point;
    }
  }
  at += at[1] == '+' ? 2 : 1;
  std::from_chars(at, end, exponent);
  const int by = scale + exponent - behind;
  if (by > 38) return JG_OVERFLOW;
  return jg_rescale(negative ? -digits : digits, by, precision, out) ? JG_OK : JG_OVERFLOW;
}

namespace {

using Magnitude = unsigned __int128;

// Return *rest * 10 / divisor and leave the remainder; both are less than 2^127, and *rest is less than the divisor
int next_digit(Magnitude* rest, Magnitude divisor) {
  if (*rest <= ~Magnitude{0} / 10) {
    const Magnitude product = *rest * 10;
    *rest = product % divisor;
    return static_cast<int>(product / divisor);
  }
  int digit = 0;
  Magnitude sum = 0;
  for (int i = 0; i < 10; i++) {
    sum += *rest;
    if (sum >= divisor) {
      sum -= divisor;
      digit++;
    }
  }
  *rest = sum;
  return digit;
}

}  // namespace

int jg_divide_decimal(jg_i128 a, jg_i128 b, int by, int precision, jg_i128* out) {
  if (b == 0) return JG_DIVISION_BY_ZERO;
  const bool negative = (a < 0) != (b < 0);
  Magnitude divisor = static_cast<Magnitude>(b < 0 ? -b : b);
  const Magnitude limit = static_cast<Magnitude>(jg_power_of_ten(precision));
  for (; by < 0; by++) {
    if (divisor >= (Magnitude{1} << 127) / 10) return JG_OVERFLOW;
    divisor *= 10;
  }
  Magnitude rest = static_cast<Magnitude>(a < 0 ? -a : a);
  if (rest <= static_cast<Magnitude>(jg_power_of_ten(38 - (by < 38 ? by : 38)))) {  // the product fits
    rest *= by < 38 ? static_cast<Magnitude>(jg_power_of_ten(by)) : 1;
    by = by < 38 ? 0 : by;
  }
  Magnitude quotient = rest / divisor;
  rest %= divisor;
  for (; by > 0; by--) {
    if (quotient >= limit) return JG_OVERFLOW;
    quotient = quotient * 10 + static_cast<Magnitude>(next_digit(&rest, divisor));
  }
  quotient += rest >= divisor - rest;
  if (quotient >= limit) return JG_OVERFLOW;
  *out = negative ? -static_cast<jg_i128>(quotient) : static_cast<jg_i128>(quotient);
  return JG_OK;
}

}  // extern "C"
