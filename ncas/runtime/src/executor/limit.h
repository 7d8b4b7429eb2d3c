// The rows of a LIMIT, which threads claim.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "executor/config.h"

namespace jg {

struct Limit {
  explicit Limit(LimitConfig config) : config(config) {}

  // Claim up to n rows that reach the limit: return how many to pass on, after skipping *skip of them. *is_full: no
  // later row passes.
  int claim(int n, int* skip, bool* is_full) {
    const int64_t first = taken.fetch_add(n);  // of rows [first, first + n)
    const int64_t end = config.count > INT64_MAX - config.offset ? INT64_MAX : config.offset + config.count;
    *is_full = first + n >= end;
    const int64_t from = std::max(first, config.offset), to = std::min(first + n, end);
    *skip = static_cast<int>(std::min<int64_t>(n, from - first));
    return static_cast<int>(std::max<int64_t>(0, to - from));
  }

  const LimitConfig config;
  std::atomic<int64_t> taken{0};
};

}  // namespace jg
