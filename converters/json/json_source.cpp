// JSON lines, and files of one JSON array → batches.
//
// Fast: rows usually repeat what stands between their values. Once it is known, they are *walked* from value to value,
// several lines at once (no string holds a line end). Nothing else of a row is looked at, unless values are to be
// exact: then all of it is known to be JSON. Values stay raw text until they are needed (late columns: only for the
// rows that survived).
//
// Other flat rows: simdjson's first stage finds every token of a chunk. Rows with the same fields in the same places
// are of one *shape*; a row fits when each token that a flat object of that many fields must have is where it belongs,
// the wanted keys are at theirs, and every other key ends as it did, so that none of them can be a wanted one.
//
// General: any other row (nested values, a name twice, anything malformed) goes line by line through On-Demand and, if
// that finds a fault, through the validating parser, so that the error names file, line and byte, or the line is
// skipped. Of two equal names in an object the last one counts.
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "common/column_room.h"
#include "json/indexed_rows.h"
#include "json/nested_json.h"
#include "json/validator.h"
#include "json/walk.h"
#include "text/line_chunks.h"
#include "text/numbers.h"

namespace jg {
namespace {

using json::Token;
using text::LineChunks;
using text::Parse;
using text::Ranges;

// Rows of one shape in turn after which the next ones are walked; doubled if the walk ended early.
constexpr int64_t kTurnRows = 32, kTurnRowsMax = 32 << 10;
// Walked rows that make up for one that is read alone, without an index.
constexpr int64_t kWalkRows = 1024;
// Rows after which early columns are converted, while their text is in the fastest cache.
constexpr int kConvertedRows = 64;
// Least bytes of a range: a line's start is found wherever it begins.
constexpr int64_t kRangeBytesMin = 1 << 20;

// A number of up to 18 digits, as JSON has it: digits on both sides of a dot, no leading zeros. False: something else.
inline bool read_number(std::string_view v, int scale, int64_t* out) {
  if (!text::short_decimal(v, scale, out)) return false;
  const char* p = v.data() + (v[0] == '-');
  return (*p != '.') & (v.back() != '.') & !((*p == '0') & text::is_digit(p[1]));
}

class JsonSource : public Source {
 public:
  explicit JsonSource(const FileSourceOptions& options)
      : options(options), ranges({options.options, true}, kRangeBytesMin) {
    for (const auto& [name, value] : options.options) {
      skip_errors |= name == "on_error" && value == "skip";
      exact |= name == "values" && value == "exact";
    }
    for (const ColumnSpec& c : this->options.columns) {
      const auto [at, added] = keys.emplace(c.column(), static_cast<int>(keys.size()));
      key_of.push_back(at->second);
      if (!added) continue;
      nested.push_back(false);
    }
    for (size_t i = 0; i < key_of.size(); ++i) {
      const ColumnSpec& c = this->options.columns[i];
      if (c.nesting != Nesting::kNone || !c.path.empty()) nested[static_cast<size_t>(key_of[i])] = true;
    }
  }
  Status open() override { return ranges.open(options, &counters); }
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override { return ranges.left(); }
  void cancel() override { ranges.cancel(); }

  const FileSourceOptions options;
  std::unordered_map<std::string_view, int> keys;  // wanted fields of lines, by name
  std::vector<bool> nested;                        // keys whose value may be an object or an array
  std::vector<int> key_of;                         // of columns: several may be parts of one field
  bool skip_errors = false, exact = false;
  Ranges ranges;
};

class JsonWorker : public SourceWorker {
 public:
  explicit JsonWorker(JsonSource* source)
      : source_(source), chunks_(&source->ranges), indexed_rows_(source->keys, source->exact) {
    const auto& columns = source->options.columns;
    for (const ColumnSpec& c : columns) rooms_.push_back(columnar::make_room(c.type));
    for (size_t key = 0; key < source->keys.size(); key++) {
      token_room_.push_back(std::make_unique<Token[]>(JG_BATCH_ROWS));
      tokens_.push_back(token_room_.back().get());
    }
    cols_.resize(columns.size());
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    unescaped_.clear();
    kept_.clear();
    nested_.clear();
    std::fill(cols_.begin(), cols_.end(), JgCol{});
    converted_ = 0;
    for (rows_ = 0; rows_ == 0;) {
      if (at_ >= size_) {
        JG_RETURN_IF_ERROR(next_chunk(done));
        if (*done) return {};
      }
      JG_RETURN_IF_ERROR(read_rows());
    }
    JG_RETURN_IF_ERROR(convert_early());
    source_->counters.rows += rows_;
    source_->counters.batches++;
    batch->rows = rows_;
    batch->cols = cols_.data();
    return {};
  }

  Status load(int column, const int32_t* sel, int32_t n) override { return convert(column, sel, n); }
  int file() const override { return chunks_.file(); }

