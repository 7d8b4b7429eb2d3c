#include "tables/sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <utility>

namespace jg {
namespace {

constexpr int64_t kRangeRows = 32768;  // that are worth a task
constexpr size_t kSamples = 32;        // for each range
constexpr size_t kRadixRows = 512;     // fewer are sorted by comparison

template <class Key>
class KeySorter : public Sorter {
 public:
  KeySorter(const JgSortInfo& info, Budget* budget, std::vector<RowsToSort> parts, const Packing& packing, int most)
      : info_(info), budget_(budget), packing_(packing), parts_(std::move(parts)), dealt_(parts_.size()) {
    for (const RowsToSort& p : parts_) size_ += static_cast<int64_t>(p.rows->size());
    split(static_cast<int>(std::clamp<int64_t>(size_ / kRangeRows, 1, most)));
  }
  ~KeySorter() override {
    for (const Dealt& dealt : dealt_) budget_->count(-static_cast<int64_t>(dealt.entries.size() * sizeof(Entry)));
  }

  void deal(size_t part) override {
    const Rows& rows = *parts_[part].rows;
    std::vector<uint16_t> range(rows.size());
    std::vector<size_t> at(ranges_);
    for (size_t i = 0; i < rows.size(); i++) at[range[i] = range_of(packing_.key<Key>(rows[i]))]++;
    size_t sum = 0;
    for (size_t& n : at) sum += std::exchange(n, sum);
    Dealt& dealt = dealt_[part];
    dealt.begin = at;
    dealt.begin.push_back(sum);
    dealt.entries.resize(rows.size());
    budget_->count(static_cast<int64_t>(rows.size() * sizeof(Entry)));
    for (size_t i = 0; i < rows.size(); i++) dealt.entries[at[range[i]]++] = {packing_.key<Key>(rows[i]), rows[i]};
  }

  void sort(size_t range, JgRow** all) override {
    std::unique_ptr<Scratch> scratch = borrow();
    Entries& entries = scratch->entries;
    entries.clear();
    for (const Dealt& dealt : dealt_) {
      all += dealt.begin[range];
      entries.insert(entries.end(), dealt.entries.begin() + dealt.begin[range],
                     dealt.entries.begin() + dealt.begin[range + 1]);
    }
    const auto less = [this](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : !packing_.exact() && info_.compare(a.row, b.row) < 0;
    };
    if (entries.size() < kRadixRows) {
      std::sort(entries.begin(), entries.end(), less);
    } else {
      radix_sort(scratch.get());
      for (auto begin = entries.begin(), end = begin; !packing_.exact() && begin != entries.end(); begin = end) {
        while (end != entries.end() && end->key == begin->key) ++end;
        if (end - begin > 1) std::sort(begin, end, less);
      }
    }
    for (const Entry& e : entries) *all++ = e.row;
    give_back(std::move(scratch));
  }

  int ranges() const override { return ranges_; }
  int64_t size() const override { return size_; }

 private:
  struct Entry {
    Key key;
    JgRow* row;
  };
  using Entries = std::vector<Entry, RandomAccess<Entry>>;
  struct Dealt {
    Entries entries;            // by range
    std::vector<size_t> begin;  // of each range, and the end
  };

  // Memory that ranges sort in, one after the other: that of each would be new to the system.
  struct Scratch {
    Entries entries, other;
  };

  std::unique_ptr<Scratch> borrow() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

  // Splitters from samples. Rows with equal keys come to one range.
  void split(int ranges) {
    std::vector<Key> samples;
    for (const RowsToSort& part : parts_) {
      const Rows& rows = *part.rows;
      const size_t count = ranges == 1 ? 0 : std::min(rows.size(), kSamples * ranges);
      for (size_t i = 0; i < count; i++) samples.push_back(packing_.key<Key>(rows[rows.size() * i / count]));
    }
    std::sort(samples.begin(), samples.end());
    for (int r = 1; r < ranges; r++) splitters_.push_back(samples[samples.size() * r / ranges]);
    splitters_.erase(std::unique(splitters_.begin(), splitters_.end()), splitters_.end());
    ranges_ = static_cast<int>(splitters_.size()) + 1;
    if (ranges_ > 1) splitters_.resize(std::bit_ceil(splitters_.size() + 1) - 1, splitters_.back());
  }

  // Return how many splitters are not above the key, without a branch, which would be mispredicted half of the time.
  uint16_t range_of(const Key& key) const {
    size_t at = 0;
    for (size_t step = (splitters_.size() + 1) / 2; step > 0; step /= 2)
      at += splitters_[at + step - 1] <= key ? step : 0;
    return static_cast<uint16_t>(std::min<size_t>(at, ranges_ - 1));
  }

  // By keys, byte by byte from the last.
  static void radix_sort(Scratch* scratch) {
    Entries &entries = scratch->entries, &other = scratch->other;
    other.resize(entries.size());
    for (int byte = 0; byte < static_cast<int>(sizeof(Key)); byte++) {
      std::array<size_t, 256> at{};
      for (const Entry& e : entries) at[byte_of(e.key, byte)]++;
      if (at[byte_of(entries.front().key, byte)] == entries.size()) continue;
      size_t sum = 0;
      for (size_t& n : at) sum += std::exchange(n, sum);
      for (const Entry& e : entries) other[at[byte_of(e.key, byte)]++] = e;
      entries.swap(other);
    }
  }

  const JgSortInfo info_;
  Budget* budget_;
  const Packing packing_;
  const std::vector<RowsToSort> parts_;
  std::vector<Dealt> dealt_;
  std::vector<Key> splitters_;  // range r begins with splitters_[r - 1]; a power of two less one, the last ones repeat
  int ranges_ = 1;
  int64_t size_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace

std::unique_ptr<Sorter> make_sorter(const JgSortInfo& info, Budget* budget, std::vector<RowsToSort> parts, int most) {
  WordBounds bounds;
  for (const RowsToSort& p : parts) bounds.add(p.bounds);
  const Packing packing(info, bounds);
  if (packing.bits() <= 64) return std::make_unique<KeySorter<uint64_t>>(info, budget, std::move(parts), packing, most);
  return std::make_unique<KeySorter<Wide>>(info, budget, std::move(parts), packing, most);
}

}  // namespace jg
