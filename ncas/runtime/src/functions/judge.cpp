// Rows that pass a filter by their dictionary codes, a block at a time.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VBMI__)
#define JG_WIDE_JUDGE 1
#include <immintrin.h>
#endif

#include "jg/filters.h"

namespace jg {
namespace {

constexpr uint8_t kUnknown = 0, kYes = 2;
constexpr uint32_t kFewCodes = 128;    // whose verdicts are in two vectors
constexpr uint32_t kSomeCodes = 1024;  // whose verdicts are as many bits

// Bits of rows: those whose verdict is yes, and those without one.
struct Judged {
  uint64_t yes, unknown;
};

Judged judge_block(const uint32_t* codes, const uint8_t* verdicts) {
#ifdef JG_WIDE_JUDGE
  alignas(64) uint8_t found[JG_BLOCK];
  for (int i = 0; i < JG_BLOCK; i++) found[i] = verdicts[codes[i]];
  const __m512i all = _mm512_load_si512(found);
  return {_mm512_cmpeq_epi8_mask(all, _mm512_set1_epi8(kYes)), _mm512_testn_epi8_mask(all, all)};
#else
  Judged found{0, 0};
  for (int i = 0; i < JG_BLOCK; i++) {
    const uint8_t verdict = verdicts[codes[i]];
    found.yes |= static_cast<uint64_t>(verdict == kYes) << i;
    found.unknown |= static_cast<uint64_t>(verdict == kUnknown) << i;
  }
  return found;
#endif
}

#ifdef JG_WIDE_JUDGE
struct FewVerdicts {
  __m512i low, high;

  explicit FewVerdicts(const uint8_t* verdicts)
      : low(_mm512_loadu_si512(verdicts)), high(_mm512_loadu_si512(verdicts + 64)) {}

  Judged judge(const uint32_t* codes) const {
    const auto narrow = [codes](int i) { return _mm512_cvtepi32_epi8(_mm512_loadu_si512(codes + i)); };
    __m512i bytes = _mm512_castsi128_si512(narrow(0));
    bytes = _mm512_inserti32x4(bytes, narrow(16), 1);
    bytes = _mm512_inserti32x4(bytes, narrow(32), 2);
    bytes = _mm512_inserti32x4(bytes, narrow(48), 3);
    const __m512i found = _mm512_permutex2var_epi8(low, bytes, high);
    return {_mm512_cmpeq_epi8_mask(found, _mm512_set1_epi8(kYes)), _mm512_testn_epi8_mask(found, found)};
  }
};

// Bits of codes, in the order of the codes.
struct CodeSet {
  __m512i low, high;

  template <class Holds>
  CodeSet(uint32_t count, Holds holds) {
    uint64_t bits[kSomeCodes / 64] = {};
    for (uint32_t i = 0; i * 64 < count; ++i) bits[i] = holds(i * 64);
    low = _mm512_loadu_si512(bits);
    high = _mm512_loadu_si512(bits + 8);
  }
  // Of the codes 8 * byte + the number of the bit in `bit`.
  uint64_t has(__m512i byte, __m512i bit) const {
    return _mm512_test_epi8_mask(_mm512_permutex2var_epi8(low, byte, high), bit);
  }
};

// Where the lowest bytes of 32 codes are, of which 16 each are in a vector.
struct Places {
  alignas(64) uint8_t of[64];
  constexpr Places() : of() {
    for (int i = 0; i < 32; ++i) of[i] = static_cast<uint8_t>(4 * i);
  }
};

struct SomeVerdicts {
  CodeSet yes, unknown;

  SomeVerdicts(const uint8_t* verdicts, uint32_t count)
      : yes(count,
            [=](uint32_t from) {
              return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(verdicts + from), _mm512_set1_epi8(kYes));
            }),
        unknown(count, [=](uint32_t from) {
          const __m512i some = _mm512_loadu_si512(verdicts + from);
          return _mm512_testn_epi8_mask(some, some);
        }) {}

