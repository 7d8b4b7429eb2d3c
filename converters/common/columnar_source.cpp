#include "common/columnar_source.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/deleted_rows.h"
#include "common/read_error.h"
#include "jg/objects.h"

namespace jg::columnar {

namespace {

// Of a thread, while it decodes another: parts of objects, and about their bytes.
constexpr size_t kAheadMax = 4;
constexpr int64_t kAheadBytesMax = 48 << 20;
// Parts in a row that needed late columns, after which these are fetched with the early ones.
constexpr int kLateParts = 2;
// Batches between two times that they are counted.
constexpr int64_t kBatchesUncounted = 32;
// Objects whose footers are fetched while another's is decoded.
constexpr size_t kFootersAhead = 16;

class ColumnarSource final : public Source {
 public:
  ColumnarSource(const ColumnarFormat& format, const FileSourceOptions& options) : format_(format), options_(options) {
    objects::fetch_ends(options_.files, 0, kFootersAhead);
  }

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
  bool are_numbers(const std::vector<std::string>& names) const;
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
  ~ColumnarWorker() override { count_batches(); }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return Status("cancelled", "the scan was cancelled");
    while (!batch_.next() || !kept_.next(batch_.row(), batch_.rows())) {
      if (batch_.rows() > 0) continue;  // which are all deleted
      finish();
      if (ahead_.empty()) JG_RETURN_IF_ERROR(claim());
      if (ahead_.empty()) {
        *done = true;
        return {};
      }
      decode(std::move(ahead_.front()));
      ahead_.pop_front();
      JG_RETURN_IF_ERROR(look_ahead());
    }
    if (const Summary* const summary = summary_of(part_)) {
      give(*summary, batch);
      return {};
    }
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(of_file(file(), [&] {
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (source_.options_.early[i]) read(i, nullptr, kept_.count());
      }
    }));
    count_bytes();
    rows_ += kept_.count();
    if (++batches_ == kBatchesUncounted) count_batches();
    batch->rows = kept_.count();
    batch->cols = columns_.data();
    return {};
  }

  Status load(int column, const int32_t* sel, int32_t n) override {
    if (n == 0) return {};
    if (!std::exchange(needed_late_, true)) late_parts_++;
    JG_RETURN_IF_ERROR(of_file(file(), [&] {
      expect_late(&part_);
      if (late_parts_ >= kLateParts)
        for (Part& part : ahead_) expect_late(&part);
      read(static_cast<size_t>(column), n == kept_.count() ? nullptr : sel, n);
    }));
    count_bytes();
    return {};
  }

  int file() const override { return part_.morsel.file; }

 private:
  // A part that is decoded, or will be.
  struct Part {
    Morsel morsel;
    std::unique_ptr<PartDecoder> decoder;
    int64_t counted_bytes = 0;  // of the decoder
    bool expects_late = true;   // its late columns are not fetched yet
  };

  template <class Body>
  Status of_file(int file, Body body) const {
    return guarded(source_.format_.name, source_.files_[static_cast<size_t>(file)]->path, body);
  }

  const ColumnarFile& file_of(const Part& part) const { return *source_.files_[static_cast<size_t>(part.morsel.file)]; }

  const Summary* summary_of(const Part& part) const {
    const std::optional<Summary>& found = file_of(part).part(part.morsel.part).summary;
    return found ? &*found : nullptr;
  }

  void give(const Summary& summary, JgBatch* batch) {
    for (size_t i = 0; i < columns_.size(); ++i) summary.read(i, rooms_[i], &columns_[i]);
    source_.counters.rows += Summary::kRows + summary.unread[0];
    source_.counters.batches += 1;
    source_.counters.pruned_bytes += file_of(part_).part(part_.morsel.part).bytes;
    *batch = {Summary::kRows, columns_.data(), summary.unread.data()};
  }

  // Takes the next part with rows, if any is left, and lets its bytes come.
  Status claim() {
    const Morsel* morsel = nullptr;
    do {
      JG_RETURN_IF_ERROR(source_.queue_.next(&morsel));
      if (morsel == nullptr) return {};
    } while (morsel->rows == 0);
    Part part;
    if (spare_.decoder && spare_.morsel.file == morsel->file) part = std::move(spare_);
    part.morsel = *morsel;
    part.expects_late = summary_of(part) == nullptr;
    JG_RETURN_IF_ERROR(of_file(morsel->file, [&] {
      if (!part.decoder) part.decoder = file_of(part).decoder(&pool_);
      if (summary_of(part)) return;
      part.decoder->start(morsel->part, {morsel->first, morsel->first + morsel->rows});
      if (late_parts_ >= kLateParts) expect_late(&part);
    }));
    ahead_.push_back(std::move(part));
    return {};
  }

  // Claims parts of objects, so that their bytes come meanwhile: the fewer the fewer are left for other threads.
  Status look_ahead() {
    if (!source_.format_.fetches_ahead || objects::find(file_of(part_).path) == nullptr) return {};
    int64_t bytes = 0;
    for (const Part& part : ahead_) bytes += bytes_of(part);
    while (ahead_.size() < kAheadMax && bytes < kAheadBytesMax) {
      const size_t before = ahead_.size();
      if (source_.queue_.left() < static_cast<int64_t>(before + 1) * source_.options_.threads) break;
      JG_RETURN_IF_ERROR(claim());
      if (ahead_.size() == before) break;
      bytes += bytes_of(ahead_.back());
    }
    return {};
  }

