#include "tables/reader.h"

#include <algorithm>
#include <cstring>

#include "tables/directory.h"

namespace jg {
namespace {

constexpr size_t kWindowsAtOnce = 16384;  // of window functions, at least, at a time
constexpr int64_t kRunBuffer = 1 << 20, kRunBufferLeast = 16 << 10;

// Return the number of partitions that readers of partitioned rows claim, one after the other.
size_t deals_of(const Table& table) {
  return table.is_spilled() || table.kind() == Table::Kind::kRows ? kDeals : table.deals().size();
}

class MemoryReader : public TableReader {
 public:
  MemoryReader(const Table& table, Which which, std::atomic<size_t>* claimed)
      : table_(table), which_(which), claimed_(claimed) {}

  Status next(JgTask* task, int* n) override {
    const auto& all = table_.rows();
    for (*n = 0; *n == 0;) {
      const size_t at = claimed_->fetch_add(JG_BATCH_ROWS);
      if (at >= all.size()) break;
      *n = static_cast<int>(std::min<size_t>(JG_BATCH_ROWS, all.size() - at));
      task->rows = const_cast<JgRow**>(all.data()) + at;
      table_.prefetch(task->rows, *n);
      if (which_ != Which::kAll) choose(task, n);
    }
    return {};
  }

 private:
  void choose(JgTask* task, int* n) {
    int kept = 0;
    for (int i = 0; i < *n; i++) {
      if (table_.matched(task->rows[i]) == (which_ == Which::kMatched)) chosen_[kept++] = task->rows[i];
    }
    *n = kept;
    task->rows = chosen_;
  }

  const Table& table_;
  const Which which_;
  std::atomic<size_t>* claimed_;
  JgRow* chosen_[JG_BATCH_ROWS];
};

// Rows that a reader has read ahead of the batches that it returns.
class SpilledReader : public TableReader {
 public:
  SpilledReader(const Table& table, Budget* budget) : table_(table), arena_(budget, Beyond::kMaps), budget_(budget) {}

  Status next(JgTask* task, int* n) override {
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

 protected:
  virtual Status fill(JgTask* task) = 0;
  Status read_run(const SpillFile& file, const Run& run, std::vector<JgRow*>* rows) {
    return read_run(file, run, table_.info(), &arena_, rows);
  }
  Status read_run(const SpillFile& file, const Run& run, const JgTableInfo& info, Arena* arena,
                  std::vector<JgRow*>* rows) {
    char* at = arena->bytes(static_cast<uint64_t>(run.bytes));
    JG_RETURN_IF_ERROR(in_bounds());
    JG_RETURN_IF_ERROR(file.read(run.at, run.bytes, at));
    for (int64_t r = 0; r < run.rows; r++) {
      rows->push_back(revived(info, at));
      at += record_size(info, rows->back());
    }
    return {};
  }
  Status in_bounds() { return budget_->exceeded() ? Status("memory", budget_->explain()) : Status(); }

  const Table& table_;
  Arena arena_;
  Budget* budget_;
  std::vector<JgRow*> rows_;

 private:
  size_t at_ = 0;
};

// Reads partitioned groups: one partition at a time, from memory or from disk.
class GroupReader : public SpilledReader {
 public:
  GroupReader(const Table& table, Budget* budget, std::atomic<size_t>* claimed)
      : SpilledReader(table, budget), merger_(table.info()), claimed_(claimed) {}

 private:
  Status fill(JgTask* task) override {
    const size_t all = deals_of(table_);
    for (size_t at; rows_.empty() && (at = claimed_->fetch_add(1)) < all;) {
      if (table_.is_spilled()) {
        JG_RETURN_IF_ERROR(read(at, task));
      } else {
        dealt_.clear();
        table_.append_deal(table_.deals()[at], &dealt_);
        merger_.begin(static_cast<int64_t>(dealt_.size()), JG_DEAL_BITS);
        merger_.merge(task, dealt_.data(), dealt_.size(), &rows_);
      }
    }
    return {};
  }

  Status read(size_t deal, JgTask* task) {
    int64_t count = 0;
    for (const auto& part : table_.parts())
      for (const Run& run : part->runs[deal]) count += run.rows;
    merger_.begin(count, JG_DEAL_BITS);
    for (const auto& part : table_.parts()) {
      for (const Run& run : part->runs[deal]) {
        dealt_.clear();
        JG_RETURN_IF_ERROR(read_run(*part->file, run, &dealt_));
        merger_.merge(task, dealt_.data(), dealt_.size(), &rows_);
      }
    }
    return {};
  }

