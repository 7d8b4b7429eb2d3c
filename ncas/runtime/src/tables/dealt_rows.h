// Rows partitioned by hash: groups by their keys, so that a partition is merged within the cache; a window's sort
// buffer by the window's partition, so that each part has whole partitions, which are sorted and processed by window
// functions there.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"
#include "tables/directory.h"
#include "tables/packing.h"

namespace jg {

inline constexpr size_t kDeals = size_t{1} << JG_DEAL_BITS;

// The rows that one thread has partitioned. They are adjacent in pieces of the part's arena.
class DealtRows {
 public:
  explicit DealtRows(uint32_t row_size) : row_size_(row_size), places_(kDeals), pieces_(kDeals), rows_(kDeals) {}

  JgPlace* places() { return places_.data(); }  // they stay where they are
  // Makes room at a place that has none.
  void extend(JgPlace* place, Arena* arena);
  size_t count(size_t deal) const {
    return rows_[deal] - static_cast<size_t>(places_[deal].end - places_[deal].at) / row_size_;
  }
  void append(size_t deal, Rows* rows) const;
  // A zeroed one.
  JgRow* add(uint64_t hash, Arena* arena) {
    JgPlace* place = &places_[hash >> (64 - JG_DEAL_BITS)];
    if (place->at == place->end) extend(place, arena);
    std::memset(place->at, 0, row_size_);
    return reinterpret_cast<JgRow*>(std::exchange(place->at, place->at + row_size_));
  }
  // Forgets all; the arena has their memory.
  void clear();
  // Has the other's rows, and not its own.
  void take(DealtRows* other);

 private:
  struct Piece {
    char *begin, *end;
  };
  uint32_t row_size_;
  std::vector<JgPlace> places_;
  std::vector<std::vector<Piece>> pieces_;
  std::vector<size_t> rows_;  // that there is room for
};

// The texts of such rows: those of a partition are adjacent.
class DealtTexts {
 public:
  DealtTexts() : places_(kDeals), sizes_(kDeals) {}
  JgStr keep(uint64_t hash, JgStr s, Arena* arena);
  // Room for a text, at any address.
  char* bytes(uint64_t hash, uint64_t n, Arena* arena);

 private:
  std::vector<JgPlace> places_;
  std::vector<size_t> sizes_;  // of all pieces
};

// Rows in order of their partitions.
class ByDeal {
 public:
  explicit ByDeal(const Rows& rows);
  void append(size_t deal, Rows* rows) const {
    rows->insert(rows->end(), rows_.begin() + begin_[deal], rows_.begin() + begin_[deal + 1]);
  }
  size_t count(size_t deal) const { return static_cast<size_t>(begin_[deal + 1] - begin_[deal]); }

 private:
  Rows rows_;
  std::vector<ptrdiff_t> begin_;
};

// Makes one group of all rows with the same keys.
class GroupMerger {
 public:
  explicit GroupMerger(const JgAggregateInfo& info) : info_(info) {}
  // Begin with at most this many rows, whose hashes share their first `bits`.
  void begin(int64_t rows, int bits);
  // Appends those rows to `groups` that are the first of their keys, and adds the others to them.
  void merge(JgTask* task, JgRow* const* rows, size_t n, Rows* groups);

 private:
  uint64_t* slot(const JgRow* row) { return &slots_[row->hash << bits_ >> directory_.shift]; }

  const JgAggregateInfo info_;
  Slots slots_;
  JgDirectory directory_{};
  int bits_ = 0;
};

// Memory beside the rows of one partition, reused for the next one.
class DealMemory {
 public:
  explicit DealMemory(Budget* budget) : arena_(budget, Beyond::kMaps) {}
  // Return that many words, valid until the next call.
  std::span<uint64_t> words(size_t n);

 private:
  Arena arena_;
  std::span<uint64_t> words_;
};

// Sorts the rows of one partition.
class DealSorter {
 public:
  DealSorter(const JgSortInfo& info, Budget* budget) : info_(info), memory_(budget) {}
  void sort(Rows* rows);

 private:
  void part_equal_hashes(Rows* rows) const;
  bool before(const JgRow* a, const JgRow* b) const { return info_.compare(a, b) < 0; }
  uint32_t hash(const JgRow* row) const {
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(row) + info_.hash_offset);
  }

  const JgSortInfo info_;
  DealMemory memory_;
};

// Window functions that see whole partitions, over the rows of one part, which they leave in the order they are in.
class WholePartitions {
 public:
  WholePartitions(const JgSortInfo& info, Budget* budget) : info_(info), memory_(budget) {}
  void compute(JgTask* task, const Rows& rows);

 private:
  const JgSortInfo info_;
  DealMemory memory_;
};

}  // namespace jg
