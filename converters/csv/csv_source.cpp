// CSV files → batches. Byte ranges are dealt to instances and threads; each becomes the records that start in it
// (layout.h), which are indexed piece by piece (records.h). Only wanted fields are looked at, and late columns are
// converted for the rows that survived.
//
// Values: unquoted text that equals the option `null` (empty if not given) is NULL; quoted text never is, except that
// nothing between quotes is NULL in a column that is not text. Numbers and dates may have blanks around them. If values
// are to be exact, each has its type's one notation, blank lines are no rows, quotes hold neither nothing, nor quotes,
// backslashes or line ends, of which readers make different things, and lines hold no carriage returns.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>

#include "common/column_room.h"
#include "csv/layout.h"
#include "csv/records.h"
#include "text/exact.h"
#include "text/line_chunks.h"
#include "text/numbers.h"
#include "text/values.h"

namespace jg {
namespace {

using csv::Dialect;
using csv::Layout;
using csv::Records;
using text::Parse;

class CsvSource : public Source {
 public:
  explicit CsvSource(const FileSourceOptions& options)
      : options(options),
        dialect(options.options),
        layouts(&this->options, &dialect),
        ranges({options.options, false}) {}
  Status open() override { return ranges.open(options, &counters); }
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override { return ranges.left(); }
  void cancel() override { ranges.cancel(); }

  const FileSourceOptions options;
  const Dialect dialect;
  csv::Layouts layouts;
  text::Ranges ranges;
};

class CsvWorker : public SourceWorker {
 public:
  explicit CsvWorker(CsvSource* source)
      : source_(source), ragged_(source->dialect.ragged), exact_(source->dialect.exact) {
    for (const ColumnSpec& c : source->options.columns) rooms_.push_back(columnar::make_room(c.type));
    cols_.resize(rooms_.size());
    rows_.reserve(JG_BATCH_ROWS);
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
  }

  Status next(JgBatch* batch, bool* done) override {
    const int64_t bytes = records_.bytes_read, skipped = records_.skipped;
    unescaped_.clear();
    rows_.clear();
    Status status;
    *done = false;
    while (rows_.empty() && !*done && status.ok()) {
      if (record_ == count_) status = next_piece(done);
      if (status.ok() && !*done) status = take_rows();
    }
    source_->counters.bytes += records_.bytes_read - bytes;
    source_->counters.skipped_rows += records_.skipped - skipped;
    if (*done || !status.ok()) return status;
    for (size_t c = 0; c < cols_.size(); c++) {
      cols_[c] = {};
      if (source_->options.early[c]) JG_RETURN_IF_ERROR(convert(static_cast<int>(c), all_rows_.data(), rows()));
    }
    source_->counters.rows += rows();
    source_->counters.batches++;
    batch->rows = rows();
    batch->cols = cols_.data();
    return {};
  }

  Status load(int column, const int32_t* sel, int32_t n) override { return convert(column, sel, n); }
  int file() const override { return file_; }

 private:
  int rows() const { return static_cast<int>(rows_.size()); }

  Status next_piece(bool* done) {
    bool end = true;
    record_ = count_ = 0;
    while (true) {
      if (source_->ranges.cancelled()) return {"cancelled", "the job was cancelled"};
      if (in_range_) {
        Status status = records_.next(&end);
        if (!status.ok()) return first_fault(std::move(status));
        if (!end) break;
      }
      JG_RETURN_IF_ERROR(open_range(done));
      if (*done) return {};
    }
    count_ = records_.count();
    return {};
  }

