// Common parts of both layouts' codecs: growable memory, bitmaps, and ways to pick rows.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "jg/ntf.h"

namespace jg::ntf {

// Growable bytes that are not initialised. Starts are aligned to 64 bytes. Throws std::bad_alloc, which the edges turn
// into a Status.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  Bytes& operator=(Bytes&&) = delete;
  ~Bytes() { std::free(data_); }

  // Room for `n` more bytes, which the caller fills.
  uint8_t* grow(size_t n) {
    if (capacity_ - size_ < n || data_ == nullptr) reserve(size_ + n > 2 * capacity_ ? size_ + n : 2 * capacity_);
    uint8_t* at = data_ + size_;
    size_ += n;
    return at;
  }
  // Exactly `n` bytes with unspecified contents.
  uint8_t* ensure(size_t n) {
    size_ = 0;
    return grow(n);
  }
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }

 private:
  void reserve(size_t capacity) {
    capacity = (capacity + 63) & ~size_t{63};
    if (capacity < 64) capacity = 64;
    auto* to = static_cast<uint8_t*>(std::aligned_alloc(64, capacity));
    if (to == nullptr) throw std::bad_alloc();
    if (size_) std::memcpy(to, data_, size_);
    std::free(data_);
    data_ = to;
    capacity_ = capacity;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

struct Dense {
  static constexpr bool kDense = true;
  int32_t from;
  int32_t operator()(int32_t i) const { return from + i; }
};
struct Scattered {
  static constexpr bool kDense = false;
  const int32_t* sel;
  int32_t operator()(int32_t i) const { return sel[i]; }
};

inline size_t text_size(const JgCol& column, const JgStr* text, int32_t row) {
  return column.valid && !column.valid[row] ? 0 : text[row].size;
}

inline size_t text_bytes(const JgCol& column, Rows rows) {
  const auto* text = static_cast<const JgStr*>(column.data);
  size_t total = 0;
  for (int32_t i = 0; i < rows.n; i++) total += text_size(column, text, rows.sel ? rows.sel[i] : rows.from + i);
  return total;
}

// Bytes 0 or 1 → bits, least significant first; spare bits are zero.
inline void pack_bits(const uint8_t* bytes, size_t n, uint8_t* bits) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t v;
    std::memcpy(&v, bytes + i, 8);
    bits[i / 8] = static_cast<uint8_t>((v * 0x0102040810204080ull) >> 56);
  }
  if (i < n) {
    uint8_t last = 0;
    for (size_t k = 0; i + k < n; k++) last |= static_cast<uint8_t>(bytes[i + k] << k);
    bits[i / 8] = last;
  }
}

inline void unpack_bits(const uint8_t* bits, size_t n, uint8_t* bytes) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const uint64_t v = ((bits[i / 8] * 0x8040201008040201ull) >> 7) & 0x0101010101010101ull;
    const uint64_t ordered = __builtin_bswap64(v);
    std::memcpy(bytes + i, &ordered, 8);
  }
  for (; i < n; i++) bytes[i] = bits[i / 8] >> (i % 8) & 1;
}

std::unique_ptr<FrameEncoder> make_columnar_encoder(const Descriptor& descriptor);
std::unique_ptr<FrameDecoder> make_columnar_decoder(const Descriptor& descriptor);
std::unique_ptr<FrameEncoder> make_row_encoder(const Descriptor& descriptor);
std::unique_ptr<FrameDecoder> make_row_decoder(const Descriptor& descriptor);

}  // namespace jg::ntf