  GroupMerger merger_;
  std::vector<JgRow*> dealt_;
  std::atomic<size_t>* claimed_;
};

// Reads partitioned rows: one partition at a time, sorted if functions need it, from memory or from disk.
class DealReader : public SpilledReader {
 public:
  DealReader(const Table& table, Budget* budget, std::atomic<size_t>* claimed)
      : SpilledReader(table, budget), sorter_(table.info(), budget), whole_(table.info(), budget), claimed_(claimed) {}

 private:
  Status fill(JgTask* task) override {
    const size_t all = deals_of(table_);
    for (size_t at; rows_.empty() && (at = claimed_->fetch_add(1)) < all;)
      JG_RETURN_IF_ERROR(load(table_.is_spilled() ? at : table_.deals()[at]));
    if (rows_.empty()) return {};
    if (table_.info().whole) {
      whole_.compute(task, rows_);
    } else {
      sorter_.sort(&rows_);
      table_.info().windows(task, rows_.data(), static_cast<int64_t>(rows_.size()));
    }
    return in_bounds();
  }

  Status load(size_t deal) {
    if (!table_.is_spilled()) {
      table_.append_deal(deal, &rows_);
      return {};
    }
    for (const auto& part : table_.parts())
      for (const Run& run : part->runs[deal]) {
        JG_RETURN_IF_ERROR(read_run(*part->file, run, &rows_));
      }
    return {};
  }

  DealSorter sorter_;
  WholePartitions whole_;
  std::atomic<size_t>* claimed_;
};

// Reads rows that wait for a join, or of a build on disk: partition by partition, run by run.
class RowReader : public SpilledReader {
 public:
  RowReader(const Table& table, Budget* budget, std::atomic<size_t>* claimed)
      : SpilledReader(table, budget), claimed_(claimed) {}

 protected:
  // Prepares what these rows need; not called if a partition has no rows.
  virtual Status begin(size_t) { return {}; }

 private:
  Status fill(JgTask*) override {
    while (rows_.empty()) {
      if (next_ < runs_.size()) {
        JG_RETURN_IF_ERROR(read_run(*runs_[next_].first, *runs_[next_].second, &rows_));
        next_++;
        continue;
      }
      const size_t deal = claimed_->fetch_add(1);
      if (deal >= kDeals) break;
      next_ = 0;
      runs_.clear();
      if (table_.is_spilled()) {
        for (const auto& part : table_.parts())
          for (const Run& run : part->runs[deal]) runs_.emplace_back(part->file.get(), &run);
      } else {
        table_.append_deal(deal, &rows_);
      }
      if (!runs_.empty() || !rows_.empty()) JG_RETURN_IF_ERROR(begin(deal));
    }
    return {};
  }

  std::vector<std::pair<const SpillFile*, const Run*>> runs_;  // of the partition
  size_t next_ = 0;
  std::atomic<size_t>* claimed_;
};

// Reads the rows of a partition together with those of a join's build that may be their partners.
class PairReader : public RowReader {
 public:
  PairReader(const Table& rows, const Table& build, Budget* budget, std::atomic<size_t>* claimed, JgJoin** join)
      : RowReader(rows, budget, claimed), build_(build), built_(budget, Beyond::kMaps), linked_(budget, Beyond::kMaps) {
    *join = &join_;
  }

 private:
  Status begin(size_t deal) override {
    int64_t count = 0;
    for (const auto& part : build_.parts())
      for (const Run& run : part->runs[deal]) count += run.rows;
    built_.reset();
    linked_.reset();
    const uint64_t slots = slots_for(2 * count);
    join_.directory =
        directory_of_deal({reinterpret_cast<uint64_t*>(linked_.zeroed(slots * sizeof(uint64_t))), slots}, deal);
    for (const auto& part : build_.parts()) {
      for (const Run& run : part->runs[deal]) {
        build_rows_.clear();
        JG_RETURN_IF_ERROR(read_run(*part->file, run, build_.info(), &built_, &build_rows_));
        for (JgRow* row : build_rows_) link(&join_.directory.slots[row->hash >> join_.directory.shift], row);
      }
    }
    return in_bounds();
  }

