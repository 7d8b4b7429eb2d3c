#include "tables/reader.h"

#include <algorithm>

namespace jg {

Status MemoryReader::next(JgTask* task, int* n) {
  const auto& all = table_.rows();
  const size_t at = claimed_->fetch_add(1) * JG_BATCH_ROWS, last_byte = table_.layout().row_size - 1;
  *n = at < all.size() ? static_cast<int>(std::min<size_t>(JG_BATCH_ROWS, all.size() - at)) : 0;
  task->rows = const_cast<JgRow**>(all.data()) + at;
  for (int i = 0; i < *n; i++) {
    __builtin_prefetch(task->rows[i]);
    __builtin_prefetch(reinterpret_cast<const char*>(task->rows[i]) + last_byte);
  }
  return {};
}

Status AheadReader::next(JgTask* task, int* n) {
  *n = 0;
  if (at_ == rows_.size()) {
    at_ = 0;
    rows_.clear();
    arena_.reset();
    JG_RETURN_IF_ERROR(fill(task));
    if (task->failure != JG_OK) return {};
  }
  *n = static_cast<int>(std::min<size_t>(JG_BATCH_ROWS, rows_.size() - at_));
  task->rows = rows_.data() + at_;
  at_ += static_cast<size_t>(*n);
  return {};
}

Status AheadReader::read_run(const SpillFile& file, const Run& run, const JgRowLayout& layout, Arena* arena,
                             Rows* rows) {
  char* at = arena->bytes(static_cast<uint64_t>(run.bytes));
  JG_RETURN_IF_ERROR(in_bounds());
  JG_RETURN_IF_ERROR(file.read(run.at, run.bytes, at));
  for (int64_t r = 0; r < run.rows; r++) {
    rows->push_back(revived(layout, at));
    at += record_size(layout, rows->back());
  }
  return {};
}

Status RunReader::fill(JgTask*) {
  while (rows_.empty()) {
    if (next_ < runs_.size()) {
      JG_RETURN_IF_ERROR(read_run(*runs_[next_].first, *runs_[next_].second, table_.layout(), &arena_, &rows_));
      next_++;
      continue;
    }
    const size_t unit = claimed_->fetch_add(1);
    if (unit >= table_.units()) break;
    const size_t deal = table_.deal(unit);
    next_ = 0;
    runs_.clear();
    if (table_.is_spilled())
      JG_RETURN_IF_ERROR(table_.each_run_of(deal, [this](const SpillFile& file, const Run& run) {
        runs_.emplace_back(&file, &run);
        return Status();
      }));
    else
      table_.append_deal(deal, &rows_);
    if (!runs_.empty() || !rows_.empty()) JG_RETURN_IF_ERROR(begin(deal));
  }
  return {};
}

}  // namespace jg
