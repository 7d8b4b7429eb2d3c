// The pages of a column chunk.
#pragma once
#include <parquet/column_page.h>
#include <parquet/column_reader.h>

#include <functional>
#include <memory>

#include "parquet/chunk_reader.h"

namespace jg::columnar {

// Says of a data page that nobody wants it.
using PageFilter = std::function<bool(const parquet::DataPageStats&)>;

// Pages that `skips` says nothing of, decompressed, with checksums verified; one at a time: a page is valid until the
// next. They are read as they are asked for, so that each is still in the cache when it is decoded.
std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                const ChunkPlace& place, const parquet::ColumnDescriptor& column,
                                                RecyclingPool* pool, PageFilter skips);

}  // namespace jg::columnar
