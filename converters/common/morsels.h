// How files are cut into work: parts of files (row ranges of a row group or a stripe), dealt to instances and threads.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "common/part_queue.h"

namespace jg::columnar {

// Rows [first, first + rows) of part `part` of file `file`; without rows, what need not be read of it.
struct Morsel {
  int file = 0, part = 0;
  int64_t first = 0, rows = 0;
};

using MorselQueue = PartQueue<Morsel>;

// What an instance reads of a scan of `parts`, each cut as long as it has rows_min rows, so that every thread finds
// some. Siblings' shares are disjoint and complete: they depend on `parts` and the options only. `useless` says how
// many bytes of a part have no partners in the joins to come; they are not read, and are counted as pruned.
std::vector<Morsel> deal(std::vector<Morsel> parts, const FileSourceOptions& options, int64_t rows_min,
                         const std::function<int64_t(const Morsel&)>& useless, Counters* counters);

}  // namespace jg::columnar
