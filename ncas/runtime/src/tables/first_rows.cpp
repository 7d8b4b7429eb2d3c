#include "tables/first_rows.h"

#include <algorithm>
#include <utility>

namespace jg {
namespace {

constexpr uint64_t kLine = 64;           // in which the last row of a partition is found that has a short key
constexpr int64_t kBytesMax = 32 << 20;  // of what a thread knows
// Rows in which partitions may fill before any are dropped, and after which these must not be mostly the first of them.
constexpr int64_t kFillRows = 1 << 20, kOpenRows = 1 << 18;

}  // namespace

JgRow* FirstRows::add(uint64_t hash, uint64_t size) {
  size = (size + kLine - 1) & ~(kLine - 1);
  const int64_t held = arena_.held() + texts_.held() + held_;
  if (held + static_cast<int64_t>(size) > std::min(kBytesMax, budget_->spill_least / 2)) return nullptr;
  if (partitions_ >= static_cast<int64_t>(slots_.size() / 2)) grow();
  auto* row = reinterpret_cast<JgRow*>(arena_.zeroed(size));
  row->hash = hash;
  link(&slots_[hash >> directory.shift], row);
  partitions_++;
  return row;
}

void FirstRows::judge() {
  rows_ += seen;
  const bool fills = rows_ < kFillRows && (rows_ < kOpenRows || 2 * partitions_ < rows_);
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
  texts_ = Arena(budget_);
  account();
}

void FirstRows::account() {
  const auto held = static_cast<int64_t>(slots_.capacity() * sizeof(uint64_t));
  budget_->held += held - std::exchange(held_, held);
}

}  // namespace jg

namespace {

jg::FirstRows* first_of(JgTask* task) { return static_cast<jg::FirstRows*>(task->first); }

}  // namespace

extern "C" {

JgRow* jg_new_partition(JgTask* task, uint64_t hash, uint64_t size) { return first_of(task)->add(hash, size); }

JgStr jg_keep_partition(JgTask* task, JgStr s) { return first_of(task)->keep(s); }

void jg_judge_first(JgTask* task) { first_of(task)->judge(); }

}  // extern "C"
