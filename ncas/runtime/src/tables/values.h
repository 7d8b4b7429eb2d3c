// What the completion of groups that hold their values uses.
#pragma once
#include <memory>

#include "base/memory.h"
#include "jg/kernel.h"

// For the groups that one thread completes.
struct JgMemory {
  explicit JgMemory(jg::Budget* budget) : budget(budget), results(budget) {}
  ~JgMemory() { release(); }
  char* elements(int64_t bytes);  // aligned to 16; until the next call
  void release();                 // all but the results

  jg::Budget* budget;
  jg::Arena results;  // texts that live as long as the table

 private:
  std::unique_ptr<char, decltype(&std::free)> elements_{nullptr, &std::free};
  int64_t held_ = 0;
};
