#include "tables/row_store.h"

#include <algorithm>
#include <cstring>

namespace jg {
namespace {

constexpr size_t kRunRows = 16384;  // the most rows of a run on disk: some are read whole

}  // namespace

JgStr Part::keep_instead(JgStr held, JgStr s) {
  uint64_t room = 0;
  if (held.data) std::memcpy(&room, held.data - sizeof room, sizeof room);
  char* at = const_cast<char*>(held.data);
  if (!at || room < s.size) {
    room = std::max(s.size, 2 * room);
    const uint64_t n = sizeof room + room;
    at = texts ? texts->bytes(0, n, &arena) : arena.bytes(n);
    std::memcpy(at, &room, sizeof room);
    at += sizeof room;
  }
  if (s.size) std::memmove(at, s.data, s.size);
  return {at, s.size};
}

Part* RowStore::part(int thread) {
  std::lock_guard lock(mutex_);
  if (parts_.size() <= static_cast<size_t>(thread)) parts_.resize(thread + 1);
  auto& part = parts_[thread];
  if (!part) part = make_part();
  return part.get();
}

Status RowStore::spill(Part* part) {
  if (!part->file) {
    part->file = std::make_unique<SpillFile>(layout_, budget_);
    part->runs.resize(partitions_);
  }
  JG_RETURN_IF_ERROR(write(part));
  part->rows.clear();
  part->arena.reset();
  part->recent.forget();
  return {};
}

Status RowStore::write_deals(Part* part) {
  const ByDeal before(part->rows);
  Rows rows;
  for (size_t d = 0; d < kDeals; d++) {
    rows.clear();
    part->append(d, before, &rows);
    for (size_t at = 0; at < rows.size(); at += kRunRows) {
      part->runs[d].emplace_back();
      const size_t n = std::min(kRunRows, rows.size() - at);
      JG_RETURN_IF_ERROR(part->file->write(rows.data() + at, n, &part->runs[d].back()));
    }
  }
  if (part->dealt) part->dealt->clear();
  return {};
}

void RowStore::prepare() {
  std::erase_if(parts_, [](const auto& p) { return !p; });
  is_spilled_ = std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->file != nullptr; });
  if (is_spilled_) {
    tasks_ = static_cast<int>(parts_.size());
    return;
  }
  for (auto& p : parts_) p->arena.settle();
  tasks_ = begin_rounds();
}

Status RowStore::task(int i, JgTask* task) {
  if (!is_spilled_) {
    run_task(i, task);
    return {};
  }
  Part* part = parts_[i].get();
  JG_RETURN_IF_ERROR(spill(part));  // the latest rows, which could move until now
  part->arena.settle();
  return {};
}

void RowStore::append_deal(size_t deal, Rows* rows) const {
  for (size_t p = 0; p < parts_.size(); p++) {
    if (!before_.empty()) before_[p].append(deal, rows);
    if (parts_[p]->dealt) parts_[p]->dealt->append(deal, rows);
  }
}

int64_t RowStore::rows_on_disk(size_t deal) const {
  int64_t rows = 0;
  for (const auto& part : parts_)
    for (const Run& run : part->runs[deal]) rows += run.rows;
  return rows;
}

void RowStore::deal_rows() {
  for (auto& p : parts_) before_.emplace_back(p->rows);
}

std::array<size_t, kDeals> RowStore::deal_sizes() const {
  std::array<size_t, kDeals> sizes{};
  for (size_t p = 0; p < parts_.size(); p++) {
    for (size_t d = 0; d < kDeals; d++) {
      if (!before_.empty()) sizes[d] += before_[p].count(d);
      if (parts_[p]->dealt) sizes[d] += parts_[p]->dealt->count(d);
    }
  }
  return sizes;
}

void RowStore::leave_deals(const std::array<size_t, kDeals>& sizes) {
  for (size_t d = 0; d < kDeals; d++)
    if (sizes[d]) deals_.push_back(d);
  std::sort(deals_.begin(), deals_.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
}

}  // namespace jg
