// Reads Arrow IPC files. A thread takes a record batch at a time and hands it on in slices, copied into the layout of
// jg/batch.h; strings stay where they are.
#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "jg/stream.h"

namespace {

using jg::ColumnSpec;
using jg::FileSourceOptions;
using jg::Status;

Status failed(const std::string& file, const arrow::Status& status) {
  const bool storage = status.IsIOError();
  return {storage ? "io" : "malformed", "'" + file + "': " + status.message(), {{"file", file}}};
}

#define RETURN_IF_FAILED(file, expression)                               \
  do {                                                                   \
    if (arrow::Status s = (expression); !s.ok()) return failed(file, s); \
  } while (0)
#define ASSIGN_OR_FAIL(file, variable, expression)          \
  do {                                                      \
    auto result = (expression);                             \
    if (!result.ok()) return failed(file, result.status()); \
    variable = std::move(result).ValueUnsafe();             \
  } while (0)

bool fits(const arrow::DataType& type, const ColumnSpec& column) {
  switch (column.type) {
    case JG_BOOL:
      return type.id() == arrow::Type::BOOL;
    case JG_I8:
      return type.id() == arrow::Type::INT8;
    case JG_I16:
      return type.id() == arrow::Type::INT16;
    case JG_I32:
      return type.id() == arrow::Type::INT32;
    case JG_I64:
      return type.id() == arrow::Type::INT64;
    case JG_F32:
      return type.id() == arrow::Type::FLOAT;
    case JG_F64:
      return type.id() == arrow::Type::DOUBLE;
    case JG_DATE:
      return type.id() == arrow::Type::DATE32;
    case JG_TIMESTAMP: {
      if (type.id() != arrow::Type::TIMESTAMP) return false;
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      return timestamp.unit() == arrow::TimeUnit::MICRO && timestamp.timezone().empty();
    }
    case JG_DEC64:
    case JG_DEC128: {
      if (type.id() != arrow::Type::DECIMAL128) return false;
      const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
      return decimal.precision() == column.precision && decimal.scale() == column.scale;
    }
    case JG_STRING:
      return type.id() == arrow::Type::STRING;
    case JG_BINARY:
      return type.id() == arrow::Type::BINARY;
  }
  return false;
}

// One open file and the places of the wanted columns in its batches.
struct File {
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader;
  std::vector<int> places;

  static Status open(const std::string& path, const std::vector<ColumnSpec>& columns, File* out) {
    std::shared_ptr<arrow::io::ReadableFile> input;
    ASSIGN_OR_FAIL(path, input, arrow::io::ReadableFile::Open(path));
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> whole;
    ASSIGN_OR_FAIL(path, whole, arrow::ipc::RecordBatchFileReader::Open(input));
    const std::shared_ptr<arrow::Schema> schema = whole->schema();
    arrow::ipc::IpcReadOptions options;
    options.use_threads = false;
    for (const ColumnSpec& column : columns) {
      const int index = schema->GetFieldIndex(column.name);
      const std::string name = "'" + path + "': column '" + column.name + "'";
      if (index < 0)
        return {"schema", name + " is not there, or there twice", {{"file", path}, {"column", column.name}}};
      const arrow::DataType& type = *schema->field(index)->type();
      if (!fits(type, column))
        return {"schema", name + " is " + type.ToString(), {{"file", path}, {"column", column.name}}};
      options.included_fields.push_back(index);
    }
    std::vector<int> order = options.included_fields;
    std::sort(order.begin(), order.end());
    for (int index : options.included_fields)
      out->places.push_back(static_cast<int>(std::lower_bound(order.begin(), order.end(), index) - order.begin()));
    if (columns.empty() && schema->num_fields() > 0) options.included_fields.push_back(0);  // none would be all
    ASSIGN_OR_FAIL(path, out->reader, arrow::ipc::RecordBatchFileReader::Open(input, options));
    return {};
  }
};

struct Morsel {
  size_t file;
  int batch;
};

class IpcSource final : public jg::Source {
 public:
  explicit IpcSource(const FileSourceOptions& options) : options_(options) {}

  Status open() override {
    int64_t number = 0;
    for (size_t f = 0; f < options_.files.size(); ++f) {
      File file;
      JG_RETURN_IF_ERROR(File::open(options_.files[f], options_.columns, &file));
      for (int b = 0; b < file.reader->num_record_batches(); ++b)
        if (number++ % options_.share_count == options_.share_index) morsels_.push_back({f, b});
    }
    return {};
  }
  std::unique_ptr<jg::SourceWorker> worker() override;
  int64_t morsels_left() override {
    return std::max<int64_t>(0, static_cast<int64_t>(morsels_.size()) - next_.load(std::memory_order_relaxed));
  }
  void cancel() override { cancelled_ = true; }