  Judged judge(const uint32_t* codes) const {
    const __m512i low = bytes_of(codes, 0), high = bytes_of(codes, 1);
    const __m512i byte = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(low, 3), _mm512_set1_epi8(0x1F)),
                                         _mm512_and_si512(_mm512_slli_epi16(high, 5), _mm512_set1_epi8(0x60)));
    const __m512i powers = _mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201));
    const __m512i bit = _mm512_shuffle_epi8(powers, _mm512_and_si512(low, _mm512_set1_epi8(7)));
    return {yes.has(byte, bit), unknown.has(byte, bit)};
  }

 private:
  // The lowest byte of each of 64 codes, or the next one.
  static __m512i bytes_of(const uint32_t* codes, int which) {
    static constexpr Places kPlaces;
    const __m512i places = _mm512_add_epi8(_mm512_load_si512(kPlaces.of), _mm512_set1_epi8(static_cast<char>(which)));
    const auto half = [codes, places](int i) {
      return _mm512_permutex2var_epi8(_mm512_loadu_si512(codes + i), places, _mm512_loadu_si512(codes + i + 16));
    };
    return _mm512_inserti64x4(half(0), _mm512_castsi512_si256(half(32)), 1);
  }
};
#endif

// The numbers of the rows, from `first` on, if there is an `out`; returns how many. Writes up to 16 numbers more than
// the rows before them may have had.
int append_rows(uint64_t rows, int first, int32_t* out) {
  if (!out) return __builtin_popcountll(rows);
  int n = 0;
#ifdef JG_WIDE_JUDGE
  __m512i numbers = _mm512_add_epi32(_mm512_set1_epi32(first),
                                     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  for (; rows; rows >>= 16) {
    const auto some = static_cast<__mmask16>(rows);
    _mm512_storeu_si512(out + n, _mm512_maskz_compress_epi32(some, numbers));
    n += __builtin_popcount(some);
    numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
  }
#else
  for (; rows; rows &= rows - 1) out[n++] = first + __builtin_ctzll(rows);
#endif
  return n;
}

// As jg_judge, for whole blocks.
template <class Judge>
int judge_blocks(const uint32_t* codes, int from, int n, int32_t* out, int* k, Judge judge) {
  for (; n - from >= JG_BLOCK; from += JG_BLOCK) {
    Judged found = judge(codes + from);
    const int known = found.unknown ? __builtin_ctzll(found.unknown) : JG_BLOCK;
    if (known < JG_BLOCK) found.yes &= (uint64_t{1} << known) - 1;
    *k += append_rows(found.yes, from, out ? out + *k : nullptr);
    if (known < JG_BLOCK) return from + known;
  }
  return from;
}

}  // namespace
}  // namespace jg

int jg_judge(const uint32_t* codes, int from, int n, const uint8_t* verdicts, uint32_t count, int32_t* out, int* k) {
  const int whole = from + (n - from) / JG_BLOCK * JG_BLOCK;
  int at;
#ifdef JG_WIDE_JUDGE
  if (count <= jg::kFewCodes) {
    const jg::FewVerdicts few(verdicts);
    at = jg::judge_blocks(codes, from, n, out, k, [&few](const uint32_t* block) { return few.judge(block); });
  } else if (count <= jg::kSomeCodes) {
    const jg::SomeVerdicts some(verdicts, count);
    at = jg::judge_blocks(codes, from, n, out, k, [&some](const uint32_t* block) { return some.judge(block); });
  } else
#endif
  {
    at = jg::judge_blocks(codes, from, n, out, k,
                          [verdicts](const uint32_t* block) { return jg::judge_block(block, verdicts); });
  }
  if (at < whole) return at;
  for (; at < n; at++) {
    const uint8_t verdict = verdicts[codes[at]];
    if (verdict == jg::kUnknown) return at;
    if (out) out[*k] = at;
    *k += verdict == jg::kYes;
  }
  return n;
}
