#include "table_store.h"

#include <algorithm>
#include <bit>

#include "jgsw/externs.h"

namespace jgsw {

namespace {

constexpr uint32_t kEnd = ~uint32_t{0};

}  // namespace

void HashIndex::place(uint64_t bucket) {
  uint64_t i = home_of(bucket, mask());
  while (buckets_[i] != 0) i = (i + 1) & mask();
  buckets_[i] = bucket;
}

void HashIndex::insert(uint64_t hash, uint32_t slot) {
  if (2 * (count_ + 1) > buckets_.size()) {
    std::vector<uint64_t> old(2 * buckets_.size());
    old.swap(buckets_);
    for (uint64_t bucket : old)
      if (bucket != 0) place(bucket);
  }
  place(bucket_of(hash, slot));
  ++count_;
}

uint64_t HashIndex::position(uint64_t hash, uint32_t slot) const {
  uint64_t i = home_of(hash, mask());
  while (buckets_[i] != bucket_of(hash, slot)) i = (i + 1) & mask();
  return i;
}

// Moves later buckets of the run back, so that no probe stops too soon.
void HashIndex::erase(uint64_t hash, uint32_t slot) {
  uint64_t hole = position(hash, slot);
  for (uint64_t i = (hole + 1) & mask(); buckets_[i] != 0; i = (i + 1) & mask()) {
    const uint64_t home = home_of(buckets_[i], mask());
    if (((i - home) & mask()) >= ((i - hole) & mask())) {
      buckets_[hole] = buckets_[i];
      hole = i;
    }
  }
  buckets_[hole] = 0;
  --count_;
}

TableStore::TableStore(const TableInfo& info) : info_(info) {
  for (uint32_t k = 0; k < info.key_count; ++k) {
    const KeyField& key = info.keys[k];
    const uint32_t words = field_words(key.bits);
    for (uint32_t w = 0; w < words; ++w) {
      is_range_.push_back(key.match == Match::range);
      word_bits_.push_back(low_bits(std::min(64u, key.bits - 64 * w)));
    }
    is_exact_ = is_exact_ && key.match == Match::exact;
    has_priority_ = has_priority_ || key.match == Match::ternary || key.match == Match::range;
    words_ += words;
  }
  for (uint32_t a = 0; a < info.action_count; ++a) data_words_ = std::max(data_words_, action_words(a));
  entry_bytes_ = sizeof(Entry) + data_words_ * sizeof(uint64_t);
  const uint32_t size = info.size;
  live_.resize(size);
  values_.resize(size_t{size} * words_);
  tuples_.resize(size_t{size} * words_);
  hashes_.resize(size);
  if (!is_exact_) {
    masks_.resize(size_t{size} * words_);
    priorities_.resize(size);
    next_.resize(size);
  }
  entries_.resize((size_t{size} + 1) * (entry_bytes_ / 8));
  free_.reserve(size);
  for (uint32_t slot = size; slot > 0; --slot) free_.push_back(slot - 1);
  fallback = entry(size);
  search = info.key_count == 0 ? search_nothing : is_exact_ ? search_exact : search_tuples;
  reset_default();
  refresh();
  for (uint32_t r = 0; r < info.row_count; ++r) {
    uint32_t slot;
    insert(info.rows[r], slot);
  }
  is_constant_ = info.row_count > 0;
}

uint32_t TableStore::action_words(uint32_t action) const {
  uint32_t words = 0;
  const Action& declared = info_.actions[action];
  for (uint32_t p = 0; p < declared.parameter_count; ++p) words += field_words(declared.parameters[p].bits);
  return words;
}

void TableStore::refresh() {
  exact = {index_.buckets(), index_.mask(), values_.data(), reinterpret_cast<const std::byte*>(entries_.data()),
           entry_bytes_};
}

void TableStore::set_entry(uint32_t slot, uint32_t action, const uint64_t* data, bool hit) {
  Entry* target = entry(slot);
  *target = {action, slot, hit};
  const uint32_t words = action_words(action);
  if (words > 0) std::copy_n(data, words, reinterpret_cast<uint64_t*>(target + 1));
}

void TableStore::reset_default() { set_entry(info_.size, info_.default_action, info_.default_data, false); }

WriteResult TableStore::set_default(uint32_t action, const uint64_t* data) {
  if (info_.default_is_const) return WriteResult::constant;
  if (action >= info_.action_count) return WriteResult::invalid;
  set_entry(info_.size, action, data, false);
  return WriteResult::ok;
}

bool TableStore::valid(const Row& row) const {
  if (words_ == 0 || row.action >= info_.action_count) return false;
  for (uint32_t w = 0; w < words_; ++w) {
    if (row.value[w] & ~word_bits_[w]) return false;
    if (is_exact_) continue;
    if (row.mask[w] & ~word_bits_[w]) return false;
    if (!is_range_[w] && (row.value[w] & ~row.mask[w])) return false;
  }
  uint32_t at = 0;
  for (uint32_t k = 0; k < info_.key_count; ++k) {
    const uint32_t words = field_words(info_.keys[k].bits);
    if (info_.keys[k].match == Match::range) {
      for (uint32_t w = at + words; w > at; --w) {  // most significant word first
        if (row.value[w - 1] < row.mask[w - 1]) break;
        if (row.value[w - 1] > row.mask[w - 1]) return false;
      }
    }
    at += words;
  }
  return true;
}

// Without ternary and range fields the longest prefix decides: the one with the most bits in its mask.
int32_t TableStore::priority_of(const Row& row) const {
  if (has_priority_) return row.priority;
  int32_t bits = 0;
  for (uint32_t w = 0; w < words_; ++w) bits += std::popcount(row.mask[w]);
  return bits;
}

std::vector<uint64_t> TableStore::group_mask(const Row& row) const {
  std::vector<uint64_t> mask(words_);
  uint32_t at = 0;
  for (uint32_t k = 0; k < info_.key_count; ++k)
    for (uint32_t w = field_words(info_.keys[k].bits); w > 0; --w, ++at) {
      const Match match = info_.keys[k].match;
      mask[at] = match == Match::range ? 0 : match == Match::exact ? word_bits_[at] : row.mask[at];
    }
  return mask;
}

void TableStore::mask_key(const uint64_t* key, const uint64_t* mask, uint64_t* out) const {
  for (uint32_t w = 0; w < words_; ++w) out[w] = key[w] & mask[w];
}

uint32_t TableStore::chain_head(const Group& group, const uint64_t* masked, uint64_t hash) const {
  const uint64_t* buckets = group.index.buckets();
  const uint64_t mask = group.index.mask();
  for (uint64_t i = home_of(hash, mask); buckets[i] != 0; i = (i + 1) & mask) {
    if ((buckets[i] ^ hash) >> 32) continue;
    const uint32_t slot = static_cast<uint32_t>(buckets[i]) - 1;
    if (std::equal(masked, masked + words_, &tuples_[size_t{slot} * words_])) return slot;
  }
  return kEnd;
}

const Entry* TableStore::search_exact(const Table& table, const uint64_t* key) {
  const auto& self = static_cast<const TableStore&>(table);
  const uint64_t hash = hash_words(key, self.words_);
  const ExactIndex& index = self.exact;
  for (uint64_t i = home_of(hash, index.mask); index.buckets[i] != 0; i = (i + 1) & index.mask) {
    if ((index.buckets[i] ^ hash) >> 32) continue;
    const uint32_t slot = static_cast<uint32_t>(index.buckets[i]) - 1;
    if (std::equal(key, key + self.words_, &self.values_[size_t{slot} * self.words_])) return self.entry(slot);
  }
  return nullptr;
}

const Entry* TableStore::search_tuples(const Table& table, const uint64_t* key) {
  const auto& self = static_cast<const TableStore&>(table);
  uint64_t masked[kWordsMax];
  uint32_t found = kEnd;
  int32_t found_priority = 0;
  for (const std::unique_ptr<Group>& group : self.groups_) {
    if (found != kEnd && group->best() <= found_priority) break;
    self.mask_key(key, group->mask.data(), masked);
    uint32_t slot = self.chain_head(*group, masked, hash_words(masked, self.words_));
    for (; slot != kEnd; slot = self.next_[slot]) {
      if (found != kEnd && self.priorities_[slot] <= found_priority) break;
      const uint64_t* low = &self.values_[size_t{slot} * self.words_];
      const uint64_t* high = &self.masks_[size_t{slot} * self.words_];
      bool inside = true;
      uint32_t at = 0;
      for (uint32_t k = 0; self.has_priority_ && k < self.info_.key_count && inside; ++k) {
        const uint32_t words = field_words(self.info_.keys[k].bits);
        if (self.is_range_[at]) {
          const auto less = [&](const uint64_t* a, const uint64_t* b) {
            return std::lexicographical_compare(
                std::make_reverse_iterator(a + at + words), std::make_reverse_iterator(a + at),
                std::make_reverse_iterator(b + at + words), std::make_reverse_iterator(b + at));
          };
          inside = !less(key, low) && !less(high, key);
        }
        at += words;
      }
      if (inside) {
        found = slot;
        found_priority = self.priorities_[slot];
        break;
      }
    }
  }
  return found == kEnd ? nullptr : self.entry(found);
}

uint32_t TableStore::find_slot(const Row& row) const {
  if (is_exact_) {
    const Entry* found = search_exact(*this, row.value);
    return found ? found->slot : kEnd;
  }
  const std::vector<uint64_t> mask = group_mask(row);
  const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g->mask == mask; });
  if (group == groups_.end()) return kEnd;
  uint64_t masked[kWordsMax];
  mask_key(row.value, mask.data(), masked);
  for (uint32_t slot = chain_head(**group, masked, hash_words(masked, words_)); slot != kEnd; slot = next_[slot]) {
    if (priorities_[slot] != priority_of(row)) continue;
    bool same = true;
    for (uint32_t w = 0; w < words_; ++w) {
      const size_t i = size_t{slot} * words_ + w;
      same = same && values_[i] == row.value[w] && (!is_range_[w] || masks_[i] == row.mask[w]);
    }
    if (same) return slot;
  }
  return kEnd;
}

