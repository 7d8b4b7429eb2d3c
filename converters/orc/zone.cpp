#include "orc/zone.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kCycleYears = 400, kCycleDays = 146097;  // the Gregorian calendar repeats, weekdays included
constexpr size_t kFileBytesMax = 1 << 20;
constexpr int64_t kLastChangeMax = int64_t{1} << 36;
constexpr int64_t kFirstYear = 1600;  // of a rule that holds always

[[noreturn]] void unknown(const std::string& name, const std::string& why) {
  throw ReadError("schema", "its timestamps were written in time zone '" + name + "', " + why, {{"timezone", name}});
}

[[noreturn]] void damaged(const std::string& name) {
  unknown(name, "whose file in the system's time zone database is damaged.");
}

// Days from 1970-01-01 to the first of a year's month (1 to 12).
int64_t days_before(int64_t year, int64_t month) {
  static constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  int64_t past = year - 1;
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return past * 365 + past / 4 - past / 100 + past / 400 - 719162 + kBefore[month - 1] + (leap && month > 2);
}

int64_t year_of(int64_t instant) {
  int64_t year = 1970 + instant / (kDay * 365);
  while (days_before(year, 1) * kDay > instant) --year;
  while (days_before(year + 1, 1) * kDay <= instant) ++year;
  return year;
}

// Reads numbers of the big-endian kind in order.
class Reader {
 public:
  Reader(const std::string& name, std::string_view bytes) : name_(name), left_(bytes) {}
  std::string_view take(size_t n) {
    if (n > left_.size()) damaged(name_);
    std::string_view taken = left_.substr(0, n);
    left_.remove_prefix(n);
    return taken;
  }
  int64_t number(size_t bytes) {
    uint64_t value = 0;
    for (char c : take(bytes)) value = value << 8 | static_cast<uint8_t>(c);
    return bytes == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
  }
  std::string_view rest() const { return left_; }

 private:
  const std::string& name_;
  std::string_view left_;
};

// Takes apart a POSIX TZ text: "PST8PDT,M3.2.0,M11.1.0".
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : left_(text) {}
  bool at_end() const { return left_.empty(); }
  bool skip(char c) {
    if (left_.empty() || left_[0] != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool name() {
    if (skip('<')) {
      size_t end = left_.find('>');
      if (end == left_.npos) return false;
      left_.remove_prefix(end + 1);
      return true;
    }
    size_t n = 0;
    while (n < left_.size() && std::isalpha(static_cast<unsigned char>(left_[n]))) ++n;
    left_.remove_prefix(n);
    return n > 0;
  }
  std::optional<int64_t> number() {
    int64_t value = 0;
    size_t n = 0;
    for (; n < left_.size() && n < 4 && std::isdigit(static_cast<unsigned char>(left_[n])); ++n)
      value = value * 10 + (left_[n] - '0');
    left_.remove_prefix(n);
    return n > 0 ? std::optional(value) : std::nullopt;
  }
  // [+-]hh[:mm[:ss]] in seconds
  std::optional<int64_t> time() {
    bool negative = skip('-');
    if (!negative) skip('+');
    std::optional<int64_t> hours = number(), minutes = 0, seconds = 0;
    if (skip(':')) minutes = number();
    if (skip(':')) seconds = number();
    if (!hours || !minutes || !seconds) return {};
    int64_t total = *hours * 3600 + *minutes * 60 + *seconds;
    return negative ? -total : total;
  }

 private:
  std::string_view left_;
};

// A day of each year, and the local time of it when clocks change.
struct YearlyDate {
  char kind = 'M';  // M month.week.weekday, J day of the year without 29 February, 0 day of the year from 0
  int64_t month = 1, week = 1, day = 0, time = 2 * 3600;

  static std::optional<YearlyDate> read(RuleReader& rule) {
    YearlyDate date;
    bool ok;
    if (rule.skip('M')) {
      auto month = rule.number();
      bool dot = rule.skip('.');
      auto week = rule.number();
      dot = rule.skip('.') && dot;
      auto day = rule.number();
      ok = month && week && day && dot && *month >= 1 && *month <= 12 && *week >= 1 && *week <= 5 && *day <= 6;
      if (ok) date.month = *month, date.week = *week, date.day = *day;
    } else {
      date.kind = rule.skip('J') ? 'J' : '0';
      auto day = rule.number();
      ok = day && *day <= 366;
      if (ok) date.day = *day;
    }
    if (ok && rule.skip('/')) {
      auto time = rule.time();
      ok = time.has_value();
      if (ok) date.time = *time;
    }
    return ok ? std::optional(date) : std::nullopt;
  }

  // Local seconds since 1970.
  int64_t in(int64_t year) const {
    int64_t days;
    if (kind == 'M') {
      int64_t first = days_before(year, month);
      int64_t weekday = ((first + 4) % 7 + 7) % 7;  // of the month's first day; 1970 began on a Thursday
      days = first + (day - weekday + 7) % 7 + (week - 1) * 7;
      int64_t next = month == 12 ? days_before(year + 1, 1) : days_before(year, month + 1);
      while (days >= next) days -= 7;
    } else {
      int64_t first = days_before(year, 1);
      bool leap = days_before(year + 1, 1) - first == 366;
      days = first + (kind == '0' ? day : day - 1 + (leap && day >= 60));
    }
    return days * kDay + time;
  }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kFileBytesMax, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

bool is_name(const std::string& name) {
  static constexpr std::string_view kAlso = "_+-/";
  return !name.empty() && name[0] != '/' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || kAlso.find(static_cast<char>(c)) != kAlso.npos;
  });
}

}  // namespace

