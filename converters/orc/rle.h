// ORC's run-length encodings (ORC specification, "Run Length Encoding"): bytes, bits, and integers in versions 1 and 2.
#pragma once
#include <array>
#include <cstdint>

#include "orc/stream.h"

namespace jg::columnar {

class ByteRle {
 public:
  void reset(OrcStream* stream) {
    stream_ = stream;
    left_ = 0;
  }
  void seek(OrcPositions& positions);
  void decode(uint8_t* out, int64_t n);
  void skip(int64_t n);

 private:
  void next_run();

  OrcStream* stream_ = nullptr;
  bool repeated_ = false;
  uint8_t value_ = 0;
  int64_t left_ = 0;
};

class BitRle {
 public:
  void reset(OrcStream* stream) {
    bytes_.reset(stream);
    bits_left_ = 0;
  }
  void seek(OrcPositions& positions);
  // One byte, 0 or 1, for each of the next n bits; returns how many are 1.
  int64_t decode(uint8_t* out, int64_t n);
  // Passes over n bits; returns how many are 1.
  int64_t skip(int64_t n);

 private:
  ByteRle bytes_;
  uint8_t byte_ = 0;
  int bits_left_ = 0;
};

class IntRle {
 public:
  void reset(OrcStream* stream, bool is_signed, bool version2) {
    stream_ = stream;
    signed_ = is_signed;
    version2_ = version2;
    at_ = size_ = 0;
  }
  void seek(OrcPositions& positions);
  void decode(int64_t* out, int64_t n);
  void skip(int64_t n);
  // Passes over the next values, n at most, while they are runs of `value`; returns how many.
  int64_t skip_equal(int64_t value, int64_t n);

 private:
  static constexpr int kRunMax = 512;
  static constexpr int kVarintMax = 10;                  // bytes
  static constexpr int kShortRepeatMax = 10;             // values
  static constexpr int kHeadBytes = 2 + 2 * kVarintMax;  // of the longest run's, without packed values

  // Reads a run to `to`, which has room for kRunMax values; one of at most `skipped` values is passed over unread.
  void next_run(int64_t* to, int64_t skipped);
  void next_run_v1(int64_t* to);
  void short_repeat(uint8_t first);
  // The values of the whole runs that come next within a block, n at most; returns how many. Most runs are short:
  // finding the way to each, and copying its values, would take most of the time.
  int64_t whole_runs(int64_t* out, int64_t n);
  // Of a run that begins at `at`: its values, and its end; null where it is not within the block, or of a rare kind.
  const uint8_t* whole_direct(const uint8_t* at, int size, int64_t* out) const;
  const uint8_t* whole_delta(const uint8_t* at, int size, int64_t* out) const;
  void direct(uint8_t first, int64_t* to, int64_t skipped);
  void patched_base(uint8_t first, int64_t* to);
  void delta(uint8_t first, int64_t* to, int64_t skipped);
  const uint8_t* packed(int width, int n);
  uint64_t varint();
  int64_t signed_varint();
  uint64_t big_endian(int bytes);

  OrcStream* stream_ = nullptr;
  bool signed_ = false, version2_ = false;
  int at_ = 0, size_ = 0;  // values of the run: passed on, in all
  bool repeated_ = false;  // the run is value_, size_ times; nothing was written
  int64_t value_ = 0;
  std::array<int64_t, kRunMax> run_;
  std::array<uint8_t, kRunMax * 8> spare_;
};

// A varint of up to 128 bits, zigzag: the unscaled value of a decimal.
__int128 read_decimal(OrcStream& stream);

}  // namespace jg::columnar