  int64_t bytes_of(const Part& part) const {
    const PartRows& whole = file_of(part).part(part.morsel.part);
    return whole.bytes * part.morsel.rows / std::max<int64_t>(1, whole.rows);
  }

  void finish() {
    count_batches();
    if (!part_.decoder) return;
    if (!std::exchange(needed_late_, false)) late_parts_ = 0;
    spare_ = std::move(part_);
  }

  void decode(Part part) {
    part_ = std::move(part);
    const PartRows& whole = file_of(part_).part(part_.morsel.part);
    batch_.start(whole.joining, {part_.morsel.first, part_.morsel.first + part_.morsel.rows});
    kept_.start(whole.deleted);
  }

  static void expect_late(Part* part) {
    if (std::exchange(part->expects_late, false)) part->decoder->expect_late();
  }

  // Read n of the kept rows: those that `sel` lists, or all.
  void read(size_t i, const int32_t* sel, int32_t n) {
    const int32_t* positions = kept_.positions(sel, n);
    of_column(source_.options_.columns[i],
              [&] { part_.decoder->read(i, batch_.row(), batch_.rows(), positions, n, rooms_[i], &columns_[i]); });
    if (!kept_.all()) close_gaps(positions, sel, n, rooms_[i], &columns_[i]);
  }

  // Other threads count, too, so that each does it now and then.
  void count_batches() {
    source_.counters.rows += std::exchange(rows_, 0);
    source_.counters.batches += std::exchange(batches_, 0);
  }

  void count_bytes() { count_bytes(&part_); }

  void count_bytes(Part* part) {
    const int64_t now = part->decoder->bytes_read();
    if (now != part->counted_bytes) source_.counters.bytes += now - part->counted_bytes;
    part->counted_bytes = now;
  }

  ColumnarSource& source_;
  RecyclingPool pool_;  // outlives the decoder
  Part part_, spare_;   // that is decoded; whose decoder may be used again
  std::deque<Part> ahead_;
  std::vector<JgCol> columns_;
  std::vector<ColumnRoom> rooms_;
  int64_t rows_ = 0, batches_ = 0;  // that are not counted yet
  bool needed_late_ = false;        // a late column of the part was read
  int late_parts_ = 0;              // in a row
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
    objects::fetch_ends(options_.files, f, kFootersAhead);
    JG_RETURN_IF_ERROR(guarded(format_.name, options_.files[f], [&] {
      add_file(options_.files[f], {options_, bounds, partners, deleted[f], &pool}, &parts);
    }));
  }
  JG_RETURN_IF_ERROR(check_columns());
  auto useless = [&](const Morsel& part) {
    return files_[static_cast<size_t>(part.file)]->part(part.part).useless_bytes({part.first, part.first + part.rows});
  };
  parts = deal(std::move(parts), options_, format_.morsel_rows_min, useless, &counters);
  auto owner = [&](const Morsel& part) {
    const ColumnarFile& file = *files_[static_cast<size_t>(part.file)];
    return owner_of(options_, file.path, 2 * part.part + 1, 2 * int64_t{file.parts()});  // its middle
  };
  return queue_.fill(std::move(parts), options_, owner, &counters);
}

void ColumnarSource::add_file(const std::string& path, const Wanted& wanted, std::vector<Morsel>* parts) {
  std::unique_ptr<ColumnarFile> file = format_.open(path, wanted);
  if (options_.share_index == 0) counters.pruned_bytes += file->pruned_bytes;  // siblings see the same
  for (int p = 0; p < file->parts(); ++p) {
    const std::vector<RowRange>& matching = file->part(p).matching;
    if (matching.empty()) continue;
    if (file->part(p).summary) {
      parts->push_back({static_cast<int>(files_.size()), p, 0, Summary::kRows});
      continue;
    }
    const int64_t first = matching.front().first;
    parts->push_back({static_cast<int>(files_.size()), p, first, matching.back().end - first});
  }
  files_.push_back(std::move(file));
}

// Whether a file's names stand for positions.
bool ColumnarSource::are_numbers(const std::vector<std::string>& names) const {
  auto is_number = [](const std::string& name) { return name.starts_with("_col"); };
  return format_.numbers_columns && std::all_of(names.begin(), names.end(), is_number);
}

// A column that some files lack is NULL in them; one that all lack, or spell in other cases, is a mistake. With the
// option `absent = null` one that all lack is NULL, too.
Status ColumnarSource::check_columns() const {
  const bool all_may = std::any_of(options_.options.begin(), options_.options.end(), [](const auto& option) {
    return option.first == "absent" && option.second == "null";
  });
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    const ColumnSpec& column = options_.columns[i];
    auto lacks = [i](const std::unique_ptr<ColumnarFile>& file) { return file->lacks(i); };
    const auto count = std::count_if(files_.begin(), files_.end(), lacks);
    const bool may_lack = column.nullable && (all_may || count < static_cast<int64_t>(files_.size()));
    for (const auto& file : files_) {
      if (!lacks(file)) continue;
      const std::vector<std::string> present = file->names();
      if (may_lack && !has_other_case(column.column(), present) && !are_numbers(present)) continue;
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
