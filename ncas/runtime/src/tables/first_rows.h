// Filters rows in front of a window's table that needs only the first rows of each partition. A thread drops later
// rows, as many as it can within little memory, and gives up if there are few.
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "jg/first_rows.h"

namespace jg {

class FirstRows : public JgFirst {
 public:
  explicit FirstRows(Budget* budget);
  FirstRows(const FirstRows&) = delete;
  FirstRows& operator=(const FirstRows&) = delete;
  ~FirstRows() { budget_->count(-held_); }

  // Null where there is no room: the rows of other partitions stay.
  JgPartSlot* add(uint64_t hash, uint64_t size);
  JgStr keep(JgStr s) { return arena_.copy(s); }
  // From time to time.
  void judge();

 private:
  using Slots = std::vector<JgPartSlot, RandomAccess<JgPartSlot>>;
  void make_slots(uint32_t bits);
  JgPartSlot* empty(uint64_t hash);

  Budget* budget_;
  Arena arena_;
  Slots slots_;
  int64_t partitions_ = 0, rows_ = 0, held_ = 0;
};

}  // namespace jg
