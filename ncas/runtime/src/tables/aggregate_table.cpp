#include "tables/aggregate_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tables/reader.h"

namespace jg {
namespace {

constexpr int64_t kSmallMerge = 4096;          // groups below which one thread merges faster than several
constexpr size_t kManyGroups = 1 << 16;        // of a thread, from which on their number should be worth it
constexpr size_t kMostGroups = 1 << 18;        // of a thread that are looked up: more have no room in the cache
constexpr size_t kNearGroups = 1 << 14;        // whose slots are in a core's own cache
constexpr double kAsGood = 0.9;                // part of the rows a group that fewer groups may lose
constexpr int64_t kApartRows = 1 << 20;        // after which grouping is tried again
constexpr int64_t kMergedBytes = 512ll << 20;  // of partitioned groups from which merging may pay

bool may_spill(const JgAggregateInfo& info, const TableConfig& config) { return config.has_keys && !info.complete; }

// Reads partitioned groups: one partition at a time, from memory or from disk.
class GroupReader final : public DealReader {
 public:
  GroupReader(const RowStore& table, const JgAggregateInfo& info, std::atomic<size_t>* claimed)
      : DealReader(table, claimed), merger_(info) {}

 private:
  Status load(size_t deal, JgTask* task) override {
    dealt_.clear();
    if (!table_.is_spilled()) {
      table_.append_deal(deal, &dealt_);
      merger_.begin(static_cast<int64_t>(dealt_.size()), JG_DEAL_BITS);
      merger_.merge(task, dealt_.data(), dealt_.size(), &rows_);
      return {};
    }
    merger_.begin(table_.rows_on_disk(deal), JG_DEAL_BITS);
    return table_.each_run_of(deal, [&](const SpillFile& file, const Run& run) {
      dealt_.clear();
      JG_RETURN_IF_ERROR(read_run(file, run, table_.layout(), &arena_, &dealt_));
      merger_.merge(task, dealt_.data(), dealt_.size(), &rows_);
      return Status();
    });
  }

