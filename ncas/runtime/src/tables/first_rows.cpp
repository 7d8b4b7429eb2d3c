#include "tables/first_rows.h"

#include <algorithm>
#include <utility>

namespace jg {
namespace {

constexpr int64_t kPartsBytesMax = 32 << 20;  // of a thread's partitions
constexpr uint32_t kFirstSlotBits = 6;
// Rows in which partitions may fill before any are dropped, and after which these must not be mostly the first of them.
constexpr int64_t kFillRows = 1 << 20, kOpenRows = 1 << 18;

FirstRows* first_of(JgTask* task) { return static_cast<FirstRows*>(task->first); }

}  // namespace

FirstRows::FirstRows(Budget* budget) : JgFirst{}, budget_(budget), arena_(budget) { make_slots(kFirstSlotBits); }

JgPartSlot* FirstRows::add(uint64_t hash, uint64_t size) {
  const int64_t all = arena_.held() + held_ + static_cast<int64_t>(size);
  if (all > std::min(kPartsBytesMax, budget_->spill_least / 2)) return nullptr;
  if (4 * partitions_ >= 3 * static_cast<int64_t>(slots_.size())) make_slots(64 - shift + 1);
  partitions_++;
  JgPartSlot* slot = empty(hash);
  *slot = {hash, UINT64_MAX, reinterpret_cast<JgPart*>(arena_.zeroed(size))};
  return slot;
}

void FirstRows::judge() {
  rows_ += seen;
  const bool fills = rows_ < kFillRows && (rows_ < kOpenRows || 2 * partitions_ < rows_);
  if (4 * dropped < seen && !fills) {
    is_off = true;
    make_slots(0);
    arena_ = Arena(budget_);
  }
  seen = dropped = 0;
}

void FirstRows::make_slots(uint32_t bits) {
  const Slots old = std::exchange(slots_, Slots(size_t{1} << bits, JgPartSlot{}));
  const auto held = static_cast<int64_t>(slots_.size() * sizeof(JgPartSlot));
  budget_->count(held - std::exchange(held_, held));
  slots = slots_.data();
  shift = 64 - bits;
  if (slots_.size() < old.size()) return;  // at the end
  for (const JgPartSlot& slot : old)
    if (slot.hash) *empty(slot.hash) = slot;
}

JgPartSlot* FirstRows::empty(uint64_t hash) {
  JgPartSlot* slot = &slots[hash >> shift];
  while (slot->hash) slot = jg_next_slot(this, slot);
  return slot;
}

}  // namespace jg

extern "C" {

JgPartSlot* jg_new_partition(JgTask* task, uint64_t hash, uint64_t size) { return jg::first_of(task)->add(hash, size); }

JgStr jg_keep_partition(JgTask* task, JgStr s) { return jg::first_of(task)->keep(s); }

void jg_judge_first(JgTask* task) { jg::first_of(task)->judge(); }

}  // extern "C"
