// A nested column of a Parquet file: which leaves make it up, and the reader that assembles its rows from them.
#pragma once
#include <parquet/schema.h>

#include <memory>
#include <string>
#include <vector>

#include "parquet/chunk_reader.h"

namespace jg::columnar {

std::vector<std::string> field_names(const parquet::schema::GroupNode& group);

// The leaves, in the order in which the reader is given their chunks. Throws ReadError "schema" where the file's tree
// is not of the declared type.
std::vector<const parquet::ColumnDescriptor*> nested_leaves(const ColumnSpec& column, const parquet::schema::Node& node,
                                                            const parquet::SchemaDescriptor& schema);

std::unique_ptr<ChunkReader> make_nested_reader(const ColumnSpec& column, const parquet::schema::Node& node,
                                                const parquet::SchemaDescriptor& schema, RecyclingPool* pool);

}  // namespace jg::columnar
