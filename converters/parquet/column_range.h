// The value ranges that a Parquet file stores for a column chunk and its pages.
#pragma once
#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "common/bounds.h"

namespace jg::columnar {

// Return how many of the wanted type's units are in one of the file's, as a fraction.
std::pair<jg_i128, jg_i128> units(const parquet::LogicalType& logical, JgType wanted);
// Return whether integers of this type are signed, as those of the wanted types are.
bool has_signed_integers(const parquet::LogicalType& logical);

// Return the range of a chunk by its statistics, or of a page by the index; missing and impossible parts are left out.
ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column, JgType wanted);
ColumnRange range_of(const parquet::ColumnIndex& index, size_t page, const parquet::ColumnDescriptor& column,
                     JgType wanted);

}  // namespace jg::columnar