  Status open_range(bool* done) {
    in_range_ = false;
    const text::Ranges::Range* next = nullptr;
    JG_RETURN_IF_ERROR(source_->ranges.next(&next));
    if (next == nullptr) {
      *done = true;
      return {};
    }
    const text::Ranges::Range range = *next;
    if (range.file != file_) {
      file_ = range.file;
      JG_RETURN_IF_ERROR(source_->ranges.open_file(file_, &input_));
    }
    JG_RETURN_IF_ERROR(source_->layouts.find(input_.get(), file_, &layout_));
    int64_t begin, end;
    JG_RETURN_IF_ERROR(source_->layouts.record_start(input_.get(), file_, range.begin, &begin));
    JG_RETURN_IF_ERROR(source_->layouts.record_start(input_.get(), file_, range.end, &end));
    if (begin > end) return first_fault(input_->at_line("malformed", end, "quotes do not match"));
    records_.open(input_.get(), &layout_->dialect, begin, end, end == layout_->size);
    in_range_ = true;
    return {};
  }

  // Malformed quoting may show far behind its cause, and the ranges of a file are read in any order: the error to
  // report is the file's first, found by reading it from its start. Where that finds none, a range's start was
  // misjudged.
  Status first_fault(Status status) {
    if (status.error().code != "malformed") return status;
    Records records;
    records.open(input_.get(), &layout_->dialect, layout_->data_begin, layout_->size, true);
    for (bool done = false; !done;) {
      if (source_->ranges.cancelled()) return status;
      Status first = records.next(&done);
      if (!first.ok()) return first;
      for (int r = 0; !done && r < records.count() && !source_->dialect.skip_errors; r++) {
        if (!has_fields(records, r) && !is_blank(records, r)) return wrong_fields(records, r);
      }
    }
    return input_->at_line(
        "malformed", records_.offset(),
        "a quoted field here holds more than 64 KiB of what looks like records, so that the file cannot "
        "be read in parts: write it as Parquet or JSON lines");
  }

  // Rows of the piece, until the batch is full.
  Status take_rows() {
    for (; record_ < count_ && rows() < JG_BATCH_ROWS; record_++) {
      if (exact_ && csv::is_blank(text_of(record_))) continue;
      if (records_.fields(record_) != layout_->fields) [[unlikely]] {
        if (is_blank(records_, record_)) continue;
        if (!has_fields(records_, record_)) {
          if (!source_->dialect.skip_errors) return first_fault(wrong_fields(records_, record_));
          records_.skipped++;
          continue;
        }
      }
      if (exact_ && !is_unambiguous(record_)) {
        return input_->at_line("malformed", records_.offset() + records_.ends()[records_.first(record_)] + 1,
                               "a quoted field holds a quote, a backslash or the end of a line, or there is a carriage "
                               "return within the line, and values are to be exact");
      }
      rows_.push_back(records_.first(record_));
      if (ragged_) widths_[rows() - 1] = records_.fields(record_);
      if (source_->dialect.skip_errors && !convertible()) {
        rows_.pop_back();
        records_.skipped++;
      }
    }
    return {};
  }

  // Return the text of all fields of a record in the piece.
  std::string_view text_of(int record) const {
    const int32_t* ends = records_.ends() + records_.first(record);
    const char* start = records_.data() + ends[0] + 1;
    return {start, static_cast<size_t>(ends[records_.fields(record)] - ends[0] - 1)};
  }

  // Return whether all readers of CSV find the same fields in a record.
  bool is_unambiguous(int record) const {
    std::string_view text = text_of(record);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (text.find('\r') != text.npos) return false;
    const char quote = source_->dialect.quote;
    if (text.find(quote) == text.npos) return true;
    const int32_t* ends = records_.ends() + records_.first(record);
    for (int k = 0; k < records_.fields(record); k++) {
      const char* start = records_.data() + ends[k] + 1;
      std::string_view v(start, ends[k + 1] - ends[k] - 1);
      if (v.empty() || v[0] != quote) continue;
      if (v.back() == '\r') v.remove_suffix(1);
      v = v.substr(1, v.size() - 2);
      if (v.find(quote) != v.npos || v.find_first_of("\\\n") != v.npos) return false;
    }
    return true;
  }

