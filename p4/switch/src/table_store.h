// The entries of one table, and the engines that find them: a hash for exact keys, tuple-space search for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "jgsw/lookup.h"

namespace jgsw {

enum class WriteResult : int32_t { ok = 0, exists = 1, not_found = 2, full = 3, invalid = 4, constant = 5 };

// Buckets of ExactIndex, doubled when half of them are taken.
class HashIndex {
 public:
  HashIndex() : buckets_(16) {}

  const uint64_t* buckets() const { return buckets_.data(); }
  uint64_t mask() const { return buckets_.size() - 1; }

  void insert(uint64_t hash, uint32_t slot);
  void erase(uint64_t hash, uint32_t slot);
  void replace(uint64_t hash, uint32_t from, uint32_t to) { buckets_[position(hash, from)] = bucket_of(hash, to); }

 private:
  uint64_t position(uint64_t hash, uint32_t slot) const;
  void place(uint64_t bucket);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
};

// Ternary, lpm and range rows are grouped by their masks (Srinivasan, Suri, Varghese: "Packet classification using
// tuple space search", SIGCOMM 1999). A group hashes masked keys to chains in falling priority; groups are visited in
// falling order of their best priority, until none left can win. Range fields are not hashed: the rows of a chain check
// them. Of two rows that match with one priority the one inserted first wins within a group.
//
// Writers and lookups must not overlap: the pipe applies writes between two batches.
class TableStore : public Table {
 public:
  explicit TableStore(const TableInfo& info);
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;

  const TableInfo& info() const { return info_; }
  uint32_t words() const { return words_; }
  uint32_t data_words_max() const { return data_words_; }
  uint32_t count() const { return count_; }

  // `slot` says which one was written. A row's identity is its value and mask, and its priority unless all keys are
  // exact or lpm.
  WriteResult insert(const Row& row, uint32_t& slot);
  WriteResult modify(const Row& row, uint32_t& slot);
  WriteResult remove(const Row& row, uint32_t& slot);
  WriteResult set_default(uint32_t action, const uint64_t* data);
  void reset_default();

  // The row in `slot`, whose pointers live until the next write; false if it is free.
  bool read(uint32_t slot, Row& row) const;
  WriteResult locate(const Row& row, uint32_t& slot) const;
  const Entry& default_entry() const { return *fallback; }
  uint32_t action_words(uint32_t action) const;

 private:
  struct Group {
    std::vector<uint64_t> mask;
    std::map<int32_t, uint32_t, std::greater<>> priorities;  // with the number of rows of each
    HashIndex index;

    int32_t best() const { return priorities.begin()->first; }
  };

  static const Entry* search_nothing(const Table&, const uint64_t*) { return nullptr; }
  static const Entry* search_exact(const Table& table, const uint64_t* key);
  static const Entry* search_tuples(const Table& table, const uint64_t* key);

  bool valid(const Row& row) const;
  int32_t priority_of(const Row& row) const;
  void mask_key(const uint64_t* key, const uint64_t* mask, uint64_t* out) const;
  std::vector<uint64_t> group_mask(const Row& row) const;
  uint32_t chain_head(const Group& group, const uint64_t* masked, uint64_t hash) const;
  uint32_t find_slot(const Row& row) const;
  void link(uint32_t slot, const Row& row);
  void unlink(uint32_t slot);
  void sort_groups();
  void refresh();
  void set_entry(uint32_t slot, uint32_t action, const uint64_t* data, bool hit);
  Entry* entry(uint32_t slot) { return reinterpret_cast<Entry*>(entries_.data() + slot * (entry_bytes_ / 8)); }
  const Entry* entry(uint32_t slot) const {
    return reinterpret_cast<const Entry*>(entries_.data() + slot * (entry_bytes_ / 8));
  }

  const TableInfo& info_;
  uint32_t words_ = 0;
  uint32_t data_words_ = 0;
  size_t entry_bytes_ = 0;
  bool is_exact_ = true;
  bool has_priority_ = false;
  bool is_constant_ = false;
  std::vector<bool> is_range_;       // by word
  std::vector<uint64_t> word_bits_;  // by word: the bits a value may have

  uint32_t count_ = 0;
  std::vector<uint32_t> free_;
  std::vector<bool> live_;
  std::vector<uint64_t> values_, masks_;  // by slot, `words_` each
  std::vector<uint64_t> tuples_;          // the masked keys that are hashed
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> priorities_;
  std::vector<uint32_t> next_;     // in a chain, kEnd at the end
  std::vector<uint64_t> entries_;  // Entry and its data, the default's at `size`
  HashIndex index_;                // of exact tables
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace jgsw
