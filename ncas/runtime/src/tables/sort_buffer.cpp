#include "tables/sort_buffer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tables/sort_readers.h"

namespace jg {
namespace {

constexpr int64_t kUnlimited = INT64_MAX / 8;  // more rows than any memory holds
constexpr int kSortRanges = 512;               // the most tasks of a sort: the rows of one stay in the cache
constexpr size_t kSortedBytes = 32;            // that a sorter holds of a row
constexpr int kWindowRanges = 64;              // of window functions, so that threads end together
constexpr int64_t kWindowRows = 16384;         // of window functions that are worth a task
constexpr size_t kDealtRows = 65536;           // fewer are put in order at once

}  // namespace

SortBuffer::SortBuffer(const JgSortInfo& info, const TableConfig& config, Budget* budget)
    : RowStore(info, config, budget, !info.skyline, info.is_dealt ? kDeals : 1),
      info_(info),
      limit_(config.limit),
      offset_(config.offset),
      kept_(std::min(limit_, kUnlimited) + std::min(offset_, kUnlimited)) {}

std::unique_ptr<Part> SortBuffer::make_part() const {
  auto part = std::make_unique<SortPart>(info_, budget_, beyond());
  if (info_.is_dealt) part->dealt = std::make_unique<DealtRows>(info_.row_size);
  return part;
}

JgRow* copy_row(const JgRowLayout& layout, Arena* arena, const JgRow* row) {
  auto* copy = reinterpret_cast<JgRow*>(arena->bytes(layout.row_size));
  std::memcpy(copy, row, layout.row_size);
  for (int i = 0; i < layout.text_count; i++) {
    JgStr* text = text_of(layout, copy, i);
    *text = arena->copy(*text);
  }
  return copy;
}

void SortBuffer::offer(SortPart* part, const JgRow* row) const {
  if (part->threshold && info_.compare(row, part->threshold) >= 0) return;
  if (limit_ == 0) return;
  part->rows.push_back(copy_row(info_, &part->arena, row));
  part->bounds.add(info_, row);
  part->copied++;
  if (limit_ > 0 && static_cast<int64_t>(part->rows.size()) >= 2 * kept_ + 1024) shrink_to_limit(part);
}

// Keep the best limit + offset rows, and the worst of them as the threshold for rows to come.
void SortBuffer::shrink_to_limit(SortPart* part) const {
  const int64_t n = kept_;
  auto& rows = part->rows;
  std::nth_element(rows.begin(), rows.begin() + (n - 1), rows.end(),
                   [this](const JgRow* a, const JgRow* b) { return info_.compare(a, b) < 0; });
  rows.resize(n);
  if (part->copied > 8 * n + 8192) {  // most of the arena is dropped rows
    Arena fresh(budget_);
    for (JgRow*& row : rows) row = copy_row(info_, &fresh, row);
    part->arena = std::move(fresh);
    part->copied = n;
  }
  part->threshold = rows[n - 1];
}

Status SortBuffer::write(Part* part) {
  if (info_.is_dealt) return write_deals(part);
  if (part->rows.empty()) return {};
  auto* kept = static_cast<SortPart*>(part);
  Rows sorted(part->rows.size());
  const auto sorting = static_cast<int64_t>(sorted.size() * kSortedBytes);
  budget_->fixed -= sorting;  // the others need not end for it
  auto sorter = make_sorter(info_, budget_, {{&part->rows, kept->bounds}}, kSortRanges);
  sorter->deal(0);
  for (int r = 0; r < sorter->ranges(); r++) sorter->sort(static_cast<size_t>(r), sorted.data());
  sorter.reset();
  budget_->fixed += sorting;
  part->runs[0].emplace_back();
  JG_RETURN_IF_ERROR(part->file->write(sorted.data(), sorted.size(), &part->runs[0].back()));
  kept->threshold = nullptr;
  kept->copied = 0;
  kept->bounds = {};
  return {};
}

int SortBuffer::begin_rounds() {
  if (info_.is_dealt && leave_to_readers()) return 0;
  if (!has_order()) {
    for (const auto& p : parts_) rows_.insert(rows_.end(), p->rows.begin(), p->rows.end());
    cut();
    return 0;
  }
  JgSortInfo info = info_;
  if (info_.is_dealt) gather_deals();
  if (info_.hash_offset >= 0) info.sort_words = 0;  // the hash alone is no order
  std::vector<RowsToSort> parts;
  for (size_t p = 0; p < parts_.size(); p++) parts.push_back({&parts_[p]->rows, part_at(p)->bounds});
  sorter_ = make_sorter(info, budget_, std::move(parts), kSortRanges);
  return static_cast<int>(parts_.size());
}

// Return whether readers sort the partitions: there are many rows, no thread would wait long for another one's
// partition, and there is only one reader of the rows.
bool SortBuffer::leave_to_readers() {
  const auto sizes = deal_sizes();
  const size_t all = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  if (readers_ > 1 || all < kDealtRows || *std::max_element(sizes.begin(), sizes.end()) > all / parts_.size())
    return false;
  leave_deals(sizes);
  return true;
}

void SortBuffer::gather_deals() {
  for (size_t p = 0; p < parts_.size(); p++) {
    SortPart* part = part_at(p);
    for (size_t d = 0; d < kDeals; d++) part->dealt->append(d, &part->rows);
    for (const JgRow* row : part->rows) part->bounds.add(info_, row);
    if (info_.hash_offset >= 0) part->bounds.common = std::min(part->bounds.common, 1);
  }
}

void SortBuffer::run_task(int i, JgTask* task) {
  switch (round_) {
    case Round::kDeal:
      return sorter_->deal(i);
    case Round::kSort:
      return sorter_->sort(i, rows_.data());
    case Round::kWindows:
      return info_.windows(task, rows_.data() + window_bounds_[i], window_bounds_[i + 1] - window_bounds_[i]);
  }
}

// One thread does the small steps here.
int SortBuffer::end_round(JgTask* task) {
  if (!sorter_) return 0;  // readers sort, or windows are computed
  if (round_ == Round::kDeal) {
    rows_.resize(sorter_->size());
    round_ = Round::kSort;
    if (sorter_->ranges() > 1) return sorter_->ranges();
    sorter_->sort(0, rows_.data());
  }
  sorter_.reset();
  cut();
  return info_.windows ? begin_windows(task) : 0;
}

// Leave the rows that offset, limit and skyline let pass.
void SortBuffer::cut() {
  const auto size = static_cast<int64_t>(rows_.size());
  const int64_t first = std::min(size, offset_);
  const int64_t last = limit_ < 0 || limit_ > size - first ? size : first + limit_;
  if (last - first < size) rows_ = Rows(rows_.begin() + first, rows_.begin() + last);
  if (info_.skyline) rows_.resize(static_cast<size_t>(info_.skyline(rows_.data(), last - first)));
}

int SortBuffer::begin_windows(JgTask* task) {
  round_ = Round::kWindows;
  const int ranges = split_windows();
  if (ranges > 1) return ranges;
  info_.windows(task, rows_.data(), static_cast<int64_t>(rows_.size()));
  return 0;
}

// Ranges of whole partitions.
int SortBuffer::split_windows() {
  const auto size = static_cast<int64_t>(rows_.size());
  const int64_t ranges = std::clamp<int64_t>(size / kWindowRows, 1, kWindowRanges);
  window_bounds_.assign(1, 0);
  for (int64_t r = 1; r < ranges; r++) {
    int64_t at = std::max(size * r / ranges, window_bounds_.back() + 1);
    while (at < size && info_.together(rows_[at - 1], rows_[at])) at++;
    if (at >= size) break;
    window_bounds_.push_back(at);
  }
  window_bounds_.push_back(size);
  return static_cast<int>(window_bounds_.size()) - 1;
}

std::unique_ptr<TableReader> SortBuffer::reader(const Reading& reading) const {
  if (is_dealt()) return make_window_reader(*this, reading.claimed);
  if (is_spilled()) return make_merge_reader(*this, reading.claimed);
  return std::make_unique<MemoryReader>(*this, reading.claimed);
}

}  // namespace jg

const JgTableClass jg_sort_buffer = {jg::make_table<jg::SortBuffer, JgSortInfo>};
