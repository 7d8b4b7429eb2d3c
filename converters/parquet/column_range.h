// What a Parquet file tells of the values of a column chunk, and of those of its pages.
#pragma once
#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "common/bounds.h"

namespace jg::columnar {

// How many of the wanted type's units are in one of the file's, as a fraction.
std::pair<jg_i128, jg_i128> units(const parquet::LogicalType& logical, JgType wanted);
// Whether integers of this type are signed, as those of the wanted types are.
bool has_signed_integers(const parquet::LogicalType& logical);

// Of a chunk, by its statistics; of the index's page of that number. Without what they do not say, or cannot be true.
ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column, JgType wanted);
ColumnRange range_of(const parquet::ColumnIndex& index, size_t page, const parquet::ColumnDescriptor& column,
                     JgType wanted);

}  // namespace jg::columnar