  const Table& build_;
  Arena built_, linked_;
  std::vector<JgRow*> build_rows_;  // of a run
  JgJoin join_{};
};

// The rows of a sorted run, one after the other.
class RunReader {
 public:
  RunReader(const JgTableInfo& info, const SpillFile* file, const Run& run, int64_t buffer, Arena* arena)
      : info_(info), file_(file), at_(run.at), end_(run.at + run.bytes), size_(buffer), arena_(arena) {
    buffer_ = arena_->bytes(static_cast<uint64_t>(size_));
  }

  JgRow* row() const { return row_; }  // null: at the end

  Status advance() {
    if (row_) used_ += record_size(info_, row_);
    row_ = nullptr;
    if (used_ == filled_ && at_ == end_) return {};
    JG_RETURN_IF_ERROR(want(info_.row_size));
    JG_RETURN_IF_ERROR(want(record_size(info_, reinterpret_cast<JgRow*>(buffer_ + used_))));
    row_ = revived(info_, buffer_ + used_);
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

  const JgTableInfo& info_;
  const SpillFile* file_;
  int64_t at_, end_;  // the unread range
  int64_t size_, used_ = 0, filled_ = 0;
  Arena* arena_;
  char* buffer_;
  JgRow* row_ = nullptr;
};

// Sort buffers: all runs merged; by one thread.
class MergeReader : public SpilledReader {
 public:
  MergeReader(const Table& table, Budget* budget, std::atomic<size_t>* claimed)
      : SpilledReader(table, budget), info_(table.info()), buffers_(budget), is_open_(claimed->fetch_add(1) > 0) {
    skip_ = table.offset();
    left_ = table.limit() < 0 ? INT64_MAX : table.limit();
  }

 private:
  using Reader = std::unique_ptr<RunReader>;
  auto later() const {
    return [this](const Reader& a, const Reader& b) { return info_.compare(a->row(), b->row()) > 0; };
  }

  Status open() {
    is_open_ = true;
    int64_t count = 0;
    for (const auto& part : table_.parts()) count += static_cast<int64_t>(part->runs[0].size());
    const int64_t buffer =
        std::clamp(budget_->spill_from / (4 * std::max<int64_t>(count, 1)) & ~int64_t{15}, kRunBufferLeast, kRunBuffer);
    for (const auto& part : table_.parts()) {
      for (const Run& run : part->runs[0]) {
        auto reader = std::make_unique<RunReader>(info_, part->file.get(), run, buffer, &buffers_);
        JG_RETURN_IF_ERROR(reader->advance());
        if (reader->row()) heap_.push_back(std::move(reader));
      }
    }
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
        rows_.push_back(table_.copy_row(&arena_, heap_.front()->row()));
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

  const JgTableInfo& info_;
  Arena buffers_;
  std::vector<Reader> heap_;  // the first has the least row
  int64_t skip_, left_;
  bool is_open_;  // of all but the first thread: there is nothing left
};

}  // namespace

std::unique_ptr<TableReader> make_reader(const Table& table, Which which, Budget* budget,
                                         std::atomic<size_t>* claimed) {
  if (table.is_dealt() && table.kind() == Table::Kind::kGroups)
    return std::make_unique<GroupReader>(table, budget, claimed);
  if (table.kind() == Table::Kind::kRows || (table.kind() == Table::Kind::kJoin && table.is_spilled()))
    return std::make_unique<RowReader>(table, budget, claimed);
  if (table.is_dealt()) return std::make_unique<DealReader>(table, budget, claimed);
  if (!table.is_spilled()) return std::make_unique<MemoryReader>(table, which, claimed);
  return std::make_unique<MergeReader>(table, budget, claimed);
}

int64_t unclaimed(const Table& table, size_t claimed) {
  if (table.is_dealt())
    return std::max<int64_t>(0, static_cast<int64_t>(deals_of(table)) - static_cast<int64_t>(claimed));
  const size_t all = table.is_spilled() ? 1 : (table.rows().size() + JG_BATCH_ROWS - 1) / JG_BATCH_ROWS;
  const size_t gone = table.is_spilled() ? claimed : claimed / JG_BATCH_ROWS;
  return gone < all ? static_cast<int64_t>(all - gone) : 0;
}

std::unique_ptr<TableReader> make_pair_reader(const Table& rows, const Table& build, Budget* budget,
                                              std::atomic<size_t>* claimed, JgJoin** join) {
  if (!build.is_spilled()) return make_reader(rows, Which::kAll, budget, claimed);
  return std::make_unique<PairReader>(rows, build, budget, claimed, join);
}

}  // namespace jg
