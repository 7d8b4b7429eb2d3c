#include "partitions.h"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "common/bounds.h"
#include "common/column_room.h"
#include "common/deleted_rows.h"
#include "common/read_error.h"
#include "text/values.h"

namespace jg {
namespace {

constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";

using Value = std::optional<std::string>;  // nothing: NULL
using Make = Status (*)(const FileSourceOptions&, std::unique_ptr<Source>*);

std::string percent_decoded(std::string_view text) {
  auto hex = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const bool code = text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    out += code ? static_cast<char>(hex(text[i + 1]) << 4 | hex(text[i + 2])) : text[i];
    i += code ? 2 : 0;
  }
  return out;
}

// The value that a file's folders give a column; of several folders of that name, the innermost.
bool find_value(std::string_view path, const std::string& name, Value* out) {
  bool found = false;
  for (size_t at = 0, end; (end = path.find('/', at)) != path.npos; at = end + 1) {
    const std::string_view folder = path.substr(at, end - at);
    const size_t equals = folder.find('=');
    if (equals == folder.npos || percent_decoded(folder.substr(0, equals)) != name) continue;
    found = true;
    const std::string_view value = folder.substr(equals + 1);
    *out = value == kNull ? Value() : Value(percent_decoded(value));
  }
  return found;
}

class PartitionedSource;

class PartitionedWorker final : public SourceWorker {
 public:
  explicit PartitionedWorker(PartitionedSource* source);
  Status next(JgBatch* batch, bool* done) override;
  Status load(int column, const int32_t* sel, int32_t n) override;
  int file() const override { return file_; }

 private:
  void set_values();
  void connect(const JgBatch& inner);

  PartitionedSource* source_;
  std::unique_ptr<SourceWorker> inner_;
  std::vector<columnar::ColumnRoom> rooms_;  // of partition columns
  std::vector<JgCol> cols_;
  JgBatch batch_{};
  int file_ = -1;
};

class PartitionedSource final : public Source {
 public:
  PartitionedSource(const FileSourceOptions& options, Make make) : options_(options), make_(make) {}

  Status open() override;
  void add_runtime_filter(int column, int64_t low, int64_t high) override {
    runtime_filters_.push_back({column, low, high});
  }
  std::unique_ptr<SourceWorker> worker() override { return std::make_unique<PartitionedWorker>(this); }
  int64_t morsels_left() override { return inner_ ? inner_->morsels_left() : 0; }
  void cancel() override {
    if (inner_) inner_->cancel();
  }

 private:
  friend class PartitionedWorker;
  struct RuntimeFilter {
    int column;
    int64_t low, high;
  };

  Status values_of(const std::string& path, std::vector<Value>* out) const;
  bool may_match(const columnar::Bounds& bounds, const std::vector<Value>& values) const;
  FileSourceOptions inner_options() const;
  // Copy the inner source's counters. The last caller wins.
  void count() {
    const std::lock_guard lock(mutex_);
    counters.rows = inner_->counters.rows.load();
    counters.bytes = inner_->counters.bytes.load();
    counters.batches = inner_->counters.batches.load();
    counters.wait_ns = inner_->counters.wait_ns.load();
    counters.skipped_rows = inner_->counters.skipped_rows.load();
    counters.shares = inner_->counters.shares.load();
    counters.stolen_shares = inner_->counters.stolen_shares.load();
    counters.pruned_bytes = pruned_bytes_ + inner_->counters.pruned_bytes.load();
  }

