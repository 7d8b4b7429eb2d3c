// What an ORC file's statistics tell of its stripes, where they can be trusted.
#pragma once
#include <vector>

#include "common/bounds.h"
#include "orc/tail.h"

namespace jg::columnar {

// By stripe and wanted type id, which are columns of the root, or negative for none; empty where the file has no
// statistics. A range tells nothing where the statistics are missing, contradict the stripe's rows, or come from a
// writer that made wrong ones.
std::vector<std::vector<ColumnRange>> read_stripe_ranges(InputFile& file, const OrcTail& tail,
                                                         const std::vector<int>& ids);

}  // namespace jg::columnar
