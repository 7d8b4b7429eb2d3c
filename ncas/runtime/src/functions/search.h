// Finds a text in another one.
#pragma once
#if defined(__AVX512BW__) && defined(__BMI__)
#define JG_WIDE_SEARCH 1
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <string_view>

namespace jg {

// Return the first position from `at` on of `part`, which is not empty, in [at, end); null: there is none. 64 positions
// at a time are compared with its first and last byte (Muła, "SIMD-friendly algorithms for substring searching"); bytes
// beyond the end are not read.
inline const char* find(const char* at, const char* end, std::string_view part) {
#ifdef JG_WIDE_SEARCH
  const int64_t last = static_cast<int64_t>(part.size()) - 1;
  const __m512i head = _mm512_set1_epi8(part.front()), tail = _mm512_set1_epi8(part.back());
  for (; end - at > last; at += 64) {
    const auto places = static_cast<unsigned>(std::min<int64_t>(64, end - at - last));
    const __mmask64 within = ~__mmask64{0} >> (64 - places);
    __mmask64 found = _mm512_mask_cmpeq_epi8_mask(within, _mm512_maskz_loadu_epi8(within, at), head);
    found = _mm512_mask_cmpeq_epi8_mask(found, _mm512_maskz_loadu_epi8(within, at + last), tail);
    for (; found; found = _blsr_u64(found)) {
      const char* place = at + _tzcnt_u64(found);
      if (last < 2 || std::memcmp(place + 1, part.data() + 1, static_cast<size_t>(last) - 1) == 0) return place;
    }
  }
  return nullptr;
#else
  const size_t place = std::string_view(at, static_cast<size_t>(end - at)).find(part);
  return place == std::string_view::npos ? nullptr : at + place;
#endif
}

}  // namespace jg
