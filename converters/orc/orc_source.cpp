// The ORC reader: a Source whose morsels are stripes, or ranges of rows where those are few. Decodes the format itself,
// with Arrow's codecs: Arrow's adapter takes twice the time, and damaged files crash it.
#include <algorithm>
#include <cstring>
#include <set>

#include "common/bounds.h"
#include "common/morsels.h"
#include "common/read_error.h"
#include "orc/nested_column.h"
#include "orc/statistics.h"

namespace jg::columnar {

namespace {

constexpr int64_t kMorselRowsMin = 32768;
constexpr int kAbsent = -1;

struct OrcFile {
  std::string path;
  OrcTail tail;
  std::vector<int> ids;            // of each wanted column, or of the struct that it is in; kAbsent: the file lacks it
  std::vector<int> ranged;         // what statistics are wanted of; kAbsent: nothing
  std::set<int> without_partners;  // stripes
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

bool may_match(const Bounds& bounds, const std::vector<ColumnRange>& ranges) {
  return std::all_of(bounds.columns().begin(), bounds.columns().end(),
                     [&](int c) { return bounds.may_match(c, ranges[static_cast<size_t>(c)]); });
}

class OrcSource final : public Source {
 public:
  explicit OrcSource(const FileSourceOptions& options) : options_(options) {}
  void add_runtime_filter(int column, int64_t low, int64_t high) override {
    partners_.push_back({column, "ge", std::to_string(low)});
    partners_.push_back({column, "le", std::to_string(high)});
  }
  Status open() override;
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override { return queue_.left(); }
  void cancel() override { queue_.cancel(); }

 private:
  friend class OrcWorker;
  Status check_columns() const;
  FileSourceOptions options_;
  std::vector<FileSourceOptions::Bound> partners_;  // what the joins to come have partners for
  std::vector<OrcFile> files_;
  MorselQueue queue_;
};

class OrcWorker final : public SourceWorker {
 public:
  explicit OrcWorker(OrcSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    for (const ColumnSpec& column : source_.options_.columns) rooms_.push_back(make_room(column.type));
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    if (source_.queue_.cancelled()) return cancelled();
    while (left_ == 0) {
      const Morsel* morsel = nullptr;
      JG_RETURN_IF_ERROR(source_.queue_.next(&morsel));
      if (morsel == nullptr) {
        *done = true;
        return {};
      }
      if (morsel->rows == 0) continue;
      JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[morsel->file].path, [&] { start(*morsel); }));
    }
    row_ += rows_;
    rows_ = static_cast<int32_t>(std::min<int64_t>(left_, JG_BATCH_ROWS));
    left_ -= rows_;
    std::fill(columns_.begin(), columns_.end(), JgCol{nullptr, nullptr});
    JG_RETURN_IF_ERROR(guarded("ORC", source_.files_[file_].path, [&] {
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (source_.options_.early[i]) read(i);
      }
    }));
    count_bytes();
    source_.counters.rows += rows_;
    source_.counters.batches += 1;
    batch->rows = rows_;
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
    if (part_ != morsel.part || morsel.first < row_ + rows_) {
      footer_ = read_stripe_footer(*input_, compression_, file.tail.stripes[morsel.part]);
      for (auto& decoder : decoders_) {
        if (decoder) decoder->start(input_.get(), &compression_, &footer_, file.tail.row_index_stride);
      }
      part_ = morsel.part;
    }
    row_ = morsel.first;
    rows_ = 0;
    left_ = morsel.rows;
  }

  void read(size_t i) {
    if (!decoders_[i]) return fill_with_nulls(rooms_[i], rows_, &columns_[i]);
    of_column(source_.options_.columns[i], [&] { decoders_[i]->read(row_, rows_, rooms_[i], &columns_[i]); });
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
  int64_t row_ = 0;   // of the current batch, in its stripe
  int32_t rows_ = 0;  // in the current batch
  int64_t left_ = 0;  // of the morsel, after the current batch
};

Status OrcSource::open() {
  const Bounds bounds(options_.columns, options_.bounds), partners(options_.columns, partners_);
  std::vector<Morsel> parts;
  for (const std::string& path : options_.files) {
    JG_RETURN_IF_ERROR(guarded("ORC", path, [&] {
      auto input = InputFile::open(path, arrow::default_memory_pool());
      OrcFile file{path, read_orc_tail(*input), {}, {}, {}};
      find_columns(options_.columns, &file);
      std::vector<std::vector<ColumnRange>> ranges;
      if (!bounds.columns().empty() || !partners.columns().empty())
        ranges = read_stripe_ranges(*input, file.tail, file.ranged);
      for (size_t s = 0; s < file.tail.stripes.size(); ++s) {
        const OrcStripe& stripe = file.tail.stripes[s];
        if (s < ranges.size() && !may_match(bounds, ranges[s])) {
          if (options_.share_index == 0) counters.pruned_bytes += stripe.data_bytes;  // siblings see the same
        } else if (stripe.rows > 0) {
          parts.push_back({static_cast<int>(files_.size()), static_cast<int>(s), 0, stripe.rows});
          if (s < ranges.size() && !may_match(partners, ranges[s])) file.without_partners.insert(static_cast<int>(s));
        }
      }
      files_.push_back(std::move(file));
    }));
  }
  JG_RETURN_IF_ERROR(check_columns());
  auto useless = [&](const Morsel& part) -> int64_t {
    const OrcFile& file = files_[static_cast<size_t>(part.file)];
    if (!file.without_partners.contains(part.part)) return 0;
    const OrcStripe& stripe = file.tail.stripes[static_cast<size_t>(part.part)];
    return std::max<int64_t>(1, stripe.data_bytes * part.rows / stripe.rows);
  };
  parts = deal(std::move(parts), options_, kMorselRowsMin, useless, &counters);
  return queue_.fill(std::move(parts), options_.shares, &counters);
}

// A column that some files lack is NULL in them; one that all lack is a mistake.
Status OrcSource::check_columns() const {
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    const ColumnSpec& column = options_.columns[i];
    auto lacks = [i](const OrcFile& file) { return file.ids[i] == kAbsent; };
    auto count = std::count_if(files_.begin(), files_.end(), lacks);
    if (count == 0 || (column.nullable && count < static_cast<int64_t>(files_.size()))) continue;
    const OrcFile& file = *std::find_if(files_.begin(), files_.end(), lacks);
    return guarded("ORC", file.path, [&] { throw missing_column(column, file.tail.types[0].names); });
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
