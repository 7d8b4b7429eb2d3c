// In front of a window's table, of which only the first rows of each partition are asked for: what one thread knows of
// them. It drops rows that come later, as many as it can within little memory, and gives up where these are few.
#pragma once
#include <cstdint>

#include "base/memory.h"
#include "jg/first_rows.h"
#include "tables/directory.h"

namespace jg {

class FirstRows : public JgFirst {
 public:
  explicit FirstRows(Budget* budget) : JgFirst{}, budget_(budget), arena_(budget), texts_(budget) {
    directory = {none_, 63};
  }
  FirstRows(const FirstRows&) = delete;
  FirstRows& operator=(const FirstRows&) = delete;
  ~FirstRows() { end(); }

  // A zeroed partition; null where there is no room for it: its rows stay.
  JgRow* add(uint64_t hash, uint64_t size);
  JgStr keep(JgStr s) { return texts_.copy(s); }
  // From time to time.
  void judge();

 private:
  void grow();
  void end();
  void account();

  uint64_t none_[2] = {};  // slots
  Budget* budget_;
  Arena arena_, texts_;
  Slots slots_;
  int64_t partitions_ = 0, rows_ = 0, held_ = 0;
};

}  // namespace jg
