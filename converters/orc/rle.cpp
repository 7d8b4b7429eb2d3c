#include "orc/rle.h"

#include <algorithm>
#include <cstring>

#include "orc/packed.h"

namespace jg::columnar {

namespace {

// Adds as two's complement does: a damaged file may overflow.
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The values of a delta run from its first one, the first step and, from out[2] on, how far each is from its
// predecessor.
void add_deltas(uint64_t value, uint64_t step, int size, int64_t* out) {
  const uint64_t sign = static_cast<int64_t>(step) < 0 ? ~uint64_t{0} : 0;
  out[0] = static_cast<int64_t>(value);
  value += step;
  out[1] = static_cast<int64_t>(value);
  for (int i = 2; i < size; ++i) {
    value += (static_cast<uint64_t>(out[i]) ^ sign) - sign;
    out[i] = static_cast<int64_t>(value);
  }
}

// A varint of at most eight bytes, where eight may be read; returns its end, or null.
const uint8_t* short_varint(const uint8_t* at, uint64_t* value) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  const uint64_t stops = ~word & 0x8080808080808080;
  if (stops == 0) return nullptr;
  const int bytes = (__builtin_ctzll(stops) >> 3) + 1;
  uint64_t found = word & 0x7F;
  for (int b = 1; b < bytes; ++b) found |= (word >> (8 * b) & 0x7F) << (7 * b);
  *value = found;
  return at + bytes;
}

// Bits of a width code; delta runs use code 0 for none.
int width_of(int code) {
  static constexpr int kWide[] = {26, 28, 30, 32, 40, 48, 56, 64};
  return code < 24 ? code + 1 : kWide[code - 24];
}

// The width at which a patch of that many bits is stored.
int fixed_width(int bits) {
  for (int code = 0; code < 32; ++code) {
    if (width_of(code) >= bits) return width_of(code);
  }
  malformed("a patch of more than 64 bits");
}

}  // namespace

void ByteRle::seek(OrcPositions& positions) {
  stream_->seek(positions);
  left_ = 0;
  skip(positions.next());
}

void ByteRle::next_run() {
  while (left_ == 0) {
    uint8_t control = stream_->byte();
    repeated_ = control < 0x80;
    left_ = repeated_ ? control + 3 : 0x100 - control;
    if (repeated_) value_ = stream_->byte();
  }
}

void ByteRle::decode(uint8_t* out, int64_t n) {
  while (n > 0) {
    next_run();
    int64_t take = std::min(n, left_);
    if (repeated_) {
      std::memset(out, value_, static_cast<size_t>(take));
    } else {
      const uint8_t* bytes = stream_->read(take, out);
      if (bytes != out) std::memcpy(out, bytes, static_cast<size_t>(take));
    }
    out += take;
    n -= take;
    left_ -= take;
  }
}

void ByteRle::skip(int64_t n) {
  while (n > 0) {
    next_run();
    int64_t take = std::min(n, left_);
    if (!repeated_) stream_->skip(take);
    n -= take;
    left_ -= take;
  }
}

void BitRle::seek(OrcPositions& positions) {
  bytes_.seek(positions);
  bits_left_ = 0;
  int64_t bits = positions.next();
  if (bits > 8) malformed("a row index with a bit beyond its byte");
  skip(bits);
}

int64_t BitRle::decode(uint8_t* out, int64_t n) {
  int64_t ones = 0;
  auto rest = [&] {
    for (; n > 0 && bits_left_ > 0; --n, ++out) {
      *out = byte_ >> --bits_left_ & 1;
      ones += *out;
    }
  };
  rest();
  uint8_t bytes[256];
  while (n >= 8) {
    int64_t count = std::min<int64_t>(n / 8, sizeof bytes);
    bytes_.decode(bytes, count);
    for (int64_t i = 0; i < count; ++i, out += 8) {
      // One bit to each byte, the most significant to the first (little endian).
      uint64_t spread = (bytes[i] * uint64_t{0x8040201008040201} >> 7) & 0x0101010101010101;
      std::memcpy(out, &spread, 8);
      ones += __builtin_popcount(bytes[i]);
    }
    n -= count * 8;
  }
  if (n > 0) {
    bytes_.decode(&byte_, 1);
    bits_left_ = 8;
    rest();
  }
  return ones;
}

int64_t BitRle::skip(int64_t n) {
  uint8_t bits[8], bytes[256];
  int64_t first = std::min<int64_t>(n, bits_left_), ones = decode(bits, first);
  for (n -= first; n >= 8;) {
    int64_t count = std::min<int64_t>(n / 8, sizeof bytes);
    bytes_.decode(bytes, count);
    for (int64_t i = 0; i < count; ++i) ones += __builtin_popcount(bytes[i]);
    n -= count * 8;
  }
  return ones + decode(bits, n);
}

