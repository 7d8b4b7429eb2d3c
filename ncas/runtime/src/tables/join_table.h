// The build of a join: rows in a directory by their keys' hash, or by the key itself.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "tables/row_store.h"

namespace jg {

// From the lowest to the highest of some integers.
struct KeyRange {
  int64_t low = INT64_MAX, high = INT64_MIN;

  void add(int64_t lowest, int64_t highest) {
    low = std::min(low, lowest);
    high = std::max(high, highest);
  }
  bool is_empty() const { return low > high; }
  uint64_t last() const { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
};

// A bit for each value in the range of a key: whether some row has it.
struct KeyBits {
  int number;  // of the key, among those that are integers
  int64_t low;
  uint64_t range;
  uint64_t* words;
};

struct JoinPart : Part {
  using Part::Part;

  JgRow* append_keyed(uint64_t hash, bool null_key) {
    if (!null_key) return append(hash);
    null_rows.push_back(zeroed(hash));
    return null_rows.back();
  }
  void note_keys(int number, int64_t lowest, int64_t highest) { ranges[number].add(lowest, highest); }

  Rows null_rows;                        // rows without a key
  std::array<KeyRange, JG_KEYS> ranges;  // of those keys that are integers
};

class JoinTable final : public RowStore {
 public:
  JoinTable(const JgJoinInfo& info, const TableConfig& config, Budget* budget);

  JgJoin* join() override { return &join_; }
  std::unique_ptr<TableReader> reader(const Reading& reading) const override;

 private:
  std::unique_ptr<Part> make_part() const override { return std::make_unique<JoinPart>(info_, budget_, beyond()); }
  Status write(Part* part) override;
  int begin_rounds() override;
  void run_task(int i, JgTask* task) override;
  int end_round(JgTask* task) override;

  JoinPart* part_at(size_t i) const { return static_cast<JoinPart*>(parts_[i].get()); }
  void begin_directory(int64_t rows);
  void begin_slots(uint64_t count);
  void rank_keys();
  void gather_rows(int part);
  std::span<JgRow* const> rows_of(int part) const {
    return {rows_.data() + begins_[part], begins_[part + 1] - begins_[part]};
  }
  void gather_chains();
  KeyRange range_of(int number) const;
  const KeyBits& make_bits(int number, const KeyRange& range);
  void take_bits(const KeyBits& bits);
  void choose_bits();
  uint64_t key_of(const JgRow* row) const {  // from the lowest on
    return static_cast<uint64_t>(info_.key(row, 0)) - static_cast<uint64_t>(join_.low);
  }
  template <class SlotOf>
  void link_rows(std::span<JgRow* const> rows, SlotOf slot_of);

  const JgJoinInfo& info_;
  const bool is_expanded_;
  Rows null_rows_;              // rows_ has all rows
  std::vector<size_t> begins_;  // of each part's rows in rows_, and the end of the last one
  std::vector<KeyBits> bits_;   // that are set in this round
  bool ranks_ = false;          // slots follow from bits, in the next round
  bool all_differ_ = false;     // no two rows have the same key
  std::span<uint64_t> slots_;
  std::atomic<bool> has_chains_{false};
  JgJoin join_{};
  Arena gathered_, linked_;  // rows in the order of their chains; slots, or bits
};

}  // namespace jg
