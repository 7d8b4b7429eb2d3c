#include "tables/packing.h"

#include <algorithm>

namespace jg {

void WordBounds::add(const JgSortInfo& info, const JgRow* row) {
  uint64_t words[JG_SORT_WORDS];
  const int n = info.words(row, words);
  if (common < 0) {
    std::copy_n(words, n, low);
    std::copy_n(words, n, high);
    common = n;
    return;
  }
  common = std::min(common, n);
  for (int w = 0; w < common; w++) {
    low[w] = std::min(low[w], words[w]);
    high[w] = std::max(high[w], words[w]);
  }
}

void WordBounds::add(const WordBounds& other) {
  if (other.common < 0) return;
  if (common < 0) {
    *this = other;
    return;
  }
  common = std::min(common, other.common);
  for (int w = 0; w < common; w++) {
    low[w] = std::min(low[w], other.low[w]);
    high[w] = std::max(high[w], other.high[w]);
  }
}

}  // namespace jg
