#include "tables/sort_readers.h"

#include <algorithm>
#include <cstring>

namespace jg {
namespace {

constexpr size_t kWindowsAtOnce = 16384;  // of window functions, at least, at a time
constexpr int64_t kRunBuffer = 1 << 20, kRunBufferLeast = 16 << 10;

class WindowReader final : public DealReader {
 public:
  WindowReader(const SortBuffer& table, std::atomic<size_t>* claimed)
      : DealReader(table, claimed), info_(table.info()), sorter_(info_, budget_), whole_(info_, budget_) {}

 private:
  Status fill(JgTask* task) override {
    JG_RETURN_IF_ERROR(DealReader::fill(task));
    if (rows_.empty()) return {};
    if (info_.whole) {
      whole_.compute(task, rows_);
    } else {
      sorter_.sort(&rows_);
      info_.windows(task, rows_.data(), static_cast<int64_t>(rows_.size()));
    }
    return in_bounds();
  }

  Status load(size_t deal, JgTask*) override {
    if (!table_.is_spilled()) {
      table_.append_deal(deal, &rows_);
      return {};
    }
    return table_.each_run_of(
        deal, [this](const SpillFile& file, const Run& run) { return read_run(file, run, info_, &arena_, &rows_); });
  }

  const JgSortInfo& info_;
  DealSorter sorter_;
  WholePartitions whole_;
};

// The rows of a sorted run, one after the other.
class SortedRun {
 public:
  SortedRun(const JgRowLayout& layout, const SpillFile* file, const Run& run, int64_t buffer, Arena* arena)
      : layout_(layout), file_(file), at_(run.at), end_(run.at + run.bytes), size_(buffer), arena_(arena) {
    buffer_ = arena_->bytes(static_cast<uint64_t>(size_));
  }

  JgRow* row() const { return row_; }  // null: at the end

  Status advance() {
    if (row_) used_ += record_size(layout_, row_);
    row_ = nullptr;
    if (used_ == filled_ && at_ == end_) return {};
    JG_RETURN_IF_ERROR(want(layout_.row_size));
    JG_RETURN_IF_ERROR(want(record_size(layout_, reinterpret_cast<JgRow*>(buffer_ + used_))));
    row_ = revived(layout_, buffer_ + used_);
    return {};
  }

 private:
  // Ensure that the next `bytes` are in the buffer. Records are multiples of 16 bytes, so that moved ones stay aligned.
  Status want(int64_t bytes) {
    if (filled_ - used_ >= bytes) return {};
    char* from = buffer_ + used_;
    if (bytes > size_) {
      size_ = std::max(bytes, 2 * size_);  // the smaller one is not used again
      buffer_ = arena_->bytes(static_cast<uint64_t>(size_));
    }
    filled_ -= used_;
    std::memmove(buffer_, from, static_cast<size_t>(filled_));
    used_ = 0;
    const int64_t more = std::min(size_ - filled_, end_ - at_);
    JG_RETURN_IF_ERROR(file_->read(at_, more, buffer_ + filled_));
    filled_ += more;
    at_ += more;
    return {};
  }

  const JgRowLayout& layout_;
  const SpillFile* file_;
  int64_t at_, end_;  // the unread range
  int64_t size_, used_ = 0, filled_ = 0;
  Arena* arena_;
  char* buffer_;
  JgRow* row_ = nullptr;
};

class MergeReader final : public AheadReader {
 public:
  MergeReader(const SortBuffer& table, std::atomic<size_t>* claimed)
      : AheadReader(table),
        info_(table.info()),
        buffers_(budget_),
        skip_(table.offset()),
        left_(table.limit() < 0 ? INT64_MAX : table.limit()),
        is_open_(claimed->fetch_add(1) > 0) {}

 private:
  using Reader = std::unique_ptr<SortedRun>;
  auto later() const {
    return [this](const Reader& a, const Reader& b) { return info_.compare(a->row(), b->row()) > 0; };
  }

  Status open() {
    is_open_ = true;
    int64_t count = 0;
    JG_RETURN_IF_ERROR(table_.each_run_of(0, [&](const SpillFile&, const Run&) {
      count++;
      return Status();
    }));
    const int64_t buffer =
        std::clamp(budget_->spill_from / (4 * std::max<int64_t>(count, 1)) & ~int64_t{15}, kRunBufferLeast, kRunBuffer);
    JG_RETURN_IF_ERROR(table_.each_run_of(0, [&](const SpillFile& file, const Run& run) {
      auto reader = std::make_unique<SortedRun>(info_, &file, run, buffer, &buffers_);
      JG_RETURN_IF_ERROR(reader->advance());
      if (reader->row()) heap_.push_back(std::move(reader));
      return Status();
    }));
    std::make_heap(heap_.begin(), heap_.end(), later());
    return {};
  }

  Status fill(JgTask* task) override {
    if (!is_open_) JG_RETURN_IF_ERROR(open());
    const size_t enough = info_.windows ? kWindowsAtOnce : size_t{JG_BATCH_ROWS};
    while (!heap_.empty() && left_ > 0) {
      if (rows_.size() >= enough && !(info_.windows && info_.together(rows_.back(), heap_.front()->row()))) break;
      if (rows_.size() % JG_BATCH_ROWS == 0) JG_RETURN_IF_ERROR(in_bounds());
      if (skip_ > 0) {
        skip_--;
      } else {
        left_--;
        rows_.push_back(copy_row(info_, &arena_, heap_.front()->row()));
      }
      std::pop_heap(heap_.begin(), heap_.end(), later());
      JG_RETURN_IF_ERROR(heap_.back()->advance());
      if (heap_.back()->row())
        std::push_heap(heap_.begin(), heap_.end(), later());
      else
        heap_.pop_back();
    }
    if (info_.windows && !rows_.empty()) info_.windows(task, rows_.data(), static_cast<int64_t>(rows_.size()));
    return {};
  }

  const JgSortInfo& info_;
  Arena buffers_;
  std::vector<Reader> heap_;  // the first has the least row
  int64_t skip_, left_;
  bool is_open_;  // of all but the first thread: there is nothing left
};

}  // namespace

std::unique_ptr<TableReader> make_window_reader(const SortBuffer& table, std::atomic<size_t>* claimed) {
  return std::make_unique<WindowReader>(table, claimed);
}

std::unique_ptr<TableReader> make_merge_reader(const SortBuffer& table, std::atomic<size_t>* claimed) {
  return std::make_unique<MergeReader>(table, claimed);
}

}  // namespace jg
