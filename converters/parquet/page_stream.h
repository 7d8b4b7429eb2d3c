// The data pages of one column chunk, one current page at a time, with its validity decoded.
#pragma once
#include <memory>

#include "parquet/hybrid.h"
#include "parquet/page_reader.h"

namespace jg::columnar {

// The pages of a column without lists above it.
class PageStream {
 public:
  // `in_pieces`: all values of a page are not needed at once.
  PageStream(const parquet::ColumnDescriptor* column, RecyclingPool* pool, bool in_pieces);

  // Forgets everything; reads nothing.
  void start(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place);
  // Moves on to the page that holds `row`, passing over others without decompressing them, or without reading them
  // where it is known where pages are. A dictionary page on the way is returned first (valid until the next call).
  // Throws "malformed" when the chunk ends before.
  const parquet::DictionaryPage* next(int64_t row);

  // The current page: rows [first_row, end_row) of the chunk, and its encoded values.
  int64_t first_row() const { return first_row_; }
  int64_t end_row() const { return end_row_; }
  const Validity& validity() const { return validity_; }
  parquet::Encoding::type encoding() const { return encoding_; }
  int64_t values_size() const { return values_size_; }
  // All of them. Valid until the next page.
  const uint8_t* values();
  // `bytes` bytes of them from `offset` on, of which no others need have been read. Valid until the next call.
  const uint8_t* values(int64_t offset, int64_t bytes) {
    return bytes_ && !bytes_->is_whole() ? bytes_->piece(values_ - page_data_ + offset, bytes) : values_ + offset;
  }

 private:
  void open(const ChunkPlace& place);
  void jump(int64_t row);
  void read_front(int64_t bytes) const {
    if (bytes_) bytes_->read_front(bytes);
  }
  void set_levels(const uint8_t* data, int64_t size, int64_t rows);
  void load_v1(const parquet::DataPageV1& page);
  void load_v2(const parquet::DataPageV2& page);

  const parquet::ColumnDescriptor* column_;
  RecyclingPool* pool_;
  const bool in_pieces_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  ChunkPlace place_;
  std::unique_ptr<parquet::PageReader> reader_;
  std::shared_ptr<PageBytes> bytes_;  // null: pages are read as a whole
  std::shared_ptr<parquet::Page> page_;
  const uint8_t* page_data_ = nullptr;
  int64_t wanted_row_ = 0;
  int64_t next_row_ = 0;     // first row of the page after the current one
  int64_t jumped_end_ = -1;  // where the rows of the page that was jumped to end by the index

  int64_t first_row_ = 0, end_row_ = 0;
  Validity validity_;
  parquet::Encoding::type encoding_ = parquet::Encoding::PLAIN;
  const uint8_t* values_ = nullptr;
  int64_t values_size_ = 0;
};

}  // namespace jg::columnar
