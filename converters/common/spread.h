// From the values that are there to one slot a row.
#pragma once
#if defined(__AVX512F__) && defined(__BMI2__)
#define JG_WIDE_SPREAD 1
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "jg/batch.h"

namespace jg::columnar {

// Moves the `count` dense values at out[0] on to the positions that are valid, in place, from the back: out[k] is
// always at or below the position that it goes to. With no value left to move, k is -1: the slot in front is read.
template <class Out>
void spread(Out* out, const uint8_t* valid, int32_t rows, int32_t count) {
  int32_t k = count - 1, i = rows - 1;
#ifdef JG_WIDE_SPREAD
  if constexpr (sizeof(Out) == sizeof(int64_t)) {  // eight rows at a time: the values of those that are valid expand
    for (; i >= 7; i -= 8) {
      uint64_t flags;
      std::memcpy(&flags, valid + i - 7, sizeof flags);
      __mmask8 present = static_cast<__mmask8>(_pext_u64(flags, 0x0101010101010101));
      int32_t n = __builtin_popcount(present);
      __m512i values = _mm512_maskz_loadu_epi64(static_cast<__mmask8>((1 << n) - 1), out + k + 1 - n);
      _mm512_storeu_si512(out + i - 7, _mm512_maskz_expand_epi64(present, values));
      k -= n;
    }
  } else if constexpr (sizeof(Out) == sizeof(int32_t)) {  // sixteen
    for (; i >= 15; i -= 16) {
      const __m128i flags = _mm_loadu_si128(reinterpret_cast<const __m128i*>(valid + i - 15));
      const auto present = static_cast<__mmask16>(_mm_movemask_epi8(_mm_slli_epi16(flags, 7)));
      int32_t n = __builtin_popcount(present);
      __m512i values = _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1 << n) - 1), out + k + 1 - n);
      _mm512_storeu_si512(out + i - 15, _mm512_maskz_expand_epi32(present, values));
      k -= n;
    }
  }
#endif
  for (; i >= 0; --i) {
    if constexpr (std::is_same_v<Out, JgStr>) {
      out[i] = valid[i] ? out[k] : JgStr{nullptr, 0};
    } else {
      out[i] = out[k];
    }
    k -= valid[i];
  }
}

}  // namespace jg::columnar
