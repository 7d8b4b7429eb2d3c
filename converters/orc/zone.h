// A time zone's offsets from UTC, from the system's tz database (TZif, RFC 9636).
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace jg::columnar {

class Zone {
 public:
  // A span between two changes of the clocks, in seconds since 1970 UTC: [from, to), and the offset of local time.
  struct Span {
    int64_t from = std::numeric_limits<int64_t>::min(), to = std::numeric_limits<int64_t>::max();
    int64_t offset = 0;
    bool holds(int64_t instant) const { return from <= instant && instant < to; }
  };

  // By name ("America/Los_Angeles", "GMT+08:00"), in $TZDIR, else where systems have it. Throws ReadError "schema"
  // where no such zone is found.
  static Zone find(const std::string& name);
  // The zone of a TZif file's bytes. Throws ReadError "schema", which names it, where they are not one.
  static Zone parse(const std::string& name, std::string_view bytes);

  Span span(int64_t instant) const;

 private:
  struct Change {
    int64_t at, offset;
  };
  // Adds the changes of 401 years from `year` on by a rule (POSIX.1, TZ); false where `rule` is none.
  bool extend(std::string_view rule, int64_t year);

  int64_t first_offset_ = 0;     // before all changes
  std::vector<Change> changes_;  // ascending
  int64_t repeats_ = 0;          // if not 0: from here on, changes are as 400 years before
};

// Local times of one zone, most of which fall into the same span as the previous one.
class LocalClock {
 public:
  // UTC where the name is empty. Throws ReadError "schema" where there is no such zone.
  void set_zone(const std::string& name);
  // Return the offset of local time from UTC in seconds.
  int64_t offset(int64_t instant) {
    if (!span_.holds(instant)) span_ = zone_.span(instant);
    return span_.offset;
  }
  // The last one that was asked for.
  const Zone::Span& span() const { return span_; }

 private:
  std::string name_;
  Zone zone_;
  Zone::Span span_;  // of UTC: always
};

}  // namespace jg::columnar
