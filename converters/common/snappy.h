// Snappy's block format (google/snappy, format_description.txt), as parts of columnar files have it.
#pragma once
#include <cstdint>
#include <functional>

namespace jg::columnar {

// Return the size of a block's content. Throws "malformed" if it has no size, or one that it cannot hold.
int64_t snappy_size(const uint8_t* block, int64_t bytes);
// Write the content to out[0 … snappy_size). Throws "malformed"; writes nothing beyond.
void snappy_decompress(const uint8_t* block, int64_t bytes, uint8_t* out);

// A block that is decompressed a piece at a time, as its content is asked for.
class SnappyBlock {
 public:
  // Return `bytes` bytes of the block from `offset` on, valid until the next call.
  using Input = std::function<const uint8_t*(int64_t offset, int64_t bytes)>;

  // No block.
  SnappyBlock() = default;
  // A block of `bytes` bytes, at most `piece_bytes` of which are asked for at once. `out` has room for its content.
  SnappyBlock(Input input, int64_t bytes, int64_t piece_bytes, uint8_t* out);
  int64_t size() const { return last_ - first_; }  // of the content
  bool is_done() const { return out_ == last_; }
  // Have the content's first `bytes` bytes written. Throws "malformed"; writes nothing beyond the content.
  void advance(int64_t bytes);

 private:
  void read_piece();
  bool is_at_end() const { return at_ == end_ && piece_end_ == bytes_; }
  void run(const uint8_t* until);
  void step();
  uint32_t little(int bytes);

  Input input_;
  int64_t bytes_ = 0, piece_bytes_ = 0;
  int64_t piece_end_ = 0;                         // where the piece ends in the block
  const uint8_t *at_ = nullptr, *end_ = nullptr;  // what is left of the piece
  uint64_t literal_ = 0;                          // bytes to come of a literal that has begun
  uint8_t *out_ = nullptr, *first_ = nullptr, *last_ = nullptr;
};

}  // namespace jg::columnar
