#include "parquet/page_reader.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/input_file.h"
#include "common/read_error.h"
#include "common/snappy.h"

namespace jg::columnar {

namespace {

constexpr int64_t kWindowBytes = 256 << 10;
// Pages from this size on are read in pieces.
constexpr int64_t kPartedBytesMin = 32 << 10, kPieceBytes = 256 << 10;
// Of a page's header, which is read ahead of it, about: those of numbers are smaller. The reader of pages asks for more
// than kPeekBytes where that was not all of it.
constexpr int64_t kHeaderBytes = 512, kPeekBytes = 16 << 10;

// Return whether a page's header, in Thrift's compact protocol, is one without a checksum: three numbers (fields 1 to
// 3) and then a struct, where the checksum (field 4) would be.
bool has_no_checksum(const uint8_t* at, int64_t bytes) {
  constexpr uint8_t kNextNumber = 0x15, kStruct = 0x0C;
  const uint8_t* const end = at + bytes;
  for (int field = 0; field < 3; ++field) {
    if (at == end || *at++ != kNextNumber) return false;
    while (at < end && (*at & 0x80)) ++at;
    if (at++ == end) return false;
  }
  return at < end && (*at & 0x0F) == kStruct;
}

// The bytes of a chunk through a window. What it hands out is valid until it is asked again. The reader of pages peeks
// at a header, reads (that is, passes) it, and reads the page.
class ChunkStream final : public arrow::io::InputStream, public PageBytes {
 public:
  ChunkStream(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place, RecyclingPool* pool,
              bool in_pieces)
      : file_(std::move(file)),
        in_pieces_(in_pieces),
        are_large_(in_pieces),
        piece_(pool),
        next_(place.offset),
        end_(place.offset + place.bytes) {
    window_ = take(arrow::AllocateResizableBuffer(0, pool));
  }

  arrow::Result<std::string_view> Peek(int64_t bytes) override {
    leave_page();
    peeked_ = true;
    bytes = are_large_ ? fill(bytes > kPeekBytes ? bytes : kHeaderBytes, 0) : fill(bytes, kWindowBytes);
    return std::string_view(reinterpret_cast<const char*>(window_->data()) + at_, static_cast<size_t>(bytes));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    leave_page();
    const bool is_header = std::exchange(peeked_, false);
    const bool may_part = !is_header && unchecked_ && bytes >= kPartedBytesMin && bytes <= filled_ - at_ + end_ - next_;
    if (may_part && bytes > filled_ - at_) return part(bytes);
    are_large_ = are_large_ && is_header;
    bytes = fill(bytes, kWindowBytes);
    auto buffer = std::make_shared<arrow::Buffer>(window_->data() + at_, bytes);
    unchecked_ = in_pieces_ && is_header && has_no_checksum(buffer->data(), bytes);
    at_ += bytes;
    return buffer;
  }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override {
    leave_page();
    bytes = fill(bytes, kWindowBytes);
    std::memcpy(out, window_->data() + at_, static_cast<size_t>(bytes));
    at_ += bytes;
    return bytes;
  }
  bool supports_zero_copy() const override { return true; }
  arrow::Result<int64_t> Tell() const override { return page_bytes_ ? page_ + page_bytes_ : next_ - (filled_ - at_); }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

  bool is_whole() const override { return filled_ >= page_bytes_; }
  void read_front(int64_t bytes) override {
    if (bytes <= filled_ || is_whole()) return;
    bytes = std::min(bytes, page_bytes_);
    read_at(page_ + filled_, bytes - filled_, window_->mutable_data() + filled_);
    filled_ = bytes;
  }
  const uint8_t* piece(int64_t offset, int64_t bytes) override {
    if (offset < piece_first_ || offset + bytes > piece_first_ + piece_.size()) {
      piece_.resize(std::min(std::max(bytes, kPieceBytes), page_bytes_ - offset + header_bytes()));
      piece_first_ = offset;
      read_at(page_ + offset, piece_.size(), piece_.data());
    }
    return piece_.data() + (offset - piece_first_);
  }

 private:
  // Return this many bytes from at_ on, or those that are left. Where it reads, it reads at least `least` bytes.
  int64_t fill(int64_t bytes, int64_t least) {
    const int64_t held = filled_ - at_;
    if (bytes <= held) return bytes;
    bytes = std::min(bytes, held + end_ - next_);
    const int64_t wanted = std::min(std::max(bytes, least), held + end_ - next_);
    make_front(wanted);
    read_at(next_, wanted - held, window_->mutable_data() + held);
    next_ += wanted - held;
    filled_ = wanted;
    return bytes;
  }

