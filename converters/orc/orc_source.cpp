// The ORC reader: a Source whose morsels are stripes, or ranges of rows where those are few.
#include <arrow/adapters/orc/adapter.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>

#include "common/input_file.h"
#include "common/morsels.h"
#include "common/read_error.h"
#include "common/recycling_pool.h"
#include "orc/column_copy.h"
#include "orc/tail.h"

namespace jg::columnar {

namespace {

using arrow::adapters::orc::ORCFileReader;

constexpr int64_t kMorselRowsMin = 65536;
// Rows decoded at once: the arrays stay in the second-level cache.
constexpr int64_t kRunRows = 8 * JG_BATCH_ROWS;

struct OrcFile {
  std::string path;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<int> fields;  // of each wanted column
};

class OrcSource final : public Source {
 public:
  explicit OrcSource(const FileSourceOptions& options) : options_(options) {}
  Status open() override;
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override { return queue_.left(); }
  void cancel() override { queue_.cancel(); }

 private:
  friend class OrcWorker;
  FileSourceOptions options_;
  std::vector<OrcFile> files_;
  MorselQueue queue_;
};

// Columns that are decoded together: all early ones, or one late one. Decodes runs of rows when asked for them.
class ColumnGroup {
 public:
  explicit ColumnGroup(std::vector<size_t> columns) : columns_(std::move(columns)) {}
  const std::vector<size_t>& columns() const { return columns_; }

  void start_file(ORCFileReader* reader, const OrcFile& file) {
    reader_ = reader;
    std::vector<std::pair<int, size_t>> order;  // the reader answers in the file's order
    for (size_t i = 0; i < columns_.size(); ++i) order.emplace_back(file.fields[columns_[i]], i);
    std::sort(order.begin(), order.end());
    fields_.clear();
    slots_.assign(columns_.size(), 0);
    for (auto [field, i] : order) {
      if (fields_.empty() || fields_.back() != field) fields_.push_back(field);
      slots_[i] = static_cast<int>(fields_.size()) - 1;
    }
    start_stripe();
  }

  void start_stripe() {
    stream_.reset();
    run_.reset();
    next_row_ = -1;
  }

  // Makes `row` of the file part of the current run.
  void seek(int64_t row) {
    if (run_ && row >= run_row_ && row < run_row_ + run_->num_rows()) return;
    if (!stream_ || row < next_row_ || row > next_row_ + 4 * kRunRows) {
      check(reader_->Seek(row));
      stream_ = take(reader_->NextStripeReader(kRunRows, fields_));
      if (!stream_) malformed("it has fewer rows than its footer says");
      next_row_ = row;
    }
    do {
      run_.reset();
      check(stream_->ReadNext(&run_));
      if (!run_ || run_->num_rows() == 0) malformed("a stripe has fewer rows than its footer says");
      run_row_ = next_row_;
      next_row_ += run_->num_rows();
    } while (row >= next_row_);
  }

  // Of the current run: where `row` is, how many rows there are from there on, and the array of columns()[i].
  int64_t offset(int64_t row) const { return row - run_row_; }
  int64_t rows_from(int64_t row) const { return next_row_ - row; }
  const arrow::Array& array(size_t i) const { return *run_->column(slots_[i]); }

