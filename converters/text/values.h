// Text of one field → a value of a column's physical type. Shared by the JSON and CSV readers.
#pragma once
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "jg/kernel.h"
#include "jg/stream.h"

namespace jg::text {

enum class Parse { kOk, kWrong, kOverflow };  // kWrong: not text of such a value

inline Parse from_failure(int failure) {
  return failure == JG_OK ? Parse::kOk : failure == JG_OVERFLOW ? Parse::kOverflow : Parse::kWrong;
}

inline int64_t power_of_ten(int n) {  // up to 18
  static constexpr int64_t kPowers[] = {1,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000,
                                        100000000000000000,
                                        1000000000000000000};
  return kPowers[n];
}

inline constexpr uint64_t kEveryByte = 0x0101010101010101;

inline uint64_t load8(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// Not zero: some byte of `word` is not one of 0 to 9.
inline uint64_t beyond_digits(uint64_t word) { return ((word + kEveryByte * 0x76) | word) & kEveryByte * 0x80; }

// The number of 8 digits, 0 to 9 in each byte, the last on top, all at once (Lemire, "Quickly parsing eight digits",
// 2018).
inline int64_t add_digits(uint64_t word) {
  word = word * 10 + (word >> 8);
  return static_cast<int64_t>(
      ((word & 0x000000ff000000ff) * 0x000f424000000064 + (word >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
      32);
}

inline bool eight_digits(uint64_t word, int64_t* number) {
  *number = add_digits(word);
  return beyond_digits(word) == 0;
}

// The number of the first `size` (1 to 8) bytes at `p`, and of the last ones in front of `end`; 8 bytes are readable.
inline bool first_digits(const char* p, int size, int64_t* number) {
  return eight_digits((load8(p) ^ kEveryByte * '0') << (64 - 8 * size), number);
}
inline bool last_digits(const char* end, int size, int64_t* number) {
  return eight_digits((load8(end - 8) ^ kEveryByte * '0') & ~uint64_t{0} << (64 - 8 * size), number);
}

// The top bit of each byte that is zero.
inline uint64_t zero_bytes(uint64_t x) {
  constexpr uint64_t kLow = 0x7f * kEveryByte;
  return ~(((x & kLow) + kLow) | x | kLow);
}
inline uint64_t dots_of(uint64_t word) { return zero_bytes(word ^ kEveryByte * '.'); }

// The number in `size` (1 to 8) bytes at `p`: digits with at most one dot. `fraction`: digits behind the dot. 8 bytes
// at `p` must be readable. False: it is something else.
inline bool packed_digits(const char* p, int size, int64_t* number, int* fraction) {
  uint64_t word = load8(p) << (64 - 8 * size);
  *fraction = 0;
  if (const uint64_t dots = dots_of(word)) {
    const int at = __builtin_ctzll(dots) >> 3;
    *fraction = 7 - at;
    const uint64_t below = (uint64_t{1} << 8 * at) - 1;  // bytes in front of the dot move up into its place
    word = (word & below) << 8 | (word & ~(below << 8 | 0xff));
    if (--size == 0) return false;
  }
  return eight_digits((word ^ kEveryByte * '0') & ~uint64_t{0} << (64 - 8 * size), number);
}

// Like packed_digits, with more than 8 bytes and up to 18 digits in all.
inline bool wide_digits(const char* p, int size, int64_t* number, int* fraction) {
  constexpr int kDigitsMax = 18;
  const char* end = p + size;
  const uint64_t dots = dots_of(load8(p)), last_dots = dots_of(load8(end - 8));
  const int whole = dots ? __builtin_ctzll(dots) >> 3 : last_dots ? size - 8 + (__builtin_ctzll(last_dots) >> 3) : size;
  *fraction = size - whole - (whole < size);
  if (*fraction == 0 && whole == size && size <= 16) {
    int64_t first;
    if (!first_digits(p, size - 8, &first) || !last_digits(end, 8, number)) return false;
    *number += first * power_of_ten(8);
    return true;
  }
  if (whole >= 1 && whole <= 8 && *fraction >= 1 && *fraction <= 8) {
    int64_t first;
    if (!first_digits(p, whole, &first) || !last_digits(end, *fraction, number)) return false;
    *number += first * power_of_ten(*fraction);
    return true;
  }
  if (whole + *fraction > kDigitsMax) return false;
  *number = 0;
  for (; p < end; p++) {
    if (*p == '.' && end - p == *fraction + 1) continue;
    if (static_cast<unsigned char>(*p - '0') > 9) return false;
    *number = *number * 10 + (*p - '0');
  }
  return true;
}

// [-]digits[.digits] with at most 18 digits in all: the usual number. 8 bytes at v.data() must be readable.
inline bool short_decimal(std::string_view v, int scale, int64_t* out) {
  const char* p = v.data();
  if (v.empty() || v.size() > 20) return false;
  const bool negative = *p == '-';
  p += negative;
  const int size = static_cast<int>(v.size()) - negative;
  int64_t number = 0;
  int fraction = 0;
  if (size > 8 ? !wide_digits(p, size, &number, &fraction) : size == 0 || !packed_digits(p, size, &number, &fraction))
    return false;
  if (fraction > scale || size - (fraction > 0) + scale - fraction > 18) return false;
  number *= power_of_ten(scale - fraction);
  *out = negative ? -number : number;
  return true;
}

// mantissa * 10^exponent, exact up to 38 digits of the mantissa, rounded half away from zero.
inline Parse scientific_decimal(std::string_view mantissa, std::string_view exponent, const ColumnSpec& c,
                                jg_i128* out) {
  constexpr int kDigitsMax = 38;
  const size_t dot = mantissa.find('.');
  const auto fraction = static_cast<int64_t>(dot == std::string_view::npos ? 0 : mantissa.size() - dot - 1);
  if (!exponent.empty() && exponent[0] == '+') exponent.remove_prefix(1);
  int64_t shift = 0;
  const auto [end, code] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
  if (code == std::errc::invalid_argument || end != exponent.data() + exponent.size()) return Parse::kWrong;
  if (code != std::errc() || fraction > kDigitsMax) return Parse::kOverflow;
  const Parse parsed =
      from_failure(jg_text_to_decimal({mantissa.data(), mantissa.size()}, kDigitsMax, static_cast<int>(fraction), out));
  if (parsed != Parse::kOk || *out == 0) return parsed;
  if (__builtin_add_overflow(shift, c.scale - fraction, &shift) || shift > kDigitsMax) return Parse::kOverflow;
  if (shift < -kDigitsMax) *out = 0;
  return jg_rescale(*out, shift < -kDigitsMax ? 0 : static_cast<int>(shift), c.precision, out) ? Parse::kOk
                                                                                               : Parse::kOverflow;
}

inline Parse to_decimal(std::string_view v, const ColumnSpec& c, jg_i128* out) {
  int64_t small;
  if (short_decimal(v, c.scale, &small)) {
    *out = small;
  } else if (const size_t e = v.find_first_of("eE"); e != std::string_view::npos) {
    return scientific_decimal(v.substr(0, e), v.substr(e + 1), c, out);
  } else {
    return from_failure(jg_text_to_decimal({v.data(), v.size()}, c.precision, c.scale, out));
  }
  return jg_fits(*out, c.precision) ? Parse::kOk : Parse::kOverflow;
}

inline Parse to_integer(std::string_view v, int64_t low, int64_t high, int64_t* out) {
  if (!short_decimal(v, 0, out)) {
    const auto [end, code] = std::from_chars(v.data(), v.data() + v.size(), *out);
    if (code == std::errc::result_out_of_range) return Parse::kOverflow;
    if (code != std::errc() || end != v.data() + v.size()) {
      jg_i128 whole;  // 3.0, 1e3: integers written as other numbers
      const ColumnSpec as{
          .name = "", .type = JG_DEC128, .precision = 38, .scale = 6, .nesting = {}, .parts = {}, .path = {}};
      if (to_decimal(v, as, &whole) != Parse::kOk || whole % 1000000 != 0) return Parse::kWrong;
      whole /= 1000000;
      if (whole < low || whole > high) return Parse::kOverflow;
      *out = static_cast<int64_t>(whole);
    }
  }
  return *out < low || *out > high ? Parse::kOverflow : Parse::kOk;
}

// The minutes of a zone's offset: hh, hhmm or hh:mm; none if it is no zone.
inline std::optional<int64_t> zone_minutes(std::string_view zone) {
  const bool colon = zone.size() == 5 && zone[2] == ':';
  if (zone.size() != 2 && zone.size() != 4 && !colon) return std::nullopt;
  const auto number = [](std::string_view two, int below) {
    const int tens = two[0] - '0', ones = two[1] - '0';
    const bool digits = tens >= 0 && tens < 10 && ones >= 0 && ones < 10;
    return digits && tens * 10 + ones < below ? tens * 10 + ones : -1;
  };
  const int hours = number(zone.substr(0, 2), 24);
  const int minutes = zone.size() == 2 ? 0 : number(zone.substr(zone.size() - 2), 60);
  if (hours < 0 || minutes < 0) return std::nullopt;
  return hours * 60 + minutes;
}

// Like jg_text_to_timestamp, and: a zone behind the time (Z, +hh, +hh:mm, +hhmm), which is converted to UTC; zeros
// behind the microseconds.
inline Parse to_timestamp(std::string_view v, int64_t* out) {
  if (jg_text_to_timestamp({v.data(), v.size()}, out) == JG_OK) return Parse::kOk;
  while (!v.empty() && v.back() == ' ') v.remove_suffix(1);
  while (!v.empty() && v.front() == ' ') v.remove_prefix(1);
  constexpr size_t kTime = 19, kDigits = 20, kDigitsMax = 6;  // where the time ends, and its fraction's digits begin
  if (v.size() < kTime) return Parse::kWrong;
  int64_t offset_minutes = 0;
  if (const size_t sign = v.find_first_of("+-", kTime); sign != v.npos) {
    const std::optional<int64_t> minutes = zone_minutes(v.substr(sign + 1));
    if (!minutes) return Parse::kWrong;
    offset_minutes = *minutes * (v[sign] == '-' ? -1 : 1);
    v = v.substr(0, sign);
  } else if (v.back() == 'Z' || v.back() == 'z') {
    v.remove_suffix(1);
  }
  while (v.size() > kDigits + kDigitsMax && v.back() == '0') v.remove_suffix(1);
  if (jg_text_to_timestamp({v.data(), v.size()}, out) != JG_OK) return Parse::kWrong;
  *out -= offset_minutes * 60000000;
  constexpr int64_t kYear1 = -62135596800000000, kYear10000 = 253402300800000000;
  return *out < kYear1 || *out >= kYear10000 ? Parse::kOverflow : Parse::kOk;
}

// Like to_timestamp, with up to nine digits of a fraction.
inline Parse to_timestamp_ns(std::string_view v, int64_t* out) {
  constexpr size_t kKept = 6, kDigits = 9;
  const size_t point = v.find('.');
  size_t digits = 0;
  while (point != v.npos && point + 1 + digits < v.size() && v[point + 1 + digits] >= '0' &&
         v[point + 1 + digits] <= '9')
    ++digits;
  while (digits > kDigits && v[point + digits] == '0') --digits;
  if (digits > kDigits) return Parse::kWrong;
  int64_t below = 0;
  std::string micros(v);
  if (digits > kKept) {
    for (size_t i = kKept; i < kDigits; ++i) below = below * 10 + (i < digits ? v[point + 1 + i] - '0' : 0);
    const size_t end = std::min(v.find_first_not_of("0123456789", point + 1), v.size());
    micros.erase(point + 1 + kKept, end - point - 1 - kKept);
  }
  int64_t us;
  const Parse parsed = to_timestamp(micros, &us);
  if (parsed != Parse::kOk) return parsed;
  jg_i128 ns = static_cast<jg_i128>(us) * 1000 + below;
  *out = static_cast<int64_t>(ns);
  return ns != *out ? Parse::kOverflow : Parse::kOk;
}

// HH:MM:SS, and up to six digits of a fraction that are not zeros.
inline Parse to_time(std::string_view v, int64_t* out) {
  while (!v.empty() && v.back() == ' ') v.remove_suffix(1);
  while (!v.empty() && v.front() == ' ') v.remove_prefix(1);
  constexpr size_t kSeconds = 8, kFraction = 15;
  while (v.size() > kFraction && v.back() == '0') v.remove_suffix(1);
  if (v.size() < kSeconds || v.size() > kFraction) return Parse::kWrong;
  return from_failure(jg_cast_to_time({v.data(), v.size()}, out)) == Parse::kOk ? Parse::kOk : Parse::kWrong;
}

// Writes the value of text `v` (already unquoted and unescaped) into row `i` of `data`.
inline Parse store(const ColumnSpec& c, std::string_view v, void* data, int i) {
  const JgStr s{v.data(), v.size()};
  auto integer = [&](auto* typed, int64_t low, int64_t high) {
    int64_t wide = 0;
    const Parse parsed = to_integer(v, low, high, &wide);
    typed[i] = static_cast<std::remove_reference_t<decltype(typed[i])>>(wide);
    return parsed;
  };
  switch (c.type) {
    case JG_BOOL:
      return from_failure(jg_text_to_bool(s, static_cast<uint8_t*>(data) + i));
    case JG_I8:
      return integer(static_cast<int8_t*>(data), INT8_MIN, INT8_MAX);
    case JG_I16:
      return integer(static_cast<int16_t*>(data), INT16_MIN, INT16_MAX);
    case JG_I32:
      return integer(static_cast<int32_t*>(data), INT32_MIN, INT32_MAX);
    case JG_I64:
      return integer(static_cast<int64_t*>(data), INT64_MIN, INT64_MAX);
    case JG_F32: {
      double d = 0;
      const Parse parsed = from_failure(jg_text_to_float(s, &d));
      static_cast<float*>(data)[i] = static_cast<float>(d);
      return parsed;
    }
    case JG_F64:
      return from_failure(jg_text_to_float(s, static_cast<double*>(data) + i));
    case JG_DEC64: {
      jg_i128 d = 0;
      const Parse parsed = to_decimal(v, c, &d);
      static_cast<int64_t*>(data)[i] = static_cast<int64_t>(d);
      return parsed;
    }
    case JG_DEC128:
      return to_decimal(v, c, static_cast<jg_i128*>(data) + i);
    case JG_DATE: {
      const Parse parsed = from_failure(jg_text_to_date(s, static_cast<int32_t*>(data) + i));
      if (parsed == Parse::kOk) return parsed;
      int64_t us;  // a midnight is a date
      if (to_timestamp(v, &us) != Parse::kOk || us % 86400000000 != 0) return Parse::kWrong;
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(us / 86400000000);
      return Parse::kOk;
    }
    case JG_TIMESTAMP:
      return to_timestamp(v, static_cast<int64_t*>(data) + i);
    case JG_TIME:
      return to_time(v, static_cast<int64_t*>(data) + i);
    case JG_TIMESTAMP_NS:
      return to_timestamp_ns(v, static_cast<int64_t*>(data) + i);
    default:
      static_cast<JgStr*>(data)[i] = s;
      return Parse::kOk;
  }
}

inline const char* name_of(JgType type) {
  static constexpr const char* kNames[] = {"bool",      "int8",    "int16",        "int32",   "int64",
                                           "float32",   "float64", "decimal",      "decimal", "date",
                                           "timestamp", "time",    "timestamp_ns", "string",  "binary"};
  return kNames[type];
}

}  // namespace jg::text