uint64_t IntRle::varint() {
  uint64_t value = 0;
  if (stream_->contiguous() >= kVarintMax) {
    const uint8_t* at = stream_->position();
    for (int i = 0; i < kVarintMax; ++i) {
      value |= static_cast<uint64_t>(at[i] & 0x7F) << (7 * i);
      if (at[i] & 0x80) continue;
      stream_->advance(i + 1);
      return value;
    }
    malformed("an integer of more than 64 bits");
  }
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = stream_->byte();
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return value;
  }
  malformed("an integer of more than 64 bits");
}

int64_t IntRle::signed_varint() { return unzigzag(varint()); }

uint64_t IntRle::big_endian(int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | stream_->byte();
  return value;
}

const uint8_t* IntRle::packed(int width, int n) {
  return stream_->read((static_cast<int64_t>(n) * width + 7) / 8, spare_.data());
}

int64_t IntRle::whole_runs(int64_t* out, int64_t n) {
  int64_t done = 0;
  while (n - done >= kShortRepeatMax && stream_->contiguous() >= kHeadBytes) {
    const uint8_t* const at = stream_->position();
    if (*at >> 6 == 0) {  // a short repeat
      const int bytes = (*at >> 3 & 7) + 1;
      uint64_t value;
      std::memcpy(&value, at + 1, sizeof value);
      value = __builtin_bswap64(value) >> (64 - 8 * bytes);
      const int64_t repeated = signed_ ? unzigzag(value) : static_cast<int64_t>(value);
      for (int i = 0; i < kShortRepeatMax; ++i) out[done + i] = repeated;  // those beyond the run are overwritten
      done += (*at & 7) + 3;
      stream_->advance(1 + bytes);
      continue;
    }
    const int size = ((at[0] & 1) << 8 | at[1]) + 1;
    if (size > n - done || *at >> 6 == 2) break;
    const uint8_t* const end = *at >> 6 == 1 ? whole_direct(at, size, out + done) : whole_delta(at, size, out + done);
    if (!end) break;
    done += size;
    stream_->advance(end - at);
  }
  return done;
}

const uint8_t* IntRle::whole_direct(const uint8_t* at, int size, int64_t* out) const {
  const int width = width_of(*at >> 1 & 31);
  const uint8_t* const end = at + 2 + (size * width + 7) / 8;
  if (end - at > stream_->contiguous()) return nullptr;
  (signed_ ? unpack_bits<true> : unpack_bits<false>)(at + 2, width, size, out);
  return end;
}

const uint8_t* IntRle::whole_delta(const uint8_t* at, int size, int64_t* out) const {
  const int code = *at >> 1 & 31;
  const uint8_t* end = at + 2;
  uint64_t first, second;
  if (!(end = short_varint(end, &first)) || !(end = short_varint(end, &second))) return nullptr;
  uint64_t value = signed_ ? static_cast<uint64_t>(unzigzag(first)) : first;
  const uint64_t step = static_cast<uint64_t>(unzigzag(second));
  if (code == 0) {
    for (int i = 0; i < size; ++i, value += step) out[i] = static_cast<int64_t>(value);
    return end;
  }
  const int width = width_of(code);
  const uint8_t* const packed = end;
  end += (static_cast<int64_t>(size - 2) * width + 7) / 8;
  if (size < 2 || end - at > stream_->contiguous()) return nullptr;
  unpack_bits<false>(packed, width, size - 2, out + 2);
  add_deltas(value, step, size, out);
  return end;
}

void IntRle::short_repeat(uint8_t first) {
  int bytes = (first >> 3 & 7) + 1;
  uint64_t value = big_endian(bytes);
  size_ = (first & 7) + 3;
  repeated_ = true;
  value_ = signed_ ? unzigzag(value) : static_cast<int64_t>(value);
}

void IntRle::direct(uint8_t first, int64_t* to, int64_t skipped) {
  int width = width_of(first >> 1 & 31);
  size_ = ((first & 1) << 8 | stream_->byte()) + 1;
  if (size_ <= skipped) return stream_->skip((static_cast<int64_t>(size_) * width + 7) / 8);
  (signed_ ? unpack_bits<true> : unpack_bits<false>)(packed(width, size_), width, size_, to);
}

void IntRle::patched_base(uint8_t first, int64_t* to) {
  int width = width_of(first >> 1 & 31);
  size_ = ((first & 1) << 8 | stream_->byte()) + 1;
  uint8_t third = stream_->byte(), fourth = stream_->byte();
  int base_bytes = (third >> 5 & 7) + 1, patch_width = width_of(third & 31);
  int gap_width = (fourth >> 5 & 7) + 1, patches = fourth & 31;
  if (patch_width + gap_width > 64) malformed("a patch of more than 64 bits");
  uint64_t magnitude = big_endian(base_bytes), sign = uint64_t{1} << (base_bytes * 8 - 1);
  int64_t base = static_cast<int64_t>(magnitude & (sign - 1));
  if (magnitude & sign) base = -base;
  unpack_bits<false>(packed(width, size_), width, size_, to);
  int64_t patch[31];
  int entry_width = fixed_width(patch_width + gap_width);
  unpack_bits<false>(packed(entry_width, patches), entry_width, patches, patch);
  for (int64_t i = 0, at = 0; i < patches; ++i) {
    uint64_t entry = static_cast<uint64_t>(patch[i]);
    at += static_cast<int64_t>(entry >> patch_width & ((uint64_t{1} << gap_width) - 1));
    uint64_t bits = entry & ((uint64_t{1} << patch_width) - 1);
    if (at >= size_) malformed("a patch beyond its run");
    if (bits == 0) continue;  // only a longer gap
    if (width >= 64) malformed("a patch of more than 64 bits");
    to[at] = static_cast<int64_t>(static_cast<uint64_t>(to[at]) | bits << width);
  }
  for (int i = 0; i < size_; ++i) to[i] = wrapping_add(base, to[i]);
}

