// Splits files into morsels: parts of files (row ranges of a row group or a stripe) for instances and threads.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "common/part_queue.h"

namespace jg::columnar {

// Rows [first, first + rows) of part `part` of file `file`; without rows, a part that need not be read.
struct Morsel {
  int file = 0, part = 0;
  int64_t first = 0, rows = 0;
};

using MorselQueue = PartQueue<Morsel>;

// Return the morsels of an instance in a scan of `parts`. Parts of at least rows_min rows are split, so that every
// thread finds some. Siblings' shares are disjoint and complete: they depend on `parts` and the options only. `useless`
// returns how many bytes of a part have no partners in the joins to come; these are not read, and count as pruned.
std::vector<Morsel> deal(std::vector<Morsel> parts, const FileSourceOptions& options, int64_t rows_min,
                         const std::function<int64_t(const Morsel&)>& useless, Counters* counters);

}  // namespace jg::columnar
