// The part of a Source that all columnar formats share: its options, the ranges of runtime filters, and its morsels.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/morsels.h"

namespace jg::columnar {

class ColumnarSource : public Source {
 public:
  explicit ColumnarSource(const FileSourceOptions& options) : options_(options) {}
  void add_runtime_filter(int column, int64_t low, int64_t high) final {
    partners_.push_back({column, "ge", std::to_string(low)});
    partners_.push_back({column, "le", std::to_string(high)});
  }
  int64_t morsels_left() final { return queue_.left(); }
  void cancel() final { queue_.cancel(); }

 protected:
  FileSourceOptions options_;
  std::vector<FileSourceOptions::Bound> partners_;  // ranges that have partners in the joins to come
  MorselQueue queue_;
};

}  // namespace jg::columnar
