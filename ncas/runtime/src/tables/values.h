// Memory and helpers for completing groups that hold their values.
#pragma once
#include <memory>

#include "base/memory.h"
#include "jg/kernel.h"

namespace jg {

// A longer chunk at the end of the list.
JgChunk* new_chunk(Arena* arena, JgValues* values, int size);

}  // namespace jg

// For the groups that one thread completes.
struct JgMemory {
  explicit JgMemory(jg::Budget* budget) : results(budget, jg::Beyond::kMaps), elements_(budget, jg::Beyond::kMaps) {}
  char* elements(int64_t bytes);  // aligned to 16; until the next call
  void release();                 // all but the results

  jg::Arena results;  // texts that live as long as the table

 private:
  jg::Arena elements_;
  char* at_ = nullptr;
  int64_t size_ = 0;
};
