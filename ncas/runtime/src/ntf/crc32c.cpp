// CRC-32C. On x86-64 three streams of the crc32 instruction hide its latency of three cycles; their results are joined
// by multiplying with x^(8n) modulo the polynomial, from tables (M. Adler's method, as in his crc32c.c).
#include <array>
#include <cstring>

#include "jg/ntf.h"

namespace jg::ntf {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<std::array<uint32_t, 256>, 8> slices() {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ kPolynomial : c >> 1;
    t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; i++) {
    for (int k = 1; k < 8; k++) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  }
  return t;
}
constexpr auto kSlice = slices();

uint64_t load64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

}  // namespace

uint32_t crc32c_portable(uint32_t crc, const void* data, size_t size) {
  auto p = static_cast<const uint8_t*>(data);
  uint32_t c = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    const uint64_t v = load64(p) ^ c;
    c = kSlice[7][v & 255] ^ kSlice[6][v >> 8 & 255] ^ kSlice[5][v >> 16 & 255] ^ kSlice[4][v >> 24 & 255] ^
        kSlice[3][v >> 32 & 255] ^ kSlice[2][v >> 40 & 255] ^ kSlice[1][v >> 48 & 255] ^ kSlice[0][v >> 56];
  }
  for (; size; size--) c = (c >> 8) ^ kSlice[0][(c ^ *p++) & 255];
  return ~c;
}

#if defined(__x86_64__)
namespace {

// Appends `Bytes` zero bytes to a CRC register: a linear map, as four tables of 256.
template <size_t Bytes>
struct Shift {
  uint32_t table[4][256];

  constexpr Shift() : table{} {
    uint32_t column[32]{};  // image of each bit
    for (int i = 0; i < 32; i++) {
      uint32_t c = 1u << i;
      for (size_t k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ kPolynomial : c >> 1;  // one zero byte
      column[i] = c;
    }
    uint32_t power[32]{}, result[32]{};
    for (int i = 0; i < 32; i++) {
      power[i] = column[i];
      result[i] = 1u << i;
    }
    for (size_t n = Bytes; n; n >>= 1) {
      if (n & 1) compose(power, result);
      compose(power, power);
    }
    for (int b = 0; b < 4; b++) {
      for (uint32_t i = 0; i < 256; i++) table[b][i] = apply(result, i << (8 * b));
    }
  }
  constexpr uint32_t operator()(uint32_t c) const {
    return table[0][c & 255] ^ table[1][c >> 8 & 255] ^ table[2][c >> 16 & 255] ^ table[3][c >> 24];
  }

 private:
  static constexpr uint32_t apply(const uint32_t* map, uint32_t v) {
    uint32_t r = 0;
    for (int i = 0; v; v >>= 1, i++) r ^= v & 1 ? map[i] : 0;
    return r;
  }
  // into := map ∘ into
  static constexpr void compose(const uint32_t* map, uint32_t* into) {
    uint32_t r[32]{};
    for (int i = 0; i < 32; i++) r[i] = apply(map, into[i]);
    for (int i = 0; i < 32; i++) into[i] = r[i];
  }
};

template <size_t Bytes>
__attribute__((target("sse4.2"))) uint64_t three_streams(uint64_t c, const uint8_t** at, size_t* size) {
  static const Shift<Bytes> shift;
  const uint8_t* p = *at;
  while (*size >= 3 * Bytes) {
    uint64_t c1 = 0, c2 = 0;
    for (const uint8_t* end = p + Bytes; p < end; p += 8) {
      c = __builtin_ia32_crc32di(c, load64(p));
      c1 = __builtin_ia32_crc32di(c1, load64(p + Bytes));
      c2 = __builtin_ia32_crc32di(c2, load64(p + 2 * Bytes));
    }
    c = shift(shift(static_cast<uint32_t>(c)) ^ static_cast<uint32_t>(c1)) ^ c2;
    p += 2 * Bytes;
    *size -= 3 * Bytes;
  }
  *at = p;
  return c;
}

__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(uint32_t crc, const void* data, size_t size) {
  auto p = static_cast<const uint8_t*>(data);
  uint64_t c = ~crc;
  c = three_streams<4096>(c, &p, &size);
  c = three_streams<256>(c, &p, &size);
  for (; size >= 8; size -= 8, p += 8) c = __builtin_ia32_crc32di(c, load64(p));
  for (; size; size--) c = __builtin_ia32_crc32qi(static_cast<uint32_t>(c), *p++);
  return ~static_cast<uint32_t>(c);
}

}  // namespace

uint32_t crc32c(uint32_t crc, const void* data, size_t size) {
  static const bool hardware = __builtin_cpu_supports("sse4.2");
  return hardware ? crc32c_sse42(crc, data, size) : crc32c_portable(crc, data, size);
}
#else
uint32_t crc32c(uint32_t crc, const void* data, size_t size) { return crc32c_portable(crc, data, size); }
#endif

}  // namespace jg::ntf
