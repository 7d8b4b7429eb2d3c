#include "tables/tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace jg {
namespace {

constexpr int64_t kUnlimited = INT64_MAX / 8;  // more rows than any memory holds
constexpr int64_t kLongChain = 32;             // rows of a join's bucket, on average, that are worth to be gathered
constexpr int64_t kSmallMerge = 4096;          // groups below which one thread merges faster than several
constexpr int kSortRanges = 512;               // the most tasks of a sort: the rows of one stay in the cache
constexpr size_t kSortedBytes = 32;            // that a sorter holds of a row
constexpr int kWindowRanges = 64;              // of window functions, so that threads end together
constexpr int64_t kWindowRows = 16384;         // of window functions that are worth a task
constexpr size_t kDealtRows = 65536;           // fewer are put in order at once
constexpr size_t kAhead = 16;                  // how far ahead random accesses are prefetched
constexpr size_t kManyGroups = 1 << 16;        // of a thread, from which on their number should be worth it
constexpr size_t kMostGroups = 1 << 18;        // of a thread that are looked up: more have no room in the cache
constexpr int64_t kApartRows = 1 << 20;        // after which grouping is tried again
constexpr size_t kRunRows = 16384;             // the most rows of a run on disk: some are read whole
constexpr int64_t kMergedBytes = 512 << 20;    // bytes of partitioned groups from which merging may pay

// Says whether some slot has several rows.
template <class SlotOf>
bool link_all(const std::vector<JgRow*>& rows, uint64_t* slots, SlotOf slot_of) {
  bool chains = false;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kAhead < rows.size()) __builtin_prefetch(&slots[slot_of(rows[i + kAhead])]);
    link(&slots[slot_of(rows[i])], rows[i]);
    chains |= rows[i]->next != nullptr;
  }
  return chains;
}

// The same for a directory that other threads link rows into.
template <class SlotOf>
bool link_shared(const std::vector<JgRow*>& rows, uint64_t* slots, SlotOf slot_of) {
  bool chains = false;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kAhead < rows.size()) __builtin_prefetch(&slots[slot_of(rows[i + kAhead])]);
    JgRow* row = rows[i];
    uint64_t* slot = &slots[slot_of(row)];
    uint64_t old = __atomic_load_n(slot, __ATOMIC_RELAXED), now;
    do {
      row->next = reinterpret_cast<JgRow*>(old & kPointer);
      now = (old & ~kPointer) | reinterpret_cast<uint64_t>(row) | jg_tag(row->hash);
    } while (!__atomic_compare_exchange_n(slot, &old, now, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    chains |= row->next != nullptr;
  }
  return chains;
}

// Sets a bit for each row's key; other threads do, too.
template <class SlotOf>
void mark_all(const std::vector<JgRow*>& rows, uint64_t* bits, SlotOf slot_of) {
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kAhead < rows.size()) __builtin_prefetch(rows[i + kAhead]);
    const uint64_t at = slot_of(rows[i]);
    __atomic_fetch_or(&bits[at >> 6], uint64_t{1} << (at & 63), __ATOMIC_RELAXED);
  }
}

}  // namespace

Table::Table(Kind kind, const JgTableInfo& info, const TableConfig& config, Budget* budget)
    : kind_(kind),
      info_(info),
      has_keys_(config.has_keys),
      is_expanded_(config.is_expanded),
      can_spill_(kind == Kind::kGroups ? config.has_keys && !info.complete
                 : kind == Kind::kSort ? !info.skyline
                                       : kind == Kind::kRows || config.on_disk),
      limit_(config.limit),
      offset_(config.offset),
      kept_(std::min(limit_, kUnlimited) + std::min(offset_, kUnlimited)),
      budget_(budget),
      readers_(config.readers),
      gathered_(budget),
      linked_(budget, Beyond::kMaps) {}

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

Part* Table::part(int thread) {
  std::lock_guard lock(mutex_);
  if (parts_.size() <= static_cast<size_t>(thread)) parts_.resize(thread + 1);
  auto& part = parts_[thread];
  if (!part) {
    part = std::make_unique<Part>(budget_, can_spill_ ? Beyond::kMoves : Beyond::kMaps);
    if (info_.is_dealt || (is_parted() && can_spill_)) part->dealt = std::make_unique<DealtRows>(info_.row_size);
    if (kind_ == Kind::kGroups) {
      part->merge_from = std::min(budget_->spill_least, kMergedBytes);
      begin_groups(part.get());
      if (!has_keys_) part->groups.single = reinterpret_cast<JgRow*>(part->arena.zeroed(info_.row_size));
    }
  }
  return part.get();
}

