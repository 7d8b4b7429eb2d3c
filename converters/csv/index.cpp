#include "csv/index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace jg::csv {
namespace {

// 64 bytes of text, asked where they hold a character.
class Block {
 public:
#if defined(__AVX512BW__)
  explicit Block(const char* p) : bytes_(_mm512_loadu_si512(p)) {}
  uint64_t where(char c) const { return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(c)); }

 private:
  __m512i bytes_;
#elif defined(__AVX2__)
  explicit Block(const char* p)
      : low_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
        high_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))) {}
  uint64_t where(char c) const {
    const __m256i wanted = _mm256_set1_epi8(c);
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low_, wanted)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high_, wanted)));
    return low | static_cast<uint64_t>(high) << 32;
  }

 private:
  __m256i low_, high_;
#else
  explicit Block(const char* p) { std::memcpy(words_, p, sizeof words_); }
  uint64_t where(char c) const {
    static_assert(std::endian::native == std::endian::little);
    constexpr uint64_t kOnes = 0x0101010101010101, kLow = 0x7f7f7f7f7f7f7f7f;
    uint64_t found = 0;
    for (int i = 0; i < 8; i++) {
      const uint64_t x = words_[i] ^ kOnes * static_cast<uint8_t>(c);
      const uint64_t zero = ~(((x & kLow) + kLow) | x | kLow);  // the top bit of each byte that is zero
      found |= ((zero >> 7) * 0x0102040810204080 >> 56) << 8 * i;
    }
    return found;
  }

 private:
  uint64_t words_[8];
#endif
};

// Bit i: the exclusive or of bits 0 to i.
uint64_t prefix_xor(uint64_t x) {
  for (int shift = 1; shift < 64; shift *= 2) x ^= x << shift;
  return x;
}

// Writes base + the position of each bit to `out`, which has room for 64 more; returns how many.
int write_positions(uint64_t bits, int32_t base, int32_t* out) {
  const int count = std::popcount(bits);
#if defined(__AVX512VBMI2__) && defined(__AVX512BW__)
  alignas(64) static constexpr char kPlaces[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                   48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i places = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(kPlaces));
  const __m512i start = _mm512_set1_epi32(base);
  auto write = [&](int at, __m128i some) {
    _mm512_storeu_si512(out + at, _mm512_add_epi32(_mm512_maskz_cvtepu8_epi32(0xffff, some), start));
  };
  write(0, _mm512_maskz_extracti32x4_epi32(0xf, places, 0));
  if (count > 16) [[unlikely]] {
    write(16, _mm512_maskz_extracti32x4_epi32(0xf, places, 1));
    write(32, _mm512_maskz_extracti32x4_epi32(0xf, places, 2));
    write(48, _mm512_maskz_extracti32x4_epi32(0xf, places, 3));
  }
#else
  for (int i = 0; i < count; i++, bits &= bits - 1) out[i] = base + std::countr_zero(bits);
#endif
  return count;
}

}  // namespace

void index(const char* data, int64_t size, const Dialect& dialect, Index* out) {
  if (out->ends.size() < 65) out->ends.resize(4096);
  out->ends[0] = -1;
  out->records.clear();
  out->fault = size;
  int32_t count = 1;
  uint64_t inside = 0;    // all ones: the block starts inside quotes
  uint64_t may_open = 1;  // of the block's first byte: a quote may open a field here
  const char lines = dialect.line_end, fields = dialect.delimiter, quotes = dialect.quote;
  uint64_t closed = 0, returned = 0;  // of the byte before the block: a closing quote; a CR behind one
  for (int64_t at = 0; at < size; at += 64) {
    const Block block(data + at);
    const uint64_t here = size - at < 64 ? (uint64_t{1} << (size - at)) - 1 : ~uint64_t{0};
    const uint64_t newline = block.where(lines) & here, delimiter = block.where(fields) & here;
    const uint64_t quote = block.where(quotes) & here;
    uint64_t end = delimiter | newline, line_end = newline;
    const uint64_t before = inside;
    if ((quote | inside | closed | returned) != 0) {
      const uint64_t quoted = prefix_xor(quote) ^ inside;  // from an opening quote up to before its closing one
      const uint64_t opening = quote & quoted, closing = quote & ~quoted;
      const uint64_t carriage = block.where('\r') & here;
      end &= ~quoted;
      line_end &= ~quoted;
      const uint64_t openable = (end | closing) << 1 | may_open;  // behind a closing quote: an escaped quote
      const uint64_t behind = (closing << 1 | closed) & here, carriage_behind = carriage & behind & ~line_end;
      const uint64_t fault = (opening & ~openable) | (behind & ~(end | opening | carriage)) |
                             ((carriage_behind << 1 | returned) & here & ~line_end);
      if (fault != 0 && out->fault == size) out->fault = at + std::countr_zero(fault);
      may_open = (end | closing) >> 63;
      closed = closing >> 63;
      returned = carriage_behind >> 63;
      inside = 0 - (quoted >> 63);
    } else {
      may_open = end >> 63;
    }
    if (lines == '\r') [[unlikely]] {
      const uint64_t feed = block.where('\n') & here & ~(prefix_xor(quote) ^ before);
      if (feed != 0) out->fault = std::min(out->fault, at + std::countr_zero(feed));
    }
    if (out->ends.size() < static_cast<size_t>(count) + 64) out->ends.resize(out->ends.size() * 2);
    for (uint64_t rest = line_end; rest != 0; rest &= rest - 1) {
      out->records.push_back(count + std::popcount(end & ((rest & -rest) - 1)));
    }
    count += write_positions(end, static_cast<int32_t>(at), out->ends.data() + count);
    if (out->fault < size) break;  // nothing behind it can be trusted
  }
  out->count = count;
}

int64_t count_quotes(const char* data, int64_t size, char quote) {
  int64_t found = 0, at = 0;
  for (; at + 64 <= size; at += 64) found += std::popcount(Block(data + at).where(quote));
  return found + std::count(data + at, data + size, quote);
}

int64_t lenient_end(const char* data, int64_t at, int64_t size, const Dialect& dialect) {
  bool field_start = true, quoted = false;
  for (; at < size; at++) {
    const char c = data[at];
    if (c == dialect.quote && (quoted || field_start)) {
      quoted = !quoted;
      field_start = !quoted && at + 1 < size && data[at + 1] == dialect.quote;  // an escaped quote continues the field
    } else if (!quoted && c == dialect.line_end) {
      return at + 1;
    } else {
      field_start = !quoted && c == dialect.delimiter;
    }
  }
  return -1;
}

}  // namespace jg::csv
