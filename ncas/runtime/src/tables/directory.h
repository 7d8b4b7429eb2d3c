// Builds directories of rows; jg/kernel.h defines a slot's content, and looks up.
#pragma once
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"

namespace jg {

using Slots = std::vector<uint64_t, RandomAccess<uint64_t>>;

inline constexpr uint64_t kPointer = 0x0000FFFFFFFFFFFFull;

inline uint64_t slots_for(int64_t rows) { return std::bit_ceil<uint64_t>(std::max<int64_t>(rows, 16)); }

inline JgDirectory directory_of(std::span<uint64_t> slots) {
  return {slots.data(), static_cast<uint32_t>(64 - std::countr_zero(slots.size()))};
}

// Return the directory of rows whose hashes begin with the bits of a partition, as if their slots were the only ones of
// a larger directory.
inline JgDirectory directory_of_deal(std::span<uint64_t> slots, size_t deal) {
  const JgDirectory all = directory_of(slots);
  const auto before = static_cast<uintptr_t>(deal * slots.size() * sizeof(uint64_t));
  return {reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(all.slots) - before), all.shift - JG_DEAL_BITS};
}

inline constexpr size_t kAhead = 16;  // how far ahead random accesses are prefetched

inline void link(uint64_t* slot, JgRow* row) {
  row->next = reinterpret_cast<JgRow*>(*slot & kPointer);
  *slot = (*slot & ~kPointer) | reinterpret_cast<uint64_t>(row) | jg_tag(row->hash);
}

// Returns whether some slot has several rows.
template <class SlotOf>
bool link_all(std::span<JgRow* const> rows, uint64_t* slots, SlotOf slot_of) {
  bool chains = false;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kAhead < rows.size()) __builtin_prefetch(&slots[slot_of(rows[i + kAhead])]);
    link(&slots[slot_of(rows[i])], rows[i]);
    chains |= rows[i]->next != nullptr;
  }
  return chains;
}

}  // namespace jg
