// 32 bytes of JSON at once. Only for machines with AVX2.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace jg::json {

class Block {
 public:
  static constexpr int kBytes = 32;

  Block() : bytes_(_mm256_setzero_si256()) {}
  explicit Block(const char* p) : bytes_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))) {}
  Block operator|(Block other) const { return Block(_mm256_or_si256(bytes_, other.bytes_)); }
  Block operator&(Block other) const { return Block(_mm256_and_si256(bytes_, other.bytes_)); }
  Block operator^(Block other) const { return Block(_mm256_xor_si256(bytes_, other.bytes_)); }
  bool is_zero() const { return _mm256_testz_si256(bytes_, bytes_) != 0; }
  bool is_ascii() const { return _mm256_movemask_epi8(bytes_) == 0; }

  uint32_t newlines() const { return mask(_mm256_cmpeq_epi8(bytes_, _mm256_set1_epi8('\n'))); }
  // Bytes that no number, true, false or null holds; not all bytes that one may hold are left out.
  uint32_t scalar_ends() const {
    const __m256i number =
        _mm256_subs_epu8(_mm256_sub_epi8(bytes_, _mm256_set1_epi8('-')), _mm256_set1_epi8('9' - '-'));
    const __m256i word = _mm256_subs_epu8(_mm256_sub_epi8(bytes_, _mm256_set1_epi8('a')), _mm256_set1_epi8('z' - 'a'));
    return ~mask(_mm256_cmpeq_epi8(_mm256_min_epu8(number, word), _mm256_setzero_si256()));
  }
  // Bytes at which reading a string stops: a quote, a backslash, a control character.
  uint32_t string_stops() const {
    const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes_, _mm256_set1_epi8(' ' - 1)), bytes_);
    const __m256i quote = _mm256_cmpeq_epi8(bytes_, _mm256_set1_epi8('"'));
    const __m256i backslash = _mm256_cmpeq_epi8(bytes_, _mm256_set1_epi8('\\'));
    return mask(_mm256_or_si256(control, _mm256_or_si256(quote, backslash)));
  }

 private:
  explicit Block(__m256i bytes) : bytes_(bytes) {}
  static uint32_t mask(__m256i bytes) { return static_cast<uint32_t>(_mm256_movemask_epi8(bytes)); }

  __m256i bytes_;
};

}  // namespace jg::json