void TableStore::sort_groups() {
  std::stable_sort(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) { return a->best() > b->best(); });
}

void TableStore::link(uint32_t slot, const Row& row) {
  const size_t at = size_t{slot} * words_;
  std::copy_n(row.value, words_, &values_[at]);
  if (is_exact_) {
    std::copy_n(row.value, words_, &tuples_[at]);
    hashes_[slot] = hash_words(row.value, words_);
    index_.insert(hashes_[slot], slot);
    refresh();
    return;
  }
  std::copy_n(row.mask, words_, &masks_[at]);
  priorities_[slot] = priority_of(row);
  std::vector<uint64_t> mask = group_mask(row);
  mask_key(row.value, mask.data(), &tuples_[at]);
  hashes_[slot] = hash_words(&tuples_[at], words_);
  auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g->mask == mask; });
  if (found == groups_.end()) {
    groups_.push_back(std::make_unique<Group>());
    found = groups_.end() - 1;
    (*found)->mask = std::move(mask);
  }
  Group& group = **found;
  const uint32_t head = chain_head(group, &tuples_[at], hashes_[slot]);
  if (head == kEnd) {
    next_[slot] = kEnd;
    group.index.insert(hashes_[slot], slot);
  } else if (priorities_[head] < priorities_[slot]) {
    next_[slot] = head;
    group.index.replace(hashes_[slot], head, slot);
  } else {
    uint32_t before = head;
    while (next_[before] != kEnd && priorities_[next_[before]] >= priorities_[slot]) before = next_[before];
    next_[slot] = next_[before];
    next_[before] = slot;
  }
  const bool is_new_best = group.priorities.empty() || group.best() < priorities_[slot];
  ++group.priorities[priorities_[slot]];
  if (is_new_best) sort_groups();
}

