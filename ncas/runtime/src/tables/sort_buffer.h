// Rows to be sorted: for an order, with a limit or without, or for window functions.
#pragma once
#include "tables/packing.h"
#include "tables/row_store.h"
#include "tables/sorter.h"

namespace jg {

struct SortPart : Part {
  using Part::Part;

  const JgRow* threshold = nullptr;  // of a top-n: rows that are not smaller are of no use
  int64_t copied = 0;                // rows in the arena, also those dropped since
  WordBounds bounds;                 // of all rows that were kept at some time
};

// With windows over partitions, rows are partitioned as they come, and readers sort one partition after the other if
// that pays; otherwise threads sort ranges of all rows together.
class SortBuffer final : public RowStore {
 public:
  SortBuffer(const JgSortInfo& info, const TableConfig& config, Budget* budget);

  void offer(SortPart* part, const JgRow* row) const;
  std::unique_ptr<TableReader> reader(const Reading& reading) const override;

  const JgSortInfo& info() const { return info_; }
  int64_t limit() const { return limit_; }
  int64_t offset() const { return offset_; }

 private:
  enum class Round { kDeal, kSort, kWindows };

  std::unique_ptr<Part> make_part() const override;
  Status write(Part* part) override;
  int begin_rounds() override;
  void run_task(int i, JgTask* task) override;
  int end_round(JgTask* task) override;

  SortPart* part_at(size_t i) const { return static_cast<SortPart*>(parts_[i].get()); }
  void shrink_to_limit(SortPart* part) const;
  bool has_order() const { return info_.sort_words > 0 || info_.windows || info_.skyline; }
  bool leave_to_readers();
  void gather_deals();
  void cut();
  int begin_windows(JgTask* task);
  int split_windows();

  const JgSortInfo& info_;
  const int64_t limit_, offset_;  // limit_ < 0: none
  const int64_t kept_;            // rows of a top-n that may still matter
  std::unique_ptr<Sorter> sorter_;
  Round round_ = Round::kDeal;
  std::vector<int64_t> window_bounds_;  // range → where it begins; one more than there are ranges
};

// Copy a row with its texts.
JgRow* copy_row(const JgRowLayout& layout, Arena* arena, const JgRow* row);

}  // namespace jg
