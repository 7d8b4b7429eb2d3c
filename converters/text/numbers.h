// The raw text of numbers → integers and short decimals, a column at a time.
#pragma once
#include <algorithm>
#include <limits>

#include "text/values.h"

namespace jg::text {

// Numbers of up to 8 bytes, side by side: no step depends on their content, so that compilers vectorise.
struct ShortNumbers {
  static constexpr int kCount = 64;
  static constexpr int kScaleMax = 7;  // of digits behind a dot, with one in front of it

  uint64_t texts[kCount] = {}, sizes[kCount] = {};  // 8 bytes of each token, and its size; 0: NULL
  int64_t numbers[kCount];
  uint64_t wrong[kCount];  // not 0: it is not NULL, and no number of up to 8 bytes as JSON has it

  void convert_integers() {
    for (int k = 0; k < kCount; k++) {
      const uint64_t negative = (texts[k] & 0xff) == '-', size = sizes[k] - negative;
      const uint64_t text = (texts[k] >> 8 * negative) ^ kEveryByte * '0';
      const uint64_t present = sizes[k] == 0 ? 0 : ~uint64_t{0};
      const uint64_t digits = text << ((64 - 8 * size) & 63) & present;
      const uint64_t padded = static_cast<uint64_t>((text & 0xff) == 0) & static_cast<uint64_t>(size > 1);
      const uint64_t strange = static_cast<uint64_t>(sizes[k] > 8) | static_cast<uint64_t>(size == 0) | padded;
      wrong[k] = beyond_digits(digits) | (strange & present);
      numbers[k] = (add_digits(digits) ^ -static_cast<int64_t>(negative)) + static_cast<int64_t>(negative);
    }
  }

  // Decimals up to `limit`, of a scale up to kScaleMax. Wrong are also those with other than no digits behind a dot,
  // `scale` or one less.
  void convert_decimals(int scale, int64_t limit) {
    constexpr uint64_t kNowhere = 1;
    const uint64_t full = scale > 0 ? uint64_t{0x80} << 8 * (kScaleMax - scale) : kNowhere;  // where the dot is
    const uint64_t fewer = scale > 1 ? full << 8 : kNowhere, whole = power_of_ten(scale);
    for (int k = 0; k < kCount; k++) {
      const uint64_t negative = (texts[k] & 0xff) == '-', size = sizes[k] - negative;
      const uint64_t text = texts[k] >> 8 * negative, second = text >> 8 & 0xff;
      const uint64_t present = -static_cast<uint64_t>(sizes[k] != 0);
      const uint64_t word = text << ((64 - 8 * size) & 63);
      const uint64_t dot = dots_of(word) & present;
      const uint64_t none = dot == 0, at_full = dot == full, at_fewer = dot == fewer, has_dot = none - 1;
      const uint64_t below = (dot >> 7) - 1;  // bytes in front of the dot move up into its place
      const uint64_t packed = ((word & below) << 8 & has_dot) | (word & ~((below << 8 | 0xff) & has_dot));
      const uint64_t digits = (packed ^ kEveryByte * '0') & present << ((64 - 8 * (size + has_dot)) & 63);
      const uint64_t factor = (-none & whole) | at_full | (-at_fewer & 10);
      const auto number = static_cast<int64_t>(static_cast<uint64_t>(add_digits(digits)) * factor);
      const uint64_t padded = static_cast<uint64_t>((text & 0xff) == '0') & static_cast<uint64_t>(size > 1) &
                              static_cast<uint64_t>(second != '.');
      const uint64_t strange = static_cast<uint64_t>(sizes[k] > 8) | static_cast<uint64_t>(size == 0) | padded |
                               static_cast<uint64_t>((text & 0xff) == '.') | (1 ^ none ^ at_full ^ at_fewer) |
                               static_cast<uint64_t>(number > limit);
      wrong[k] = beyond_digits(digits) | (strange & present);
      numbers[k] = (number ^ -static_cast<int64_t>(negative)) + static_cast<int64_t>(negative);
    }
  }
};

// Convert the text of the n `rows`, or nothing (NULL) if the column is nullable. Rows whose text is neither a short
// number nor one that read_number(text, &number) accepts, within the type, go to `left`; returns how many those are.
// text_of(row): its text, at which 8 bytes can be read.
template <class T, class TextOf, class ReadNumber>
int convert_numbers(const ColumnSpec& column, TextOf&& text_of, ReadNumber&& read_number, const int32_t* rows, int n,
                    T* out, uint8_t* valid, int32_t* left) {
  const bool decimals = column.type == JG_DEC64, all_long = column.scale > ShortNumbers::kScaleMax;
  const int64_t limit = decimals ? power_of_ten(column.precision) - 1 : std::numeric_limits<T>::max();
  ShortNumbers block;
  int left_count = 0;
  for (; n > 0; n -= ShortNumbers::kCount, rows += ShortNumbers::kCount) {
    const int count = std::min(ShortNumbers::kCount, n);
    for (int k = 0; k < count; k++) {
      const std::string_view text = text_of(rows[k]);
      block.texts[k] = load8(text.data());
      block.sizes[k] = text.size();
    }
    if (decimals && !all_long) {
      block.convert_decimals(column.scale, limit);
    } else {
      block.convert_integers();
    }
    uint64_t any = all_long;
    for (int k = 0; k < count; k++) {
      const int32_t row = rows[k];
      const bool null = block.sizes[k] == 0;
      out[row] = static_cast<T>(block.numbers[k]);
      valid[row] = !null;
      any |= block.wrong[k] | static_cast<uint64_t>(null && !column.nullable);
    }
    if (any == 0) [[likely]]
      continue;
    for (int k = 0; k < count; k++) {
      if (block.sizes[k] == 0 ? column.nullable : block.wrong[k] == 0 && !all_long) continue;
      int64_t number;
      if (read_number(text_of(rows[k]), &number) && number <= limit && number >= -limit) [[likely]] {
        out[rows[k]] = static_cast<T>(number);
        valid[rows[k]] = 1;
      } else {
        left[left_count++] = rows[k];
      }
    }
  }
  return left_count;
}

}  // namespace jg::text
