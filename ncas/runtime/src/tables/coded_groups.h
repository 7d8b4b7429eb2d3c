// Groups found by their rows' dictionary codes: nothing is hashed or compared where the dictionaries are small.
#pragma once
#include <utility>
#include <vector>

#include "jg/kernel.h"

namespace jg {

class CodedGroups {
 public:
  // As jg_coded_groups.
  JgRow** slots(const JgCol* cols, const int* columns, int n, uint32_t* counts) {
    uint64_t total = 1;
    for (int i = 0; i < n; i++) {
      const JgCol& col = cols[columns[i]];
      if (!col.codes) return nullptr;
      counts[i] = col.code_count;
      total *= uint64_t{counts[i]} + 1;
      if (total > kSlotsMax) return nullptr;
    }
    bool known = columns == columns_;
    dictionaries_.resize(static_cast<size_t>(n));
    for (int i = 0; i < n; i++) {
      const uint64_t now = cols[columns[i]].dictionary;
      known &= std::exchange(dictionaries_[static_cast<size_t>(i)], now) == now;
    }
    if (!known) {
      slots_.assign(total, nullptr);
      columns_ = columns;
    }
    return slots_.data();
  }
  void clear() { columns_ = nullptr; }

 private:
  static constexpr uint64_t kSlotsMax = 1 << 15;  // which stay in the cache, and are soon emptied

  std::vector<JgRow*> slots_;
  const int* columns_ = nullptr;
  std::vector<uint64_t> dictionaries_;  // of the columns
};

}  // namespace jg
