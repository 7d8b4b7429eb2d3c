// Text as booleans, dates and timestamps where a query casts it. The oracle is jumpgate/dataflow/casts.py.
#include <cstring>

#include "functions/scalars.h"
#include "jg/kernel.h"

using namespace jg;

namespace {

constexpr int64_t kMicros = 1000000, kNanos = 1000000000;  // of a second
constexpr int64_t kMinute = 60000000, kDayMicros = 1440 * kMinute;
constexpr int64_t kYear1 = -719162 * kDayMicros, kYear10000 = 2932897 * kDayMicros;

// Reads least to most digits off the front of v.
bool number(std::string_view* v, size_t least, size_t most, int* out) {
  size_t n = 0;
  for (*out = 0; n < most && n < v->size() && digit((*v)[n]); n++) *out = *out * 10 + ((*v)[n] - '0');
  v->remove_prefix(n);
  return n >= least;
}

bool take(std::string_view* v, std::string_view any) {
  if (v->empty() || any.find(v->front()) == any.npos) return false;
  v->remove_prefix(1);
  return true;
}

// A day of the years 1 to 9999, in days since 1970-01-01.
bool day_of(int year, int month, int day, int64_t* days) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || month > 12) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (day < 1 || day > kDays[month - 1] + (month == 2 && leap)) return false;
  *days = days_of(year, month, day);
  return true;
}

// ±HH, ±HHMM or ±HH:MM, or Z; an empty zone is UTC.
bool zone(std::string_view v, int64_t* offset_us) {
  *offset_us = 0;
  if (v.empty() || v == "Z" || v == "z") return true;
  while (take(&v, " ")) continue;
  const bool behind = !v.empty() && v.front() == '-';
  int hours, minutes = 0;
  if (!take(&v, "+-") || !number(&v, 2, 2, &hours)) return false;
  if (!v.empty()) {
    take(&v, ":");
    if (!number(&v, 2, 2, &minutes)) return false;
  }
  *offset_us = (hours * 60 + minutes) * kMinute * (behind ? -1 : 1);
  return v.empty() && hours <= 23 && minutes <= 59;
}

// Parse HH:MM:SS, perhaps with a fraction, in `units` of a second; smaller parts are cut.
bool clock_of(std::string_view* v, int64_t units, int seconds_max, jg_i128* out) {
  int hour, minute, second;
  if (!number(v, 2, 2, &hour) || !take(v, ":") || !number(v, 2, 2, &minute) || !take(v, ":") ||
      !number(v, 2, 2, &second) || hour > 23 || minute > 59 || second > seconds_max)
    return false;
  *out = ((hour * 60 + minute) * 60 + second) * units;
  if (take(v, ".")) {
    if (v->empty() || !digit(v->front())) return false;
    for (units /= 10; !v->empty() && digit(v->front()); units /= 10, v->remove_prefix(1))
      *out += (v->front() - '0') * units;
  }
  return true;
}

// In `units` of a second since 1970-01-01.
bool timestamp_of(std::string_view v, int64_t units, int64_t* out) {
  int year, month, day;
  int64_t days, offset;
  jg_i128 clock = 0;
  if (!number(&v, 4, 4, &year) || !take(&v, "-") || !number(&v, 2, 2, &month) || !take(&v, "-") ||
      !number(&v, 2, 2, &day) || !day_of(year, month, day, &days))
    return false;
  if (!v.empty() && (!take(&v, " Tt") || !clock_of(&v, units, 60, &clock))) return false;
  if (!zone(v, &offset)) return false;
  const int64_t second = 1000000;
  clock += static_cast<jg_i128>(days * (kDayMicros / second) - offset / second) * units;
  *out = static_cast<int64_t>(clock);
  return clock == *out && clock >= static_cast<jg_i128>(kYear1 / second) * units &&
         clock < static_cast<jg_i128>(kYear10000 / second) * units;
}

bool is_any(std::string_view word, std::initializer_list<std::string_view> words) {
  char low[6];
  if (word.size() > sizeof low) return false;
  for (size_t i = 0; i < word.size(); i++)
    low[i] = word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] | 0x20) : word[i];
  for (std::string_view w : words)
    if (w == std::string_view(low, word.size())) return true;
  return false;
}

}  // namespace

extern "C" {

int jg_cast_to_bool(JgStr s, uint8_t* out) {
  const std::string_view word = without_blanks(s);
  *out = is_any(word, {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"});
  return *out || is_any(word, {"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"}) ? JG_OK
                                                                                                : JG_INVALID_CAST;
}

int jg_cast_to_date(JgStr s, int32_t* out) {
  std::string_view v = view(s);
  int64_t days, us;
  if (v.size() > 10) {
    if (!timestamp_of(v, kMicros, &us)) return JG_INVALID_CAST;
    days = us / kDayMicros - (us % kDayMicros < 0);
  } else {
    int year, month, day;
    const bool dense = v.size() == 8 && digit(v[4]);
    const size_t least = dense ? 2 : 1;
    if (!number(&v, 4, 4, &year) || (!dense && !take(&v, "-")) || !number(&v, least, 2, &month) ||
        (!dense && !take(&v, "-")) || !number(&v, least, 2, &day))
      return JG_INVALID_CAST;
    while (take(&v, " ")) continue;
    if (!v.empty() || !day_of(year, month, day, &days)) return JG_INVALID_CAST;
  }
  *out = static_cast<int32_t>(days);
  return JG_OK;
}

int jg_cast_to_time(JgStr s, int64_t* out) {
  std::string_view v = view(s);
  jg_i128 us;
  if (!clock_of(&v, kMicros, 59, &us) || !v.empty()) return JG_INVALID_CAST;
  *out = static_cast<int64_t>(us);
  return JG_OK;
}

int jg_cast_to_timestamp(JgStr s, int64_t* out) {
  return timestamp_of(view(s), kMicros, out) ? JG_OK : JG_INVALID_CAST;
}

int jg_cast_to_timestamp_ns(JgStr s, int64_t* out) {
  return timestamp_of(view(s), kNanos, out) ? JG_OK : JG_INVALID_CAST;
}

}  // extern "C"
