#include "common/snappy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

// Slack of the inner loop, which reads and writes past the end of an element: an element of up to 64 bytes and a
// following literal of up to 60, both rounded up.
constexpr int64_t kReadSlack = 96, kWriteSlack = 160;
constexpr uint32_t kFourBytes = 3 << 2;  // the tag of a literal of four bytes
constexpr uint64_t kShortLiteral = 60;   // lengths above are in the bytes that follow the tag
constexpr int64_t kBytesOfByteMax = 32;  // a copy of 64 bytes has 3

enum Kind : uint32_t {
  kLiteral,
  kNear,
  kFar,
  kFarther
};  // the tag's lower bits; of copies, by the bytes of the offset

// The length in a copy's tag, and above 8 bits the offset's part in the tag.
constexpr auto kCopies = [] {
  std::array<uint32_t, 256> copies{};
  for (uint32_t tag = 0; tag < 256; ++tag)
    copies[tag] = (tag & 3) == kNear ? (4 + (tag >> 2 & 7)) | (tag >> 5) << 16 : 1 + (tag >> 2);
  return copies;
}();

inline uint32_t kind(uint32_t tag) { return tag & 3; }

template <int Bytes>
inline void move(uint8_t* to, const uint8_t* from) {
  std::array<uint8_t, Bytes> value;
  std::memcpy(value.data(), from, Bytes);
  std::memcpy(to, value.data(), Bytes);
}

inline uint64_t load(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store(uint8_t* to, uint64_t value) { std::memcpy(to, &value, sizeof value); }

[[noreturn]] void broken() { malformed("a block that Snappy did not write"); }

// Moves `at` past the size that a block begins with.
int64_t read_size(const uint8_t*& at, const uint8_t* end) {
  uint64_t size = 0;
  for (int shift = 0;; shift += 7) {
    if (at == end || shift > 28) broken();
    size |= static_cast<uint64_t>(*at & 0x7F) << shift;
    if (!(*at++ & 0x80)) return static_cast<int64_t>(size);
  }
}

// Return where the copy ends.
inline uint8_t* run_copy(const uint8_t* first, uint8_t* to, uint64_t offset, uint64_t length) {
  if (offset - 1 >= static_cast<uint64_t>(to - first)) broken();
  const uint8_t* from = to - offset;
  if (offset >= 8) {  // eight bytes at a time read none that they write
    move<8>(to, from);
    move<8>(to + 8, from + 8);
    if (length > 16 && offset == 8) {  // without a wait for what was just written
      const uint64_t number = load(from);
      for (uint64_t i = 16; i < length; i += 8) store(to + i, number);
    } else {
      for (uint64_t i = 16; i < length; i += 8) move<8>(to + i, from + i);
    }
  } else {
    for (uint64_t i = 0; i < length; ++i) to[i] = from[i];
  }
  return to + length;
}

}  // namespace

SnappyBlock::SnappyBlock(Input input, int64_t bytes, int64_t piece_bytes, uint8_t* out)
    : input_(std::move(input)), bytes_(bytes), piece_bytes_(piece_bytes), out_(out), first_(out) {
  read_piece();
  last_ = out + read_size(at_, end_);
  if (out_ == last_ && !is_at_end()) broken();
}

void SnappyBlock::advance(int64_t bytes) {
  if (is_done()) return;
  const uint8_t* const until = first_ + std::min(bytes, size());
  while (out_ < until) {
    if (end_ - at_ < kReadSlack && piece_end_ < bytes_) read_piece();
    if (literal_ > 0) {
      const auto take = std::min({literal_, static_cast<uint64_t>(end_ - at_), static_cast<uint64_t>(until - out_)});
      if (take == 0) broken();
      std::memcpy(out_, at_, take);
      at_ += take;
      out_ += take;
      literal_ -= take;
    } else {
      run(until);
      if (out_ < until && end_ - at_ < kReadSlack && piece_end_ < bytes_) continue;
      if (out_ < until) step();
    }
  }
  if (is_done() && (literal_ > 0 || !is_at_end())) broken();
}

