// The Parquet reader: a Source whose morsels are row groups, or ranges of rows where those are few.
#include <algorithm>

#include "common/columnar_source.h"
#include "common/deleted_rows.h"
#include "common/input_file.h"
#include "common/read_error.h"
#include "parquet/row_groups.h"

namespace jg::columnar {

namespace {

constexpr int64_t kMorselRowsMin = 65536;

class ParquetSource final : public ColumnarSource {
 public:
  using ColumnarSource::ColumnarSource;
  Status open() override;
  std::unique_ptr<SourceWorker> worker() override;

 private:
  friend class ParquetWorker;
  Status check_columns() const;
  std::vector<ParquetFile> files_;
};

class ParquetWorker final : public SourceWorker {
 public:
  explicit ParquetWorker(ParquetSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    for (const ColumnSpec& column : source_.options_.columns) rooms_.push_back(make_room(column.type));
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return cancelled();
    while (!batch_.next() || !kept_.next(batch_.row(), batch_.rows())) {
      if (batch_.rows() > 0) continue;  // which are all deleted
      const Morsel* morsel = nullptr;
      JG_RETURN_IF_ERROR(source_.queue_.next(&morsel));
      if (morsel == nullptr) {
        *done = true;
        return {};
      }
      if (morsel->rows == 0) continue;
      JG_RETURN_IF_ERROR(guarded("Parquet", source_.files_[morsel->file].path, [&] { start(*morsel); }));
    }
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(guarded("Parquet", source_.files_[file_].path, [&] {
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
    size_t i = static_cast<size_t>(column);
    if (n == 0) return {};
    expect_late();
    JG_RETURN_IF_ERROR(
        guarded("Parquet", source_.files_[file_].path, [&] { read(i, n == kept_.count() ? nullptr : sel, n); }));
    count_bytes();
    return {};
  }

  int file() const override { return file_; }

 private:
  static Status cancelled() { return Status("cancelled", "the scan was cancelled"); }

  void start(const Morsel& morsel) {
    const ParquetFile& file = source_.files_[morsel.file];
    if (!input_ || file_ != morsel.file) {
      readers_.clear();
      input_ = InputFile::open(file.path, &pool_);
      for (size_t i = 0; i < columns_.size(); ++i) {
        readers_.push_back(make_chunk_reader(source_.options_.columns[i], file.columns[i], &pool_));
      }
      counted_bytes_ = 0;
      file_ = morsel.file;
    }
    const RowGroup& group = file.row_groups[static_cast<size_t>(morsel.part)];
    for (size_t i = 0; i < columns_.size(); ++i) readers_[i]->start(input_, group.chunks[i]);
    batch_.start(group.joining, {morsel.first, morsel.first + morsel.rows});
    kept_.start(group.deleted);
    if (!input_->is_remote()) return;
    input_->forget();
    morsel_ = &morsel;
    expect(true);
  }

  // Columns of which some rows are wanted are fetched once it is known that there are any.
  void expect_late() {
    if (morsel_ != nullptr) expect(false);
    morsel_ = nullptr;
  }

  void expect(bool early) {
    const RowGroup& group = source_.files_[morsel_->file].row_groups[static_cast<size_t>(morsel_->part)];
    std::vector<ByteRange> ranges;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (source_.options_.early[i] != early) continue;
      for (const ChunkPlace& place : group.chunks[i])
        append_bytes(place, group, {morsel_->first, morsel_->first + morsel_->rows}, &ranges);
    }
    input_->expect(std::move(ranges));
  }

  // Reads n of the kept rows: those that `sel` lists, or all.
  void read(size_t i, const int32_t* sel, int32_t n) {
    const int32_t* positions = kept_.positions(sel, n);
    of_column(source_.options_.columns[i],
              [&] { readers_[i]->read(batch_.row(), batch_.rows(), positions, n, rooms_[i], &columns_[i]); });
    if (!kept_.all()) close_gaps(positions, sel, n, rooms_[i], &columns_[i]);
  }

  void count_bytes() {
    int64_t now = input_->bytes_read();
    if (now != counted_bytes_) source_.counters.bytes += now - counted_bytes_;
    counted_bytes_ = now;
  }

  ParquetSource& source_;
  const Morsel* morsel_ = nullptr;  // of an object, whose late columns are not expected yet
  RecyclingPool pool_;              // outlives the readers
  std::shared_ptr<InputFile> input_;
  std::vector<std::unique_ptr<ChunkReader>> readers_;
  std::vector<JgCol> columns_;
  std::vector<ColumnRoom> rooms_;
  int64_t counted_bytes_ = 0;
  int file_ = 0;
  BatchRows batch_;
  KeptRows kept_;
};

Status ParquetSource::open() {
  const Bounds bounds(options_.columns, options_.bounds), partners(options_.columns, partners_);
  RecyclingPool pool;
  std::vector<Morsel> parts;
  std::vector<std::vector<RowRange>> deleted;
  JG_RETURN_IF_ERROR(
      guarded("Parquet", options_.files.empty() ? "" : options_.files[0], [&] { deleted = deleted_rows(options_); }));
  for (size_t f = 0; f < options_.files.size(); ++f) {
    const std::string& path = options_.files[f];
    JG_RETURN_IF_ERROR(guarded("Parquet", path, [&] {
      ParquetFile file = read_footer(path, options_, bounds, partners, deleted[f], &pool);
      for (size_t i = 0; i < file.columns.size(); ++i) make_chunk_reader(options_.columns[i], file.columns[i], &pool);
      if (options_.share_index == 0) counters.pruned_bytes += file.pruned_bytes;  // siblings see the same
      for (size_t g = 0; g < file.row_groups.size(); ++g) {
        const int64_t first = file.row_groups[g].matching.front().first;
        const int64_t rows = file.row_groups[g].matching.back().end - first;
        parts.push_back({static_cast<int>(files_.size()), static_cast<int>(g), first, rows});
      }
      files_.push_back(std::move(file));
    }));
  }
  JG_RETURN_IF_ERROR(check_columns());
  auto useless = [&](const Morsel& part) {
    const RowGroup& group = files_[static_cast<size_t>(part.file)].row_groups[static_cast<size_t>(part.part)];
    return group.useless_bytes({part.first, part.first + part.rows});
  };
  parts = deal(std::move(parts), options_, kMorselRowsMin, useless, &counters);
  return queue_.fill(std::move(parts), options_.shares, &counters);
}

std::vector<std::string> names_in(const ParquetFile& file) {
  std::vector<std::string> names;
  const parquet::schema::GroupNode& root = *file.metadata->schema()->group_node();
  for (int f = 0; f < root.field_count(); ++f) names.push_back(root.field(f)->name());
  return names;
}

// A column that some files lack is NULL in them; one that all lack, or spell in other cases, is a mistake.
Status ParquetSource::check_columns() const {
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    const ColumnSpec& column = options_.columns[i];
    auto lacks = [i](const ParquetFile& file) { return file.columns[i].missing(); };
    auto count = std::count_if(files_.begin(), files_.end(), lacks);
    if (count == 0) continue;
    const bool may_lack = column.nullable && count < static_cast<int64_t>(files_.size());
    for (const ParquetFile& file : files_) {
      if (!lacks(file)) continue;
      const std::vector<std::string> present = names_in(file);
      if (may_lack && !has_other_case(column.column(), present)) continue;
      return guarded("Parquet", file.path, [&] { throw missing_column(column, present); });
    }
  }
  return {};
}

std::unique_ptr<SourceWorker> ParquetSource::worker() { return std::make_unique<ParquetWorker>(this); }

}  // namespace

}  // namespace jg::columnar

namespace jg {

static Status make_parquet_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<columnar::ParquetSource>(options);
  return {};
}

}  // namespace jg

JG_READER(parquet, jg::make_parquet_source);
