// Sorts rows by several threads: each part partitions its rows into ranges of the order, then each range is sorted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"
#include "tables/packing.h"

namespace jg {

struct RowsToSort {
  const Rows* rows;
  WordBounds bounds;
};

class Sorter {
 public:
  virtual ~Sorter() = default;
  virtual void deal(size_t part) = 0;  // each part once, in any order, by any thread
  // Then each range once, by any thread: its rows to their place among all rows.
  virtual void sort(size_t range, JgRow** all) = 0;
  virtual int ranges() const = 0;
  virtual int64_t size() const = 0;
};

// Make a sorter with at most `ranges` ranges; few rows have fewer.
std::unique_ptr<Sorter> make_sorter(const JgSortInfo& info, Budget* budget, std::vector<RowsToSort> parts, int most);

}  // namespace jg
