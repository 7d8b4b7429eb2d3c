// State tables: join builds, groups, sort buffers, and rows that wait for a join. Threads fill parts of their own;
// complete() makes one of them.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"
#include "jg/status.h"
#include "tables/coded_groups.h"
#include "tables/dealt_rows.h"
#include "tables/directory.h"
#include "tables/sorter.h"
#include "tables/spill.h"
#include "tables/values.h"

namespace jg {

struct TableConfig {
  std::string kind;  // join | groups | sort | rows
  bool has_keys = true;
  bool is_expanded = false;
  bool on_disk = false;  // of a join: where its rows are more than there is room for
  int64_t limit = -1, offset = 0;
  int readers = 0;  // pipelines that its rows are the source of
};

// A longer chunk at the end of the list.
JgChunk* new_chunk(Arena* arena, JgValues* values, int size);

// One thread's part of a table.
struct Part {
  Part(Budget* budget, Beyond beyond) : arena(budget, beyond) {}
  // Copy a text for the lifetime of the rows; texts of one partition are adjacent.
  JgStr keep(uint64_t hash, JgStr s) { return texts ? texts->keep(hash, s, &arena) : arena.copy(s); }
  // A copy that only a group has, in place of another one: in its bytes if there are enough. `held` is null, or came
  // from here; before its bytes is how many there are.
  JgStr keep_instead(JgStr held, JgStr s);
  // Append the partitioned rows, and those from before.
  void append(size_t deal, const ByDeal& before, std::vector<JgRow*>* rows) const {
    before.append(deal, rows);
    dealt->append(deal, rows);
  }

  Arena arena;
  JgGroups groups{};
  Slots slots;                  // of the groups' directory
  std::vector<uint64_t> memos;  // of groups
  CodedGroups coded;
  int64_t low = INT64_MAX, high = INT64_MIN;  // join builds by an integer: its range
  std::vector<JgRow*> rows, null_rows;        // in the order in which they came; null_rows: of join builds
  const JgRow* threshold = nullptr;           // top-n: rows that are not smaller are of no use
  int64_t sort_memory_rows = 0;               // rows in the arena, also those dropped since
  WordBounds bounds;                          // of sort buffers: of all rows that were kept at some time
  std::unique_ptr<DealtRows> dealt;           // of partitioned sort buffers: all rows; of groups: later ones
  std::unique_ptr<DealtTexts> texts;          // of groups: once they are partitioned
  int64_t merge_from = 0;                     // groups: bytes from which merging partitioned ones pays
  std::unique_ptr<SpillFile> file;            // rows that went to disk
  std::vector<std::vector<Run>> runs;         // partitioned rows: by partition; otherwise one list of sorted runs

  int64_t held() const { return arena.held() + static_cast<int64_t>(slots.size() * sizeof(uint64_t)); }
};

class Table {
 public:
  enum class Kind { kJoin, kGroups, kSort, kRows };
  Table(Kind kind, const JgTableInfo& info, const TableConfig& config, Budget* budget);

  Part* part(int thread);  // made on first use
  JgRow* append(Part* part, uint64_t hash, bool null_key);
  void note_keys(Part* part, int64_t low, int64_t high);
  JgRow* new_group(Part* part, uint64_t hash);
  void offer(Part* part, const JgRow* row);
  // Between two chunks of rows: spill the part if it should, and if it can.
  Status relieve(Part* part, JgTask* task);

  // Completion: prepare() by one thread, task(i) for all i < tasks() in any order by any threads, then finish() by one.
  // As long as that leaves tasks(), another round of them follows.
  void prepare();
  int tasks() const { return tasks_; }
  Status task(int i, JgTask* task);
  void finish(JgTask* task);

  Kind kind() const { return kind_; }
  JgJoin* join() { return &join_; }
  const std::vector<JgRow*>& rows() const { return rows_; }  // groups and sort: the result; join: every row
  // Brings rows into the cache, all at once.
  void prefetch(JgRow* const* rows, int n) const {
    for (int i = 0; i < n; i++) {
      __builtin_prefetch(rows[i]);
      __builtin_prefetch(reinterpret_cast<const char*>(rows[i]) + info_.row_size - 1);
    }
  }
  // A complete table is either all on disk or not at all; reader.h reads both.
  bool is_spilled() const { return is_spilled_; }
  // Readers take one partition after the other, and merge its groups or sort its rows.
  bool is_dealt() const { return !deals_.empty() || kind_ == Kind::kRows || (is_spilled_ && is_parted()); }
  const std::vector<size_t>& deals() const { return deals_; }  // in memory: by size, the largest first
  // Append the rows of a partition in memory: of sort buffers, of groups that are still to be merged, or of rows that
  // wait for a join.
  void append_deal(size_t deal, std::vector<JgRow*>* rows) const;
  const std::vector<std::unique_ptr<Part>>& parts() const { return parts_; }
  const JgTableInfo& info() const { return info_; }
  int64_t limit() const { return limit_; }
  int64_t offset() const { return offset_; }
  JgRow* copy_row(Arena* arena, const JgRow* row) const;
  bool matched(const JgRow* row) const { return reinterpret_cast<const uint8_t*>(row)[info_.matched_offset] != 0; }

 private:
  void begin_groups(Part* part);
  void make_room(Part* part);
  void merge_dealt(Part* part, JgTask* task);
  void begin_directory(int64_t rows);
  uint64_t slot_of(const JgRow* row) const {
    return join_.span ? static_cast<uint64_t>(info_.key(row)) - static_cast<uint64_t>(join_.low)
                      : row->hash >> join_.directory.shift;
  }
  bool is_parted() const { return kind_ != Kind::kSort || info_.is_dealt; }  // by a hash
  Status spill(Part* part);
  Status spill_sorted(Part* part);
  Status spill_dealt(Part* part);
  void prepare_sort();
  void prepare_groups();
  std::array<size_t, kDeals> deal_sizes() const;
  void list_deals(const std::array<size_t, kDeals>& rows);
  bool choose_deals();
  void gather_deals();
  void grow(Part* part);
  void shrink_to_limit(Part* part);
  void merge_deal(size_t deal, JgTask* task);
  void merge_partition(int p, JgTask* task);
  void finish_sort(JgTask* task);
  int split_windows();
  void gather_chains();
  void complete(std::vector<JgRow*>& groups, JgTask* task);

  const Kind kind_;
  const JgTableInfo info_;
  const bool has_keys_, is_expanded_;
  const bool can_spill_;
  bool is_spilled_ = false;
  const int64_t limit_, offset_;  // sort; limit_ < 0: none
  const int64_t kept_;            // rows of a top-n that may still matter
  Budget* budget_;
  const int readers_;
  std::mutex mutex_;  // guards parts_ growing
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::vector<JgRow*>> merged_;  // groups: by partition
  std::vector<ByDeal> before_;               // of each part: its rows from before groups were partitioned, or all rows
  std::vector<JgRow*> rows_, null_rows_;
  std::span<uint64_t> slots_;  // of a join; or its bits
  std::atomic<bool> has_chains_{false};
  std::unique_ptr<Sorter> sorter_;
  enum class Round { kDeal, kSort, kWindows } round_ = Round::kDeal;
  std::vector<size_t> deals_;
  std::vector<int64_t> window_bounds_;  // range → where it begins; one more than there are ranges
  JgJoin join_{};
  Arena gathered_, linked_;                           // join: rows in the order of their chains; slots, or bits
  std::vector<std::unique_ptr<JgMemory>> completed_;  // groups that hold values: the texts of their results
  int tasks_ = 0, partition_bits_ = 0;
};

}  // namespace jg