  // Return whether a record has the expected number of fields.
  bool has_fields(const Records& records, int record) const {
    const int fields = records.fields(record);
    return fields == layout_->fields || (ragged_ && fields < layout_->fields);
  }

  // An empty line is not a row, except where it is the one field of a row.
  bool is_blank(const Records& records, int record) const {
    if (records.fields(record) != 1 || layout_->fields == 1) return false;
    const int32_t start = records.ends()[records.first(record)] + 1, end = records.ends()[records.first(record) + 1];
    return end == start || (end == start + 1 && records.data()[start] == '\r');
  }

  Status wrong_fields(const Records& records, int record) const {
    return input_->at_line("malformed", records.offset() + records.ends()[records.first(record)] + 1,
                           "a record has " + std::to_string(records.fields(record)) + " fields where " +
                               std::to_string(layout_->fields) + " are expected");
  }

  // A record is skipped for any value that is wrong, also in a late column.
  bool convertible() {
    for (size_t c = 0; c < cols_.size(); c++) {
      if (convert_one(static_cast<int>(c), rows() - 1) != Parse::kOk) return false;
    }
    return true;
  }

  std::string_view field(int column, int row) const {
    const int place = layout_->places[column];
    if (ragged_ && place >= widths_[row]) return {};
    const int32_t* ends = records_.ends() + rows_[row] + place;
    const char* start = records_.data() + ends[0] + 1;
    std::string_view v(start, ends[1] - ends[0] - 1);
    const int fields = ragged_ ? widths_[row] : layout_->fields;
    if (place + 1 == fields && !v.empty() && v.back() == '\r') v.remove_suffix(1);
    return v;
  }

  Status convert(int c, const int32_t* rows, int n) {
    cols_[c] = {rooms_[c].data, rooms_[c].valid.get()};
    if (!ragged_ && source_->dialect.null.empty()) {
      switch (source_->options.columns[c].type) {
        case JG_I32:
          return convert_numbers<int32_t>(c, rows, n);
        case JG_I64:
        case JG_DEC64:
          return convert_numbers<int64_t>(c, rows, n);
        case JG_STRING:
          return convert_texts(c, rows, n);
        default:
          break;
      }
    }
    return convert_any(c, rows, n);
  }

  template <class T>
  Status convert_numbers(int c, const int32_t* rows, int n) {
    const ColumnSpec& spec = source_->options.columns[c];
    const auto text_of = [&](int32_t row) { return field(c, row); };
    const auto read_number = [&](std::string_view v, int64_t* number) {
      return text::short_decimal(v, spec.scale, number) && (!exact_ || text::is_exact(spec, v));
    };
    auto* data = reinterpret_cast<T*>(rooms_[c].data);
    n = text::convert_numbers(spec, text_of, read_number, rows, n, data, rooms_[c].valid.get(), left_.data());
    return convert_any(c, left_.data(), n);
  }

  // Unquoted text of ASCII is taken as it stands.
  Status convert_texts(int c, const int32_t* rows, int n) {
    auto* data = reinterpret_cast<JgStr*>(rooms_[c].data);
    uint8_t* valid = rooms_[c].valid.get();
    int left = 0;
    for (int k = 0; k < n; k++) {
      const std::string_view v = field(c, rows[k]);
      data[rows[k]] = {v.data(), v.size()};
      valid[rows[k]] = 1;
      if (v.empty() || v[0] == source_->dialect.quote || !is_ascii(v)) left_[left++] = rows[k];
    }
    return convert_any(c, left_.data(), left);
  }

  Status convert_any(int c, const int32_t* rows, int n) {
    for (int k = 0; k < n; k++) {
      const Parse parsed = convert_one(c, rows[k]);
      if (parsed != Parse::kOk) return wrong_value(c, rows[k], parsed);
    }
    return {};
  }

