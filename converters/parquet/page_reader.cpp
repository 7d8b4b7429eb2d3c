#include "parquet/page_reader.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/read_error.h"
#include "common/snappy.h"

namespace jg::columnar {

namespace {

constexpr int64_t kWindowBytes = 256 << 10;

// The bytes of a chunk through a window. What it hands out is valid until it is asked again.
class ChunkStream final : public arrow::io::InputStream {
 public:
  ChunkStream(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place, RecyclingPool* pool)
      : file_(std::move(file)), next_(place.offset), end_(place.offset + place.bytes) {
    window_ = take(arrow::AllocateResizableBuffer(0, pool));
  }

  arrow::Result<std::string_view> Peek(int64_t bytes) override {
    bytes = fill(bytes);
    return std::string_view(reinterpret_cast<const char*>(window_->data()) + at_, static_cast<size_t>(bytes));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    bytes = fill(bytes);
    auto buffer = std::make_shared<arrow::Buffer>(window_->data() + at_, bytes);
    at_ += bytes;
    return buffer;
  }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override {
    bytes = fill(bytes);
    std::memcpy(out, window_->data() + at_, static_cast<size_t>(bytes));
    at_ += bytes;
    return bytes;
  }
  bool supports_zero_copy() const override { return true; }
  arrow::Result<int64_t> Tell() const override { return next_ - (filled_ - at_); }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  // Return this many bytes from at_ on, or those that are left.
  int64_t fill(int64_t bytes) {
    const int64_t held = filled_ - at_;
    if (bytes <= held) return bytes;
    bytes = std::min(bytes, held + end_ - next_);
    const int64_t wanted = std::min(std::max(bytes, kWindowBytes), held + end_ - next_);
    std::memmove(window_->mutable_data(), window_->data() + at_, static_cast<size_t>(held));
    check(window_->Resize(wanted, /*shrink_to_fit=*/false));
    if (take(file_->ReadAt(next_, wanted - held, window_->mutable_data() + held)) < wanted - held)
      malformed("the file ends inside of it");
    next_ += wanted - held;
    at_ = 0;
    filled_ = wanted;
    return bytes;
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::unique_ptr<arrow::ResizableBuffer> window_;
  int64_t next_, end_;           // of the file
  int64_t at_ = 0, filled_ = 0;  // of the window
};

// Decompresses the pages of a reader that takes them for uncompressed.
class SnappyPages final : public parquet::PageReader {
 public:
  SnappyPages(std::unique_ptr<parquet::PageReader> pages, RecyclingPool* pool)
      : pages_(std::move(pages)), room_(take(arrow::AllocateResizableBuffer(0, pool))) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    std::shared_ptr<parquet::Page> page = pages_->NextPage();
    if (!page) return page;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE: {
        const auto& p = static_cast<const parquet::DictionaryPage&>(*page);
        auto whole = decompressed(p, 0, snappy_size(p.data(), p.size()));
        return std::make_shared<parquet::DictionaryPage>(whole, p.num_values(), p.encoding(), p.is_sorted());
      }
      case parquet::PageType::DATA_PAGE: {
        const auto& p = static_cast<const parquet::DataPageV1&>(*page);
        auto whole = decompressed(p, 0, p.uncompressed_size());
        return std::make_shared<parquet::DataPageV1>(whole, p.num_values(), p.encoding(), p.definition_level_encoding(),
                                                     p.repetition_level_encoding(), p.uncompressed_size());
      }
      case parquet::PageType::DATA_PAGE_V2: {
        const auto& p = static_cast<const parquet::DataPageV2&>(*page);
        if (!p.is_compressed()) return page;
        const int32_t definitions = p.definition_levels_byte_length(), repetitions = p.repetition_levels_byte_length();
        auto whole = decompressed(p, int64_t{definitions} + repetitions, p.uncompressed_size());
        return std::make_shared<parquet::DataPageV2>(whole, p.num_values(), p.num_nulls(), p.num_rows(), p.encoding(),
                                                     definitions, repetitions, p.uncompressed_size());
      }
      default:
        return page;
    }
  }
  void set_max_page_header_size(uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  // The page, whose first `plain` bytes are not compressed.
  std::shared_ptr<arrow::Buffer> decompressed(const parquet::Page& page, int64_t plain, int64_t size) {
    if (plain < 0 || plain > page.size() || plain > size) malformed("levels larger than their page");
    const uint8_t* block = page.data() + plain;
    const int64_t bytes = page.size() - plain;
    if ((bytes ? snappy_size(block, bytes) : 0) != size - plain)
      malformed("a page of another size than its header says");
    check(room_->Resize(size, /*shrink_to_fit=*/false));
    std::memcpy(room_->mutable_data(), page.data(), static_cast<size_t>(plain));
    if (bytes) snappy_decompress(block, bytes, room_->mutable_data() + plain);
    return room_;
  }

  std::unique_ptr<parquet::PageReader> pages_;
  std::shared_ptr<arrow::ResizableBuffer> room_;
};

}  // namespace

std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                const ChunkPlace& place, const parquet::ColumnDescriptor& column,
                                                RecyclingPool* pool, PageFilter skips) {
  parquet::ReaderProperties properties(pool);
  properties.set_page_checksum_verification(true);
  const bool snappy = place.codec == arrow::Compression::SNAPPY;
  auto pages = parquet::PageReader::Open(std::make_shared<ChunkStream>(std::move(file), place, pool), place.entries,
                                         snappy ? arrow::Compression::UNCOMPRESSED : place.codec, properties, column);
  pages->set_data_page_filter(std::move(skips));
  if (snappy) return std::make_unique<SnappyPages>(std::move(pages), pool);
  return pages;
}

}  // namespace jg::columnar
