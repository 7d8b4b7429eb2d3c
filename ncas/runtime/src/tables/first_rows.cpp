#include "tables/first_rows.h"

#include <algorithm>
#include <utility>

namespace jg {
namespace {

constexpr int64_t kBytesMax = 32 << 20;  // of what a thread knows
constexpr int64_t kTrialRows = 1 << 20;  // in which partitions may fill before too few rows are dropped

}  // namespace

JgRow* FirstRows::add(uint64_t hash, uint64_t size) {
  const int64_t room = std::min(kBytesMax, budget_->spill_least / 2);
  if (arena_.held() + held_ + static_cast<int64_t>(size) > room) return nullptr;
  if (partitions_ >= static_cast<int64_t>(slots_.size() / 2)) grow();
  auto* row = reinterpret_cast<JgRow*>(arena_.zeroed(size));
  row->hash = hash;
  link(&slots_[hash >> directory.shift], row);
  partitions_++;
  return row;
}

void FirstRows::judge() {
  rows_ += seen;
  const bool fills = rows_ < kTrialRows && 2 * partitions_ < rows_;
  if (4 * dropped < seen && !fills) end();
  seen = dropped = 0;
}

void FirstRows::grow() {
  const Slots old = std::exchange(slots_, Slots(slots_for(static_cast<int64_t>(slots_.size()) * 4), 0));
  directory = directory_of(&slots_);
  for (const uint64_t slot : old) {
    for (auto *row = reinterpret_cast<JgRow*>(slot & kPointer), *next = row; row; row = next) {
      next = row->next;
      link(&slots_[row->hash >> directory.shift], row);
    }
  }
  account();
}

void FirstRows::end() {
  is_off = true;
  directory = {none_, 63};
  slots_ = {};
  arena_ = Arena(budget_);
  account();
}

void FirstRows::account() {
  const auto held = static_cast<int64_t>(slots_.capacity() * sizeof(uint64_t));
  budget_->held += held - std::exchange(held_, held);
}

}  // namespace jg