  Parse convert_one(int c, int i) {
    const ColumnSpec& spec = source_->options.columns[c];
    std::string_view v = field(c, i);
    const bool quoted = !v.empty() && v[0] == source_->dialect.quote;
    const bool is_text = spec.type >= JG_STRING;
    if (quoted) {
      unescaped_.emplace_back();
      v = csv::unquoted(v, source_->dialect.quote, &unescaped_.back());
      if (v.data() != unescaped_.back().data()) unescaped_.pop_back();
    }
    const bool lacking = ragged_ && layout_->places[c] >= widths_[i];
    const bool null = lacking             ? true
                      : quoted || is_text ? !quoted && v == source_->dialect.null
                                          : v.empty() || v == source_->dialect.null;
    rooms_[c].valid[i] = 1;
    if (exact_ && quoted && v.empty()) return Parse::kWrong;
    if (null || (v.empty() && !is_text)) {
      rooms_[c].valid[i] = 0;
      if (is_text) reinterpret_cast<JgStr*>(rooms_[c].data)[i] = {"", 0};
      return spec.nullable ? Parse::kOk : Parse::kWrong;
    }
    if (spec.type == JG_STRING && !is_utf8(v)) return Parse::kWrong;
    if (exact_ && !text::is_exact(spec, v)) return Parse::kWrong;
    return text::store(spec, v, rooms_[c].data, i);
  }

  // 8 bytes are readable behind the text.
  static bool is_ascii(std::string_view v) {
    uint64_t all = 0;
    size_t i = 0;
    for (; i + 8 <= v.size(); i += 8) all |= text::load8(v.data() + i);
    if (i < v.size()) all |= text::load8(v.data() + i) << (64 - 8 * (v.size() - i));
    return (all & text::kEveryByte * 0x80) == 0;
  }

  static bool is_utf8(std::string_view v) { return is_ascii(v) || jg_valid_utf8({v.data(), v.size()}); }

  Status wrong_value(int c, int i, Parse parsed) {
    const ColumnSpec& spec = source_->options.columns[c];
    const std::string_view v = field(c, i);
    const int64_t offset = records_.offset() + (v.data() ? v.data() - records_.data() : records_.ends()[rows_[i]] + 1);
    const bool overflow = parsed == Parse::kOverflow;
    if (spec.type == JG_STRING && !is_utf8(v))
      return input_->at_line("malformed", offset, "column '" + spec.name + "' is not valid UTF-8", spec.name);
    return input_->at_line(overflow ? "overflow" : "schema", offset,
                           "column '" + spec.name + "' holds " +
                               (v.empty() ? "nothing" : std::string(v.substr(0, 60))) + ", which is " +
                               (overflow ? "out of the range of " : "not of type ") + text::name_of(spec.type),
                           spec.name);
  }

  CsvSource* source_;
  const bool ragged_, exact_;
  Records records_;
  const Layout* layout_ = nullptr;
  std::unique_ptr<text::Input> input_;
  int file_ = -1;
  bool in_range_ = false;
  int record_ = 0, count_ = 0;     // of the piece: records looked at, and all
  std::vector<int32_t> rows_;      // of the batch: each row's place in the index
  int32_t widths_[JG_BATCH_ROWS];  // and how many fields it has, where they may be too few
  std::vector<columnar::ColumnRoom> rooms_;
  std::vector<int32_t> all_rows_ = std::vector<int32_t>(JG_BATCH_ROWS);
  std::vector<int32_t> left_ = std::vector<int32_t>(JG_BATCH_ROWS);  // rows of a column that need more looking at
  std::vector<JgCol> cols_;
  std::deque<std::string> unescaped_;
};

std::unique_ptr<SourceWorker> CsvSource::worker() { return std::make_unique<CsvWorker>(this); }

}  // namespace

static Status make_csv_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<CsvSource>(options);
  return {};
}

}  // namespace jg

JG_READER(csv, jg::make_csv_source);
