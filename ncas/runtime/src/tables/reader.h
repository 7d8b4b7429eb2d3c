// Hands out the rows of a complete table, batch by batch, from memory or from disk.
#pragma once
#include <atomic>
#include <memory>

#include "jg/status.h"
#include "tables/tables.h"

namespace jg {

// One of each thread that reads a table for the same pipeline.
class TableReader {
 public:
  virtual ~TableReader() = default;
  // The task's rows are the next *n, up to JG_BATCH_ROWS, until the next call. 0: there are no more, or the task
  // failed.
  virtual Status next(JgTask* task, int* n) = 0;
};

enum class Which { kAll, kMatched, kUnmatched };

// `claimed`: counts what the readers have taken, in units of their own; it begins at 0.
std::unique_ptr<TableReader> make_reader(const Table& table, Which which, Budget* budget, std::atomic<size_t>* claimed);
// Rows that wait for a join. Where its build is on disk, *join becomes the part of it that the batch's rows look in.
std::unique_ptr<TableReader> make_pair_reader(const Table& rows, const Table& build, Budget* budget,
                                              std::atomic<size_t>* claimed, JgJoin** join);
// Return how many more claims other readers could make.
int64_t unclaimed(const Table& table, size_t claimed);

}  // namespace jg
