// Two rows in place of all rows of a part of a file, for a scan that wants counts and extremes: FileSourceOptions has
// what of each column is wanted, and the part's statistics have it.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "common/bounds.h"
#include "common/column_room.h"

namespace jg::columnar {

struct Summary {
  static constexpr int32_t kRows = 2;

  struct Column {
    int64_t low = 0, high = 0;
    int32_t present = kRows;  // the first rows; the others are NULL
  };
  std::vector<Column> columns;
  std::vector<int64_t> unread;  // as in JgBatch

  // Fill in the two rows of a column.
  void read(size_t column, ColumnRoom& room, JgCol* out) const;
};

// Return the summary of so many rows; none where `range`, the statistics of a column, does not have exactly what is
// wanted, or where nothing is gained.
std::optional<Summary> summarise(const FileSourceOptions& options, int64_t rows,
                                 const std::function<ColumnRange(size_t)>& range);

}  // namespace jg::columnar
