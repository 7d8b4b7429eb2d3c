// How files are cut into work: parts of files (row ranges of a row group or a stripe), dealt to instances and threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace jg::columnar {

// Rows [first, first + rows) of part `part` of file `file`.
struct Morsel {
  int file = 0, part = 0;
  int64_t first = 0, rows = 0;
};

// The share of an instance. Which rows it holds depends only on `parts` and share_count, so that siblings' shares are
// disjoint and complete.
std::vector<Morsel> take_share(std::vector<Morsel> parts, int share_index, int share_count, int64_t rows_min);

// Cut further until each thread finds two morsels, where they are large enough.
std::vector<Morsel> cut_morsels(std::vector<Morsel> parts, int threads, int64_t rows_min);

// Hands morsels to threads.
class MorselQueue {
 public:
  void fill(std::vector<Morsel> morsels) { morsels_ = std::move(morsels); }
  const Morsel* next() {
    size_t at = next_.fetch_add(1, std::memory_order_relaxed);
    return at < morsels_.size() && !cancelled() ? &morsels_[at] : nullptr;
  }
  int64_t left() const {
    size_t at = next_.load(std::memory_order_relaxed);
    return at < morsels_.size() ? static_cast<int64_t>(morsels_.size() - at) : 0;
  }
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::vector<Morsel> morsels_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace jg::columnar
