// Hands out the rows of a complete table, batch by batch, from memory or from disk.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "jg/status.h"
#include "tables/row_store.h"

namespace jg {

// One of each thread that reads a table for the same pipeline.
class TableReader {
 public:
  virtual ~TableReader() = default;
  // The task's rows are the next *n, up to JG_BATCH_ROWS, until the next call. 0: there are no more, or the task
  // failed.
  virtual Status next(JgTask* task, int* n) = 0;
};

// Reads the rows of a table in memory, in their order.
class MemoryReader : public TableReader {
 public:
  MemoryReader(const RowStore& table, std::atomic<size_t>* claimed) : table_(table), claimed_(claimed) {}
  Status next(JgTask* task, int* n) override;

 private:
  const RowStore& table_;
  std::atomic<size_t>* claimed_;
};

// Reads rows ahead of the batches that it returns.
class AheadReader : public TableReader {
 public:
  explicit AheadReader(const RowStore& table)
      : table_(table), arena_(table.budget(), Beyond::kMaps), budget_(table.budget()) {}
  Status next(JgTask* task, int* n) override;

 protected:
  virtual Status fill(JgTask* task) = 0;
  Status in_bounds() { return budget_->exceeded() ? Status("memory", budget_->explain()) : Status(); }
  // Append the rows of a run on disk; their memory is in `arena`.
  Status read_run(const SpillFile& file, const Run& run, const JgRowLayout& layout, Arena* arena, Rows* rows);

  const RowStore& table_;
  Arena arena_;  // of rows_
  Budget* budget_;
  Rows rows_;

 private:
  size_t at_ = 0;
};

// Reads one partition after the other, each loaded whole.
class DealReader : public AheadReader {
 public:
  DealReader(const RowStore& table, std::atomic<size_t>* claimed) : AheadReader(table), claimed_(claimed) {}

 protected:
  // Append what rows_ are to be of the next partition that has some; none: there are no more.
  virtual Status load(size_t deal, JgTask* task) = 0;
  Status fill(JgTask* task) override {
    for (size_t unit; rows_.empty() && (unit = claimed_->fetch_add(1)) < table_.units();)
      JG_RETURN_IF_ERROR(load(table_.deal(unit), task));
    return {};
  }

 private:
  std::atomic<size_t>* claimed_;
};

// Reads rows partition by partition, and from disk run by run.
class RunReader : public AheadReader {
 public:
  RunReader(const RowStore& table, std::atomic<size_t>* claimed) : AheadReader(table), claimed_(claimed) {}

 protected:
  // Prepare what these rows need; not called if a partition has no rows.
  virtual Status begin(size_t) { return {}; }

 private:
  Status fill(JgTask*) override;

  std::vector<std::pair<const SpillFile*, const Run*>> runs_;  // of the partition
  size_t next_ = 0;
  std::atomic<size_t>* claimed_;
};

}  // namespace jg
