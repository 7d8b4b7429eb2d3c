// Groups found by their rows' dictionary codes: nothing is hashed or compared where the dictionaries are small.
#pragma once
#include <algorithm>
#include <vector>

#include "jg/kernel.h"

namespace jg {

class CodedGroups {
 public:
  // As jg_coded_groups.
  JgRow** slots(const JgCol* cols, const int* columns, int n, uint32_t* counts) {
    uint64_t total = 1, newest = 0;
    for (int i = 0; i < n; i++) {
      const JgCol& col = cols[columns[i]];
      if (!col.codes) return nullptr;
      counts[i] = col.code_count;
      total *= uint64_t{counts[i]} + 1;
      if (total > kSlotsMax) return nullptr;
      newest = std::max(newest, col.dictionary);
    }
    if (columns != columns_ || newest != newest_) {
      slots_.assign(total, nullptr);
      columns_ = columns;
      newest_ = newest;
    }
    return slots_.data();
  }
  void clear() { columns_ = nullptr; }

 private:
  static constexpr uint64_t kSlotsMax = 1 << 15;  // which stay in the cache, and are soon emptied

  std::vector<JgRow*> slots_;
  const int* columns_ = nullptr;
  uint64_t newest_ = 0;  // of the dictionaries
};

}  // namespace jg
