// The rows of a part of a file (row group, stripe) that are read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/summary.h"

namespace jg::columnar {

// Rows [first, end) of a part.
struct RowRange {
  int64_t first = 0, end = 0;
};

// Puts the range behind the others; those with few rows between them become one.
void append(std::vector<RowRange>* ranges, RowRange next);
// The rows that both have; each is ascending.
std::vector<RowRange> intersection(const std::vector<RowRange>& a, const std::vector<RowRange>& b);
int64_t rows_of(const std::vector<RowRange>& ranges);

struct PartRows {
  int64_t rows = 0;
  int64_t bytes = 0;  // that all of them take in the file
  // The rows that may match, and of these those that may have partners in the joins to come; ascending.
  std::vector<RowRange> matching, joining;
  std::vector<RowRange> deleted;   // rows that are in no result; some are in ranges that are read
  std::optional<Summary> summary;  // which is read in place of the rows

  // About those of the rows that cannot match.
  int64_t pruned_bytes() const { return bytes_of(rows - rows_of(matching)); }
  // About those of the rows in `range` that match, if none of them has partners, at least one; else 0.
  int64_t useless_bytes(RowRange range) const;

 private:
  int64_t bytes_of(int64_t count) const;
};

// Walks those rows of a range that are wanted, a batch at a time.
class BatchRows {
 public:
  // `wanted` outlives the walk.
  void start(const std::vector<RowRange>& wanted, RowRange range);
  // Moves on to the next batch; false where none is left, or there was no start.
  bool next();
  // The current batch.
  int64_t row() const { return row_; }
  int32_t rows() const { return rows_; }

 private:
  const std::vector<RowRange>* wanted_ = nullptr;
  size_t at_ = 0;
  int64_t row_ = 0, end_ = 0;
  int32_t rows_ = 0;
};

}  // namespace jg::columnar