 private:
  Status next_chunk(bool* done) {
    const int64_t before = chunks_.bytes_read;
    JG_RETURN_IF_ERROR(chunks_.next(done));
    source_->counters.bytes += chunks_.bytes_read - before;
    if (*done) return {};
    data_ = chunks_.data();
    size_ = chunks_.size();
    at_ = 0;
    indexed_ = false;
    if (source_->exact) JG_RETURN_IF_ERROR(check_line_ends());
    if (chunks_.at_file_start() && size_ >= 3 && std::memcmp(data_, "\xEF\xBB\xBF", 3) == 0) at_ = 3;
    return {};
  }

  // To some readers a carriage return alone ends a line.
  Status check_line_ends() const {
    const char* end = data_ + size_;
    for (const char* p = data_; (p = static_cast<const char*>(std::memchr(p, '\r', end - p))); ++p) {
      if (p + 1 < end && p[1] != '\n')
        return chunks_.input().at_line("malformed", chunks_.offset() + (p - data_), "a carriage return within a line");
      if (p + 1 == end) break;
    }
    return {};
  }

  Status read_rows() {
    while (rows_ < JG_BATCH_ROWS && at_ < size_) {
      if (rows_ - converted_ >= kConvertedRows) JG_RETURN_IF_ERROR(convert_early());
      if (in_turn_ >= turn_rows_) {
        if (walk_rows()) continue;
        const bool went_far = in_turn_ >= turn_rows_ + kWalkRows;
        turn_rows_ = went_far ? kTurnRows : std::min(turn_rows_ * 2, kTurnRowsMax);
        in_turn_ = 0;
        if (went_far) {
          JG_RETURN_IF_ERROR(read_row(line_bytes()));
          in_turn_ = turn_rows_;
          continue;
        }
      }
      JG_RETURN_IF_ERROR(read_row(size_ - at_));
    }
    return {};
  }

  // Read the next row. If it is not indexed yet, index this many bytes from it on.
  Status read_row(int64_t bytes) {
    if (!indexed_) JG_RETURN_IF_ERROR(indexed_rows_.index(data_ + at_, bytes));
    indexed_ |= bytes == size_ - at_;
    return take_indexed() ? Status() : read_line();
  }

  // Return the bytes of the line at at_, its end included.
  int64_t line_bytes() const {
    const char* line = data_ + at_;
    const void* newline = std::memchr(line, '\n', size_ - at_);
    return newline ? static_cast<const char*>(newline) + 1 - line : size_ - at_;
  }

  // Takes the next row, or several, if they are like those before.
  bool walk_rows() {
    constexpr int kLanes = json::Walk::kLanes;
    json::Walk* walk = &*walks_[walk_];
    if (singly_ == 0 && rows_ + kLanes <= JG_BATCH_ROWS) {
      if (took(walk->take<kLanes>(data_ + at_, data_ + size_, tokens_.data(), rows_, source_->exact), kLanes))
        return true;
      singly_ = kLanes;
    }
    singly_ -= singly_ > 0;
    return took(walk->take<1>(data_ + at_, data_ + size_, tokens_.data(), rows_, source_->exact), 1);
  }

  bool take_indexed() {
    const size_t shape = indexed_rows_.shape();
    const char* line = data_ + at_;
    if (!took(indexed_rows_.take(line, tokens_.data(), rows_), 1)) return false;
    if (indexed_rows_.shape() != shape) in_turn_ = 1;
    if (in_turn_ < turn_rows_) return true;
    walk_ = indexed_rows_.shape();
    walks_.resize(std::max(walks_.size(), walk_ + 1));
    std::optional<json::Walk>& walk = walks_[walk_];
    if (!walk) walk = indexed_rows_.walk(line);
    if (!walk) in_turn_ = 0;
    return true;
  }

  // Accept this many rows up to `end` if they are valid. Null: they are not.
  bool took(const char* end, int rows) {
    if (!end || (source_->skip_errors && !convertible(rows))) return false;
    at_ = end - data_;
    rows_ += rows;
    in_turn_ += rows;
    return true;
  }

  // ---- any line ----

  Status read_line() {
    const char* line = data_ + at_;
    const int64_t bytes = line_bytes();
    const int64_t offset = chunks_.offset() + at_;
    at_ += bytes;
    const std::string_view content = json::trim_end({line, static_cast<size_t>(bytes)});
    const size_t first = content.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    const Status status = read_object(content, offset + static_cast<int64_t>(first));
    if (status.ok()) {
      rows_++;
    } else if (source_->skip_errors) {
      source_->counters.skipped_rows++;
    } else {
      return status;
    }
    return {};
  }

