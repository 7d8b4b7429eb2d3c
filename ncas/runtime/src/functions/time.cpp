// Functions of dates and timestamps that generated programs call. The oracle is jumpgate/dataflow/functions_time.py.
#include <cstring>

#include "functions/scalars.h"
#include "jg/kernel.h"

using namespace jg;

namespace {

constexpr int64_t kSecond = 1000000, kDay = 86400 * kSecond, kFirstDay = -719162,
                  kLastDay = 2932896;  // years 1 to 9999

bool in_range(int64_t days) { return days >= kFirstDay && days <= kLastDay; }

// Monday is 0.
int64_t weekday(int64_t days) { return ((days + 3) % 7 + 7) % 7; }

// The day `months` later, or the last one of its month; false outside the years 1 to 9999.
bool add_months(int64_t* days, int64_t months) {
  if (months < -120000 || months > 120000) return false;
  int64_t year;
  int month, day;
  civil_of(*days, &year, &month, &day);
  const int64_t count = year * 12 + month - 1 + months;
  year = floor_div(count, 12);
  month = static_cast<int>(count - year * 12) + 1;
  if (year < 1 || year > 9999) return false;
  const int64_t begin = days_of(year, month, 1);
  const int64_t length = (month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1)) - begin;
  *days = begin + (day <= length ? day : length) - 1;
  return true;
}

}  // namespace

extern "C" {

int jg_date_part(int part, int32_t days) {
  int64_t year;
  int month, day;
  civil_of(days, &year, &month, &day);
  switch (part) {
    case 0:
      return static_cast<int>(year);
    case 1:
      return month;
    case 2:
      return day;
    case 3:
      return (month + 2) / 3;
    case 4:
      return static_cast<int>((weekday(days) + 1) % 7);
    case 5:
      return static_cast<int>(days - days_of(year, 1, 1) + 1);
    case 6:
      return static_cast<int>(weekday(days) + 1);
    default: {  // the ISO week is that of its Thursday
      const int64_t thursday = days - weekday(days) + 3;
      civil_of(thursday, &year, &month, &day);
      return static_cast<int>(part == 7 ? (thursday - days_of(year, 1, 1)) / 7 + 1 : year);
    }
  }
}

int64_t jg_date_trunc(int unit, int64_t us) {
  int64_t days = floor_div(us, kDay);
  if (unit >= 4) {
    constexpr int64_t kUnits[] = {kDay, 3600000000, 60000000, 1000000, 1000, 1};
    return floor_div(us, kUnits[unit - 4]) * kUnits[unit - 4];
  }
  int64_t year;
  int month, day;
  civil_of(days, &year, &month, &day);
  if (unit == 3)
    days -= weekday(days);
  else
    days = days_of(year, unit == 0 ? 1 : unit == 1 ? (month - 1) / 3 * 3 + 1 : month, 1);
  return days * kDay;
}

int jg_date_add_interval(int32_t date, int64_t months, int64_t days, int64_t us, int32_t* out) {
  int64_t at = date, moved;
  if (!add_months(&at, months)) return JG_OVERFLOW;
  if (__builtin_add_overflow(days, us / kDay, &moved) || __builtin_add_overflow(at, moved, &at) || !in_range(at))
    return JG_OVERFLOW;
  *out = static_cast<int32_t>(at);
  return JG_OK;
}

int jg_timestamp_add_interval(int64_t timestamp, int64_t months, int64_t days, int64_t us, int64_t* out) {
  int64_t at = floor_div(timestamp, kDay);
  const int64_t within = timestamp - at * kDay;
  if (!add_months(&at, months)) return JG_OVERFLOW;
  if (__builtin_add_overflow(at, days, &at) || !in_range(at)) return JG_OVERFLOW;
  if (__builtin_add_overflow(at * kDay + within, us, out) || !in_range(floor_div(*out, kDay))) return JG_OVERFLOW;
  return JG_OK;
}

int jg_add_offset(int64_t timestamp, JgStr table, int64_t* out) {
  const auto number = [&](uint64_t i) {
    int64_t found;
    std::memcpy(&found, table.data + 8 * i, 8);
    return found;
  };
  const int64_t second = floor_div(timestamp, kSecond);
  const uint64_t count = table.size / 8;
  uint64_t low = 0, high = count / 2;  // starts that are not after it
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (number(2 * middle + 1) <= second)
      low = middle + 1;
    else
      high = middle;
  }
  if (2 * low >= count || __builtin_add_overflow(timestamp, number(2 * low) * kSecond, out)) return JG_OVERFLOW;
  return in_range(floor_div(*out, kDay)) ? JG_OK : JG_OVERFLOW;
}

}  // extern "C"
