#include "common/columnar_source.h"

#include <algorithm>
#include <utility>

#include "common/deleted_rows.h"
#include "common/read_error.h"

namespace jg::columnar {

namespace {

class ColumnarSource final : public Source {
 public:
  ColumnarSource(const ColumnarFormat& format, const FileSourceOptions& options) : format_(format), options_(options) {}

  Status open() override;
  std::unique_ptr<SourceWorker> worker() override;
  void add_runtime_filter(int column, int64_t low, int64_t high) override {
    partners_.push_back({column, "ge", std::to_string(low)});
    partners_.push_back({column, "le", std::to_string(high)});
  }
  int64_t morsels_left() override { return queue_.left(); }
  void cancel() override { queue_.cancel(); }

 private:
  friend class ColumnarWorker;
  void add_file(const std::string& path, const Wanted& wanted, std::vector<Morsel>* parts);
  Status check_columns() const;

  const ColumnarFormat& format_;
  const FileSourceOptions options_;
  std::vector<FileSourceOptions::Bound> partners_;  // ranges that have partners in the joins to come
  std::vector<std::unique_ptr<ColumnarFile>> files_;
  MorselQueue queue_;
};

class ColumnarWorker final : public SourceWorker {
 public:
  explicit ColumnarWorker(ColumnarSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    for (const ColumnSpec& column : source_.options_.columns) rooms_.push_back(make_room(column.type));
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return Status("cancelled", "the scan was cancelled");
    while (!batch_.next() || !kept_.next(batch_.row(), batch_.rows())) {
      if (batch_.rows() > 0) continue;  // which are all deleted
      const Morsel* morsel = nullptr;
      JG_RETURN_IF_ERROR(source_.queue_.next(&morsel));
      if (morsel == nullptr) {
        *done = true;
        return {};
      }
      if (morsel->rows == 0) continue;
      JG_RETURN_IF_ERROR(of_file(morsel->file, [&] { start(*morsel); }));
    }
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(of_file(file_, [&] {
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (source_.options_.early[i]) read(i, nullptr, kept_.count());
      }
    }));
    count_bytes();
    source_.counters.rows += kept_.count();
    source_.counters.batches += 1;
    batch->rows = kept_.count();
    batch->cols = columns_.data();
    return {};
  }

  Status load(int column, const int32_t* sel, int32_t n) override {
    if (n == 0) return {};
    JG_RETURN_IF_ERROR(of_file(file_, [&] {
      if (std::exchange(expects_late_, false)) decoder_->expect_late();
      read(static_cast<size_t>(column), n == kept_.count() ? nullptr : sel, n);
    }));
    count_bytes();
    return {};
  }

  int file() const override { return file_; }

 private:
  template <class Body>
  Status of_file(int file, Body body) const {
    return guarded(source_.format_.name, source_.files_[static_cast<size_t>(file)]->path, body);
  }

  void start(const Morsel& morsel) {
    const ColumnarFile& file = *source_.files_[static_cast<size_t>(morsel.file)];
    if (!decoder_ || file_ != morsel.file) {
      decoder_.reset();
      decoder_ = file.decoder(&pool_);
      counted_bytes_ = 0;
      file_ = morsel.file;
    }
    const RowRange rows = {morsel.first, morsel.first + morsel.rows};
    decoder_->start(morsel.part, rows);
    expects_late_ = true;
    const PartRows& part = file.part(morsel.part);
    batch_.start(part.joining, rows);
    kept_.start(part.deleted);
  }

  // Read n of the kept rows: those that `sel` lists, or all.
  void read(size_t i, const int32_t* sel, int32_t n) {
    const int32_t* positions = kept_.positions(sel, n);
    of_column(source_.options_.columns[i],
              [&] { decoder_->read(i, batch_.row(), batch_.rows(), positions, n, rooms_[i], &columns_[i]); });
    if (!kept_.all()) close_gaps(positions, sel, n, rooms_[i], &columns_[i]);
  }

  void count_bytes() {
    const int64_t now = decoder_->bytes_read();
    if (now != counted_bytes_) source_.counters.bytes += now - counted_bytes_;
    counted_bytes_ = now;
  }

  ColumnarSource& source_;
  RecyclingPool pool_;  // outlives the decoder
  std::unique_ptr<PartDecoder> decoder_;
  std::vector<JgCol> columns_;
  std::vector<ColumnRoom> rooms_;
  int64_t counted_bytes_ = 0;
  int file_ = 0;
  bool expects_late_ = false;  // no late column of the morsel was read yet
  BatchRows batch_;
  KeptRows kept_;
};

Status ColumnarSource::open() {
  const Bounds bounds(options_.columns, options_.bounds), partners(options_.columns, partners_);
  RecyclingPool pool;
  std::vector<Morsel> parts;
  std::vector<std::vector<RowRange>> deleted;
  JG_RETURN_IF_ERROR(guarded(format_.name, options_.files.empty() ? "" : options_.files[0],
                             [&] { deleted = deleted_rows(options_); }));
  for (size_t f = 0; f < options_.files.size(); ++f) {
    JG_RETURN_IF_ERROR(guarded(format_.name, options_.files[f], [&] {
      add_file(options_.files[f], {options_, bounds, partners, deleted[f], &pool}, &parts);
    }));
  }
  JG_RETURN_IF_ERROR(check_columns());
  auto useless = [&](const Morsel& part) {
    return files_[static_cast<size_t>(part.file)]->part(part.part).useless_bytes({part.first, part.first + part.rows});
  };
  parts = deal(std::move(parts), options_, format_.morsel_rows_min, useless, &counters);
  return queue_.fill(std::move(parts), options_.shares, &counters);
}

void ColumnarSource::add_file(const std::string& path, const Wanted& wanted, std::vector<Morsel>* parts) {
  std::unique_ptr<ColumnarFile> file = format_.open(path, wanted);
  if (options_.share_index == 0) counters.pruned_bytes += file->pruned_bytes;  // siblings see the same
  for (int p = 0; p < file->parts(); ++p) {
    const std::vector<RowRange>& matching = file->part(p).matching;
    if (matching.empty()) continue;
    const int64_t first = matching.front().first;
    parts->push_back({static_cast<int>(files_.size()), p, first, matching.back().end - first});
  }
  files_.push_back(std::move(file));
}

// A column that some files lack is NULL in them; one that all lack, or spell in other cases, is a mistake.
Status ColumnarSource::check_columns() const {
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    const ColumnSpec& column = options_.columns[i];
    auto lacks = [i](const std::unique_ptr<ColumnarFile>& file) { return file->lacks(i); };
    const auto count = std::count_if(files_.begin(), files_.end(), lacks);
    const bool may_lack = column.nullable && count < static_cast<int64_t>(files_.size());
    for (const auto& file : files_) {
      if (!lacks(file)) continue;
      const std::vector<std::string> present = file->names();
      if (may_lack && !has_other_case(column.column(), present)) continue;
      return guarded(format_.name, file->path, [&] { throw missing_column(column, present); });
    }
  }
  return {};
}

std::unique_ptr<SourceWorker> ColumnarSource::worker() { return std::make_unique<ColumnarWorker>(this); }

}  // namespace

std::unique_ptr<Source> make_columnar_source(const ColumnarFormat& format, const FileSourceOptions& options) {
  return std::make_unique<ColumnarSource>(format, options);
}

}  // namespace jg::columnar
