#include "orc/stream.h"

#include <algorithm>

#include "common/snappy.h"

namespace jg::columnar {

namespace {
constexpr int64_t kWindowBytes = 256 << 10;
constexpr int64_t kJumpBytes = 32 << 10;  // as much where reading begins in the middle, perhaps for few rows
// The most bytes of a section, and for each byte that it takes in the file: more means a damaged file.
constexpr int64_t kSectionBytes = 16 << 20, kSectionRatio = 128;

int64_t decompress(arrow::util::Codec& codec, const uint8_t* from, int64_t from_bytes, uint8_t* to, int64_t to_bytes) {
  if (codec.compression_type() == arrow::Compression::SNAPPY) {
    const int64_t size = snappy_size(from, from_bytes);
    if (size > to_bytes) malformed("a compressed chunk larger than it may be");
    snappy_decompress(from, from_bytes, to);
    return size;
  }
  if (codec.compression_type() != arrow::Compression::ZSTD)
    return take(codec.Decompress(from_bytes, from, to_bytes, to));
  // At once, Arrow's ZSTD wants to know the exact size beforehand.
  auto stream = take(codec.MakeDecompressor());
  int64_t done = 0;
  while (from_bytes > 0) {
    auto step = take(stream->Decompress(from_bytes, from, to_bytes - done, to + done));
    if (step.bytes_read == 0 && step.bytes_written == 0) malformed("a compressed chunk larger than it may be");
    from += step.bytes_read;
    from_bytes -= step.bytes_read;
    done += step.bytes_written;
  }
  if (!stream->IsFinished()) malformed("a compressed chunk that does not end");
  return done;
}

}  // namespace

void OrcStream::reset(InputFile* file, const OrcCompression* compression, int64_t offset, int64_t bytes) {
  file_ = file;
  compression_ = compression;
  offset_ = offset;
  bytes_ = bytes;
  done_ = window_at_ = window_size_ = 0;
  ahead_ = kWindowBytes;
  begin_ = at_ = end_ = nullptr;
}

void OrcStream::seek(OrcPositions& positions) {
  int64_t chunk = positions.next(), inside = compression_->codec ? positions.next() : 0;
  if (chunk > bytes_) malformed("a row index points outside its stream");
  if (compression_->codec && begin_ != nullptr && chunk == chunk_ && inside <= end_ - begin_) {
    at_ = begin_ + inside;
    return;
  }
  int64_t window_start = done_ - window_size_;
  if (chunk >= window_start && chunk <= done_) {
    window_at_ = chunk - window_start;
  } else {
    done_ = chunk;
    window_at_ = window_size_ = 0;
    ahead_ = kJumpBytes;
  }
  begin_ = at_ = end_ = nullptr;
  skip(inside);
}

const uint8_t* OrcStream::window(int64_t n) {
  if (window_size_ - window_at_ < n) {
    int64_t kept = window_size_ - window_at_;
    if (n - kept > bytes_ - done_) malformed("a stream ends too early");
    int64_t wanted = std::min(std::max(n, ahead_) - kept, bytes_ - done_);
    ahead_ = std::min(2 * ahead_, kWindowBytes);
    if (static_cast<int64_t>(window_.size()) < kept + wanted) window_.resize(static_cast<size_t>(kept + wanted));
    std::memmove(window_.data(), window_.data() + window_at_, static_cast<size_t>(kept));
    if (take(file_->ReadAt(offset_ + done_, wanted, window_.data() + kept)) < wanted)
      malformed("it ends inside a stripe");
    done_ += wanted;
    window_at_ = 0;
    window_size_ = kept + wanted;
  }
  const uint8_t* bytes = window_.data() + window_at_;
  window_at_ += n;
  return bytes;
}

void OrcStream::next_block() {
  do {
    int64_t left = bytes_ - done_ + window_size_ - window_at_;
    if (left == 0) malformed("a stream ends too early");
    chunk_ = bytes_ - left;
    if (!compression_->codec) {
      int64_t n = std::min(left, window_at_ < window_size_ ? window_size_ - window_at_ : ahead_);
      begin_ = at_ = window(n);
      end_ = at_ + n;
      continue;
    }
    const uint8_t* header = window(3);
    uint32_t word = static_cast<uint32_t>(header[0] | header[1] << 8 | header[2] << 16);
    int64_t n = word >> 1;
    const uint8_t* chunk = window(n);
    if (word & 1) {  // stored as it is
      begin_ = at_ = chunk;
      end_ = at_ + n;
      continue;
    }
    block_.resize(static_cast<size_t>(compression_->block_bytes));
    int64_t size = decompress(*compression_->codec, chunk, n, block_.data(), static_cast<int64_t>(block_.size()));
    begin_ = at_ = block_.data();
    end_ = at_ + size;
  } while (at_ == end_);
}

const uint8_t* OrcStream::read(int64_t n, uint8_t* spare) {
  if (end_ - at_ >= n) {
    at_ += n;
    return at_ - n;
  }
  for (int64_t done = 0; done < n;) {
    if (at_ == end_) next_block();
    int64_t piece = std::min<int64_t>(n - done, end_ - at_);
    std::memcpy(spare + done, at_, static_cast<size_t>(piece));
    at_ += piece;
    done += piece;
  }
  return spare;
}

void OrcStream::append(int64_t n, std::vector<char>* out) {
  while (n > 0) {
    if (at_ == end_) next_block();
    int64_t piece = std::min<int64_t>(n, end_ - at_);
    const char* from = reinterpret_cast<const char*>(at_);  // of the vector's type: copied as a block
    out->insert(out->end(), from, from + piece);
    at_ += piece;
    n -= piece;
  }
}

void OrcStream::skip(int64_t n) {
  while (n > 0) {
    if (at_ == end_) next_block();
    int64_t piece = std::min<int64_t>(n, end_ - at_);
    at_ += piece;
    n -= piece;
  }
}

std::string read_section(InputFile& file, const OrcCompression& compression, int64_t offset, int64_t bytes) {
  OrcStream stream;
  stream.reset(&file, &compression, offset, bytes);
  std::string all;
  while (!stream.at_end()) {
    if (static_cast<int64_t>(all.size()) > kSectionBytes + bytes * kSectionRatio)
      malformed("a section of its footers that is compressed beyond reason");
    all.push_back(static_cast<char>(stream.byte()));
    const int64_t rest = stream.contiguous();
    all.append(reinterpret_cast<const char*>(stream.position()), static_cast<size_t>(rest));
    stream.advance(rest);
  }
  return all;
}

}  // namespace jg::columnar