Zone Zone::find(const std::string& name) {
  std::string_view custom = name;  // Java's names for offsets: GMT+08:00
  if (custom.substr(0, 3) == "GMT" && custom.size() > 3) {
    RuleReader rule(custom.substr(3));
    auto offset = rule.time();
    if (offset && rule.at_end()) {
      Zone zone;
      zone.first_offset_ = *offset;
      return zone;
    }
  }
  if (!is_name(name)) unknown(name, "which is not the name of one.");
  const char* chosen = std::getenv("TZDIR");
  for (std::string folder : {chosen ? chosen : "", "/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"}) {
    std::string bytes = folder.empty() ? "" : read_file(folder + "/" + name);
    if (bytes.substr(0, 4) == "TZif") return parse(name, bytes);
  }
  unknown(
      name,
      "which is not in this system's time zone database. Install it (on Debian: apt-get install tzdata), or name its "
      "folder in TZDIR.");
}

Zone Zone::parse(const std::string& name, std::string_view bytes) {
  Reader reader(name, bytes);
  Zone zone;
  std::vector<int64_t> times;
  for (size_t width : {4, 8}) {  // the first block is for readers of version 1, where there is a second
    std::string_view start = reader.take(20);
    if (start.substr(0, 4) != "TZif") damaged(name);
    size_t counts[6];
    for (size_t& count : counts) count = static_cast<size_t>(std::clamp<int64_t>(reader.number(4), 0, kFileBytesMax));
    auto [universal, standard, leaps, changes, types, letters] = counts;
    std::string_view block =
        reader.take(changes * width + changes + types * 6 + letters + leaps * (width + 4) + standard + universal);
    bool last = width == 8 || start[4] == '\0';
    if (!last) continue;
    Reader inside(name, block);
    for (size_t i = 0; i < changes; ++i) times.push_back(inside.number(width));
    std::string_view indices = inside.take(changes);
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < types; ++i) {
      offsets.push_back(inside.number(4));
      inside.take(2);
    }
    bool ordered =
        std::is_sorted(times.begin(), times.end()) && (times.empty() || std::abs(times.back()) < kLastChangeMax);
    if (offsets.empty() || !ordered) damaged(name);
    zone.first_offset_ = offsets[0];
    for (size_t i = 0; i < changes; ++i) {
      size_t index = static_cast<uint8_t>(indices[i]);
      if (index >= offsets.size()) damaged(name);
      zone.changes_.push_back({times[i], offsets[index]});
    }
    if (width == 4) return zone;
    break;
  }
  std::string_view rule = reader.rest();
  if (rule.size() > 2 && rule.front() == '\n') {
    rule = rule.substr(1, rule.find('\n', 1) - 1);
    int64_t year = zone.changes_.empty() ? kFirstYear : year_of(zone.changes_.back().at);
    if (!zone.extend(rule, year)) unknown(name, "whose rule '" + std::string(rule) + "' cannot be read.");
  }
  return zone;
}

bool Zone::extend(std::string_view text, int64_t year) {
  RuleReader rule(text);
  if (!rule.name()) return false;
  auto standard = rule.time();  // west of Greenwich, as POSIX has it
  if (!standard) return false;
  if (rule.at_end()) {  // no change after the last, which may be missing
    if (changes_.empty()) first_offset_ = -*standard;
    return true;
  }
  if (!rule.name()) return false;
  auto summer = std::optional(*standard - 3600);
  if (!rule.at_end() && !rule.skip(',')) {
    summer = rule.time();
    if (!summer || !rule.skip(',')) return false;
  }
  auto begin = YearlyDate::read(rule);
  if (!begin || !rule.skip(',')) return false;
  auto end = YearlyDate::read(rule);
  if (!end || !rule.at_end()) return false;
  int64_t known = changes_.empty() ? std::numeric_limits<int64_t>::min() : changes_.back().at;
  std::vector<Change> further;
  for (int64_t y = year; y <= year + kCycleYears + 1; ++y) {
    for (Change change : {Change{begin->in(y) + *standard, -*summer}, Change{end->in(y) + *summer, -*standard}}) {
      if (change.at > known) further.push_back(change);
    }
  }
  std::stable_sort(further.begin(), further.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  changes_.insert(changes_.end(), further.begin(), further.end());
  repeats_ = days_before(year + kCycleYears + 1, 1) * kDay;
  return true;
}

Zone::Span Zone::span(int64_t instant) const {
  int64_t shift = 0;
  if (repeats_ != 0 && instant >= repeats_)
    shift = ((instant - repeats_) / (kCycleDays * kDay) + 1) * kCycleDays * kDay;
  auto after = std::upper_bound(changes_.begin(), changes_.end(), instant - shift,
                                [](int64_t value, const Change& change) { return value < change.at; });
  Span span;
  if (after != changes_.begin()) {
    span.from = std::prev(after)->at + shift;
    span.offset = std::prev(after)->offset;
  } else {
    span.offset = first_offset_;
  }
  if (after != changes_.end() && __builtin_add_overflow(after->at, shift, &span.to))
    span.to = std::numeric_limits<int64_t>::max();
  return span;
}

void LocalClock::set_zone(const std::string& name) {
  if (name == name_) return;
  bool utc = name.empty() || name == "UTC" || name == "GMT" || name == "Etc/UTC" || name == "Etc/GMT";
  zone_ = utc ? Zone() : Zone::find(name);
  span_ = zone_.span(0);
  name_ = name;
}

}  // namespace jg::columnar
