// Rows in order, by several threads: each part is sorted, then each of some ranges is merged from all parts.
#pragma once
#include <cstddef>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"

namespace jg {

// What two rows differ in most often is compared without a look at them: prefixes order as the rows do, or are equal.
struct SortEntry {
  uint64_t prefix[2];
  JgRow* row;
};

class Sorter {
 public:
  Sorter(const JgTableInfo& info, Budget* budget) : info_(info), budget_(budget) {}
  ~Sorter() { clear(); }

  void start(size_t parts);                                 // by one thread
  void sort(size_t part, const std::vector<JgRow*>& rows);  // each part once, in any order, by any thread
  // Then, by one thread: how many ranges there are, at most `most`; smaller ones are not worth a task of their own.
  int split(int most);
  void merge(int range, JgRow** all);  // each range once, by any thread, to its place among all rows
  int64_t size() const;
  void clear();

 private:
  using Entries = std::vector<SortEntry>;
  bool less(const SortEntry& a, const SortEntry& b) const;

  const JgTableInfo info_;
  Budget* budget_;
  std::vector<Entries> parts_;
  std::vector<std::vector<size_t>> bounds_;  // range → part → where it begins; one more than there are ranges
};

}  // namespace jg