void Table::begin_groups(Part* part) {
  const size_t slots = part->slots.size();
  part->slots = Slots(64, 0);
  if (slots) budget_->count(-static_cast<int64_t>((slots - part->slots.size()) * sizeof(uint64_t)));
  const auto words = static_cast<size_t>(info_.memo_words);
  part->memos.assign(words ? (words + 1) << JG_MEMO_BITS : 0, 0);
  part->groups = {};
  part->groups.directory = directory_of(part->slots);
  part->groups.capacity = static_cast<int64_t>(part->slots.size());
  part->groups.memos = words ? part->memos.data() : nullptr;
  part->coded.clear();
  part->texts.reset();
}

JgRow* Table::append(Part* part, uint64_t hash, bool null_key) {
  auto* row = reinterpret_cast<JgRow*>(part->arena.zeroed(info_.row_size));
  row->hash = hash;
  (null_key ? part->null_rows : part->rows).push_back(row);
  return row;
}

void Table::note_keys(Part* part, int64_t low, int64_t high) {
  part->low = std::min(part->low, low);
  part->high = std::max(part->high, high);
}

JgRow* Table::new_group(Part* part, uint64_t hash) {
  auto& g = part->groups;
  if (g.count >= g.capacity) make_room(part);
  g.count++;
  JgRow* row;
  if (part->texts) {
    row = part->dealt->add(hash, &part->arena);
  } else {
    row = reinterpret_cast<JgRow*>(part->arena.zeroed(info_.row_size));
    part->rows.push_back(row);
  }
  row->hash = hash;
  if (!g.is_apart) link(&part->slots[hash >> g.directory.shift], row);
  return row;
}

// The directory grows as long as it fits into the cache. After that, groups are partitioned and merged later: those of
// one directory after the other, or each row alone if few rows share a key.
void Table::make_room(Part* part) {
  static uint64_t none[2];  // slots
  auto& g = part->groups;
  const bool pays = g.is_apart || g.seen / 9 >= g.count / 8;
  if (!can_spill_ || (!part->texts && (part->slots.size() < kManyGroups || (pays && part->slots.size() < kMostGroups))))
    return grow(part);
  if (!part->texts) part->texts = std::make_unique<DealtTexts>();
  const size_t slots = g.is_apart ? kManyGroups : kMostGroups;
  g.count = g.seen = 0;
  g.is_apart = !pays;
  if (g.is_apart) {
    g.directory = {none, 63};
    g.capacity = kApartRows;
    return;
  }
  budget_->count(-static_cast<int64_t>(part->slots.size() * sizeof(uint64_t)));
  part->slots.assign(slots, 0);
  budget_->count(static_cast<int64_t>(part->slots.size() * sizeof(uint64_t)));
  g.directory = directory_of(part->slots);
  g.capacity = static_cast<int64_t>(slots);
}

// Makes one group of those with the same keys.
void Table::merge_dealt(Part* part, JgTask* task) {
  Arena arena(budget_, Beyond::kMoves);
  auto dealt = std::make_unique<DealtRows>(info_.row_size);
  auto texts = std::make_unique<DealtTexts>();
  const ByDeal before(part->rows);
  GroupMerger merger(info_);
  std::vector<JgRow*> rows, groups;
  for (size_t d = 0; d < kDeals && task->failure == JG_OK; d++) {
    rows.clear(), groups.clear();
    part->append(d, before, &rows);
    merger.begin(static_cast<int64_t>(rows.size()), JG_DEAL_BITS);
    merger.merge(task, rows.data(), rows.size(), &groups);
    for (const JgRow* group : groups) {
      JgRow* copy = dealt->add(group->hash, &arena);
      std::memcpy(copy, group, info_.row_size);
      for (int i = 0; i < info_.text_count; i++) {
        JgStr* text = text_of(info_, copy, i);
        *text = texts->keep(group->hash, *text, &arena);
      }
    }
  }
  begin_groups(part);
  part->dealt->take(dealt.get());
  part->texts = std::move(texts);
  part->arena = std::move(arena);
  part->rows.clear();
  part->merge_from = std::max(part->merge_from, 2 * part->held());
}