  Status read_object(std::string_view line, int64_t offset) {
    kept_.emplace_back(line);  // the tokens must outlive this call, and the parser needs padding behind a line
    std::string& copy = kept_.back();
    copy.append(simdjson::SIMDJSON_PADDING, '\0');
    if (source_->exact) JG_RETURN_IF_ERROR(validate(line, offset));
    const char* fault = find_fields(copy.data(), line.size(), copy.size());
    if (fault && source_->skip_errors) return {"malformed", fault};  // where it is, nobody asks
    if (fault) {
      JG_RETURN_IF_ERROR(validate(line, offset));
      return chunks_.input().at_line("schema", offset, fault);
    }
    for (size_t c = 0; c < cols_.size(); c++) {  // a row counts once all of it is known to be right
      const Parse parsed = convert_one(static_cast<int>(c), rows_);
      if (parsed == Parse::kOk) continue;
      return source_->skip_errors ? Status("schema", "") : wrong_value(static_cast<int>(c), rows_, parsed, offset);
    }
    return {};
  }

  Status validate(std::string_view line, int64_t offset) {
    const auto error = validator_(line);
    if (!error) return {};
    const std::string message = std::string("not valid JSON: ") + simdjson::error_message(error);
    return chunks_.input().at_line("malformed", offset, message);
  }

  // The wanted fields of one object, which is read to its end. What is wrong, or null.
  const char* find_fields(const char* text, size_t size, size_t capacity) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    if (parser_.iterate(text, size, capacity).get(document) || document.get_object().get(object))
      return "a line must hold one JSON object";
    for (Token* column : tokens_) column[rows_] = json::kNull;
    for (auto result : object) {
      simdjson::ondemand::field field;
      std::string_view key;
      if (std::move(result).get(field) || field.unescaped_key().get(key)) return "not valid JSON";
      const auto at = source_->keys.find(key);
      if (at == source_->keys.end()) continue;
      std::string_view token;
      if (!source_->nested[at->second]) {
        token = field.value().raw_json_token();
      } else if (field.value().raw_json().get(token)) {
        return "not valid JSON";
      }
      token = json::trim_end(token);
      bool wrong = token.empty();
      tokens_[at->second][rows_] = json::token_of(token.data(), static_cast<uint32_t>(token.size()), &wrong);
      if (wrong) return "not valid JSON";
    }
    for (size_t key = 0; key < tokens_.size(); key++) {
      const Token t = tokens_[key][rows_];
      if (t.size == 0 || (*t.data != '{' && *t.data != '[')) continue;
      if (!source_->nested[key]) return "a wanted field holds an object or an array";
      if (validator_({t.data, t.size})) return "not valid JSON";
    }
    return document.at_end() ? nullptr : "a line must hold one JSON object";
  }

  // ---- conversion ----

  bool convertible(int rows) {
    for (size_t c = 0; c < cols_.size(); c++) {
      for (int i = rows_; i < rows_ + rows; i++) {
        if (convert_one(static_cast<int>(c), i) != Parse::kOk) return false;
      }
    }
    return true;
  }

  // Convert the early columns of the rows read since the last time.
  Status convert_early() {
    for (size_t c = 0; c < cols_.size(); c++) {
      if (!source_->options.early[c]) continue;
      JG_RETURN_IF_ERROR(convert(static_cast<int>(c), all_rows_.data() + converted_, rows_ - converted_));
    }
    converted_ = rows_;
    return {};
  }

  Status convert(int c, const int32_t* rows, int n) {
    const ColumnSpec& spec = source_->options.columns[c];
    cols_[c] = {rooms_[c].data, rooms_[c].valid.get()};
    switch (spec.path.empty() ? spec.type : JG_STRING) {
      case JG_I32:
        return convert_numbers<int32_t>(c, rows, n);
      case JG_I64:
      case JG_DEC64:
        return convert_numbers<int64_t>(c, rows, n);
      default:
        for (int k = 0; k < n; k++) JG_RETURN_IF_ERROR(convert_any(c, rows[k]));
        return {};
    }
  }

  template <class T>
  Status convert_numbers(int c, const int32_t* rows, int n) {
    const ColumnSpec& spec = source_->options.columns[c];
    const Token* tokens = tokens_[source_->key_of[c]];
    const auto text_of = [tokens](int32_t row) { return std::string_view(tokens[row].data, tokens[row].size); };
    const auto read = [&spec](std::string_view v, int64_t* number) { return read_number(v, spec.scale, number); };
    auto* data = reinterpret_cast<T*>(rooms_[c].data);
    n = text::convert_numbers(spec, text_of, read, rows, n, data, rooms_[c].valid.get(), left_.data());
    for (int k = 0; k < n; k++) JG_RETURN_IF_ERROR(convert_any(c, left_[k]));
    return {};
  }

