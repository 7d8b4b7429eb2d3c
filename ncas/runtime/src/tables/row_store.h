// The rows of a state table: threads fill parts of their own, whose memory counts and which go to disk beyond it; then
// the table is completed once, and pipelines read it. What the rows are for is the classes' above: JoinTable,
// AggregateTable, SortBuffer and RowBuffer.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"
#include "jg/status.h"
#include "tables/dealt_rows.h"
#include "tables/recent_texts.h"
#include "tables/spill.h"

namespace jg {

class RowStore;
class TableReader;

// Options of a table that are no part of its program; each class takes those that are about it.
struct TableConfig {
  bool has_keys = true;            // of groups
  bool is_expanded = false;        // of a join: a row is visited together with all others of its key
  bool on_disk = false;            // of a join: where its rows are more than there is room for
  int64_t limit = -1, offset = 0;  // of a sort; limit < 0: none
  int readers = 0;                 // pipelines that its rows are the source of
};

enum class Which { kAll, kMatched, kUnmatched };

// The rows of a table that a pipeline reads.
struct Reading {
  std::atomic<size_t>* claimed;     // by its threads, in RowStore::units()
  Which which = Which::kAll;        // of a join's rows
  const RowStore* build = nullptr;  // of rows that wait for a join: its build
  JgJoin** join = nullptr;          // and where it is on disk, becomes the part in which the batch's rows look
};

// One thread's part of a table.
struct Part {
  Part(const JgRowLayout& layout, Budget* budget, Beyond beyond) : layout(layout), arena(budget, beyond) {}
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  virtual int64_t held() const { return arena.held(); }
  JgRow* zeroed(uint64_t hash) {
    auto* row = reinterpret_cast<JgRow*>(arena.zeroed(layout.row_size));
    row->hash = hash;
    return row;
  }
  JgRow* append(uint64_t hash) {
    JgRow* row = zeroed(hash);
    rows.push_back(row);
    return row;
  }
  // Copy a text for the lifetime of the rows; texts of one partition are adjacent.
  JgStr keep(uint64_t hash, JgStr s) { return texts ? texts->keep(hash, s, &arena) : recent.keep(s, &arena); }
  // A copy that only one row has, in place of another one: in its bytes if there are enough. `held` is null, or came
  // from here; before its bytes is how many there are.
  JgStr keep_instead(JgStr held, JgStr s);
  // Append the rows of a partition: of `before`, and of those partitioned since.
  void append(size_t deal, const ByDeal& before, Rows* out) const {
    before.append(deal, out);
    if (dealt) dealt->append(deal, out);
  }

  const JgRowLayout& layout;
  Arena arena;
  Rows rows;                           // in the order in which they came
  std::unique_ptr<DealtRows> dealt;    // rows that are partitioned as they come
  std::unique_ptr<DealtTexts> texts;   // and their texts
  RecentTexts recent;                  // of the others
  std::unique_ptr<SpillFile> file;     // rows that went to disk
  std::vector<std::vector<Run>> runs;  // by partition, or one list of sorted runs
};

class RowStore {
 public:
  virtual ~RowStore() = default;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  Part* part(int thread);                                    // made on first use
  virtual JgGroups* groups(Part*) const { return nullptr; }  // that a program looks up by itself
  // Between two chunks of rows: spill the part if it should, and if it can.
  virtual Status relieve(Part* part, JgTask*) {
    return can_spill_ && budget_->should_spill(part->held()) ? spill(part) : Status();
  }

  // Completion: prepare() by one thread, task(i) for all i < tasks() in any order by any threads, then finish() by one.
  // As long as that leaves tasks(), another round of them follows.
  void prepare();
  int tasks() const { return tasks_; }
  Status task(int i, JgTask* task);
  void finish(JgTask* task) { tasks_ = is_spilled_ ? 0 : end_round(task); }

  // Of a complete table.
  virtual JgJoin* join() { return nullptr; }  // null: it is no join's build
  virtual std::unique_ptr<TableReader> reader(const Reading& reading) const = 0;
  // What threads claim, one after the other: partitions, or batches of rows.
  size_t units() const {
    return is_spilled_       ? partitions_
           : !deals_.empty() ? deals_.size()
                             : (rows_.size() + JG_BATCH_ROWS - 1) / JG_BATCH_ROWS;
  }
  int64_t unclaimed(size_t claimed) const {
    return std::max<int64_t>(0, static_cast<int64_t>(units()) - static_cast<int64_t>(claimed));
  }

  // For readers.
  const JgRowLayout& layout() const { return layout_; }
  Budget* budget() const { return budget_; }
  const Rows& rows() const { return rows_; }
  bool is_spilled() const { return is_spilled_; }  // all of its rows are on disk, or none
  bool is_dealt() const { return !deals_.empty() || (is_spilled_ && partitions_ > 1); }
  size_t deal(size_t unit) const { return is_spilled_ ? unit : deals_[unit]; }  // the partition
  // Append the rows of a partition that is in memory.
  void append_deal(size_t deal, Rows* rows) const;
  int64_t rows_on_disk(size_t deal) const;  // of a partition
  // Call `each` with the file and every run of a partition on disk, as long as it returns a good status.
  template <class Each>
  Status each_run_of(size_t deal, Each each) const {
    for (const auto& part : parts_)
      for (const Run& run : part->runs[deal]) JG_RETURN_IF_ERROR(each(*part->file, run));
    return {};
  }

 protected:
  // `partitions`: of rows on disk; with one of them, its runs are sorted.
  RowStore(const JgRowLayout& layout, const TableConfig& config, Budget* budget, bool can_spill,
           size_t partitions = kDeals)
      : layout_(layout), budget_(budget), readers_(config.readers), can_spill_(can_spill), partitions_(partitions) {}

  Beyond beyond() const { return can_spill_ ? Beyond::kMoves : Beyond::kMaps; }  // of parts
  virtual std::unique_ptr<Part> make_part() const = 0;
  // Write the part's rows to its file, before their memory is reset.
  virtual Status write(Part* part) { return write_deals(part); }
  Status write_deals(Part* part);

  // Completion of rows in memory.
  virtual int begin_rounds() = 0;  // return the number of tasks of the first round
  virtual void run_task(int, JgTask*) {}
  virtual int end_round(JgTask*) { return 0; }  // return the number of tasks of the next round

  // Partition the rows that came without being partitioned.
  void deal_rows();
  std::array<size_t, kDeals> deal_sizes() const;  // rows of each partition
  // Leave the partitions to readers, the largest first.
  void leave_deals(const std::array<size_t, kDeals>& sizes);

  const JgRowLayout& layout_;
  Budget* const budget_;
  const int readers_;
  std::vector<std::unique_ptr<Part>> parts_;
  Rows rows_;                   // the result, unless it is partitioned
  std::vector<ByDeal> before_;  // of each part: its rows that came without being partitioned

 private:
  Status spill(Part* part);

  const bool can_spill_;
  const size_t partitions_;
  bool is_spilled_ = false;
  std::mutex mutex_;           // guards parts_ growing
  std::vector<size_t> deals_;  // partitions in memory that readers take
  int tasks_ = 0;
};

}  // namespace jg

// A class of tables, as programs name it.
struct JgTableClass {
  std::unique_ptr<jg::RowStore> (*make)(const JgRowLayout* info, const jg::TableConfig& config, jg::Budget* budget);
};

namespace jg {

template <class Table, class Info>
std::unique_ptr<RowStore> make_table(const JgRowLayout* info, const TableConfig& config, Budget* budget) {
  return std::make_unique<Table>(*static_cast<const Info*>(info), config, budget);
}

}  // namespace jg
