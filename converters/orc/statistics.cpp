#include "orc/statistics.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "orc/stream.h"

namespace jg::columnar {

namespace {

// Writers before this one merged the statistics of row groups into those of stripes wrongly (HIVE-8732).
constexpr uint64_t kStripesMerged = 1;

// ColumnStatistics of the specification.
enum StatisticsField { kValues = 1, kIntegers = 2, kDoubles = 3, kStrings = 4, kDates = 7, kHasNull = 10 };

template <class T>
struct Extremes {
  std::optional<T> low, high;
  std::optional<std::pair<T, T>> both() const {
    if (!low || !high || *high < *low) return {};
    return std::pair(*low, *high);
  }
};

std::optional<std::pair<jg_i128, jg_i128>> integers(std::string_view bytes) {
  Extremes<jg_i128> found;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) found.low = p.zigzag();
    if (p.field() == 2) found.high = p.zigzag();
  }
  return found.both();
}

// If a row group begins with NaN, its extremes are NaN, and merging leaves the whole group out; only the sum then shows
// that there was one.
std::optional<std::pair<double, double>> doubles(std::string_view bytes) {
  Extremes<double> found;
  double sum = std::nan("");
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) found.low = p.real();
    if (p.field() == 2) found.high = p.real();
    if (p.field() == 3) sum = p.real();
  }
  return std::isnan(sum) ? std::nullopt : found.both();
}

// Bounds of texts that were too long for a minimum or maximum have fields of their own, which nothing needs.
std::optional<std::pair<std::string, std::string>> texts(std::string_view bytes) {
  Extremes<std::string> found;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) found.low = p.bytes();
    if (p.field() == 2) found.high = p.bytes();
  }
  return found.both();
}

}  // namespace

bool trusts_statistics(const OrcTail& tail) { return tail.writer_version >= kStripesMerged; }

int64_t count_values(std::string_view bytes) {
  int64_t values = -1;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == kValues) values = static_cast<int64_t>(p.integer());
  }
  return values;
}

ColumnRange range_of(std::string_view bytes, OrcKind kind, int64_t rows) {
  ColumnRange range;
  std::optional<bool> has_null;
  bool integer = kind >= OrcKind::kByte && kind <= OrcKind::kLong, date = kind == OrcKind::kDate;
  bool real = kind == OrcKind::kFloat || kind == OrcKind::kDouble;
  bool text = kind == OrcKind::kString || kind == OrcKind::kVarchar || kind == OrcKind::kChar;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == kHasNull) has_null = p.integer() != 0;
    if ((p.field() == kIntegers && integer) || (p.field() == kDates && date)) range.integers = integers(p.bytes());
    if (p.field() == kDoubles && real) range.floats = doubles(p.bytes());
    if (p.field() == kStrings && text) range.texts = texts(p.bytes());
  }
  int64_t values = count_values(bytes);
  if (values < 0 || values > rows || (values < rows && has_null == false)) return {};
  range.no_null = values == rows && has_null == false;
  range.values = values;
  range.exact = true;
  if (values > 0) return range;
  // Without a row index Java counts nothing: only a NULL that was seen makes zero values all of them.
  ColumnRange nulls;
  nulls.all_null = has_null == true;
  return nulls;
}

std::vector<std::vector<ColumnRange>> read_stripe_ranges(InputFile& file, const OrcTail& tail,
                                                         const std::vector<int>& ids) {
  std::vector<std::vector<ColumnRange>> result;
  if (!trusts_statistics(tail)) return result;
  std::string metadata = read_section(file, tail.compression, tail.metadata_offset, tail.metadata_bytes);
  for (ProtoReader p(metadata); p.next();) {
    if (p.field() != 1) continue;
    const std::vector<std::string_view> columns = messages(p.bytes(), 1);
    auto& ranges = result.emplace_back(ids.size());
    if (result.size() > tail.stripes.size()) break;
    int64_t rows = tail.stripes[result.size() - 1].rows;
    // The root has a value for each row, if rows were counted at all.
    if (columns.size() != tail.types.size() || count_values(columns[0]) != rows) continue;
    for (size_t i = 0; i < ids.size(); ++i) {
      size_t id = static_cast<size_t>(ids[i]);
      if (id < columns.size()) ranges[i] = range_of(columns[id], tail.types[id].kind, rows);
    }
  }
  if (result.size() != tail.stripes.size()) result.clear();
  return result;
}

}  // namespace jg::columnar
