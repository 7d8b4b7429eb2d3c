// Memory of state tables: bump arenas that count against the instance's budget.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/lent_memory.h"
#include "jg/batch.h"

struct JgRow;

namespace jg {

// Bytes that this host can still give: the machine, or the process's control group if that has less.
int64_t available_memory();

// The memory of all arenas of an instance. A limit of 0 means the host's: an instance that would take the last of its
// memory fails by itself, before the system kills it or another process.
class Budget {
 public:
  static constexpr int64_t kReserve = 512ll << 20;  // is left to others
  static constexpr int64_t kStep = 64ll << 20;      // between two checks of the host's memory

  std::atomic<int64_t> held{0};
  std::atomic<int64_t> fixed{0};    // the part that cannot spill; kept as a count, since a difference of two
                                    // would mix two moments
  std::atomic<int64_t> spilled{0};  // bytes that went there
  int64_t limit = 0;
  int64_t spill_from = INT64_MAX, spill_least = 0;  // held together; held by the table of a thread that makes room
  int64_t (*available)() = available_memory;

  // Set the limit before anything is allocated. Tables spill below the limit, so that there is room for what cannot
  // spill, or if they hold most of the host's memory.
  void begin(int64_t limit_bytes, int threads) {
    limit = limit_bytes;
    spill_from = limit > 0 ? limit / 4 * 3 : available() / 5 * 3;
    spill_least = spill_from / (4 * threads);
  }
  // Count this many bytes more, or fewer, that cannot spill.
  void count(int64_t bytes) {
    held += bytes;
    fixed += bytes;
  }
  bool should_spill(int64_t own) const {
    return held.load(std::memory_order_relaxed) > spill_from && own > spill_least;
  }
  bool exceeded() {
    if (limit > 0 && fixed.load(std::memory_order_relaxed) > limit) return true;
    const int64_t now = held.load(std::memory_order_relaxed);
    if (now >= next_look_.load(std::memory_order_relaxed)) {
      next_look_ = now + kStep;
      if (available() < kReserve) scarce_ = true;
    }
    return scarce();
  }
  bool scarce() const { return scarce_.load(std::memory_order_relaxed); }
  // Return whether there is room for this many bytes, which may be on disk as well.
  bool has_room(int64_t bytes) const { return held.load(std::memory_order_relaxed) + bytes <= spill_from; }
  // Check and count in one step: concurrent threads do not take the same room.
  bool claim(int64_t bytes) {
    int64_t now = held.load(std::memory_order_relaxed);
    do {
      if (now + bytes > spill_from) return false;
    } while (!held.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
    fixed += bytes;
    return true;
  }
  // Memory that is a file was had, or was not for want of room on its disk. What its rows need beside it may be the
  // last that the host has.
  void note_mapped(int64_t bytes, bool had) {
    if (had)
      spilled += bytes;
    else
      disk_is_full_ = true;
    if (available() < kReserve) scarce_ = true;
  }

  // Explain why memory is exhausted, with the remedy.
  std::string explain() const;

 private:
  std::atomic<int64_t> next_look_{kStep};
  std::atomic<bool> scarce_{false}, disk_is_full_{false};
};

// Memory that is visited at random: large blocks are in huge pages, where the system has them, so that a visit misses
// the cache at most and not the page tables, too. Throws std::bad_alloc.
inline void* random_access_memory(size_t size) {
  constexpr size_t kHugePage = 2 << 20, kLine = 64;
  const size_t alignment = size >= kHugePage ? kHugePage : kLine;
  size = (size + alignment - 1) & ~(alignment - 1);
  if (size >= kLentBlock || (size >= kLentLeast && std::has_single_bit(size)))
    if (void* lent = borrow(size)) return lent;
  void* p = std::aligned_alloc(alignment, size);
  if (!p) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(p, size, MADV_HUGEPAGE);  // advice: without it everything works
  return p;
}

inline void free_random_access(void* p) {
  if (p && !give_back(p)) std::free(p);
}

// For containers.
template <class T>
struct RandomAccess {
  using value_type = T;
  RandomAccess() = default;
  template <class U>
  RandomAccess(const RandomAccess<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(random_access_memory(n * sizeof(T))); }
  void deallocate(T* p, size_t) { free_random_access(p); }
  template <class U>
  void construct(U* p) {  // resize() leaves values as they are
    ::new (static_cast<void*>(p)) U;
  }
  bool operator==(const RandomAccess&) const { return true; }
};

using Rows = std::vector<JgRow*, RandomAccess<JgRow*>>;

// The fate of an arena's rows when all tables together exceed memory: the query ends; the rows are moved to disk; or
// later ones go to memory that is a file, if they must not move.
enum class Beyond { kEnds, kMoves, kMaps };

// Bump allocation; everything is freed at once. Not thread-safe: each thread has its own.
class Arena {
 public:
  explicit Arena(Budget* budget = nullptr, Beyond beyond = Beyond::kEnds)
      : budget_(budget), movable_(beyond == Beyond::kMoves) {
    if (beyond == Beyond::kMaps) disk_ = std::make_unique<DiskMemory>();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(chunks_, other.chunks_);
    std::swap(at_, other.at_);
    std::swap(end_, other.end_);
    std::swap(held_, other.held_);
    std::swap(movable_, other.movable_);
    std::swap(disk_, other.disk_);
    return *this;
  }
  ~Arena() {
    for (char* c : chunks_) free_random_access(c);
    count(-held_);
  }

