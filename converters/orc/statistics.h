// Statistics of an ORC file's stripes, if they can be trusted.
#pragma once
#include <string_view>
#include <vector>

#include "common/bounds.h"
#include "orc/tail.h"

namespace jg::columnar {

// Return whether the file's writer is not known for wrong statistics.
bool trusts_statistics(const OrcTail& tail);
// Return the range of a column of that kind with that many rows, from a message of orc_proto.proto.
ColumnRange range_of(std::string_view statistics, OrcKind kind, int64_t rows);
// Return how many values they count; negative if they do not.
int64_t count_values(std::string_view statistics);

// By stripe and wanted type id, which are columns of the root, or negative for none; empty where the file has no
// statistics. A range tells nothing where the statistics are missing, contradict the stripe's rows, or come from a
// writer that made wrong ones.
std::vector<std::vector<ColumnRange>> read_stripe_ranges(InputFile& file, const OrcTail& tail,
                                                         const std::vector<int>& ids);

}  // namespace jg::columnar
