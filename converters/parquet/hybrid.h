// Parquet's RLE / bit-packed hybrid (parquet-format, Encodings.md): dictionary indices and definition levels.
#pragma once
#include <cstdint>
#include <vector>

namespace jg::columnar {

// A sequential reader of unsigned values of `width` bits.
class HybridDecoder {
 public:
  void reset(const uint8_t* data, int64_t size, int width);
  // The next n values. Throws "malformed" when the data end before. Returns the largest one, 0 where there are none.
  uint32_t decode(uint32_t* out, int32_t n);
  // Passes over the next n values.
  void skip(int64_t n);
  // Take those of the next `total` values at `positions` (ascending, n of them); pass over all.
  void pick(const int32_t* positions, int32_t n, int32_t total, uint32_t* out);

 private:
  void next_run();
  uint32_t packed_at(int64_t index) const;

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  int width_ = 0;
  bool packed_ = false;
  uint32_t repeated_ = 0;         // value of an RLE run
  const uint8_t* run_ = nullptr;  // bytes of a bit-packed run
  int64_t index_ = 0;             // position in the run
  int64_t left_ = 0;              // values left in the run
};

// Return the largest of n values, 0 where there are none.
uint32_t largest_of(const uint32_t* values, int32_t n);

// The validity of a page's rows: a bit a row, and how many values precede each word of 64 rows.
class Validity {
 public:
  // All rows are valid.
  void set_all(int64_t rows);
  // Definition levels 0 and 1 in hybrid encoding, without a length prefix.
  void set_levels(const uint8_t* data, int64_t size, int64_t rows);
  // Definition levels already decoded; a row is valid where its level is `most`.
  void set_levels(const int16_t* levels, int64_t rows, int16_t most);

  bool all() const { return all_; }
  int64_t values() const { return values_; }
  bool at(int64_t row) const { return all_ || (words_[row >> 6] >> (row & 63) & 1); }
  // Values before `row`.
  int64_t rank(int64_t row) const {
    if (all_) return row;
    return ranks_[row >> 6] + __builtin_popcountll(words_[row >> 6] & ((uint64_t{1} << (row & 63)) - 1));
  }
  // One byte for each of the rows [row, row + n).
  void expand(int64_t row, int32_t n, uint8_t* out) const;

 private:
  void start(int64_t rows);
  void append_ones(int64_t n);
  void append_bits(const uint8_t* bits, int64_t n);
  void finish(int64_t rows);

  bool all_ = true;
  int64_t values_ = 0, filled_ = 0;
  std::vector<uint64_t> words_;
  std::vector<uint32_t> ranks_;
};

}  // namespace jg::columnar
