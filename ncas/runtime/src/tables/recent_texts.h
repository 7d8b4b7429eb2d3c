// Finds texts that a table has copied a moment ago: of a column with few values each is held once, so that it stays in
// the cache, and equal texts mostly have equal addresses.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/memory.h"
#include "jg/kernel.h"

namespace jg {

class RecentTexts {
 public:
  // A copy of s in the arena, perhaps one that was made before.
  JgStr keep(JgStr s, Arena* arena) {
    if (!s.size || (tries_ >= kTrial && hits_ < tries_ / kHitShare)) return arena->copy(s);
    if (!slots_) slots_ = std::make_unique<std::array<JgStr, kSlots>>();
    JgStr& slot = (*slots_)[slot_of(s.data)];
    tries_++;
    if (slot.size == s.size && std::memcmp(slot.data, s.data, s.size) == 0) {
      hits_++;
      return slot;
    }
    return slot = arena->copy(s);
  }
  // The arena's texts are gone.
  void forget() { slots_.reset(); }

 private:
  static constexpr size_t kSlots = 512;
  static constexpr uint64_t kTrial = 4096, kHitShare = 4;  // texts until it gives up if fewer than a fourth were found

  // By address, as the values of a dictionary have one each.
  static size_t slot_of(const char* data) {
    return reinterpret_cast<uintptr_t>(data) * 0x9e3779b97f4a7c15u >> (64 - 9);
  }

  std::unique_ptr<std::array<JgStr, kSlots>> slots_;
  uint64_t tries_ = 0, hits_ = 0;
};

}  // namespace jg