  // Moves what is held to the window's front, and makes room for `bytes` bytes.
  void make_front(int64_t bytes) {
    const int64_t held = filled_ - at_;
    std::memmove(window_->mutable_data(), window_->data() + at_, static_cast<size_t>(held));
    check(window_->Resize(bytes, /*shrink_to_fit=*/false));
    at_ = 0;
    filled_ = held;
  }

  // The page from at_ on, of which no more is read yet.
  std::shared_ptr<arrow::Buffer> part(int64_t bytes) {
    are_large_ = true;
    make_front(bytes);
    page_ = next_ - filled_;
    page_bytes_ = bytes;
    piece_first_ = 0;
    piece_.resize(0);
    return std::make_shared<arrow::Buffer>(window_->data(), bytes);
  }

  // Passes over what was not read of a page. Keeps what was read behind it.
  void leave_page() {
    if (page_bytes_ == 0) return;
    const int64_t behind = std::max<int64_t>(0, piece_first_ + piece_.size() - page_bytes_);
    next_ = page_ + page_bytes_ + behind;
    at_ = page_bytes_ = 0;
    filled_ = behind;
    if (behind == 0) return;
    check(window_->Resize(behind, /*shrink_to_fit=*/false));
    std::memcpy(window_->mutable_data(), piece_.data() + piece_.size() - behind, static_cast<size_t>(behind));
  }
  // Of the header that follows the page, if there is one.
  int64_t header_bytes() const { return std::min(kHeaderBytes, end_ - page_ - page_bytes_); }

  void read_at(int64_t position, int64_t bytes, void* out) {
    if (take(file_->ReadAt(position, bytes, out)) < bytes) malformed("the file ends inside of it");
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const bool in_pieces_;  // of large pages
  bool are_large_;        // pages, as far as is known
  std::unique_ptr<arrow::ResizableBuffer> window_;
  PoolArray<uint8_t> piece_;
  int64_t piece_first_ = 0;            // in the page
  int64_t next_, end_;                 // of the file
  int64_t at_ = 0, filled_ = 0;        // of the window
  bool peeked_ = false;                // and nothing read since
  bool unchecked_ = false;             // the page that comes has no checksum
  int64_t page_ = 0, page_bytes_ = 0;  // where the page is in the file that the window has the front of; 0: none
};

// Decompresses the pages of a reader that takes them for uncompressed: whole pages, or as much as is asked for.
class SnappyPages final : public parquet::PageReader {
 public:
  // Content is the bytes of the current page after decompression.
  class Content final : public PageBytes {
   public:
    Content(std::shared_ptr<PageBytes> compressed, RecyclingPool* pool)
        : compressed_(std::move(compressed)), room_(take(arrow::AllocateResizableBuffer(0, pool))) {}

    // The page, whose first `plain` bytes are not compressed, and whose content has `size` bytes, or what it says.
    std::shared_ptr<arrow::Buffer> start(const parquet::Page& page, int64_t plain, int64_t size) {
      if (plain < 0 || plain > page.size() || plain > size) malformed("levels larger than their page");
      const int64_t bytes = page.size() - plain;
      const uint8_t* const block = page.data() + plain;
      read_compressed(std::min<int64_t>(page.size(), plain + kSizeBytesMax));
      if ((bytes ? snappy_size(block, bytes) : 0) != size - plain)
        malformed("a page of another size than its header says");
      check(room_->Resize(size, /*shrink_to_fit=*/false));
      std::memcpy(room_->mutable_data(), page.data(), static_cast<size_t>(plain));
      plain_ = plain;
      auto input = [this, block](int64_t offset, int64_t length) {
        return compressed_ && !compressed_->is_whole() ? compressed_->piece(plain_ + offset, length) : block + offset;
      };
      block_ = bytes ? SnappyBlock(input, bytes, kPieceBytes, room_->mutable_data() + plain) : SnappyBlock();
      return room_;
    }
    // A page that is not compressed.
    void skip(const parquet::Page& page) {
      read_compressed(page.size());
      block_ = SnappyBlock();
    }
    void read_compressed(int64_t bytes) {
      if (compressed_) compressed_->read_front(bytes);
    }
    bool is_whole() const override { return block_.is_done(); }
    void read_front(int64_t bytes) override { block_.advance(bytes - plain_); }
    const uint8_t* piece(int64_t offset, int64_t bytes) override {
      read_front(offset + bytes);
      return room_->data() + offset;
    }