 private:
  std::vector<size_t> columns_;
  ORCFileReader* reader_ = nullptr;
  std::vector<int> fields_;
  std::vector<int> slots_;
  std::shared_ptr<arrow::RecordBatchReader> stream_;
  std::shared_ptr<arrow::RecordBatch> run_;
  int64_t run_row_ = 0, next_row_ = -1;
};

class OrcWorker final : public SourceWorker {
 public:
  explicit OrcWorker(OrcSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    std::vector<size_t> early;
    for (size_t i = 0; i < columns_.size(); ++i) {
      rooms_.push_back(make_room(source_.options_.columns[i].type));
      if (source_.options_.early[i]) early.push_back(i);
    }
    if (!early.empty()) groups_.emplace_back(std::move(early));
    has_early_ = !groups_.empty();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!source_.options_.early[i]) groups_.emplace_back(std::vector<size_t>{i});
    }
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return cancelled();
    row_ += rows_;
    left_ -= rows_;
    rows_ = 0;
    while (left_ == 0) {
      const Morsel* morsel = source_.queue_.next();
      if (morsel == nullptr) {
        if (source_.queue_.cancelled()) return cancelled();
        *done = true;
        return {};
      }
      JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[morsel->file].path, [&] { start(*morsel); }));
    }
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[file_].path, [&] {
      int64_t rows = std::min<int64_t>(left_, JG_BATCH_ROWS);
      if (has_early_) {
        groups_[0].seek(row_);
        rows = std::min(rows, groups_[0].rows_from(row_));
      }
      rows_ = static_cast<int32_t>(rows);
      if (has_early_) fill(groups_[0]);
    }));
    count_bytes();
    source_.counters.rows += rows_;
    source_.counters.batches += 1;
    batch->rows = rows_;
    batch->cols = columns_.data();
    return {};
  }

  Status load(int column, const int32_t*, int32_t) override {
    JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[file_].path, [&] {
      for (ColumnGroup& group : groups_) {
        if (group.columns()[0] != static_cast<size_t>(column)) continue;
        group.seek(row_);
        fill(group);
      }
    }));
    count_bytes();
    return {};
  }

 private:
  static Status cancelled() { return Status("cancelled", "the scan was cancelled"); }

  void start(const Morsel& morsel) {
    const OrcFile& file = source_.files_[morsel.file];
    if (!reader_ || file_ != morsel.file) {
      for (ColumnGroup& group : groups_) group.start_stripe();
      input_ = InputFile::open(file.path, &pool_);
      reader_ = take(ORCFileReader::Open(input_, &pool_));
      counted_bytes_ = input_->bytes_read();  // the tail was read before
      copies_.clear();
      for (size_t i = 0; i < columns_.size(); ++i) {
        copies_.push_back(make_column_copy(source_.options_.columns[i], *file.schema->field(file.fields[i])->type()));
      }
      for (ColumnGroup& group : groups_) group.start_file(reader_.get(), file);
      file_ = morsel.file;
    }
    for (ColumnGroup& group : groups_) group.start_stripe();
    row_ = morsel.first;
    left_ = morsel.rows;
  }

  void count_bytes() {
    int64_t now = input_->bytes_read();
    if (now != counted_bytes_) source_.counters.bytes += now - counted_bytes_;
    counted_bytes_ = now;
  }

  // Every run holds a whole number of batches (the last of a morsel or stripe aside) and starts where a batch starts, so
  // that a batch never spans two runs of a column.
  void fill(ColumnGroup& group) {
    for (size_t i = 0; i < group.columns().size(); ++i) {
      size_t c = group.columns()[i];
      copies_[c](group.array(i), group.offset(row_), rows_, rooms_[c], &columns_[c]);
    }
  }

  OrcSource& source_;
  RecyclingPool pool_;  // outlives the readers
  std::shared_ptr<InputFile> input_;
  int64_t counted_bytes_ = 0;
  std::unique_ptr<ORCFileReader> reader_;
  std::vector<ColumnGroup> groups_;
  bool has_early_ = false;
  std::vector<ColumnCopy> copies_;
  std::vector<JgCol> columns_;
  std::vector<ColumnRoom> rooms_;
  int file_ = 0;
  int64_t row_ = 0;   // of the current batch, in its file
  int32_t rows_ = 0;  // in the current batch
  int64_t left_ = 0;  // of the morsel, with the current batch
};

Status OrcSource::open() {
  RecyclingPool pool;
  std::vector<Morsel> parts;
  for (const std::string& path : options_.files) {
    JG_RETURN_IF_ERROR(guarded("ORC", path, [&] {
      auto reader = take(ORCFileReader::Open(InputFile::open(path, &pool), &pool));
      check_types(reader->GetSerializedFileTail());
      OrcFile file{path, take(reader->ReadSchema()), {}};
      for (const ColumnSpec& column : options_.columns) {
        int field = file.schema->GetFieldIndex(column.name);
        if (field < 0) throw missing_column(column, file.schema->field_names());
        make_column_copy(column, *file.schema->field(field)->type());
        file.fields.push_back(field);
      }
      for (int64_t s = 0; s < reader->NumberOfStripes(); ++s) {
        auto stripe = reader->GetStripeInformation(s);
        parts.push_back({static_cast<int>(files_.size()), static_cast<int>(s), stripe.first_row_id, stripe.num_rows});
      }
      files_.push_back(std::move(file));
    }));
  }
  queue_.fill(cut_morsels(std::move(parts), options_.share_index, options_.share_count, options_.threads, kMorselRowsMin));
  return {};
}

std::unique_ptr<SourceWorker> OrcSource::worker() { return std::make_unique<OrcWorker>(this); }

}  // namespace
}  // namespace jg::columnar

namespace jg {

Status make_orc_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<columnar::OrcSource>(options);
  return {};
}

}  // namespace jg
