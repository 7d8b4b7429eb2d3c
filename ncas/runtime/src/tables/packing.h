// Sort keys: the numbers that order rows (JgSortInfo::words), packed into as few bits as the rows at hand need.
#pragma once
#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

#include "jg/kernel.h"

namespace jg {

// The range of the words of a part's rows (JgSortInfo::words).
struct WordBounds {
  uint64_t low[JG_SORT_WORDS], high[JG_SORT_WORDS];
  int common = -1;  // numbers that all rows have; -1: no row

  void add(const JgSortInfo& info, const JgRow* row);
  void add(const WordBounds& other);
};

// The words of a row side by side, each with only as many bits as the rows at hand need.
struct Wide {
  uint64_t high, low;
  auto operator<=>(const Wide&) const = default;
};

inline void push(uint64_t* key, uint64_t value, int bits) { *key = bits == 64 ? value : *key << bits | value; }
inline void push(Wide* key, uint64_t value, int bits) {
  if (bits == 64) {
    *key = {key->low, value};
  } else {
    *key = {key->high << bits | key->low >> (64 - bits), key->low << bits | value};
  }
}
inline uint8_t byte_of(uint64_t key, int byte) { return static_cast<uint8_t>(key >> (8 * byte)); }
inline uint8_t byte_of(const Wide& key, int byte) {
  return byte < 8 ? byte_of(key.low, byte) : byte_of(key.high, byte - 8);
}

// Packs rows into keys: of each word, minus the least of all rows, a fixed number of bits.
class Packing {
 public:
  // Pack at most `most` bits: words beyond them are cut off.
  Packing(const JgSortInfo& info, const WordBounds& bounds, int most = 128)
      : info_(info), exact_(bounds.common == info.sort_words) {
    for (int w = 0; w < bounds.common; w++) {
      const int bits = static_cast<int>(std::bit_width(bounds.high[w] - bounds.low[w])),
                kept = std::min(bits, most - bits_);
      if (kept < bits) exact_ = false;
      if (kept > 0) words_.push_back({w, kept, bits - kept, bounds.low[w]});
      bits_ += kept;
      if (kept < bits) break;
    }
  }

  int bits() const { return bits_; }
  bool exact() const { return exact_; }  // equal keys are equal rows, as far as the order tells
  template <class Key>
  Key key(const JgRow* row) const {
    uint64_t words[JG_SORT_WORDS];
    info_.words(row, words);
    Key key{};
    for (const Word& w : words_) push(&key, (words[w.number] - w.low) >> w.cut, w.bits);
    return key;
  }

 private:
  struct Word {
    int number, bits, cut;
    uint64_t low;
  };
  const JgSortInfo info_;
  std::vector<Word> words_;
  int bits_ = 0;
  bool exact_;
};

}  // namespace jg
