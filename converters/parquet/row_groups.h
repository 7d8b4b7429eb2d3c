// Parquet footers: where the wanted column chunks are, and which row groups statistics rule out.
#pragma once
#include <parquet/metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "common/columnar_source.h"
#include "common/object_reader.h"
#include "jg/stream.h"
#include "parquet/chunk_reader.h"

namespace jg::columnar {

struct RowGroup : PartRows {
  std::vector<std::vector<ChunkPlace>> chunks;  // of each wanted column's leaves
};

struct ParquetFooter {
  std::shared_ptr<parquet::FileMetaData> metadata;  // owns the descriptors
  std::vector<FoundColumn> columns;                 // the wanted ones, by name
  std::vector<RowGroup> row_groups;                 // those that may hold a match
  int64_t pruned_bytes = 0;                         // of wanted columns in the others' rows, about
};

// Adds where the bytes of a column chunk are that rows of the group within `rows` take.
void append_bytes(const ChunkPlace& place, const RowGroup& group, RowRange rows, std::vector<ByteRange>* out);

// Reads the footer and, of columns that are compared, Bloom filters and page indexes. Throws ReadError or a library's
// exception.
ParquetFooter read_footer(const std::string& path, const Wanted& wanted);

}  // namespace jg::columnar