  GroupMerger merger_;
  Rows dealt_;
};

}  // namespace

AggregateTable::AggregateTable(const JgAggregateInfo& info, const TableConfig& config, Budget* budget)
    : RowStore(info, config, budget, may_spill(info, config)),
      info_(info),
      has_keys_(config.has_keys),
      leaves_cache_(may_spill(info, config)) {}

std::unique_ptr<Part> AggregateTable::make_part() const {
  auto part = std::make_unique<AggregatePart>(info_, budget_, beyond());
  if (leaves_cache_) part->dealt = std::make_unique<DealtRows>(info_.row_size);
  part->merge_from = std::min(budget_->spill_least, kMergedBytes);
  begin_groups(part.get());
  if (!has_keys_) part->groups.single = part->zeroed(0);
  return part;
}

void AggregateTable::begin_groups(AggregatePart* part) const {
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

JgRow* AggregateTable::new_group(AggregatePart* part, uint64_t hash) {
  auto& g = part->groups;
  if (g.count >= g.capacity) make_room(part);
  g.count++;
  JgRow* row;
  if (part->texts) {
    row = part->dealt->add(hash, &part->arena);
    row->hash = hash;
  } else {
    row = part->append(hash);
  }
  if (!g.is_apart) link(&part->slots[hash >> g.directory.shift], row);
  return row;
}

// The directory grows as long as it fits into the cache. After that, groups are partitioned and merged later: those of
// one directory after the other, or each row alone if few rows share a key. Where rows of a key follow each other, a
// small directory has as many rows a group as a large one, which is tried once.
void AggregateTable::make_room(AggregatePart* part) {
  static uint64_t none[2];  // slots
  auto& g = part->groups;
  bool pays = g.is_apart || g.seen / 9 >= g.count / 8;
  if (!leaves_cache_ ||
      (!part->texts && (part->slots.size() < kManyGroups || (pays && part->slots.size() < kMostGroups))))
    return grow(part);
  const double rows_each = static_cast<double>(g.seen) / static_cast<double>(g.count);
  if (!part->texts) {
    part->texts = std::make_unique<DealtTexts>();
    part->rows_each = rows_each;
    part->most_groups = kNearGroups;
  } else if (!g.is_apart && part->slots.size() == kNearGroups && rows_each < kAsGood * part->rows_each) {
    part->most_groups = kMostGroups;
    pays = true;  // as far as is known
  }
  const size_t slots = g.is_apart ? kManyGroups : part->most_groups;
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

void AggregateTable::grow(AggregatePart* part) {
  const size_t old = part->slots.size();
  part->slots = Slots(old * 4, 0);
  budget_->count(static_cast<int64_t>((part->slots.size() - old) * sizeof(uint64_t)));
  auto& g = part->groups;
  g.capacity = static_cast<int64_t>(part->slots.size());
  g.directory = directory_of(part->slots);
  link_all(part->rows, part->slots.data(),
           [shift = g.directory.shift](const JgRow* row) { return row->hash >> shift; });
}

Status AggregateTable::relieve(Part* part, JgTask* task) {
  auto* groups = static_cast<AggregatePart*>(part);
  if (groups->texts && groups->held() > groups->merge_from) merge_dealt(groups, task);
  return RowStore::relieve(part, task);
}

// Make one group of those with the same keys.
void AggregateTable::merge_dealt(AggregatePart* part, JgTask* task) {
  Arena arena(budget_, Beyond::kMoves);
  auto dealt = std::make_unique<DealtRows>(info_.row_size);
  auto texts = std::make_unique<DealtTexts>();
  const ByDeal before(part->rows);
  GroupMerger merger(info_);
  Rows rows, groups;
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
  part->recent.forget();
  part->rows.clear();
  part->merge_from = std::max(part->merge_from, 2 * part->held());
}

Status AggregateTable::write(Part* part) {
  JG_RETURN_IF_ERROR(write_deals(part));
  begin_groups(static_cast<AggregatePart*>(part));
  return {};
}

// Readers merge partitioned groups; several readers would repeat the merge.
int AggregateTable::begin_rounds() {
  if (!has_keys_) {
    if (parts_.empty()) part(0);  // there is a row for no input, too
    merged_.resize(1);
    return 1;
  }
  if (std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->texts != nullptr; })) {
    deal_rows();
    merged_.resize(readers_ > 1 ? kDeals : 0);
    if (merged_.empty()) leave_deals(deal_sizes());
    return static_cast<int>(merged_.size());
  }
  int64_t total = 0;
  uint64_t smallest = 64;
  std::erase_if(parts_, [](const auto& p) { return static_cast<AggregatePart*>(p.get())->groups.count == 0; });
  for (size_t p = 0; p < parts_.size(); p++) {
    total += part_at(p)->groups.count;
    smallest = std::min<uint64_t>(smallest, part_at(p)->slots.size());
  }
  const bool small = total < kSmallMerge || parts_.size() < 2;
  partition_bits_ = total < 2 || (small && !info_.complete) ? 0 : std::countr_zero(smallest);
  merged_.resize(size_t{1} << partition_bits_);
  return static_cast<int>(merged_.size());
}

void AggregateTable::run_task(int i, JgTask* task) {
  if (!has_keys_)
    merge_single(task);
  else if (!before_.empty())
    merge_deal(static_cast<size_t>(i), task);
  else
    merge_partition(i, task);
  if (info_.complete) complete(merged_[i], task);
}

int AggregateTable::end_round(JgTask*) {
  if (merged_.size() == 1) {
    rows_ = std::move(merged_[0]);
  } else {
    for (auto& m : merged_) rows_.insert(rows_.end(), m.begin(), m.end());
  }
  merged_.clear();
  return 0;
}

void AggregateTable::merge_single(JgTask* task) {
  JgRow* first = part_at(0)->groups.single;
  for (size_t i = 1; i < parts_.size(); i++) info_.merge(task, 0, first, part_at(i)->groups.single);
  merged_[0].push_back(first);
}

void AggregateTable::merge_deal(size_t deal, JgTask* task) {
  Rows rows, groups;
  append_deal(deal, &rows);
  GroupMerger merger(info_);
  merger.begin(static_cast<int64_t>(rows.size()), JG_DEAL_BITS);
  merger.merge(task, rows.data(), rows.size(), &groups);
  merged_[deal] = std::move(groups);
}

void AggregateTable::merge_partition(int p, JgTask* task) {
  Rows result;
  int64_t rows = 0;
  for (size_t i = 0; i < parts_.size(); i++) rows += part_at(i)->groups.count;
  const int partitions = 1 << partition_bits_;
  GroupMerger merger(info_);
  Rows here;
  merger.begin(rows / partitions + 1, partition_bits_);
  result.reserve(rows / partitions + 1);
  for (size_t i = 0; i < parts_.size(); i++) {
    const Slots& slots = part_at(i)->slots;
    const size_t width = slots.size() / partitions;
    const size_t last = (p + 1) * width;
    here.clear();
    for (size_t s = p * width; s < last; s++) {
      if (s + kAhead < last) __builtin_prefetch(reinterpret_cast<void*>(slots[s + kAhead] & kPointer));
      for (auto* row = reinterpret_cast<JgRow*>(slots[s] & kPointer); row; row = row->next) here.push_back(row);
    }
    if (parts_.size() > 1)
      merger.merge(task, here.data(), here.size(), &result);
    else
      result.insert(result.end(), here.begin(), here.end());
  }
  merged_[p] = std::move(result);
}

// Compute the results of groups whose rows are all there.
void AggregateTable::complete(Rows& groups, JgTask* task) {
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

std::unique_ptr<TableReader> AggregateTable::reader(const Reading& reading) const {
  if (is_dealt()) return std::make_unique<GroupReader>(*this, info_, reading.claimed);
  return std::make_unique<MemoryReader>(*this, reading.claimed);
}

}  // namespace jg

const JgTableClass jg_aggregate_table = {jg::make_table<jg::AggregateTable, JgAggregateInfo>};
