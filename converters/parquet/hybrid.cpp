#include "parquet/hybrid.h"
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VBMI__)
#define JG_WIDE_UNPACK 1
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

struct Run {
  bool packed;
  int64_t count;        // values
  const uint8_t* data;  // of a packed run, or the repeated value's bytes
};

// Reads a run's header and passes over its bytes. A last packed run may be cut short.
inline Run read_run(const uint8_t*& at, const uint8_t* end, int width) {
  uint64_t header = 0;
  if (at < end && *at < 0x80) {  // most are short
    header = *at++;
  } else {
    for (int shift = 0;; shift += 7) {
      if (at == end || shift > 28) malformed("a run of levels or dictionary indices ends too early");
      header |= static_cast<uint64_t>(*at & 0x7F) << shift;
      if (!(*at++ & 0x80)) break;
    }
  }
  Run run{(header & 1) != 0, static_cast<int64_t>(header >> 1), at};
  if (run.packed) {
    int64_t bytes = std::min<int64_t>(run.count * width, end - at);
    run.count = width == 0 ? run.count * 8 : std::min<int64_t>(run.count * 8, bytes * 8 / width);
    at += bytes;
  } else {
    int64_t bytes = (width + 7) / 8;
    if (end - at < bytes) malformed("a run of levels or dictionary indices ends too early");
    at += bytes;
  }
  return run;
}

// The value of up to four bytes. A copy of so many would be stored byte by byte and loaded as a word, which waits for
// the stores.
inline uint32_t load_le(const uint8_t* data, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint32_t{data[i]} << (8 * i);
  return value;
}

#ifdef JG_WIDE_UNPACK
constexpr int kWidestLane = 25;  // whose bits are in four bytes, wherever in the first byte they begin

// Where 16 values of W bits are: four bytes for each, and in how many bits it begins.
template <int W>
struct Lanes {
  alignas(64) uint8_t bytes[64];
  alignas(64) uint32_t shifts[16];
  constexpr Lanes() : bytes(), shifts() {
    for (int i = 0; i < 16; ++i) {
      for (int b = 0; b < 4; ++b) bytes[4 * i + b] = static_cast<uint8_t>(i * W / 8 + b);
      shifts[i] = static_cast<uint32_t>(i * W % 8);
    }
  }
};

// 16 values at a time, where 64 bytes may be read; returns how many groups of 8 these are.
template <int W>
int64_t unpack_wide(const uint8_t* data, uint32_t* out, int64_t groups, int64_t bytes, uint32_t* largest) {
  static constexpr Lanes<W> kLanes;
  const __m512i places = _mm512_load_si512(kLanes.bytes), shifts = _mm512_load_si512(kLanes.shifts);
  const __m512i mask = _mm512_set1_epi32((1 << W) - 1);
  __m512i most = _mm512_setzero_si512();
  const auto values_at = [&](int64_t g) {
    const __m512i words = _mm512_permutexvar_epi8(places, _mm512_loadu_si512(data + g * W));
    return _mm512_and_si512(_mm512_srlv_epi32(words, shifts), mask);
  };
  int64_t g = 0;
  for (; g + 2 <= groups && bytes - g * W >= 64; g += 2, out += 16) {
    const __m512i values = values_at(g);
    most = _mm512_max_epu32(most, values);
    _mm512_storeu_si512(out, values);
  }
  if (g + 1 == groups && bytes - g * W >= 64) {
    const __m512i values = _mm512_maskz_mov_epi32(0xFF, values_at(g++));
    most = _mm512_max_epu32(most, values);
    _mm512_mask_storeu_epi32(out, 0xFF, values);
  }
  *largest = _mm512_reduce_max_epu32(most);
  return g;
}
#endif

