// 32 bytes of JSON at once.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace jg::json {

class Block {
 public:
  static constexpr int kBytes = 32;

#if defined(__AVX2__)
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
#else
  Block() = default;
  explicit Block(const char* p) { std::memcpy(words_, p, sizeof words_); }
  Block operator|(const Block& other) const {
    return each(other, [](uint64_t a, uint64_t b) { return a | b; });
  }
  Block operator&(const Block& other) const {
    return each(other, [](uint64_t a, uint64_t b) { return a & b; });
  }
  Block operator^(const Block& other) const {
    return each(other, [](uint64_t a, uint64_t b) { return a ^ b; });
  }
  bool is_zero() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  bool is_ascii() const { return ((words_[0] | words_[1] | words_[2] | words_[3]) & ~kLow) == 0; }

  uint32_t newlines() const {
    return mask([](uint64_t x) { return between(x, '\n', '\n'); });
  }
  uint32_t scalar_ends() const {
    return mask([](uint64_t x) { return ~(between(x, '-', '9') | between(x, 'a', 'z')); });
  }
  uint32_t string_stops() const {
    return mask([](uint64_t x) { return between(x, 0, ' ' - 1) | between(x, '"', '"') | between(x, '\\', '\\'); });
  }

 private:
  static constexpr uint64_t kOnes = 0x0101010101010101, kLow = 0x7f * kOnes;

  // The top bit of each byte that is `low` to `high`, which are ASCII.
  static uint64_t between(uint64_t x, uint8_t low, uint8_t high) {
    const uint64_t ascii = x & kLow;
    return (ascii + kOnes * (0x80 - low)) & ~(ascii + kOnes * (0x7f - high)) & ~x;
  }
  template <class Where>
  uint32_t mask(Where where) const {
    uint32_t found = 0;
    for (int i = 0; i < 4; i++) {
      found |= static_cast<uint32_t>(((where(words_[i]) & ~kLow) >> 7) * 0x0102040810204080 >> 56) << 8 * i;
    }
    return found;
  }
  template <class Operation>
  Block each(const Block& other, Operation operation) const {
    Block result;
    for (int i = 0; i < 4; i++) result.words_[i] = operation(words_[i], other.words_[i]);
    return result;
  }

  uint64_t words_[4] = {};
#endif
};

}  // namespace jg::json
