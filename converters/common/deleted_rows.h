// Rows that a table has deleted from its files: the option `deleted` of a read (jumpgate/dataflow/deleted.py).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/column_room.h"
#include "common/row_ranges.h"
#include "jg/stream.h"

namespace jg::columnar {

// The deleted rows of each file, ascending and disjoint; empty without the option. Throws ReadError for a text that is
// none, or of another number of files.
std::vector<std::vector<RowRange>> deleted_rows(const FileSourceOptions& options);
// Leaves in the option what is of the files of these numbers. Throws ReadError as `deleted_rows`.
void keep_files(FileSourceOptions* options, size_t files, const std::vector<size_t>& kept);

// Those rows of `deleted` that are in [first, end), counted from `first`.
std::vector<RowRange> within(const std::vector<RowRange>& deleted, int64_t first, int64_t end);
// Ranges with all the other rows, and with deleted ones where few are between others.
std::vector<RowRange> others(const std::vector<RowRange>& deleted, int64_t rows);

// The rows of batches that are not deleted.
class KeptRows {
 public:
  // Of a part of a file. `deleted` outlives the walk.
  void start(const std::vector<RowRange>& deleted) {
    deleted_ = &deleted;
    at_ = 0;
    count_ = 0;
  }
  // Moves on to the batch of rows [row, row + rows), after those before; false where all of them are deleted.
  bool next(int64_t row, int32_t rows);
  bool all() const { return all_; }
  int32_t count() const { return count_; }
  // Positions in the batch of n kept rows, of those that `sel` lists, or of the first ones. Valid until the next call.
  const int32_t* positions(const int32_t* sel, int32_t n);

 private:
  const std::vector<RowRange>* deleted_ = nullptr;
  size_t at_ = 0;
  bool all_ = true;
  int32_t count_ = 0;
  int32_t kept_[JG_BATCH_ROWS], chosen_[JG_BATCH_ROWS];
};

// Moves the values of a column at positions from[0 … n), ascending, to `sel`, or to the first n positions, in its room.
void close_gaps(const int32_t* from, const int32_t* sel, int32_t n, ColumnRoom& room, JgCol* column);

}  // namespace jg::columnar
