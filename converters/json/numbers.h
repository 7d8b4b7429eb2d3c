// The raw text of numbers → integers and short decimals, a column at a time.
#pragma once
#include <algorithm>

#include "json/walk.h"
#include "text/values.h"

namespace jg::json {

// Integers of up to 8 bytes, side by side: no step depends on their content, so that compilers vectorise.
struct ShortIntegers {
  static constexpr int kCount = 64;

  uint64_t texts[kCount] = {}, sizes[kCount] = {};  // 8 bytes of each token, and its size
  int64_t numbers[kCount];
  uint64_t wrong[kCount];  // not 0: it is no JSON integer of up to 8 bytes, nor NULL

  void convert() {
    for (int k = 0; k < kCount; k++) {
      const uint64_t negative = (texts[k] & 0xff) == '-', size = sizes[k] - negative;
      const uint64_t text = (texts[k] >> 8 * negative) ^ text::kEveryByte * '0';
      const uint64_t present = sizes[k] == 0 ? 0 : ~uint64_t{0};
      const uint64_t digits = text << ((64 - 8 * size) & 63) & present;
      const uint64_t padded = static_cast<uint64_t>((text & 0xff) == 0) & static_cast<uint64_t>(size > 1);
      const uint64_t strange = static_cast<uint64_t>(sizes[k] > 8) | static_cast<uint64_t>(size == 0) | padded;
      wrong[k] = text::beyond_digits(digits) | (strange & present);
      numbers[k] = (text::add_digits(digits) ^ -static_cast<int64_t>(negative)) + static_cast<int64_t>(negative);
    }
  }
};

// Converts the tokens of the n `rows` that are short integers, or NULL if the column is nullable. The other rows go to
// `left`; returns how many those are.
template <class T>
int convert_integers(const Token* tokens, const int32_t* rows, int n, bool nullable, T* out, uint8_t* valid,
                     int32_t* left) {
  ShortIntegers block;
  int left_count = 0;
  for (; n > 0; n -= ShortIntegers::kCount, rows += ShortIntegers::kCount) {
    const int count = std::min(ShortIntegers::kCount, n);
    for (int k = 0; k < count; k++) {
      const Token& token = tokens[rows[k]];
      block.texts[k] = text::load8(token.data);
      block.sizes[k] = token.size;
    }
    block.convert();
    uint64_t any = 0;
    for (int k = 0; k < count; k++) {
      const int32_t row = rows[k];
      const bool null = block.sizes[k] == 0;
      out[row] = static_cast<T>(block.numbers[k]);
      valid[row] = !null;
      any |= block.wrong[k] | static_cast<uint64_t>(null && !nullable);
    }
    if (any == 0) [[likely]]
      continue;
    for (int k = 0; k < count; k++) {
      if (block.wrong[k] != 0 || (block.sizes[k] == 0 && !nullable)) left[left_count++] = rows[k];
    }
  }
  return left_count;
}

}  // namespace jg::json