   private:
    static constexpr int64_t kSizeBytesMax = 5;

    std::shared_ptr<PageBytes> compressed_;  // null: pages are read as a whole
    std::shared_ptr<arrow::ResizableBuffer> room_;
    SnappyBlock block_;
    int64_t plain_ = 0;
  };

  // `in_pieces`: pages are decompressed as far as their content is asked for.
  SnappyPages(std::unique_ptr<parquet::PageReader> pages, std::shared_ptr<Content> content, bool in_pieces)
      : pages_(std::move(pages)), content_(std::move(content)), in_pieces_(in_pieces) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    std::shared_ptr<parquet::Page> page = pages_->NextPage();
    if (!page) return page;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE: {
        const auto& p = static_cast<const parquet::DictionaryPage&>(*page);
        content_->read_compressed(p.size());
        auto whole = decompressed(p, 0, snappy_size(p.data(), p.size()), true);
        return std::make_shared<parquet::DictionaryPage>(whole, p.num_values(), p.encoding(), p.is_sorted());
      }
      case parquet::PageType::DATA_PAGE: {
        const auto& p = static_cast<const parquet::DataPageV1&>(*page);
        auto content = decompressed(p, 0, p.uncompressed_size(), !in_pieces_);
        return std::make_shared<parquet::DataPageV1>(content, p.num_values(), p.encoding(),
                                                     p.definition_level_encoding(), p.repetition_level_encoding(),
                                                     p.uncompressed_size());
      }
      case parquet::PageType::DATA_PAGE_V2: {
        const auto& p = static_cast<const parquet::DataPageV2&>(*page);
        if (!p.is_compressed()) {
          content_->skip(p);
          return page;
        }
        const int32_t definitions = p.definition_levels_byte_length(), repetitions = p.repetition_levels_byte_length();
        auto content = decompressed(p, int64_t{definitions} + repetitions, p.uncompressed_size(), !in_pieces_);
        return std::make_shared<parquet::DataPageV2>(content, p.num_values(), p.num_nulls(), p.num_rows(), p.encoding(),
                                                     definitions, repetitions, p.uncompressed_size());
      }
      default:
        return page;
    }
  }
  void set_max_page_header_size(uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  std::shared_ptr<arrow::Buffer> decompressed(const parquet::Page& page, int64_t plain, int64_t size, bool whole) {
    auto buffer = content_->start(page, plain, size);
    if (whole) content_->read_front(size);
    return buffer;
  }

  std::unique_ptr<parquet::PageReader> pages_;
  std::shared_ptr<Content> content_;
  const bool in_pieces_;
};

}  // namespace

std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                const ChunkPlace& place, const parquet::ColumnDescriptor& column,
                                                RecyclingPool* pool, PageFilter skips,
                                                std::shared_ptr<PageBytes>* bytes) {
  parquet::ReaderProperties properties(pool);
  properties.set_page_checksum_verification(true);
  const bool snappy = place.codec == arrow::Compression::SNAPPY;
  const auto* const input = dynamic_cast<const InputFile*>(file.get());
  const bool in_pieces =
      bytes && (snappy || place.codec == arrow::Compression::UNCOMPRESSED) && input != nullptr && !input->is_remote();
  auto stream = std::make_shared<ChunkStream>(std::move(file), place, pool, in_pieces);
  std::shared_ptr<PageBytes> parts = in_pieces ? stream : nullptr;
  auto pages = parquet::PageReader::Open(std::move(stream), place.entries,
                                         snappy ? arrow::Compression::UNCOMPRESSED : place.codec, properties, column);
  pages->set_data_page_filter(std::move(skips));
  if (snappy) {
    auto content = std::make_shared<SnappyPages::Content>(std::move(parts), pool);
    parts = content;
    pages = std::make_unique<SnappyPages>(std::move(pages), std::move(content), bytes != nullptr);
  }
  if (bytes) *bytes = std::move(parts);
  return pages;
}

}  // namespace jg::columnar
