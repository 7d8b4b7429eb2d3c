// Hands the parts of a scan to the threads of an instance.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/placed_parts.h"
#include "jg/stream.h"

namespace jg {

template <class Part>
class PartQueue {
 public:
  // This instance's parts or, where siblings share them out while they read, the whole scan's. owner_of: the sibling
  // that is to begin with a part, or -1 (placed_parts.h).
  template <class OwnerOf>
  Status fill(std::vector<Part> parts, const FileSourceOptions& options, OwnerOf owner_of, Counters* counters) {
    parts_ = std::move(parts);
    shares_ = options.shares;
    if (shares_ && !options.owners.empty()) {
      std::vector<int> owners(parts_.size());
      std::transform(parts_.begin(), parts_.end(), owners.begin(), owner_of);
      std::vector<Part> placed;
      for (size_t at : placed_parts(owners, static_cast<size_t>(options.share_count))) placed.push_back(parts_[at]);
      parts_ = std::move(placed);
    }
    counters_ = counters;
    return shares_ ? shares_->open(static_cast<int64_t>(parts_.size())) : Status();
  }

  // The next one, or null: nothing is left.
  Status next(const Part** part) {
    *part = nullptr;
    if (cancelled()) return {"cancelled", "the scan was cancelled"};
    int64_t at = -1;
    if (shares_)
      JG_RETURN_IF_ERROR(shares_->next(&at, counters_));
    else
      at = next_.fetch_add(1, std::memory_order_relaxed);
    if (at < 0 || at >= static_cast<int64_t>(parts_.size())) return {};
    counters_->shares.fetch_add(1, std::memory_order_relaxed);
    *part = &parts_[static_cast<size_t>(at)];
    return {};
  }

  int64_t left() const {
    if (shares_) return shares_->left();
    return std::max<int64_t>(0, static_cast<int64_t>(parts_.size()) - next_.load(std::memory_order_relaxed));
  }

  void cancel() {
    cancelled_.store(true, std::memory_order_relaxed);
    if (shares_) shares_->cancel();
  }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::vector<Part> parts_;
  std::shared_ptr<Shares> shares_;
  Counters* counters_ = nullptr;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace jg
