// Decodes one column of one Parquet file, chunk by chunk (a nested column has a chunk for each of its leaves), straight
// into JgCol values. A chunk is read and its pages are decompressed only when a row of them is asked for.
#pragma once
#include <arrow/io/interfaces.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include <memory>
#include <vector>

#include "common/column_room.h"
#include "common/recycling_pool.h"
#include "jg/stream.h"

namespace jg::columnar {

// The position of a column chunk.
struct ChunkPlace {
  int64_t offset = 0, bytes = 0;
  int64_t entries = 0;  // rows, but where lists are above it
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;
  std::shared_ptr<const parquet::OffsetIndex> pages;  // where its pages are, if rows between those wanted are skipped
};

// A column's position in a file: its leaves, none if the file lacks the column.
struct FoundColumn {
  const parquet::SchemaDescriptor* schema = nullptr;
  const parquet::schema::Node* node = nullptr;
  std::vector<const parquet::ColumnDescriptor*> leaves;
  bool missing() const { return node == nullptr; }
};

class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  // The chunks, one of each leaf, that the next calls of read() are about. Reads nothing.
  virtual void start(std::shared_ptr<arrow::io::RandomAccessFile> file, const std::vector<ChunkPlace>& places) = 0;
  // Fill positions 0 to rows - 1 of `out` with the chunk's rows [row, row + rows): all, or with `sel` (ascending, n of
  // them) at least those positions. `row` never decreases within a chunk. Throws ReadError or
  // parquet::ParquetException.
  virtual void read(int64_t row, int32_t rows, const int32_t* sel, int32_t n, ColumnRoom& room, JgCol* out) = 0;
};

// The reader that turns the file's column into the declared type, NULLs where it is missing; throws ReadError "schema"
// where the two do not agree.
std::unique_ptr<ChunkReader> make_chunk_reader(const ColumnSpec& column, const FoundColumn& found, RecyclingPool* pool);

}  // namespace jg::columnar
