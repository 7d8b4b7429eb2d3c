// Parquet footers: where the wanted column chunks are, and which row groups statistics rule out.
#pragma once
#include <parquet/metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "common/bounds.h"
#include "jg/stream.h"
#include "parquet/chunk_reader.h"
#include "parquet/row_ranges.h"

namespace jg::columnar {

struct RowGroup {
  int64_t rows = 0;
  int64_t bytes = 0;  // of the wanted columns
  // The rows that may match, at least one, and of these those that may have partners in the joins to come; ascending.
  std::vector<RowRange> matching, joining;
  std::vector<std::vector<ChunkPlace>> chunks;  // of each wanted column's leaves

  // About those of so many of its rows.
  int64_t bytes_of(int64_t count) const { return static_cast<int64_t>(jg_i128{bytes} * count / rows); }
};

struct ParquetFile {
  std::string path;
  std::shared_ptr<parquet::FileMetaData> metadata;  // owns the descriptors
  std::vector<FoundColumn> columns;                 // the wanted ones, by name
  std::vector<RowGroup> row_groups;                 // those that may hold a match
  int64_t pruned_bytes = 0;                         // of wanted columns in the others' rows, about
};

// Reads the footer and, of columns that are compared, Bloom filters and page indexes. Row groups out of `bounds` are
// left out; rows may have partners unless they are out of `partners`. Throws ReadError or a library's exception.
ParquetFile read_footer(const std::string& path, const FileSourceOptions& options, const Bounds& bounds,
                        const Bounds& partners, RecyclingPool* pool);

}  // namespace jg::columnar
