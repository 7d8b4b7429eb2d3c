#include "common/row_ranges.h"

#include <algorithm>

#include "jg/batch.h"

namespace jg::columnar {

namespace {

// Gaps of fewer rows are read: a batch for each range costs more than a few rows.
constexpr int64_t kGapRowsMin = JG_BATCH_ROWS;

}  // namespace

void append(std::vector<RowRange>* ranges, RowRange next) {
  if (next.first >= next.end) return;
  if (!ranges->empty() && next.first - ranges->back().end < kGapRowsMin)
    ranges->back().end = next.end;
  else
    ranges->push_back(next);
}

std::vector<RowRange> intersection(const std::vector<RowRange>& a, const std::vector<RowRange>& b) {
  std::vector<RowRange> both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    append(&both, {std::max(a[i].first, b[j].first), std::min(a[i].end, b[j].end)});
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return both;
}

int64_t rows_of(const std::vector<RowRange>& ranges) {
  int64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.end - range.first;
  return rows;
}

int64_t PartRows::bytes_of(int64_t count) const {
  return rows == 0 ? 0 : static_cast<int64_t>(jg_i128{bytes} * count / rows);
}

int64_t PartRows::useless_bytes(RowRange range) const {
  if (!intersection(joining, {range}).empty()) return 0;
  return std::max<int64_t>(1, bytes_of(rows_of(intersection(matching, {range}))));
}

void BatchRows::start(const std::vector<RowRange>& wanted, RowRange range) {
  wanted_ = &wanted;
  at_ = 0;
  row_ = range.first;
  end_ = range.end;
  rows_ = 0;
}

bool BatchRows::next() {
  row_ += rows_;
  rows_ = 0;
  if (!wanted_) return false;
  while (at_ < wanted_->size() && (*wanted_)[at_].end <= row_) ++at_;
  if (at_ == wanted_->size()) return false;
  const int64_t first = std::max(row_, (*wanted_)[at_].first), end = std::min((*wanted_)[at_].end, end_);
  if (first >= end) return false;
  row_ = first;
  rows_ = static_cast<int32_t>(std::min<int64_t>(end - first, JG_BATCH_ROWS));
  return true;
}

}  // namespace jg::columnar
