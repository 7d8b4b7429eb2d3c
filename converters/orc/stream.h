// The bytes of one ORC stream or section: compressed chunks behind 3-byte headers, read through a bounded window.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/input_file.h"
#include "common/read_error.h"
#include "orc/tail.h"

namespace jg::columnar {

// The numbers that a row index gives for one entry, in the order of the column's streams (ORC specification,
// "Indexes").
class OrcPositions {
 public:
  explicit OrcPositions(const std::vector<int64_t>& numbers) : numbers_(numbers) {}
  int64_t next() {
    if (at_ == numbers_.size()) malformed("a row index with too few positions");
    return numbers_[at_++];
  }

 private:
  const std::vector<int64_t>& numbers_;
  size_t at_ = 0;
};

class OrcStream {
 public:
  void reset(InputFile* file, const OrcCompression* compression, int64_t offset, int64_t bytes);

  // Goes to the next position of a row index: reads and decompresses nothing in front of its chunk.
  void seek(OrcPositions& positions);

  uint8_t byte() {
    if (at_ == end_) next_block();
    return *at_++;
  }
  // The next n bytes in one piece: in place, or copied to `spare` (of at least n bytes) where they span blocks.
  const uint8_t* read(int64_t n, uint8_t* spare);
  // Appends the next n bytes; grows only as bytes arrive.
  void append(int64_t n, std::vector<char>* out);
  void skip(int64_t n);
  // Bytes of the current block that may be read beyond the position, for wide loads.
  int64_t contiguous() const { return end_ - at_; }
  const uint8_t* position() const { return at_; }
  // Passes over n bytes, at most contiguous().
  void advance(int64_t n) { at_ += n; }
  int64_t stored_bytes() const { return bytes_; }  // in the file
  bool at_end() const { return at_ == end_ && done_ == bytes_ && window_at_ == window_size_; }

 private:
  void next_block();
  const uint8_t* window(int64_t n);  // the next n raw bytes

  InputFile* file_ = nullptr;
  const OrcCompression* compression_ = nullptr;
  int64_t offset_ = 0, bytes_ = 0, done_ = 0;  // done_: read into the window so far
  std::vector<uint8_t> window_, block_;
  int64_t window_at_ = 0, window_size_ = 0, ahead_ = 0;  // ahead_: how much is read at once
  int64_t chunk_ = 0;                                    // where the current block's chunk starts in the stream
  const uint8_t* begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

// The whole of a section, decompressed.
std::string read_section(InputFile& file, const OrcCompression& compression, int64_t offset, int64_t bytes);

}  // namespace jg::columnar