void Table::grow(Part* part) {
  const size_t old = part->slots.size();
  part->slots = Slots(old * 4, 0);
  budget_->count(static_cast<int64_t>((part->slots.size() - old) * sizeof(uint64_t)));
  auto& g = part->groups;
  g.capacity = static_cast<int64_t>(part->slots.size());
  g.directory = directory_of(part->slots);
  link_all(part->rows, part->slots.data(),
           [shift = g.directory.shift](const JgRow* row) { return row->hash >> shift; });
}

JgRow* Table::copy_row(Arena* arena, const JgRow* row) const {
  auto* copy = reinterpret_cast<JgRow*>(arena->bytes(info_.row_size));
  std::memcpy(copy, row, info_.row_size);
  for (int i = 0; i < info_.text_count; i++) {
    JgStr* text = text_of(info_, copy, i);
    *text = arena->copy(*text);
  }
  return copy;
}

void Table::offer(Part* part, const JgRow* row) {
  if (part->threshold && info_.compare(row, part->threshold) >= 0) return;
  if (limit_ == 0) return;
  part->rows.push_back(copy_row(&part->arena, row));
  part->bounds.add(info_, row);
  part->sort_memory_rows++;
  if (limit_ > 0 && static_cast<int64_t>(part->rows.size()) >= 2 * kept_ + 1024) shrink_to_limit(part);
}

// Keeps the best limit + offset rows, and the worst of them as the threshold for rows to come.
void Table::shrink_to_limit(Part* part) {
  const int64_t n = kept_;
  auto& rows = part->rows;
  std::nth_element(rows.begin(), rows.begin() + (n - 1), rows.end(),
                   [this](const JgRow* a, const JgRow* b) { return info_.compare(a, b) < 0; });
  rows.resize(n);
  if (part->sort_memory_rows > 8 * n + 8192) {  // most of the arena is dropped rows
    Arena fresh(budget_);
    for (JgRow*& row : rows) row = copy_row(&fresh, row);
    part->arena = std::move(fresh);
    part->sort_memory_rows = n;
  }
  part->threshold = rows[n - 1];
}

Status Table::relieve(Part* part, JgTask* task) {
  if (part->texts && part->held() > part->merge_from) merge_dealt(part, task);
  return can_spill_ && budget_->should_spill(part->held()) ? spill(part) : Status();
}

Status Table::spill(Part* part) {
  if (part->rows.empty() && !part->dealt) return {};
  if (!part->file) {
    part->file = std::make_unique<SpillFile>(info_, budget_);
    part->runs.resize(is_parted() ? kDeals : 1);
  }
  JG_RETURN_IF_ERROR(part->dealt ? spill_dealt(part) : spill_sorted(part));
  part->rows.clear();
  part->null_rows.clear();  // which no join looks for that may go to disk
  part->arena.reset();
  return {};
}

Status Table::spill_dealt(Part* part) {
  const ByDeal before(part->rows);
  std::vector<JgRow*> rows;
  for (size_t d = 0; d < kDeals; d++) {
    rows.clear();
    part->append(d, before, &rows);
    for (size_t at = 0; at < rows.size(); at += kRunRows) {
      part->runs[d].emplace_back();
      const size_t n = std::min(kRunRows, rows.size() - at);
      JG_RETURN_IF_ERROR(part->file->write(rows.data() + at, n, &part->runs[d].back()));
    }
  }
  part->dealt->clear();
  if (kind_ == Kind::kGroups) begin_groups(part);
  return {};
}

Status Table::spill_sorted(Part* part) {
  std::vector<JgRow*> sorted(part->rows.size());
  const auto sorting = static_cast<int64_t>(sorted.size() * kSortedBytes);
  budget_->fixed -= sorting;  // the others need not end for it
  auto sorter = make_sorter(info_, budget_, {{&part->rows, part->bounds}}, kSortRanges);
  sorter->deal(0);
  for (int r = 0; r < sorter->ranges(); r++) sorter->sort(static_cast<size_t>(r), sorted.data());
  sorter.reset();
  budget_->fixed += sorting;
  part->runs[0].emplace_back();
  JG_RETURN_IF_ERROR(part->file->write(sorted.data(), sorted.size(), &part->runs[0].back()));
  part->threshold = nullptr;
  part->sort_memory_rows = 0;
  part->bounds = {};
  return {};
}

