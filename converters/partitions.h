// Columns whose values are in the names of a file's folders (…/year=2024/country=de/part-0.parquet), as Hive writes
// them.
#pragma once
#include <memory>

#include "jg/stream.h"

namespace jg {

// A source that reads the other columns by `make` and adds those that the option `partitions` names (joined by commas,
// each percent-encoded). Files that bounds on these columns exclude are not opened.
Status make_partitioned_source(const FileSourceOptions& options,
                               Status (*make)(const FileSourceOptions&, std::unique_ptr<Source>*),
                               std::unique_ptr<Source>* out);

}  // namespace jg