void TableStore::unlink(uint32_t slot) {
  if (is_exact_) {
    index_.erase(hashes_[slot], slot);
    refresh();
    return;
  }
  const std::vector<uint64_t> mask = group_mask({nullptr, &masks_[size_t{slot} * words_], 0, 0, nullptr});
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g->mask == mask; });
  Group& group = **found;
  const uint32_t head = chain_head(group, &tuples_[size_t{slot} * words_], hashes_[slot]);
  if (head != slot) {
    uint32_t before = head;
    while (next_[before] != slot) before = next_[before];
    next_[before] = next_[slot];
  } else if (next_[slot] != kEnd) {
    group.index.replace(hashes_[slot], slot, next_[slot]);
  } else {
    group.index.erase(hashes_[slot], slot);
  }
  if (--group.priorities[priorities_[slot]] == 0) group.priorities.erase(priorities_[slot]);
  if (group.priorities.empty())
    groups_.erase(found);
  else
    sort_groups();
}

WriteResult TableStore::insert(const Row& row, uint32_t& slot) {
  if (is_constant_) return WriteResult::constant;
  if (!valid(row)) return WriteResult::invalid;
  if (find_slot(row) != kEnd) return WriteResult::exists;
  if (free_.empty()) return WriteResult::full;
  slot = free_.back();
  free_.pop_back();
  live_[slot] = true;
  ++count_;
  set_entry(slot, row.action, row.data, true);
  link(slot, row);
  return WriteResult::ok;
}

WriteResult TableStore::modify(const Row& row, uint32_t& slot) {
  if (is_constant_) return WriteResult::constant;
  const WriteResult found = locate(row, slot);
  if (found == WriteResult::ok) set_entry(slot, row.action, row.data, true);
  return found;
}

WriteResult TableStore::remove(const Row& row, uint32_t& slot) {
  if (is_constant_) return WriteResult::constant;
  const WriteResult found = locate(row, slot);
  if (found != WriteResult::ok) return found;
  unlink(slot);
  live_[slot] = false;
  --count_;
  free_.push_back(slot);
  return WriteResult::ok;
}

WriteResult TableStore::locate(const Row& row, uint32_t& slot) const {
  if (!valid(row)) return WriteResult::invalid;
  slot = find_slot(row);
  return slot == kEnd ? WriteResult::not_found : WriteResult::ok;
}

bool TableStore::read(uint32_t slot, Row& row) const {
  if (slot >= info_.size || !live_[slot]) return false;
  const size_t at = size_t{slot} * words_;
  row = {&values_[at], is_exact_ ? nullptr : &masks_[at], is_exact_ ? 0 : priorities_[slot], entry(slot)->action,
         entry(slot)->data()};
  return true;
}

}  // namespace jgsw