  // n zeroed bytes, aligned to 16. Throws std::bad_alloc like operator new.
  char* zeroed(uint64_t n) {
    char* p = bytes(n);
    std::memset(p, 0, n);
    return p;
  }
  char* bytes(uint64_t n) {
    n = (n + 15) & ~uint64_t{15};
    if (static_cast<uint64_t>(end_ - at_) < n) grow(n);
    char* p = at_;
    at_ += n;
    return p;
  }
  JgStr copy(JgStr s) {
    if (s.size == 0) return {"", 0};
    char* p = bytes(s.size);
    std::memcpy(p, s.data, s.size);
    return {p, s.size};
  }
  int64_t held() const { return held_; }  // in memory
  // From now on nobody moves it to disk.
  void settle() {
    if (movable_) budget_->fixed += held_;
    movable_ = false;
  }
  // Forgets all but the first chunk's memory.
  void reset() {
    while (chunks_.size() > 1) {
      free_random_access(chunks_.back());
      chunks_.pop_back();
    }
    at_ = end_ = nullptr;
    if (disk_) disk_->reset();
    if (!chunks_.empty()) {
      at_ = chunks_[0];
      end_ = at_ + kFirst;
      count(kFirst - held_);
    }
  }

 private:
  static constexpr int64_t kFirst = 64 << 10, kLargest = 4 << 20;

  void grow(uint64_t n) {
    const int64_t usual = chunks_.empty() ? kFirst : std::min<int64_t>(held_, kLargest);
    const int64_t size = std::max(usual, static_cast<int64_t>(n));
    const bool is_claimed = disk_ && budget_->claim(size);
    if (disk_ && !is_claimed && map(n)) return;
    if (size > usual && chunks_.empty()) {  // reset() keeps a first chunk of a known size
      add(kFirst);
      count(kFirst);
    }
    add(size);
    if (is_claimed)
      held_ += size;
    else
      count(size);
  }
  bool map(uint64_t n) {
    const int64_t size = std::max(static_cast<int64_t>(n), std::clamp(disk_->size(), kFirst, kLargest));
    char* p = disk_->bytes(static_cast<size_t>(size));
    budget_->note_mapped(size, p != nullptr);
    if (!p) return false;
    at_ = p;
    end_ = p + size;
    return true;
  }
  void add(int64_t size) {
    char* p = static_cast<char*>(random_access_memory(size));
    chunks_.push_back(p);
    at_ = p;
    end_ = p + size;
  }
  void count(int64_t bytes) {
    held_ += bytes;
    if (!budget_) return;
    if (movable_)
      budget_->held += bytes;
    else
      budget_->count(bytes);
  }

  Budget* budget_ = nullptr;
  std::vector<char*> chunks_;
  char *at_ = nullptr, *end_ = nullptr;
  int64_t held_ = 0;
  bool movable_ = false;
  std::unique_ptr<DiskMemory> disk_;  // null: none is used
};

}  // namespace jg