  const FileSourceOptions options_;
  const Make make_;
  std::vector<RuntimeFilter> runtime_filters_;
  std::vector<int> inner_column_;           // of each wanted column: which of the inner source's, or -1
  std::vector<std::vector<Value>> values_;  // of each file that is read: of each wanted column, if a partition has it
  std::unique_ptr<Source> inner_;           // null: no file is left to read
  int64_t pruned_bytes_ = 0;
  std::mutex mutex_;
};

Status PartitionedSource::values_of(const std::string& path, std::vector<Value>* out) const {
  out->assign(options_.columns.size(), Value());
  for (size_t c = 0; c < options_.columns.size(); c++) {
    if (inner_column_[c] >= 0) continue;
    const ColumnSpec& column = options_.columns[c];
    Value& value = (*out)[c];
    if (!find_value(path, column.name, &value))
      return {"schema",
              path + ": column '" + column.name + "' is in the names of folders, but not of this file's",
              {{"file", path}, {"column", column.name}}};
    jg_i128 room;
    const text::Parse parsed = value             ? text::store(column, *value, &room, 0)
                               : column.nullable ? text::Parse::kOk
                                                 : text::Parse::kWrong;
    if (parsed != text::Parse::kOk)
      return {parsed == text::Parse::kOverflow ? "overflow" : "schema",
              path + ": column '" + column.name + "' is " + value.value_or("nothing") +
                  " by its folder's name, which is " +
                  (parsed == text::Parse::kOverflow ? "out of the range of " : "no ") + text::name_of(column.type),
              {{"file", path}, {"column", column.name}}};
  }
  return {};
}

// Return whether a file with these values may have rows that satisfy the bounds and have partners in the joins to come.
bool PartitionedSource::may_match(const columnar::Bounds& bounds, const std::vector<Value>& values) const {
  auto whole = [&](int c, int64_t* out) {  // of the types that runtime filters know
    const ColumnSpec& column = options_.columns[c];
    const size_t width = memory_width(column.type);
    if (column.type == JG_BOOL || column.type == JG_F32 || column.type == JG_F64 || width > 8) return false;
    char room[8] = {};
    text::store(column, *values[c], room, 0);
    *out = width == 1   ? static_cast<int8_t>(room[0])
           : width == 2 ? *reinterpret_cast<int16_t*>(room)
           : width == 4 ? *reinterpret_cast<int32_t*>(room)
                        : *reinterpret_cast<int64_t*>(room);
    return true;
  };
  for (const int c : bounds.columns()) {
    if (inner_column_[c] >= 0) continue;
    columnar::ColumnRange range;
    range.all_null = !values[c], range.no_null = !range.all_null;
    int64_t number;
    if (values[c] && options_.columns[c].type == JG_STRING) {
      range.texts = {*values[c], *values[c]};
    } else if (values[c] && whole(c, &number)) {
      range.integers = {number, number};
    }
    if (!bounds.may_match(c, range)) return false;
  }
  for (const auto& [c, low, high] : runtime_filters_) {
    int64_t number;
    if (inner_column_[c] >= 0) continue;
    if (!values[c] || (whole(c, &number) && (number < low || number > high))) return false;
  }
  return true;
}

// Return the options that are left to the reader of the format.
FileSourceOptions PartitionedSource::inner_options() const {
  FileSourceOptions inner = options_;
  std::erase_if(inner.options, [](const auto& option) { return option.first == "partitions"; });
  inner.columns.clear(), inner.early.clear(), inner.positions.clear(), inner.file_columns.clear(), inner.bounds.clear();
  inner.files.clear();
  return inner;
}

Status PartitionedSource::open() {
  std::vector<std::string> names;
  for (const auto& [option, value] : options_.options) {
    for (size_t at = 0, end; option == "partitions" && at <= value.size(); at = end + 1) {
      end = std::min(value.find(',', at), value.size());
      names.push_back(percent_decoded(std::string_view(value).substr(at, end - at)));
    }
  }
  auto is_partition = [&](const ColumnSpec& c) { return std::find(names.begin(), names.end(), c.name) != names.end(); };
  FileSourceOptions inner = inner_options();
  std::vector<int> place(options_.file_columns.size(), -1);
  for (size_t i = 0; i < options_.file_columns.size(); i++) {
    if (is_partition(options_.file_columns[i])) continue;
    place[i] = static_cast<int>(inner.file_columns.size());
    inner.file_columns.push_back(options_.file_columns[i]);
  }
  for (size_t c = 0; c < options_.columns.size(); c++) {
    const bool partition = is_partition(options_.columns[c]);
    inner_column_.push_back(partition ? -1 : static_cast<int>(inner.columns.size()));
    if (partition) continue;
    inner.columns.push_back(options_.columns[c]);
    inner.early.push_back(options_.early[c]);
    inner.positions.push_back(place[options_.positions[c]]);
  }
  for (FileSourceOptions::Bound bound : options_.bounds) {
    if (bound.column < 0 || inner_column_[bound.column] < 0) continue;
    bound.column = inner_column_[bound.column];
    inner.bounds.push_back(std::move(bound));
  }
  const columnar::Bounds bounds(options_.columns, options_.bounds);
  std::vector<size_t> kept;
  for (size_t f = 0; f < options_.files.size(); f++) {
    const std::string& path = options_.files[f];
    std::vector<Value> values;
    JG_RETURN_IF_ERROR(values_of(path, &values));
    if (may_match(bounds, values)) {
      inner.files.push_back(path);
      kept.push_back(f);
      values_.push_back(std::move(values));
    } else if (struct stat info; options_.share_index == 0 && ::stat(path.c_str(), &info) == 0) {
      pruned_bytes_ += info.st_size;
    }
  }
  counters.pruned_bytes = pruned_bytes_;
  if (inner.files.empty()) return {};
  JG_RETURN_IF_ERROR(
      columnar::guarded("Parquet", inner.files[0], [&] { columnar::keep_files(&inner, options_.files.size(), kept); }));
  JG_RETURN_IF_ERROR(make_(inner, &inner_));
  for (const auto& [c, low, high] : runtime_filters_) {
    if (inner_column_[c] >= 0) inner_->add_runtime_filter(inner_column_[c], low, high);
  }
  return inner_->open();
}

PartitionedWorker::PartitionedWorker(PartitionedSource* source) : source_(source) {
  if (source->inner_) inner_ = source->inner_->worker();
  for (const ColumnSpec& column : source->options_.columns) rooms_.push_back(columnar::make_room(column.type));
  cols_.resize(rooms_.size());
}

// Every row of the file that the batch is from has its partition's values.
void PartitionedWorker::set_values() {
  for (size_t c = 0; c < rooms_.size(); c++) {
    if (source_->inner_column_[c] >= 0) continue;
    const Value& value = source_->values_[static_cast<size_t>(file_)][c];
    const ColumnSpec& column = source_->options_.columns[c];
    std::fill_n(rooms_[c].valid.get(), JG_BATCH_ROWS, value.has_value());
    for (int i = 0; i < JG_BATCH_ROWS; i++) {
      if (value) {
        text::store(column, *value, rooms_[c].data, i);
      } else if (column.type >= JG_STRING) {
        reinterpret_cast<JgStr*>(rooms_[c].data)[i] = {"", 0};
      }
    }
  }
}

void PartitionedWorker::connect(const JgBatch& inner) {
  for (size_t c = 0; c < cols_.size(); c++) {
    const int from = source_->inner_column_[c];
    cols_[c] = from >= 0 ? inner.cols[from] : JgCol{rooms_[c].data, rooms_[c].valid.get()};
  }
}

Status PartitionedWorker::next(JgBatch* batch, bool* done) {
  *done = !inner_;
  if (*done) return {};
  Status status = inner_->next(&batch_, done);
  source_->count();
  if (!status.ok() || *done) return status;
  if (inner_->file() != file_) {
    file_ = inner_->file();
    set_values();
  }
  connect(batch_);
  batch->rows = batch_.rows;
  batch->cols = cols_.data();
  return {};
}

Status PartitionedWorker::load(int column, const int32_t* sel, int32_t n) {
  const int from = source_->inner_column_[static_cast<size_t>(column)];
  if (from < 0) return {};
  Status status = inner_->load(from, sel, n);
  source_->count();
  cols_[static_cast<size_t>(column)] = batch_.cols[from];
  return status;
}

}  // namespace

Status make_partitioned_source(const FileSourceOptions& options, Make make, std::unique_ptr<Source>* out) {
  *out = std::make_unique<PartitionedSource>(options, make);
  return {};
}

}  // namespace jg
