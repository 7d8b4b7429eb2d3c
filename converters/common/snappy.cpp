#include "common/snappy.h"

#include <array>
#include <cstring>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

// Slack of the inner loop, which reads and writes past the end of an element: an element of up to 64 bytes and a
// following literal of up to 60, both rounded up.
constexpr int64_t kReadSlack = 96, kWriteSlack = 160;
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

struct Decompression {
  const uint8_t *at, *const end;
  uint8_t *out, *const first, *const last;

  // Elements that are far from both ends, but for long literals and copies from far away. Most copies and literals
  // alternate, and of either most have up to 16 bytes.
  void run() {
    while (end - at >= kReadSlack && last - out >= kWriteSlack) {
      uint32_t tag = *at;
      if (kind(tag) != kLiteral) {
        if (kind(tag) == kFarther) return;
        uint16_t bytes;
        std::memcpy(&bytes, at + 1, sizeof bytes);
        const uint32_t copy = kCopies[tag], near = 0 - (kind(tag) >> 1);
        at += 1 + kind(tag);
        run_copy((bytes & (0xFF | near)) + (copy >> 8), copy & 0xFF);
        tag = *at;
        if (kind(tag) != kLiteral) continue;
      }
      const uint64_t length = (tag >> 2) + 1;
      if (length > kShortLiteral) return;
      move<16>(out, at + 1);
      if (length > 16) {
        move<16>(out + 16, at + 17);
        move<32>(out + 32, at + 33);
      }
      at += 1 + length;
      out += length;
    }
  }

  void run_copy(uint64_t offset, uint64_t length) {
    if (offset - 1 >= static_cast<uint64_t>(out - first)) broken();
    const uint8_t* from = out - offset;
    if (offset >= 8) {  // eight bytes at a time read none that they write
      move<8>(out, from);
      move<8>(out + 8, from + 8);
      for (uint64_t i = 16; i < length; i += 8) move<8>(out + i, from + i);
    } else {
      for (uint64_t i = 0; i < length; ++i) out[i] = from[i];
    }
    out += length;
  }

  // Any element.
  void step() {
    const uint32_t tag = *at++;
    if (kind(tag) == kLiteral) {
      uint64_t length = (tag >> 2) + 1;
      if (length > kShortLiteral) length = uint64_t{little(static_cast<int>(length - kShortLiteral))} + 1;
      if (static_cast<uint64_t>(end - at) < length || static_cast<uint64_t>(last - out) < length) broken();
      std::memcpy(out, at, length);
      at += length;
      out += length;
      return;
    }
    const uint64_t offset =
        uint64_t{little(kind(tag) == kFarther ? 4 : static_cast<int>(kind(tag)))} + (kCopies[tag] >> 8);
    const uint64_t length = kCopies[tag] & 0xFF;
    if (offset - 1 >= static_cast<uint64_t>(out - first) || static_cast<uint64_t>(last - out) < length) broken();
    for (uint64_t i = 0; i < length; ++i, ++out) *out = *(out - offset);
  }

  uint32_t little(int bytes) {
    uint32_t value = 0;
    if (end - at < bytes) broken();
    std::memcpy(&value, at, static_cast<size_t>(bytes));
    at += bytes;
    return value;
  }
};

}  // namespace

int64_t snappy_size(const uint8_t* block, int64_t bytes) {
  const int64_t size = read_size(block, block + bytes);
  if (size > bytes * kBytesOfByteMax) broken();
  return size;
}

void snappy_decompress(const uint8_t* block, int64_t bytes, uint8_t* out) {
  const uint8_t* at = block;
  const int64_t size = read_size(at, block + bytes);
  Decompression d{at, block + bytes, out, out, out + size};
  for (d.run(); d.at != d.end; d.run()) d.step();
  if (d.out != d.last) broken();
}

}  // namespace jg::columnar