// Values of W bits from a byte boundary, 8 at a time; reads up to 8 bytes past the last one's first byte, of `bytes`.
// Returns the largest value.
template <int W>
uint32_t unpack(const uint8_t* data, uint32_t* out, int64_t groups, [[maybe_unused]] int64_t bytes) {
  constexpr uint64_t kMask = (uint64_t{1} << W) - 1;
  uint32_t largest = 0;
#ifdef JG_WIDE_UNPACK
  if constexpr (W > 0 && W <= kWidestLane) {
    const int64_t done = unpack_wide<W>(data, out, groups, bytes, &largest);
    data += done * W;
    out += done * 8;
    groups -= done;
  }
#endif
  const uint32_t* const rest = out;
  for (int64_t g = 0; g < groups; ++g, data += W, out += 8) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      uint64_t word;
      std::memcpy(&word, data + i * W / 8, 8);
      out[i] = static_cast<uint32_t>(word >> (i * W % 8) & kMask);
    }
  }
  return std::max(largest, largest_of(rest, static_cast<int32_t>(out - rest)));
}

using Unpack = uint32_t (*)(const uint8_t*, uint32_t*, int64_t, int64_t);

template <int... W>
constexpr std::array<Unpack, sizeof...(W)> unpackers(std::integer_sequence<int, W...>) {
  return {unpack<W>...};
}
constexpr auto kUnpack = unpackers(std::make_integer_sequence<int, 33>());

}  // namespace

void HybridDecoder::reset(const uint8_t* data, int64_t size, int width) {
  if (width > 32) malformed("dictionary indices of more than 32 bits");
  at_ = data;
  end_ = data + size;
  width_ = width;
  left_ = 0;
}

void HybridDecoder::next_run() {
  while (left_ == 0) {
    Run run = read_run(at_, end_, width_);
    packed_ = run.packed;
    left_ = run.count;
    index_ = 0;
    run_ = run.data;
    if (!packed_) repeated_ = load_le(run.data, (width_ + 7) / 8);
  }
}

inline uint32_t HybridDecoder::packed_at(int64_t index) const {
  const int64_t bit = index * width_;
  const uint8_t* at = run_ + (bit >> 3);
  uint64_t word = 0;
  if (end_ - at >= 8) {
    std::memcpy(&word, at, 8);
  } else {
    std::memcpy(&word, at, static_cast<size_t>(end_ - at));
  }
  return static_cast<uint32_t>(word >> (bit & 7) & ((uint64_t{1} << width_) - 1));
}

uint32_t HybridDecoder::decode(uint32_t* out, int32_t n) {
  uint32_t largest = 0;
  const auto next_at = [&](int64_t index) {
    const uint32_t value = packed_at(index);
    largest = std::max(largest, value);
    return value;
  };
  while (n > 0) {
    next_run();
    int32_t take = static_cast<int32_t>(std::min<int64_t>(n, left_));
    if (!packed_) {
      std::fill_n(out, take, repeated_);
      largest = std::max(largest, repeated_);
    } else {
      int32_t done = 0;
      for (; done < take && (index_ + done) % 8 != 0; ++done) out[done] = next_at(index_ + done);
      const uint8_t* from = run_ + (index_ + done) / 8 * width_;
      int64_t groups = (take - done) / 8;
      if (width_ > 0) groups = std::min(groups, std::max<int64_t>(0, end_ - from - 8) / width_);
      if (groups > 0 && width_ > 0) {
        largest = std::max(largest, kUnpack[width_](from, out + done, groups, end_ - from));
        done += static_cast<int32_t>(groups * 8);
      }
      for (; done < take; ++done) out[done] = next_at(index_ + done);
    }
    index_ += take;
    left_ -= take;
    out += take;
    n -= take;
  }
  return largest;
}

void HybridDecoder::skip(int64_t n) {
  while (n > 0) {
    next_run();
    int64_t take = std::min(n, left_);
    index_ += take;
    left_ -= take;
    n -= take;
  }
}

void HybridDecoder::pick(const int32_t* positions, int32_t n, int32_t total, uint32_t* out) {
  int32_t base = 0, next = 0;
  while (next < n) {
    next_run();
    int32_t take = static_cast<int32_t>(std::min<int64_t>(total - base, left_));
    for (; next < n && positions[next] < base + take; ++next) {
      out[next] = packed_ ? packed_at(index_ + positions[next] - base) : repeated_;
    }
    index_ += take;
    left_ -= take;
    base += take;
  }
  skip(total - base);
}