 private:
  friend class IpcWorker;
  const FileSourceOptions options_;
  std::vector<Morsel> morsels_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> cancelled_{false};
};

class IpcWorker final : public jg::SourceWorker {
 public:
  explicit IpcWorker(IpcSource* source) : source_(*source), columns_(source->options_.columns.size()) {
    rooms_.resize(columns_.size());
    for (Room& room : rooms_) room.values.resize(JG_BATCH_ROWS);
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    row_ += rows_;
    while (batch_ == nullptr || row_ == batch_->num_rows()) {
      if (source_.cancelled_) return {"cancelled", "the scan was cancelled"};
      const int64_t at = source_.next_.fetch_add(1, std::memory_order_relaxed);
      if (at >= static_cast<int64_t>(source_.morsels_.size())) {
        *done = true;
        return {};
      }
      JG_RETURN_IF_ERROR(start(source_.morsels_[static_cast<size_t>(at)]));
    }
    rows_ = static_cast<int32_t>(std::min<int64_t>(JG_BATCH_ROWS, batch_->num_rows() - row_));
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i] = {nullptr, nullptr};
      if (source_.options_.early[i]) fill(i);
    }
    source_.counters.rows += rows_;
    source_.counters.batches += 1;
    batch->rows = rows_;
    batch->cols = columns_.data();
    return {};
  }

  Status load(int column, const int32_t*, int32_t n) override {
    if (n > 0) fill(static_cast<size_t>(column));
    return {};
  }

  int file() const override { return static_cast<int>(file_index_); }

 private:
  struct Room {
    std::vector<jg_i128> values;  // of any type: none is wider
    uint8_t valid[JG_BATCH_ROWS];
  };

  Status start(const Morsel& morsel) {
    const std::string& path = source_.options_.files[morsel.file];
    if (file_.reader == nullptr || file_index_ != morsel.file) {
      file_ = {};
      JG_RETURN_IF_ERROR(File::open(path, source_.options_.columns, &file_));
      file_index_ = morsel.file;
    }
    ASSIGN_OR_FAIL(path, batch_, file_.reader->ReadRecordBatch(morsel.batch));
    RETURN_IF_FAILED(path, batch_->ValidateFull());  // offsets and lengths are the file's word
    source_.counters.bytes += arrow::util::TotalBufferSize(*batch_);
    row_ = 0;
    rows_ = 0;
    return {};
  }

  // The current rows of one column.
  void fill(size_t i) {
    const arrow::Array& array = *batch_->column(file_.places[i]);
    Room& room = rooms_[i];
    columns_[i] = {room.values.data(), nullptr};
    if (array.null_count() > 0) {
      for (int32_t r = 0; r < rows_; ++r) room.valid[r] = array.IsValid(row_ + r);
      columns_[i].valid = room.valid;
    }
    switch (source_.options_.columns[i].type) {
      case JG_BOOL: {
        const auto& bits = static_cast<const arrow::BooleanArray&>(array);
        auto* out = reinterpret_cast<uint8_t*>(room.values.data());
        for (int32_t r = 0; r < rows_; ++r) out[r] = bits.Value(row_ + r);
        break;
      }
      case JG_STRING:
      case JG_BINARY: {
        const auto& texts = static_cast<const arrow::BinaryArray&>(array);
        auto* out = reinterpret_cast<JgStr*>(room.values.data());
        for (int32_t r = 0; r < rows_; ++r) {
          const std::string_view text = texts.IsValid(row_ + r) ? texts.GetView(row_ + r) : std::string_view();
          out[r] = {text.data(), text.size()};
        }
        break;
      }
      case JG_DEC64: {
        const uint8_t* values = static_cast<const arrow::Decimal128Array&>(array).raw_values() + row_ * sizeof(jg_i128);
        auto* out = reinterpret_cast<int64_t*>(room.values.data());
        for (int32_t r = 0; r < rows_; ++r) std::memcpy(&out[r], values + r * sizeof(jg_i128), sizeof out[r]);
        break;
      }
      default: {
        const auto width = static_cast<size_t>(array.type()->byte_width());
        const uint8_t* values = array.data()->GetValues<uint8_t>(1, 0);
        std::memcpy(room.values.data(), values + static_cast<size_t>(array.offset() + row_) * width, rows_ * width);
      }
    }
  }

  IpcSource& source_;
  File file_;
  size_t file_index_ = 0;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::vector<JgCol> columns_;
  std::vector<Room> rooms_;
  int64_t row_ = 0;   // of the current slice, in its record batch
  int32_t rows_ = 0;  // in the current slice
};

std::unique_ptr<jg::SourceWorker> IpcSource::worker() { return std::make_unique<IpcWorker>(this); }

Status make_ipc_source(const FileSourceOptions& options, std::unique_ptr<jg::Source>* out) {
  *out = std::make_unique<IpcSource>(options);
  return {};
}

}  // namespace

JG_READER(arrow_ipc, make_ipc_source);
