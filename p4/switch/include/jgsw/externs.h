// TNA externs that need code of their own: CRCs over any polynomial of up to 64 bits, random numbers, checksums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "jgsw/program.h"

namespace jgsw {

constexpr uint64_t low_bits(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

constexpr uint64_t reverse_bits(uint64_t value, uint32_t bits) {
  uint64_t out = 0;
  for (uint32_t i = 0; i < bits; ++i) out |= ((value >> i) & 1) << (bits - 1 - i);
  return out;
}

// A CRC as catalogues describe it: `Poly` without its top bit, `Init` and `XorOut` as plain numbers, `Reflect` for both
// input and output. The input is the concatenation of the fields, the first one most significant, filled up with zero
// bits in front to whole bytes. Eight bytes a step (slicing-by-8); all state is kept reflected.
template <uint32_t Width, uint64_t Poly, uint64_t Init, uint64_t XorOut, bool Reflect>
class Crc {
 public:
  static_assert(Width >= 8 && Width <= 64);

  static uint64_t compute(const uint8_t* bytes, size_t count) {
    // The unreflected register is kept at the top of its word, the reflected one at the bottom.
    Register crc = static_cast<Register>(Reflect ? reverse_bits(Init, Width) : Init << (kBits - Width));
    while (count >= 8) {
      crc = step8(crc, bytes);
      bytes += 8;
      count -= 8;
    }
    for (; count > 0; --count, ++bytes) {
      if constexpr (Reflect)
        crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 0xff];
      else
        crc = (crc << 8) ^ kTables[0][(crc >> (kBits - 8)) ^ *bytes];
    }
    return (uint64_t{Reflect ? crc : crc >> (kBits - Width)} ^ XorOut) & low_bits(Width);
  }

 private:
  // As narrow as it can be: the tables share the first cache with registers and packets.
  using Register = std::conditional_t<(Width <= 32), uint32_t, uint64_t>;
  using Tables = std::array<std::array<Register, 256>, 8>;
  static constexpr uint32_t kBits = 8 * sizeof(Register);

  static Register step8(Register crc, const uint8_t* bytes) {
    uint64_t x = Reflect ? crc : uint64_t{crc} << (64 - kBits);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) x ^= uint64_t{bytes[i]} << (Reflect ? 8 * i : 56 - 8 * i);
    Register out = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) out ^= kTables[7 - i][(x >> (Reflect ? 8 * i : 56 - 8 * i)) & 0xff];
    return out;
  }

  static Tables make() {
    Tables tables{};
    for (Register byte = 0; byte < 256; ++byte) {
      Register crc = Reflect ? byte : byte << (kBits - 8);
      for (int bit = 0; bit < 8; ++bit) {
        if constexpr (Reflect)
          crc = (crc >> 1) ^ ((crc & 1) ? static_cast<Register>(reverse_bits(Poly, Width)) : 0);
        else
          crc = (crc << 1) ^ ((crc >> (kBits - 1)) ? static_cast<Register>(Poly << (kBits - Width)) : 0);
      }
      tables[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k)
      for (size_t byte = 0; byte < 256; ++byte) {
        const Register crc = tables[k - 1][byte];
        tables[k][byte] = Reflect ? (crc >> 8) ^ tables[0][crc & 0xff] : (crc << 8) ^ tables[0][crc >> (kBits - 8)];
      }
    return tables;
  }

  inline static const Tables kTables = make();
};

using Crc8 = Crc<8, 0x07, 0x00, 0x00, false>;
using Crc16 = Crc<16, 0x8005, 0x0000, 0x0000, true>;              // CRC-16/ARC
using Crc32 = Crc<32, 0x04c11db7, 0xffffffff, 0xffffffff, true>;  // CRC-32/ISO-HDLC
using Crc64 = Crc<64, 0x42f0e1eba9ea3693, 0, 0, false>;           // CRC-64/ECMA-182

// xorshift64* (Vigna 2016); the state is never zero.
inline uint64_t random_bits(Context& context) {
  uint64_t x = context.random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  context.random_state = x;
  return x * 0x2545f4914f6cdd1du;
}

// A math unit of a stateful ALU: the four bits from the highest set bit of `x` on choose a value, which is shifted by
// `Scale` and the place of that bit (doubled, halved and rounded up, or negated). Shifts by 32 and more leave nothing.
template <bool Invert, int Shift, int Scale>
constexpr uint32_t approximate(uint32_t x, const std::array<uint8_t, 16>& values) {
  int place = x == 0 ? 0 : 31 - __builtin_clz(x);
  if (Shift < 0) place += place & 1;
  const uint32_t value = values[(uint64_t{x} << 3 >> place) & 15];
  const int moved = Shift < 0 ? place / 2 : place << Shift;
  const int by = (Invert ? -moved : moved) + Scale;
  if (by <= -32 || by >= 32) return 0;
  return by < 0 ? value >> -by : value << by;
}

// The Internet checksum's sum (RFC 1071) over bytes, folded to 16 bits and not yet inverted. An odd byte counts as
// high.
inline uint16_t ones_complement_sum(const uint8_t* bytes, size_t count, uint64_t start = 0) {
  uint64_t sum = start;
#pragma GCC unroll 32
  for (size_t i = 0; i + 1 < count; i += 2) sum += (uint32_t{bytes[i]} << 8) | bytes[i + 1];
  if (count & 1) sum += uint32_t{bytes[count - 1]} << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

}  // namespace jgsw