uint32_t largest_of(const uint32_t* values, int32_t n) {
  using Lanes [[gnu::vector_size(64)]] = uint32_t;
  constexpr int32_t kLanes = sizeof(Lanes) / sizeof(uint32_t);
  Lanes most{};
  int32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Lanes next;
    std::memcpy(&next, values + i, sizeof next);
    most = next > most ? next : most;
  }
  uint32_t largest = 0;
  for (int32_t lane = 0; lane < kLanes; ++lane) largest = std::max<uint32_t>(largest, most[lane]);
  for (; i < n; ++i) largest = std::max(largest, values[i]);
  return largest;
}

void Validity::set_all(int64_t rows) {
  all_ = true;
  values_ = rows;
}

void Validity::start(int64_t rows) {
  words_.assign(static_cast<size_t>(rows / 64 + 2), 0);
  filled_ = 0;
}

void Validity::append_ones(int64_t n) {
  for (; n > 0 && filled_ % 64 != 0; --n, ++filled_) words_[filled_ >> 6] |= uint64_t{1} << (filled_ & 63);
  for (; n >= 64; n -= 64, filled_ += 64) words_[filled_ >> 6] = ~uint64_t{0};
  for (; n > 0; --n, ++filled_) words_[filled_ >> 6] |= uint64_t{1} << (filled_ & 63);
}

void Validity::append_bits(const uint8_t* bits, int64_t n) {
  while (n > 0) {
    int take = static_cast<int>(std::min<int64_t>(n, 64));
    uint64_t word = 0;
    std::memcpy(&word, bits, static_cast<size_t>((take + 7) / 8));
    if (take < 64) word &= (uint64_t{1} << take) - 1;
    int shift = static_cast<int>(filled_ & 63);
    words_[filled_ >> 6] |= word << shift;
    if (shift) words_[(filled_ >> 6) + 1] |= word >> (64 - shift);
    filled_ += take;
    bits += 8;
    n -= take;
  }
}

void Validity::finish(int64_t rows) {
  ranks_.resize(words_.size());
  uint32_t sum = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    ranks_[i] = sum;
    sum += static_cast<uint32_t>(__builtin_popcountll(words_[i]));
  }
  values_ = sum;
  all_ = values_ == rows;
}

void Validity::set_levels(const uint8_t* data, int64_t size, int64_t rows) {
  const uint8_t* end = data + size;
  if (rows > 0) {  // most pages have values alone, in one run
    const uint8_t* after = data;
    const Run run = read_run(after, end, 1);
    if (!run.packed && run.count >= rows && run.data[0] == 1) return set_all(rows);
  }
  start(rows);
  while (filled_ < rows) {
    Run run = read_run(data, end, 1);
    int64_t n = std::min(run.count, rows - filled_);
    if (run.packed) {
      append_bits(run.data, n);
    } else if (run.data[0] == 1) {
      append_ones(n);
    } else if (run.data[0] == 0) {
      filled_ += n;
    } else {
      malformed("a definition level above 1 in a flat column");
    }
  }
  finish(rows);
}

void Validity::set_levels(const int16_t* levels, int64_t rows, int16_t most) {
  start(rows);
  for (int64_t i = 0; i < rows; ++i) words_[i >> 6] |= static_cast<uint64_t>(levels[i] == most) << (i & 63);
  finish(rows);
}

void Validity::expand(int64_t row, int32_t n, uint8_t* out) const {
  for (int32_t i = 0; i < n;) {
    int64_t at = row + i;
    uint64_t word = words_[at >> 6] >> (at & 63);
    int32_t take = std::min<int32_t>(n - i, 64 - static_cast<int32_t>(at & 63));
    int32_t k = 0;
    for (; k + 8 <= take; k += 8) {  // a bit to each byte, the lowest to the first (little endian)
      uint64_t byte = word >> k & 0xFF;
      uint64_t spread = ((byte & 0x7F) * 0x0002040810204081 & 0x0101010101010101) | (byte & 0x80) << 49;
      std::memcpy(out + i + k, &spread, 8);
    }
    for (; k < take; ++k) out[i + k] = static_cast<uint8_t>(word >> k & 1);
    i += take;
  }
}

}  // namespace jg::columnar