void Table::prepare() {
  if (kind_ == Kind::kGroups && !has_keys_) part(0);  // a global aggregate has a row for no input, too
  std::erase_if(parts_, [](const auto& p) { return !p; });
  if (std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->file != nullptr; })) {
    is_spilled_ = true;
    tasks_ = static_cast<int>(parts_.size());
    return;
  }
  for (auto& p : parts_) p->arena.settle();
  switch (kind_) {
    case Kind::kJoin: {
      int64_t count = 0, nulls = 0;
      for (auto& p : parts_) count += p->rows.size(), nulls += p->null_rows.size();
      begin_directory(count);
      rows_.reserve(count + nulls);
      for (auto& p : parts_) rows_.insert(rows_.end(), p->rows.begin(), p->rows.end());
      for (auto& p : parts_) null_rows_.insert(null_rows_.end(), p->null_rows.begin(), p->null_rows.end());
      rows_.insert(rows_.end(), null_rows_.begin(), null_rows_.end());
      tasks_ = static_cast<int>(parts_.size());
      break;
    }
    case Kind::kGroups:
      prepare_groups();
      break;
    case Kind::kSort:
      prepare_sort();
      break;
    case Kind::kRows:
      for (auto& p : parts_) before_.emplace_back(p->rows);
      tasks_ = 0;
      break;
  }
}

// Readers merge partitioned groups; several readers would repeat the merge.
void Table::prepare_groups() {
  if (std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->texts != nullptr; })) {
    for (auto& p : parts_) before_.emplace_back(p->rows);
    tasks_ = readers_ > 1 ? static_cast<int>(kDeals) : 0;
    if (readers_ <= 1) list_deals(deal_sizes());
    merged_.resize(static_cast<size_t>(tasks_));
    return;
  }
  int64_t total = 0;
  uint64_t smallest = 64;
  std::erase_if(parts_, [this](const auto& p) { return has_keys_ && p->groups.count == 0; });
  for (auto& p : parts_) {
    total += p->groups.count;
    smallest = std::min<uint64_t>(smallest, p->slots.size());
  }
  const bool small = total < kSmallMerge || parts_.size() < 2;
  partition_bits_ = total < 2 || (small && !info_.complete) ? 0 : std::countr_zero(smallest);
  tasks_ = 1 << partition_bits_;
  merged_.resize(tasks_);
}

void Table::prepare_sort() {
  tasks_ = 0;
  if (info_.is_dealt && choose_deals()) return;
  JgTableInfo info = info_;
  if (info_.is_dealt) gather_deals();
  if (info_.hash_offset >= 0) info.sort_words = 0;  // the hash alone is no order
  std::vector<SortPart> parts;
  for (auto& p : parts_) parts.push_back({&p->rows, p->bounds});
  sorter_ = make_sorter(info, budget_, std::move(parts), kSortRanges);
  tasks_ = static_cast<int>(parts_.size());
}

// Return the number of rows of each partition.
std::array<size_t, kDeals> Table::deal_sizes() const {
  std::array<size_t, kDeals> rows{};
  for (size_t p = 0; p < parts_.size(); p++)
    for (size_t d = 0; d < kDeals; d++)
      rows[d] += parts_[p]->dealt->count(d) + (before_.empty() ? 0 : before_[p].count(d));
  return rows;
}

// Leave the partitions to readers.
void Table::list_deals(const std::array<size_t, kDeals>& rows) {
  for (size_t d = 0; d < kDeals; d++)
    if (rows[d]) deals_.push_back(d);
  std::sort(deals_.begin(), deals_.end(), [&](size_t a, size_t b) { return rows[a] > rows[b]; });
}

// Return whether readers sort the partitions: there are many rows, no thread would wait long for another one's
// partition, and there is only one reader of the rows.
bool Table::choose_deals() {
  const auto rows = deal_sizes();
  const size_t all = std::accumulate(rows.begin(), rows.end(), size_t{0});
  if (readers_ > 1 || all < kDealtRows || *std::max_element(rows.begin(), rows.end()) > all / parts_.size())
    return false;
  list_deals(rows);
  return true;
}

void Table::append_deal(size_t deal, std::vector<JgRow*>* rows) const {
  for (size_t p = 0; p < parts_.size(); p++) {
    if (!before_.empty()) before_[p].append(deal, rows);
    parts_[p]->dealt->append(deal, rows);
  }
}

