// The ORC reader: a Source whose morsels are stripes, or ranges of rows where those are few. Decodes the format itself,
// with Arrow's codecs: Arrow's adapter takes twice the time, and damaged files crash it.
#include <algorithm>
#include <cstring>

#include "common/bounds.h"
#include "common/columnar_source.h"
#include "common/early_days.h"
#include "common/read_error.h"
#include "orc/nested_column.h"
#include "orc/row_index.h"
#include "orc/statistics.h"

namespace jg::columnar {

namespace {

constexpr int64_t kMorselRowsMin = 32768;
constexpr int kAbsent = -1;

struct OrcFile {
  std::string path;
  OrcTail tail;
  std::vector<int> ids;           // of each wanted column, or of the struct that it is in; kAbsent: the file lacks it
  std::vector<int> ranged;        // columns whose statistics are wanted; kAbsent: none
  std::vector<PartRows> stripes;  // the rows of each to read
};

void find_columns(const std::vector<ColumnSpec>& columns, OrcFile* file) {
  const OrcType& root = file->tail.types[0];
  for (const ColumnSpec& column : columns) {
    auto found = std::find(root.names.begin(), root.names.end(), column.column());
    int id = found == root.names.end() ? kAbsent : root.children[static_cast<size_t>(found - root.names.begin())];
    int last = id;
    if (id != kAbsent) make_orc_reader(column, file->tail, id, &last);
    file->ids.push_back(last == kAbsent ? kAbsent : id);
    file->ranged.push_back(column.nesting == Nesting::kNone ? last : kAbsent);
  }
}

void fill_with_nulls(ColumnRoom& room, int32_t rows, JgCol* out) {
  std::memset(room.data, 0, static_cast<size_t>(rows) * room.width);
  std::memset(room.valid.get(), 0, static_cast<size_t>(rows));
  out->data = room.data;
  out->valid = room.valid.get();
}

// The rows of a stripe with these statistics that may match, of those in `rows`.
std::vector<RowRange> narrowed(std::vector<RowRange> rows, const Bounds& bounds, const OrcFile& file,
                               const std::vector<ColumnRange>& ranges, RowIndex* index) {
  auto range = [&](int column) -> const ColumnRange& { return ranges[static_cast<size_t>(column)]; };
  for (int column : bounds.columns()) {
    if (!bounds.may_match(column, range(column))) return {};
  }
  for (int column : bounds.columns()) {
    const int id = file.ranged[static_cast<size_t>(column)];
    if (id != kAbsent && !bounds.must_match(column, range(column))) index->narrow(bounds, column, id, &rows);
  }
  return rows;
}

void find_rows(InputFile& input, const Bounds& bounds, const Bounds& partners, OrcFile* file) {
  std::vector<std::vector<ColumnRange>> ranges;
  if (!bounds.columns().empty() || !partners.columns().empty())
    ranges = read_stripe_ranges(input, file->tail, file->ranged);
  const std::vector<ColumnRange> unknown(file->ranged.size());
  for (size_t s = 0; s < file->tail.stripes.size(); ++s) {
    const OrcStripe& stripe = file->tail.stripes[s];
    PartRows& rows = file->stripes.emplace_back(PartRows{stripe.rows, stripe.data_bytes, {}, {}});
    if (stripe.rows == 0) continue;
    const std::vector<ColumnRange>& known = s < ranges.size() ? ranges[s] : unknown;
    RowIndex index(input, file->tail, stripe);
    rows.matching = narrowed({{0, stripe.rows}}, bounds, *file, known, &index);
    rows.joining = narrowed(rows.matching, partners, *file, known, &index);
  }
}

// Dates, of which no file says by which calendar its writer counted them.
void require_late_days(InputFile& input, const std::vector<ColumnSpec>& columns, const OrcFile& file) {
  auto is_date = [&](size_t i) { return columns[i].type == JG_DATE && file.ids[i] != kAbsent; };
  bool any = false;
  for (size_t i = 0; i < columns.size(); ++i) any |= is_date(i);
  if (!any) return;
  const std::vector<std::vector<ColumnRange>> ranges = read_stripe_ranges(input, file.tail, file.ranged);
  for (size_t s = 0; s < file.tail.stripes.size(); ++s) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (is_date(i) && file.tail.stripes[s].rows > 0)
        require_late(columns[i], s < ranges.size() ? ranges[s][i] : ColumnRange());
    }
  }
}

class OrcSource final : public ColumnarSource {
 public:
  using ColumnarSource::ColumnarSource;
  Status open() override;
  std::unique_ptr<SourceWorker> worker() override;

 private:
  friend class OrcWorker;
  Status check_columns() const;
  std::vector<OrcFile> files_;
};