void IntRle::delta(uint8_t first, int64_t* to, int64_t skipped) {
  int code = first >> 1 & 31;
  size_ = ((first & 1) << 8 | stream_->byte()) + 1;
  value_ = signed_ ? signed_varint() : static_cast<int64_t>(varint());
  int64_t step = signed_varint();
  if (code == 0) {
    repeated_ = step == 0;
    if (repeated_ || size_ <= skipped) return;
    int64_t value = value_;
    for (int i = 0; i < size_; ++i, value = wrapping_add(value, step)) to[i] = value;
    return;
  }
  if (size_ < 2) malformed("a delta run of one value");
  int width = width_of(code);
  if (size_ <= skipped) return stream_->skip((static_cast<int64_t>(size_ - 2) * width + 7) / 8);
  unpack_bits<false>(packed(width, size_ - 2), width, size_ - 2, to + 2);
  add_deltas(static_cast<uint64_t>(value_), static_cast<uint64_t>(step), size_, to);
}

void IntRle::next_run_v1(int64_t* to) {
  uint8_t control = stream_->byte();
  if (control < 0x80) {
    size_ = control + 3;
    int64_t step = static_cast<int8_t>(stream_->byte());
    value_ = signed_ ? signed_varint() : static_cast<int64_t>(varint());
    repeated_ = step == 0;
    if (repeated_) return;
    int64_t value = value_;
    for (int i = 0; i < size_; ++i, value = wrapping_add(value, step)) to[i] = value;
  } else {
    size_ = 0x100 - control;
    for (int i = 0; i < size_; ++i) to[i] = signed_ ? signed_varint() : static_cast<int64_t>(varint());
  }
}

void IntRle::next_run(int64_t* to, int64_t skipped) {
  at_ = 0;
  repeated_ = false;
  if (!version2_) return next_run_v1(to);
  uint8_t first = stream_->byte();
  switch (first >> 6) {
    case 0:
      return short_repeat(first);
    case 1:
      return direct(first, to, skipped);
    case 2:
      return patched_base(first, to);
    default:
      return delta(first, to, skipped);
  }
}

void IntRle::seek(OrcPositions& positions) {
  stream_->seek(positions);
  at_ = size_ = 0;
  skip(positions.next());
}

void IntRle::decode(int64_t* out, int64_t n) {
  while (n > 0) {
    if (at_ == size_ && version2_) {
      const int64_t whole = whole_runs(out, n);
      out += whole;
      n -= whole;
      if (n == 0) break;
    }
    int64_t take;
    if (at_ == size_ && n >= kRunMax) {
      next_run(out, 0);
      take = size_;
      if (repeated_) std::fill_n(out, take, value_);
    } else {
      if (at_ == size_) next_run(run_.data(), 0);
      take = std::min<int64_t>(n, size_ - at_);
      if (repeated_) {
        std::fill_n(out, take, value_);
      } else {
        std::memcpy(out, run_.data() + at_, static_cast<size_t>(take) * sizeof(int64_t));
      }
    }
    at_ += static_cast<int>(take);
    out += take;
    n -= take;
  }
}

void IntRle::skip(int64_t n) {
  while (n > 0) {
    if (at_ == size_) next_run(run_.data(), n);
    int64_t take = std::min<int64_t>(n, size_ - at_);
    at_ += static_cast<int>(take);
    n -= take;
  }
}

int64_t IntRle::skip_equal(int64_t value, int64_t n) {
  int64_t done = 0;
  while (done < n) {
    if (at_ == size_) next_run(run_.data(), 0);
    if (!repeated_ || value_ != value) break;
    int64_t take = std::min<int64_t>(n - done, size_ - at_);
    at_ += static_cast<int>(take);
    done += take;
  }
  return done;
}

__int128 read_decimal(OrcStream& stream) {
  unsigned __int128 value = 0;
  for (int shift = 0; shift < 128; shift += 7) {
    uint8_t byte = stream.byte();
    value |= static_cast<unsigned __int128>(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return static_cast<__int128>(value >> 1) ^ -static_cast<__int128>(value & 1);
  }
  malformed("a decimal of more than 128 bits");
}

}  // namespace jg::columnar
