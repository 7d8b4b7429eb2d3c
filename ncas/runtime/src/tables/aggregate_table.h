// Groups of an aggregate. Each thread has its own, in a directory as long as it fits into the cache; completing the
// table merges those with the same keys.
#pragma once
#include "tables/coded_groups.h"
#include "tables/directory.h"
#include "tables/row_store.h"
#include "tables/values.h"

namespace jg {

struct AggregatePart : Part {
  using Part::Part;
  int64_t held() const override { return arena.held() + static_cast<int64_t>(slots.size() * sizeof(uint64_t)); }

  JgGroups groups{};
  Slots slots;  // of the groups' directory
  std::vector<uint64_t> memos;
  CodedGroups coded;
  int64_t merge_from = 0;  // bytes from which merging partitioned groups pays
  // Of groups that are partitioned: the most that are looked up, and how many rows each had when these were more.
  size_t most_groups = 0;
  double rows_each = 0;
};

class AggregateTable final : public RowStore {
 public:
  AggregateTable(const JgAggregateInfo& info, const TableConfig& config, Budget* budget);

  JgGroups* groups(Part* part) const override { return &static_cast<AggregatePart*>(part)->groups; }
  JgRow* new_group(AggregatePart* part, uint64_t hash);
  Status relieve(Part* part, JgTask* task) override;
  std::unique_ptr<TableReader> reader(const Reading& reading) const override;

 private:
  std::unique_ptr<Part> make_part() const override;
  Status write(Part* part) override;
  int begin_rounds() override;
  void run_task(int i, JgTask* task) override;
  int end_round(JgTask* task) override;

  AggregatePart* part_at(size_t i) const { return static_cast<AggregatePart*>(parts_[i].get()); }
  void begin_groups(AggregatePart* part) const;
  void make_room(AggregatePart* part);
  void grow(AggregatePart* part);
  void merge_dealt(AggregatePart* part, JgTask* task);
  void merge_deal(size_t deal, JgTask* task);
  void merge_partition(int p, JgTask* task);
  void merge_single(JgTask* task);
  void complete(Rows& groups, JgTask* task);

  const JgAggregateInfo& info_;
  const bool has_keys_, leaves_cache_;                // leaves_cache_: groups may be partitioned, and go to disk
  std::vector<Rows> merged_;                          // by task; neighbours share a line of the cache, so set once
  std::mutex mutex_;                                  // guards completed_
  std::vector<std::unique_ptr<JgMemory>> completed_;  // the texts of the results of groups that hold values
  int partition_bits_ = 0;
};

}  // namespace jg