class OrcWorker final : public SourceWorker {
 public:
  explicit OrcWorker(OrcSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    for (const ColumnSpec& column : source_.options_.columns) rooms_.push_back(make_room(column.type));
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return cancelled();
    while (!batch_.next()) {
      const Morsel* morsel = nullptr;
      JG_RETURN_IF_ERROR(source_.queue_.next(&morsel));
      if (morsel == nullptr) {
        *done = true;
        return {};
      }
      if (morsel->rows == 0) continue;
      JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[morsel->file].path, [&] { start(*morsel); }));
    }
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[file_].path, [&] {
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (source_.options_.early[i]) read(i);
      }
    }));
    count_bytes();
    source_.counters.rows += batch_.rows();
    source_.counters.batches += 1;
    batch->rows = batch_.rows();
    batch->cols = columns_.data();
    return {};
  }

  Status load(int column, const int32_t*, int32_t n) override {
    size_t i = static_cast<size_t>(column);
    if (n == 0) return {};
    JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[file_].path, [&] { read(i); }));
    count_bytes();
    return {};
  }

  int file() const override { return file_; }

 private:
  static Status cancelled() { return Status("cancelled", "the scan was cancelled"); }

  void start(const Morsel& morsel) {
    const OrcFile& file = source_.files_[morsel.file];
    if (!input_ || file_ != morsel.file) {
      decoders_.clear();
      input_ = InputFile::open(file.path, arrow::default_memory_pool());
      counted_bytes_ = 0;
      compression_ = {make_orc_codec(file.tail.codec), file.tail.compression.block_bytes};
      for (size_t i = 0; i < columns_.size(); ++i) {
        bool absent = file.ids[i] == kAbsent;
        int last = 0;
        decoders_.push_back(absent ? nullptr
                                   : make_orc_reader(source_.options_.columns[i], file.tail, file.ids[i], &last));
      }
      file_ = morsel.file;
      part_ = -1;
    }
    if (part_ != morsel.part || morsel.first < batch_.row() + batch_.rows()) {
      footer_ = read_stripe_footer(*input_, compression_, file.tail.stripes[morsel.part]);
      for (auto& decoder : decoders_) {
        if (decoder) decoder->start(input_.get(), &compression_, &footer_, file.tail.row_index_stride);
      }
      part_ = morsel.part;
    }
    batch_.start(file.stripes[static_cast<size_t>(part_)].joining, {morsel.first, morsel.first + morsel.rows});
  }

  void read(size_t i) {
    if (!decoders_[i]) return fill_with_nulls(rooms_[i], batch_.rows(), &columns_[i]);
    of_column(source_.options_.columns[i],
              [&] { decoders_[i]->read(batch_.row(), batch_.rows(), rooms_[i], &columns_[i]); });
  }

  void count_bytes() {
    int64_t now = input_->bytes_read();
    if (now != counted_bytes_) source_.counters.bytes += now - counted_bytes_;
    counted_bytes_ = now;
  }

  OrcSource& source_;
  std::shared_ptr<InputFile> input_;
  int64_t counted_bytes_ = 0;
  OrcCompression compression_;
  OrcStripeFooter footer_;
  std::vector<std::unique_ptr<OrcReader>> decoders_;  // null: absent
  std::vector<JgCol> columns_;
  std::vector<ColumnRoom> rooms_;
  int file_ = 0, part_ = -1;
  BatchRows batch_;
};

Status OrcSource::open() {
  const Bounds bounds(options_.columns, options_.bounds), partners(options_.columns, partners_);
  std::vector<Morsel> parts;
  for (const std::string& path : options_.files) {
    JG_RETURN_IF_ERROR(guarded("ORC", path, [&] {
      auto input = InputFile::open(path, arrow::default_memory_pool());
      OrcFile file{path, read_orc_tail(*input), {}, {}, {}};
      find_columns(options_.columns, &file);
      if (refuses_early_days(options_)) require_late_days(*input, options_.columns, file);
      find_rows(*input, bounds, partners, &file);
      for (size_t s = 0; s < file.stripes.size(); ++s) {
        const PartRows& stripe = file.stripes[s];
        if (options_.share_index == 0) counters.pruned_bytes += stripe.pruned_bytes();  // siblings see the same
        if (stripe.matching.empty()) continue;
        const int64_t first = stripe.matching.front().first;
        parts.push_back(
            {static_cast<int>(files_.size()), static_cast<int>(s), first, stripe.matching.back().end - first});
      }
      files_.push_back(std::move(file));
    }));
  }
  JG_RETURN_IF_ERROR(check_columns());
  auto useless = [&](const Morsel& part) {
    const PartRows& stripe = files_[static_cast<size_t>(part.file)].stripes[static_cast<size_t>(part.part)];
    return stripe.useless_bytes({part.first, part.first + part.rows});
  };
  parts = deal(std::move(parts), options_, kMorselRowsMin, useless, &counters);
  return queue_.fill(std::move(parts), options_.shares, &counters);
}

// A column that some files lack is NULL in them; one that all lack, or spell in other cases, is a mistake.
Status OrcSource::check_columns() const {
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    const ColumnSpec& column = options_.columns[i];
    auto lacks = [i](const OrcFile& file) { return file.ids[i] == kAbsent; };
    auto count = std::count_if(files_.begin(), files_.end(), lacks);
    if (count == 0) continue;
    const bool may_lack = column.nullable && count < static_cast<int64_t>(files_.size());
    for (const OrcFile& file : files_) {
      const std::vector<std::string>& present = file.tail.types[0].names;
      if (!lacks(file) || (may_lack && !has_other_case(column.column(), present))) continue;
      return guarded("ORC", file.path, [&] { throw missing_column(column, present); });
    }
  }
  return {};
}

std::unique_ptr<SourceWorker> OrcSource::worker() { return std::make_unique<OrcWorker>(this); }

}  // namespace

}  // namespace jg::columnar

namespace jg {

static Status make_orc_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<columnar::OrcSource>(options);
  return {};
}

}  // namespace jg

JG_READER(orc, jg::make_orc_source);
