#include "common/summary.h"

#include <algorithm>
#include <cstring>

namespace jg::columnar {

namespace {

// Return whether values of the type are integers of at most 64 bits.
bool is_integer(JgType type) {
  switch (type) {
    case JG_I8:
    case JG_I16:
    case JG_I32:
    case JG_I64:
    case JG_DEC64:
    case JG_DATE:
    case JG_TIMESTAMP:
    case JG_TIME:
    case JG_TIMESTAMP_NS:
      return true;
    default:
      return false;
  }
}

bool fits(jg_i128 value, size_t width) {
  const jg_i128 least = -(jg_i128{1} << (8 * width - 1));
  return least <= value && value <= -1 - least;
}

// Set what is wanted of a column; false where its statistics do not have it.
bool set_column(const ColumnSpec& column, const FileSourceOptions::Wish& wish, const ColumnRange& range, int64_t rows,
                Summary::Column* summary, int64_t* unread) {
  const int64_t values = range.all_null ? 0 : range.values;
  if (values < 0 && wish.count) return false;
  if (values > rows || (!column.nullable && values != rows)) return false;
  summary->present = static_cast<int32_t>(std::clamp<int64_t>(values < 0 ? rows : values, 0, Summary::kRows));
  *unread = std::max<int64_t>(0, values - Summary::kRows);
  if (!wish.extremes || values == 0) return true;
  const size_t width = memory_width(column.type);
  if (!range.exact || !range.integers || !is_integer(column.type)) return false;
  const auto [low, high] = *range.integers;
  if (!fits(low, width) || !fits(high, width) || (summary->present == 1 && low != high)) return false;
  summary->low = static_cast<int64_t>(low);
  summary->high = static_cast<int64_t>(high);
  return true;
}

}  // namespace

void Summary::read(size_t column, ColumnRoom& room, JgCol* out) const {
  const Column& found = columns[column];
  fill_with_nulls(room, kRows, out);
  if (room.width <= sizeof found.low) {  // little endian
    std::memcpy(room.data, &found.low, room.width);
    std::memcpy(room.data + room.width, &found.high, room.width);
  }
  std::memset(out->valid, 1, static_cast<size_t>(found.present));
}

std::optional<Summary> summarise(const FileSourceOptions& options, int64_t rows,
                                 const std::function<ColumnRange(size_t)>& range) {
  if (!options.summarised || rows <= Summary::kRows) return {};
  Summary found{std::vector<Summary::Column>(options.columns.size()), std::vector<int64_t>(options.columns.size() + 1)};
  found.unread[0] = rows - Summary::kRows;
  for (size_t i = 0; i < options.columns.size(); ++i) {
    if (!set_column(options.columns[i], options.wishes[i], range(i), rows, &found.columns[i], &found.unread[i + 1]))
      return {};
  }
  return found;
}

}  // namespace jg::columnar
