#include "tables/join_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "jg/chains.h"
#include "tables/directory.h"
#include "tables/reader.h"

namespace jg {
namespace {

constexpr int64_t kLongChain = 32;  // rows of a bucket, on average, that are worth to be gathered
constexpr uint64_t kCachedWords = 4096;
constexpr uint64_t kToldWords = 1 << 19;  // of bits that are looked at beside slots: these are not in the cache

// Link rows into a directory that other threads link rows into. Returns whether some slot has several rows.
template <class SlotOf>
bool link_shared(std::span<JgRow* const> rows, uint64_t* slots, SlotOf slot_of) {
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

// The same where each row has a slot of its own, found by its key.
template <class SlotOf>
void place_all(std::span<JgRow* const> rows, uint64_t* slots, SlotOf slot_of) {
  std::array<uint64_t, JG_BLOCK> at;
  for (size_t from = 0; from < rows.size(); from += at.size()) {
    const std::span<JgRow* const> block = rows.subspan(from, std::min(at.size(), rows.size() - from));
    for (size_t i = 0; i < block.size(); i++) {
      at[i] = slot_of(block[i]);
      __builtin_prefetch(&slots[at[i]], 1);
    }
    for (size_t i = 0; i < block.size(); i++) slots[at[i]] = reinterpret_cast<uint64_t>(block[i]);
  }
}

// Set a bit for each row's key; other threads do, too. Keys of rows that follow each other often share a word.
template <class KeyOf>
void mark_all(std::span<JgRow* const> rows, uint64_t* bits, KeyOf key_of) {
  uint64_t word = 0, found = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kAhead < rows.size()) __builtin_prefetch(rows[i + kAhead]);
    const uint64_t at = key_of(rows[i]);
    if (at >> 6 != word) {
      if (found) __atomic_fetch_or(&bits[word], found, __ATOMIC_RELAXED);
      word = at >> 6;
      found = 0;
    }
    found |= uint64_t{1} << (at & 63);
  }
  if (found) __atomic_fetch_or(&bits[word], found, __ATOMIC_RELAXED);
}

// Reads the rows in memory that have met a partner, or those that have not.
class MatchReader final : public TableReader {
 public:
  MatchReader(const RowStore& table, const Reading& reading, int32_t offset)
      : rows_(table, reading.claimed), matched_(reading.which == Which::kMatched), offset_(offset) {}

  Status next(JgTask* task, int* n) override {
    int kept = 0;
    do {
      JG_RETURN_IF_ERROR(rows_.next(task, n));
      for (int i = 0; i < *n; i++)
        if ((reinterpret_cast<const uint8_t*>(task->rows[i])[offset_] != 0) == matched_) kept_[kept++] = task->rows[i];
    } while (*n > 0 && kept == 0);
    *n = kept;
    task->rows = kept_;
    return {};
  }

 private:
  MemoryReader rows_;
  const bool matched_;
  const int32_t offset_;
  JgRow* kept_[JG_BATCH_ROWS];
};

}  // namespace

JoinTable::JoinTable(const JgJoinInfo& info, const TableConfig& config, Budget* budget)
    : RowStore(info, config, budget, config.on_disk),
      info_(info),
      is_expanded_(config.is_expanded),
      gathered_(budget),
      linked_(budget, Beyond::kMaps) {}

Status JoinTable::write(Part* part) {
  JG_RETURN_IF_ERROR(write_deals(part));
  static_cast<JoinPart*>(part)->null_rows.clear();  // which no join looks for that may go to disk
  return {};
}

int JoinTable::begin_rounds() {
  begins_ = {0};
  size_t nulls = 0;
  for (size_t p = 0; p < parts_.size(); p++) {
    begins_.push_back(begins_.back() + parts_[p]->rows.size());
    nulls += part_at(p)->null_rows.size();
  }
  begin_directory(static_cast<int64_t>(begins_.back()));
  for (size_t p = 0; p < parts_.size(); p++) {
    const auto& rows = part_at(p)->null_rows;
    null_rows_.insert(null_rows_.end(), rows.begin(), rows.end());
  }
  rows_.resize(begins_.back() + nulls);
  std::copy(null_rows_.begin(), null_rows_.end(), rows_.begin() + static_cast<ptrdiff_t>(begins_.back()));
  return static_cast<int>(parts_.size());
}

// By key where that takes no more memory than by hash. Where most keys in their range have no row, a bit for each tells
// which have one: most probes then look at no slot, and slots are as many as keys, in their order. Both take about
// as much memory as slots by hash, or less. Bits alone where they are all that is asked for. Of several keys, bits of
// one may tell that there is no row.
void JoinTable::begin_directory(int64_t rows) {
  const uint64_t by_hash = slots_for(rows * 2);
  const auto has_room = [](uint64_t last, uint64_t words) { return last / 64 < std::max(words, kCachedWords); };
  if (info_.is_by_number && rows <= UINT32_MAX) {
    const KeyRange range = range_of(0);
    const uint64_t last = range.last();
    if (!range.is_empty()) {
      join_.low = range.low;
      if (info_.is_set ? last / 64 < by_hash : has_room(last, by_hash / 2) && last / 2 >= static_cast<uint64_t>(rows)) {
        take_bits(make_bits(0, range));
        ranks_ = !info_.is_set;
        return;
      }
      if (last < by_hash) join_.span = last + 1;
    }
  } else if (by_hash >> JG_CACHED_SLOTS_BITS) {
    for (int k = 0; k < info_.integers; k++) {
      const KeyRange range = range_of(k);
      if (!range.is_empty() && has_room(range.last(), by_hash / 4) && range.last() / 64 < kToldWords)
        make_bits(k, range);
    }
  }
  begin_slots(join_.span ? join_.span : by_hash);
  join_.directory = join_.span ? JgDirectory{slots_.data(), 0} : directory_of(slots_);
}

