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

// The bytes of the page that was read last, of which only a part may have been read yet: its values are read a piece at
// a time then, which stays in the cache until they are used.
class PageBytes {
 public:
  virtual ~PageBytes() = default;
  virtual bool is_whole() const = 0;
  // Reads its first `bytes` bytes, to where its data are. Throws "malformed" where the file ends before.
  virtual void read_front(int64_t bytes) = 0;
  // Return `bytes` bytes of it from `offset` on, valid until the next call. Throws as read_front.
  virtual const uint8_t* piece(int64_t offset, int64_t bytes) = 0;
};

// Pages that `skips` says nothing of, decompressed, with checksums verified; one at a time: a page is valid until the
// next. They are read as they are asked for, so that each is still in the cache when it is decoded. With `bytes`, which
// may be set to null, large pages are not read further than that asks for.
std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                const ChunkPlace& place, const parquet::ColumnDescriptor& column,
                                                RecyclingPool* pool, PageFilter skips,
                                                std::shared_ptr<PageBytes>* bytes = nullptr);

}  // namespace jg::columnar
