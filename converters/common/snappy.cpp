#include "common/snappy.h"

#include <array>
#include <cstring>

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

struct Decompression {
  const uint8_t* at;
  const uint8_t* const end;
  uint8_t* out;
  uint8_t *const first, *const last;

  // Elements that are far from both ends, but for long literals and copies from far away. Numbers of a fixed width
  // are mostly a literal of up to four bytes and a copy of the rest: one load has the tags of both.
  void run() {
    const uint8_t* from = at;
    uint8_t* to = out;
    while (end - from >= kReadSlack && last - to >= kWriteSlack) {
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
        to = run_copy(to, (bytes >> 8 & (0xFF | (near & 0xFFFF))) + (copy >> 8), copy & 0xFF);
      }
    }
    at = from;
    out = to;
  }

  // Return where the copy ends.
  uint8_t* run_copy(uint8_t* to, uint64_t offset, uint64_t length) const {
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