KeyRange JoinTable::range_of(int number) const {
  KeyRange all;
  for (size_t p = 0; p < parts_.size(); p++) all.add(part_at(p)->ranges[number].low, part_at(p)->ranges[number].high);
  return all;
}

const KeyBits& JoinTable::make_bits(int number, const KeyRange& range) {
  auto* words = reinterpret_cast<uint64_t*>(linked_.zeroed((range.last() / 64 + 1) * sizeof(uint64_t)));
  return bits_.emplace_back(KeyBits{number, range.low, range.last() + 1, words});
}

void JoinTable::take_bits(const KeyBits& bits) {
  join_.present = bits.words;
  join_.told_by = bits.number;
  join_.low = bits.low;
  join_.range = bits.range;
}

// Of several keys, take the bits of the one that has the fewest of the values in its range, if these are less than
// half.
void JoinTable::choose_bits() {
  double least = 0.5;
  for (const KeyBits& bits : bits_) {
    uint64_t values = 0;
    for (uint64_t w = 0; w < (bits.range + 63) / 64; w++) values += static_cast<uint64_t>(std::popcount(bits.words[w]));
    const double part = static_cast<double>(values) / static_cast<double>(bits.range);
    if (part >= least) continue;
    least = part;
    take_bits(bits);
  }
}

void JoinTable::begin_slots(uint64_t count) {
  const uint64_t bytes = count * sizeof(uint64_t);
  slots_ = {reinterpret_cast<uint64_t*>(all_differ_ ? linked_.bytes(bytes) : linked_.zeroed(bytes)), count};
}

// Count the keys before each word of bits, and make a slot for each key.
void JoinTable::rank_keys() {
  const uint64_t words = (join_.range + 63) / 64;
  join_.ranks = reinterpret_cast<uint32_t*>(linked_.bytes(words * sizeof(uint32_t)));
  uint32_t keys = 0;
  for (uint64_t w = 0; w < words; w++) {
    join_.ranks[w] = keys;
    keys += static_cast<uint32_t>(std::popcount(join_.present[w]));
  }
  join_.span = join_.range;
  all_differ_ = keys == begins_.back();
  begin_slots(keys);
  join_.directory = {slots_.data(), 0};
}

void JoinTable::run_task(int i, JgTask*) {
  gather_rows(i);
  const std::span<JgRow* const> rows = rows_of(i);
  for (const KeyBits& bits : bits_) {
    mark_all(rows, bits.words, [this, &bits](const JgRow* row) {
      return static_cast<uint64_t>(info_.key(row, bits.number)) - static_cast<uint64_t>(bits.low);
    });
  }
  if (slots_.empty()) return;
  const auto key_of = [this](const JgRow* row) { return this->key_of(row); };
  const auto rank_of = [this](const JgRow* row) { return jg_ranked(&join_, this->key_of(row)); };
  if (all_differ_)
    place_all(rows, slots_.data(), rank_of);
  else if (join_.ranks)
    link_rows(rows, rank_of);
  else if (join_.span)
    link_rows(rows, key_of);
  else
    link_rows(rows, [shift = join_.directory.shift](const JgRow* row) { return row->hash >> shift; });
}

// Move the part's rows to their place among all of them, in the first round.
void JoinTable::gather_rows(int part) {
  Rows& rows = parts_[part]->rows;
  if (rows.empty()) return;
  std::copy(rows.begin(), rows.end(), rows_.begin() + static_cast<ptrdiff_t>(begins_[part]));
  Rows().swap(rows);
}

template <class SlotOf>
void JoinTable::link_rows(std::span<JgRow* const> rows, SlotOf slot_of) {
  if (parts_.size() == 1 ? link_all(rows, slots_.data(), slot_of) : link_shared(rows, slots_.data(), slot_of))
    has_chains_ = true;
}

int JoinTable::end_round(JgTask*) {
  if (std::exchange(ranks_, false)) {
    bits_.clear();
    rank_keys();
    return static_cast<int>(parts_.size());
  }
  if (!info_.is_by_number) choose_bits();
  if (is_expanded_) gather_chains();
  join_.is_unique = join_.span && !has_chains_;
  join_.rows = rows_.data();
  join_.count = static_cast<int64_t>(rows_.size());
  join_.null_rows = null_rows_.data();
  join_.null_count = static_cast<int64_t>(null_rows_.size());
  return 0;
}

// Keys of many rows each: those of a chain side by side, so that following it is reading on. One pass over rows that
// the joins to come will visit many times.
void JoinTable::gather_chains() {
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

std::unique_ptr<TableReader> JoinTable::reader(const Reading& reading) const {
  if (is_spilled()) return std::make_unique<RunReader>(*this, reading.claimed);
  if (reading.which == Which::kAll) return std::make_unique<MemoryReader>(*this, reading.claimed);
  return std::make_unique<MatchReader>(*this, reading, info_.matched_offset);
}

}  // namespace jg

const JgTableClass jg_join_table = {jg::make_table<jg::JoinTable, JgJoinInfo>};
