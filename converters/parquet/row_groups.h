// Parquet footers: where the wanted column chunks are, and which row groups statistics rule out.
#pragma once
#include <parquet/metadata.h>

#include <memory>
#include <string>
#include <vector>

#include "common/bounds.h"
#include "jg/stream.h"
#include "parquet/chunk_reader.h"

namespace jg::columnar {

struct RowGroup {
  int64_t rows = 0;
  int64_t bytes = 0;                            // of the wanted columns
  bool joins = true;                            // may hold a row that has partners in the joins to come
  std::vector<std::vector<ChunkPlace>> chunks;  // of each wanted column's leaves
};

struct ParquetFile {
  std::string path;
  std::shared_ptr<parquet::FileMetaData> metadata;  // owns the descriptors
  std::vector<FoundColumn> columns;                 // the wanted ones, by name
  std::vector<RowGroup> row_groups;                 // those that may hold a match
  int64_t pruned_bytes = 0;                         // of wanted columns in the others
};

// Reads the footer. Row groups out of `bounds` are left out, those out of `partners` are marked. Throws ReadError or a
// library's exception.
ParquetFile read_footer(const std::string& path, const FileSourceOptions& options, const Bounds& bounds,
                        const Bounds& partners, RecyclingPool* pool);

}  // namespace jg::columnar