// Goes on with the next piece, which begins with what is left of the last one.
void SnappyBlock::read_piece() {
  const int64_t offset = piece_end_ - (end_ - at_), bytes = std::min(piece_bytes_, bytes_ - offset);
  at_ = input_(offset, bytes);
  end_ = at_ + bytes;
  piece_end_ = offset + bytes;
}

// Elements that are far from both ends, up to `until`, but for long literals and copies from far away. Numbers of a
// fixed width are mostly a literal of up to four bytes and a copy of the rest: one load has the tags of both.
void SnappyBlock::run(const uint8_t* until) {
  if (last_ - out_ < kWriteSlack) return;
  until = std::min<const uint8_t*>(until, last_ - kWriteSlack + 1);
  const uint8_t *from = at_, *const end = end_, *const first = first_;
  uint8_t* to = out_;
  while (end - from >= kReadSlack && to < until) {
    uint64_t bytes = load(from);
    uint32_t tag = bytes & 0xFF;
    if ((tag & ~kFourBytes) == 0) {
      const auto literal = static_cast<uint32_t>(bytes >> 8);
      std::memcpy(to, &literal, sizeof literal);
      to += (tag >> 2) + 1;
      from += (tag >> 2) + 2;
      bytes >>= 2 * tag + 16;
      tag = bytes & 0xFF;
    }
    if (kind(tag) == kLiteral) {
      const uint64_t length = (tag >> 2) + 1;
      if (length > kShortLiteral) break;
      move<16>(to, from + 1);
      if (length > 16) {
        move<16>(to + 16, from + 17);
        move<32>(to + 32, from + 33);
      }
      from += 1 + length;
      to += length;
    } else {
      if (kind(tag) == kFarther) break;
      const uint32_t copy = kCopies[tag], near = 0 - (kind(tag) >> 1);
      from += 1 + kind(tag);
      to = run_copy(first, to, (bytes >> 8 & (0xFF | (near & 0xFFFF))) + (copy >> 8), copy & 0xFF);
    }
  }
  at_ = from;
  out_ = to;
}

// Any element; of a literal, its beginning.
void SnappyBlock::step() {
  if (at_ == end_) broken();
  const uint32_t tag = *at_++;
  if (kind(tag) == kLiteral) {
    uint64_t length = (tag >> 2) + 1;
    if (length > kShortLiteral) length = uint64_t{little(static_cast<int>(length - kShortLiteral))} + 1;
    if (static_cast<uint64_t>(last_ - out_) < length) broken();
    literal_ = length;
    return;
  }
  const uint64_t offset =
      uint64_t{little(kind(tag) == kFarther ? 4 : static_cast<int>(kind(tag)))} + (kCopies[tag] >> 8);
  const uint64_t length = kCopies[tag] & 0xFF;
  if (offset - 1 >= static_cast<uint64_t>(out_ - first_) || static_cast<uint64_t>(last_ - out_) < length) broken();
  for (uint64_t i = 0; i < length; ++i, ++out_) *out_ = *(out_ - offset);
}

uint32_t SnappyBlock::little(int bytes) {
  uint32_t value = 0;
  if (end_ - at_ < bytes) broken();
  std::memcpy(&value, at_, static_cast<size_t>(bytes));
  at_ += bytes;
  return value;
}

int64_t snappy_size(const uint8_t* block, int64_t bytes) {
  const int64_t size = read_size(block, block + bytes);
  if (size > bytes * kBytesOfByteMax) broken();
  return size;
}

void snappy_decompress(const uint8_t* block, int64_t bytes, uint8_t* out) {
  SnappyBlock whole([block](int64_t offset, int64_t) { return block + offset; }, bytes, bytes, out);
  whole.advance(whole.size());
}

}  // namespace jg::columnar
