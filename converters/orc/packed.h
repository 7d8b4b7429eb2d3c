// Bit-packed integers and runs of varints, many at a time where the processor can.
#pragma once
#if defined(__AVX512VBMI__) && defined(__AVX512DQ__) && defined(__BMI2__)
#define JG_ORC_WIDE 1
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "orc/stream.h"

namespace jg::columnar {

#ifdef JG_ORC_WIDE
using Lanes = uint64_t __attribute__((vector_size(64)));
#endif

inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

// n integers of `width` bits (1 to 56, or 64), big endian, one after the other; zigzag where they are signed. Reads no
// byte beyond the last.
template <bool kSigned>
void unpack_bits(const uint8_t* data, int width, int n, int64_t* out) {
#ifdef JG_ORC_WIDE
  // Eight integers are `width` bytes: each lane gets the eight bytes in which its integer starts, and shifts.
  const Lanes bits = Lanes{0, 1, 2, 3, 4, 5, 6, 7} * static_cast<uint64_t>(width);
  const Lanes places = (bits >> 3) * 0x0101010101010101 + 0x0001020304050607;
  for (int i = 0; i < n; i += 8, data += width) {
    int count = n - i < 8 ? n - i : 8;
    __m512i raw = _mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, static_cast<unsigned>(count * width + 7) / 8), data);
    Lanes value =
        reinterpret_cast<Lanes>(_mm512_maskz_permutexvar_epi8(~uint64_t{0}, reinterpret_cast<__m512i>(places), raw));
    value = value << (bits & 7) >> static_cast<uint64_t>(64 - width);
    if constexpr (kSigned) value = value >> 1 ^ -(value & 1);
    _mm512_mask_storeu_epi64(out + i, static_cast<__mmask8>((1 << count) - 1), reinterpret_cast<__m512i>(value));
  }
#else
  const uint8_t* end = data + (static_cast<int64_t>(n) * width + 7) / 8;
  for (int64_t i = 0, bit = 0; i < n; ++i, bit += width) {
    const uint8_t* at = data + (bit >> 3);
    uint64_t word = 0;
    std::memcpy(&word, at, static_cast<size_t>(end - at < 8 ? end - at : 8));
    word = __builtin_bswap64(word) << (bit & 7) >> (64 - width);
    out[i] = kSigned ? unzigzag(word) : static_cast<int64_t>(word);
  }
#endif
}

// Up to n zigzag varints from the current block, as far as they take eight bytes or fewer; returns how many. The
// caller reads one by itself where none comes.
template <class Out>
int32_t read_short_varints(OrcStream& stream, int32_t n, Out* out) {
  int32_t i = 0;
#ifdef JG_ORC_WIDE
  constexpr int64_t kLoad = 64;
  while (i < n && stream.contiguous() >= kLoad + 8) {
    const uint8_t* at = stream.position();
    uint64_t stops = ~_cvtmask64_u64(_mm512_movepi8_mask(_mm512_loadu_si512(at)));
    unsigned start = 0;
    while (stops != 0 && i < n) {
      unsigned end = static_cast<unsigned>(__builtin_ctzll(stops)) + 1;
      if (end - start > 8) break;
      uint64_t word;
      std::memcpy(&word, at + start, 8);
      out[i++] = unzigzag(_pext_u64(_bzhi_u64(word, (end - start) * 8), 0x7F7F7F7F7F7F7F7F));
      start = end;
      stops &= stops - 1;
    }
    stream.advance(start);
    if (start == 0) break;
  }
#else
  while (i < n && stream.contiguous() >= 8) {
    uint64_t word, value = 0;
    std::memcpy(&word, stream.position(), 8);
    uint64_t stops = ~word & 0x8080808080808080;
    if (stops == 0) break;
    int bytes = (__builtin_ctzll(stops) >> 3) + 1;
    if (bytes < 8) word &= (uint64_t{1} << (bytes * 8)) - 1;
    for (int b = 0; b < 8; ++b) value |= (word >> (8 * b) & 0x7F) << (7 * b);
    stream.advance(bytes);
    out[i++] = unzigzag(value);
  }
#endif
  return i;
}

// Passes over n varints of any length.
inline void skip_varints(OrcStream& stream, int64_t n) {
  while (n > 0) {
#ifdef JG_ORC_WIDE
    if (stream.contiguous() >= 64) {
      uint64_t stops = ~_cvtmask64_u64(_mm512_movepi8_mask(_mm512_loadu_si512(stream.position())));
      int64_t count = __builtin_popcountll(stops);
      if (count < n) {
        stream.advance(64);
        n -= count;
        continue;
      }
      stream.advance(__builtin_ctzll(_pdep_u64(uint64_t{1} << (n - 1), stops)) + 1);
      return;
    }
#endif
    n -= (stream.byte() & 0x80) == 0;
  }
}

}  // namespace jg::columnar