  Status convert_any(int c, int i) {
    const Token t = tokens_[source_->key_of[c]][i];
    if (source_->options.columns[c].nesting != Nesting::kNone && t.size > 0 && (*t.data == '{' || *t.data == '['))
      return {};  // done as it was read
    const Parse parsed = convert_one(c, i);
    if (parsed == Parse::kOk) return {};
    const bool in_chunk = t.data >= data_ && t.data < data_ + size_;
    const int64_t offset = in_chunk ? chunks_.offset() + (t.data - chunks_.data()) : chunks_.offset();
    return wrong_value(c, i, parsed, offset);
  }

  Parse convert_one(int c, int i) {
    const ColumnSpec& spec = source_->options.columns[c];
    Token t = tokens_[source_->key_of[c]][i];
    for (size_t depth = 1; depth < spec.path.size() && t.size > 0; depth++) {
      std::string_view found;
      if (nested_json_.member({t.data, t.size}, spec.path[depth], &found) != Parse::kOk) return Parse::kWrong;
      t = {found.data(), static_cast<uint32_t>(found.size())};
    }
    uint8_t* valid = rooms_[c].valid.get();
    if (t.size == 0) {
      valid[i] = 0;
      if (spec.type >= JG_STRING) reinterpret_cast<JgStr*>(rooms_[c].data)[i] = {"", 0};
      return spec.nullable ? Parse::kOk : Parse::kWrong;
    }
    valid[i] = 1;
    const std::string_view v(t.data, t.size);
    if (spec.nesting != Nesting::kNone) return convert_nested(spec, v, reinterpret_cast<JgStr*>(rooms_[c].data) + i);
    return json::store_token(spec, v, rooms_[c].data, i, source_->exact, [this](std::string_view* text) {
      auto result = std::make_unique<std::string>();
      if (!unescape_(*text, result.get())) return false;
      unescaped_.push_back(std::move(result));
      *text = *unescaped_.back();
      return true;
    });
  }

  Parse convert_nested(const ColumnSpec& spec, std::string_view v, JgStr* out) {
    columnar::NestedBytes& bytes = nested_.emplace_back();
    const Parse parsed = nested_json_.write(spec, v, &bytes);
    *out = {bytes.data(), bytes.size()};
    return parsed;
  }

  Status wrong_value(int c, int i, Parse parsed, int64_t offset) {
    const ColumnSpec& spec = source_->options.columns[c];
    const Token t = tokens_[source_->key_of[c]][i];
    std::string_view text(t.data, t.size);
    const ColumnSpec* part = &spec;
    if (spec.nesting != Nesting::kNone && t.size > 0 && nested_json_.fault().spec) {
      part = nested_json_.fault().spec;
      text = nested_json_.fault().text;
    }
    const std::string value = text.empty() ? "null" : std::string(text.substr(0, 60));
    const std::string where = part == &spec ? "" : " in its part '" + part->name + "'";
    const bool overflow = parsed == Parse::kOverflow;
    return chunks_.input().at_line(overflow ? "overflow" : "schema", offset,
                                   "column '" + spec.name + "' holds " + value + where + ", which is " +
                                       (overflow ? "out of the range of " : "not of type ") +
                                       columnar::type_name(*part),
                                   spec.name);
  }

  JsonSource* source_;
  LineChunks chunks_;
  simdjson::ondemand::parser parser_;
  json::Validator validator_;
  json::Unescaper unescape_;
  json::NestedJson nested_json_;
  std::deque<columnar::NestedBytes> nested_;  // values of nested columns
  std::vector<columnar::ColumnRoom> rooms_;
  std::vector<std::unique_ptr<Token[]>> token_room_;
  std::vector<Token*> tokens_;  // by key and row: the values' raw text
  std::vector<int32_t> all_rows_ = std::vector<int32_t>(JG_BATCH_ROWS);
  std::vector<int32_t> left_ = std::vector<int32_t>(JG_BATCH_ROWS);  // rows of a column that need more looking at
  std::vector<JgCol> cols_;
  json::IndexedRows indexed_rows_;
  bool indexed_ = false;                          // the chunk has been indexed
  std::vector<std::optional<json::Walk>> walks_;  // by shape
  size_t walk_ = 0;                               // the one in use
  int64_t in_turn_ = 0;                           // rows of the last one's shape, without another one between them
  int64_t turn_rows_ = kTurnRows;
  int singly_ = 0;  // rows still to walk one by one
  std::vector<std::unique_ptr<std::string>> unescaped_;
  std::deque<std::string> kept_;
  const char* data_ = nullptr;  // the chunk, read up to at_
  int64_t size_ = 0, at_ = 0;
  int rows_ = 0, converted_ = 0;
};

std::unique_ptr<SourceWorker> JsonSource::worker() { return std::make_unique<JsonWorker>(this); }

}  // namespace

static Status make_json_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<JsonSource>(options);
  return {};
}

}  // namespace jg

JG_READER(json, jg::make_json_source);