void Table::gather_deals() {
  for (auto& p : parts_) {
    for (size_t d = 0; d < kDeals; d++) p->dealt->append(d, &p->rows);
    for (const JgRow* row : p->rows) p->bounds.add(info_, row);
    if (info_.hash_offset >= 0) p->bounds.common = std::min(p->bounds.common, 1);
  }
}

// By key where that takes no more memory than by hash.
void Table::begin_directory(int64_t rows) {
  const uint64_t by_hash = slots_for(rows * 2), in_slot = info_.is_set ? 64 : 1;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (auto& p : parts_) low = std::min(low, p->low), high = std::max(high, p->high);
  if (info_.key && low <= high && (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / in_slot < by_hash) {
    join_.low = low;
    join_.span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  }
  const uint64_t count = join_.span ? (join_.span - 1) / in_slot + 1 : by_hash;
  slots_ = {reinterpret_cast<uint64_t*>(linked_.zeroed(count * sizeof(uint64_t))), count};
  if (join_.span && info_.is_set) join_.present = slots_.data();
  join_.directory = join_.span ? JgDirectory{slots_.data(), 0} : directory_of(slots_);
}

Status Table::task(int i, JgTask* task) {
  if (is_spilled_) {
    Part* part = parts_[i].get();
    JG_RETURN_IF_ERROR(spill(part));  // the latest rows, which could move until now
    part->arena.settle();
    part->runs.resize(is_parted() ? kDeals : 1);
    return {};
  }
  switch (kind_) {
    case Kind::kJoin: {
      const auto slot_of = [this](const JgRow* row) { return this->slot_of(row); };
      if (join_.present)
        mark_all(parts_[i]->rows, join_.present, slot_of);
      else if (parts_.size() == 1 ? link_all(parts_[i]->rows, slots_.data(), slot_of)
                                  : link_shared(parts_[i]->rows, slots_.data(), slot_of))
        has_chains_ = true;
      break;
    }
    case Kind::kGroups:
      if (!before_.empty())
        merge_deal(static_cast<size_t>(i), task);
      else
        merge_partition(i, task);
      if (info_.complete) complete(merged_[i], task);
      break;
    case Kind::kSort:
      switch (round_) {
        case Round::kDeal:
          sorter_->deal(i);
          break;
        case Round::kSort:
          sorter_->sort(i, rows_.data());
          break;
        case Round::kWindows:
          info_.windows(task, rows_.data() + window_bounds_[i], window_bounds_[i + 1] - window_bounds_[i]);
          break;
      }
      break;
    case Kind::kRows:
      break;
  }
  return {};
}

// After each round: one thread does the small steps here.
void Table::finish_sort(JgTask* task) {
  if (round_ == Round::kDeal) {
    rows_.resize(sorter_->size());
    tasks_ = sorter_->ranges();
    round_ = Round::kSort;
    if (tasks_ > 1) return;
    sorter_->sort(0, rows_.data());
  }
  tasks_ = 0;
  if (round_ == Round::kWindows) return;
  sorter_.reset();
  const auto size = static_cast<int64_t>(rows_.size());
  const int64_t first = std::min(size, offset_);
  const int64_t last = limit_ < 0 || limit_ > size - first ? size : first + limit_;
  if (last - first < size) rows_ = std::vector<JgRow*>(rows_.begin() + first, rows_.begin() + last);
  if (info_.skyline) rows_.resize(static_cast<size_t>(info_.skyline(rows_.data(), last - first)));
  if (!info_.windows) return;
  round_ = Round::kWindows;
  tasks_ = split_windows();
  if (tasks_ > 1) return;
  tasks_ = 0;
  info_.windows(task, rows_.data(), static_cast<int64_t>(rows_.size()));
}

// Ranges of whole partitions.
int Table::split_windows() {
  const auto size = static_cast<int64_t>(rows_.size());
  const int64_t ranges = std::clamp<int64_t>(size / kWindowRows, 1, kWindowRanges);
  window_bounds_.assign(1, 0);
  for (int64_t r = 1; r < ranges; r++) {
    int64_t at = std::max(size * r / ranges, window_bounds_.back() + 1);
    while (at < size && info_.together(rows_[at - 1], rows_[at])) at++;
    if (at >= size) break;
    window_bounds_.push_back(at);
  }
  window_bounds_.push_back(size);
  return static_cast<int>(window_bounds_.size()) - 1;
}

// Compute the results of groups whose rows are all there.
void Table::complete(std::vector<JgRow*>& groups, JgTask* task) {
  auto memory = std::make_unique<JgMemory>(budget_);
  for (JgRow* row : groups) {
    info_.complete(task, memory.get(), row);
    if (task->failure == JG_OK && budget_->exceeded()) jg_fail(task, JG_MEMORY, -1);
    if (task->failure != JG_OK) return;
  }
  memory->release();
  std::lock_guard lock(mutex_);
  completed_.push_back(std::move(memory));
}

void Table::merge_deal(size_t deal, JgTask* task) {
  std::vector<JgRow*> rows;
  append_deal(deal, &rows);
  GroupMerger merger(info_);
  merger.begin(static_cast<int64_t>(rows.size()), JG_DEAL_BITS);
  merger.merge(task, rows.data(), rows.size(), &merged_[deal]);
}

void Table::merge_partition(int p, JgTask* task) {
  auto& result = merged_[p];
  if (!has_keys_) {
    JgRow* first = parts_[0]->groups.single;
    for (size_t i = 1; i < parts_.size(); i++) info_.merge(task, 0, first, parts_[i]->groups.single);
    result.push_back(first);
    return;
  }
  int64_t rows = 0;
  for (auto& part : parts_) rows += part->groups.count;
  const int parts = 1 << partition_bits_;
  GroupMerger merger(info_);
  std::vector<JgRow*> here;
  merger.begin(rows / parts + 1, partition_bits_);
  result.reserve(rows / parts + 1);
  for (auto& part : parts_) {
    const size_t width = part->slots.size() / parts;
    const size_t last = (p + 1) * width;
    here.clear();
    for (size_t s = p * width; s < last; s++) {
      if (s + kAhead < last) __builtin_prefetch(reinterpret_cast<void*>(part->slots[s + kAhead] & kPointer));
      for (auto* row = reinterpret_cast<JgRow*>(part->slots[s] & kPointer); row; row = row->next) here.push_back(row);
    }
    if (parts_.size() > 1)
      merger.merge(task, here.data(), here.size(), &result);
    else
      result.insert(result.end(), here.begin(), here.end());
  }
}

// Keys of many rows each: those of a chain side by side, so that following it is reading on. One pass over rows that
// the joins to come will visit many times.
void Table::gather_chains() {
  const int64_t count = static_cast<int64_t>(rows_.size() - null_rows_.size());
  const int64_t used = std::count_if(slots_.begin(), slots_.end(), [](uint64_t slot) { return slot != 0; });
  const uint64_t stride = (info_.row_size + 15) & ~uint64_t{15};
  if (count < kLongChain * used || !budget_->has_room(static_cast<int64_t>(stride) * count)) return;
  char* at = gathered_.bytes(stride * count);
  size_t n = 0;
  for (uint64_t& slot : slots_) {
    auto* row = reinterpret_cast<JgRow*>(slot & kPointer);
    if (row) slot = (slot & ~kPointer) | reinterpret_cast<uint64_t>(at);
    for (; row; row = row->next, at += stride) {
      auto* copy = reinterpret_cast<JgRow*>(at);
      std::memcpy(copy, row, info_.row_size);
      if (row->next) copy->next = reinterpret_cast<JgRow*>(at + stride);
      rows_[n++] = copy;
    }
  }
}

void Table::finish(JgTask* task) {
  if (is_spilled_ || !deals_.empty()) {
    tasks_ = 0;
    return;
  }
  switch (kind_) {
    case Kind::kJoin:
      if (is_expanded_) gather_chains();
      join_.is_unique = join_.span && !join_.present && !has_chains_;
      join_.rows = rows_.data();
      join_.count = static_cast<int64_t>(rows_.size());
      join_.null_rows = null_rows_.data();
      join_.null_count = static_cast<int64_t>(null_rows_.size());
      break;
    case Kind::kGroups:
      if (merged_.size() == 1) {
        rows_ = std::move(merged_[0]);
      } else {
        for (auto& m : merged_) rows_.insert(rows_.end(), m.begin(), m.end());
      }
      merged_.clear();
      break;
    case Kind::kSort:
      return finish_sort(task);
    case Kind::kRows:
      break;
  }
  tasks_ = 0;
}

}  // namespace jg
