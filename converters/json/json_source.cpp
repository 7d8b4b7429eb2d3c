// JSON lines, and files of one JSON array → batches.
//
// Fast: simdjson's first stage finds every token of a chunk. Rows usually have the same fields in the same places, so
// the places of the wanted keys are remembered as a *shape*; a row fits when each token that a flat object of that many
// fields must have is where it belongs, the wanted keys are at theirs, and every other key ends as it did, so that none
// of them can be a wanted one. Nothing else of a row is looked at, unless values are to be exact: then all of it is
// known to be JSON. Values stay raw text until they are needed (late columns: only for the rows that survived).
// General: any other row (nested values, other fields, a name twice, anything malformed) goes line by line through
// On-Demand and, if that finds a fault, through the validating parser, so that the error names file, line and byte, or
// the line is skipped. Of two equal names in an object the last one counts.
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>

#include "common/column_room.h"
#include "json/nested_json.h"
#include "text/line_chunks.h"

namespace jg {
namespace {

using text::LineChunks;
using text::Parse;
using text::Ranges;

constexpr size_t kShapesMax = 16;

struct Token {
  const char* data;
  uint32_t size;  // 0: NULL
};

// Whether a short decimal is written as JSON has it: digits on both sides of a dot, no leading zeros.
bool is_json(std::string_view v) {
  const char* p = v.data() + (v[0] == '-');
  auto digit = [](char c) { return static_cast<unsigned char>(c - '0') < 10; };
  return digit(p[0]) && digit(v.back()) && !(p[0] == '0' && p + 1 < v.data() + v.size() && digit(p[1]));
}

// A field's key, raw and with both quotes, for comparing in place: words that may read past the key, under masks.
class Key {
 public:
  explicit Key(std::string_view quoted) : text_(quoted) {
    for (size_t i = 0; i < text_.size(); i += 8) {
      uint64_t word = 0, mask = 0;
      const size_t n = std::min<size_t>(8, text_.size() - i);
      std::memcpy(&word, text_.data() + i, n);
      std::memset(&mask, 0xFF, n);
      words_.push_back({word, mask});
    }
  }
  bool equals(const char* p) const {  // at least 8 readable bytes follow the chunk
    uint64_t different = 0;
    for (const auto& [word, mask] : words_) {
      uint64_t here;
      std::memcpy(&here, p, 8);
      different |= (here ^ word) & mask;
      p += 8;
      if (different) return false;
    }
    return true;
  }
  std::string_view name() const { return std::string_view(text_).substr(1, text_.size() - 2); }

 private:
  std::string text_;
  std::vector<std::pair<uint64_t, uint64_t>> words_;
};

// How a key ends: up to 8 bytes in front of its colon, no more than the key and what follows it.
struct KeyEnd {
  uint64_t word = 0, mask = 0;
  KeyEnd(const char* key, const char* colon) {
    const int64_t n = std::min<int64_t>(8, colon - key);
    mask = n == 8 ? ~uint64_t{0} : ~(~uint64_t{0} >> 8 * n);
    word = at(colon) & mask;
  }
  // 8 bytes are readable in front of a chunk.
  static uint64_t at(const char* colon) {
    uint64_t word;
    std::memcpy(&word, colon - 8, 8);
    return word;
  }
};

// What flat rows with the same keys in the same order have in common.
struct Shape {
  struct Wanted {
    uint32_t place;  // of the field within the object
    int key_number;
    Key key;
  };
  uint32_t fields = 0;
  std::vector<KeyEnd> ends;  // of each key
  std::vector<Wanted> wanted;
  std::vector<int> missing;  // wanted keys that such rows do not have
  std::vector<Key> others;   // keys that end as a wanted one does, and must not be one
  std::vector<uint32_t> other_places;
};

class JsonSource : public Source {
 public:
  explicit JsonSource(const FileSourceOptions& options) : options(options), ranges({options.options, true}) {
    for (const auto& [name, value] : options.options) {
      skip_errors |= name == "on_error" && value == "skip";
      exact |= name == "values" && value == "exact";
    }
    for (const ColumnSpec& c : this->options.columns) {
      const auto [at, added] = keys.emplace(c.column(), static_cast<int>(keys.size()));
      key_of.push_back(at->second);
      if (!added) continue;
      names.push_back(c.column());
      nested.push_back(false);
      for (const char letter : c.column())  // which may be written in several ways
        escaped_names |= letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < ' ';
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
  std::vector<std::string_view> names;             // of keys
  std::vector<bool> nested;                        // keys whose value may be an object or an array
  std::vector<int> key_of;                         // of columns: several may be parts of one field
  bool skip_errors = false, exact = false, escaped_names = false;
  Ranges ranges;
};

class JsonWorker : public SourceWorker {
 public:
  explicit JsonWorker(JsonSource* source) : source_(source), chunks_(&source->ranges) {
    const auto& columns = source->options.columns;
    for (const ColumnSpec& c : columns) rooms_.push_back(columnar::make_room(c.type));
    for (size_t key = 0; key < source->names.size(); key++) tokens_.push_back(std::make_unique<Token[]>(JG_BATCH_ROWS));
    cols_.resize(columns.size());
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    unescaped_.clear();
    kept_.clear();
    nested_.clear();
    for (rows_ = 0; rows_ == 0;) {
      if (at_ >= size_) {
        JG_RETURN_IF_ERROR(next_chunk(done));
        if (*done) return {};
      }
      JG_RETURN_IF_ERROR(read_rows());
    }
    for (size_t c = 0; c < cols_.size(); c++) {
      cols_[c] = {};
      if (source_->options.early[c]) JG_RETURN_IF_ERROR(convert(static_cast<int>(c), nullptr, rows_));
    }
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
    if (chunks_.at_file_start() && size_ >= 3 && std::memcmp(data_, "\xEF\xBB\xBF", 3) == 0) at_ = 3;
    token_ = 0;
    tokens_found_ = 0;
    if (!stages_ || stages_->capacity() < static_cast<size_t>(size_)) {
      stages_.reset();
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(size_, 1024, stages_))
        return {"memory", "no memory for the JSON parser"};
    }
    // An unclosed string or text that is not UTF-8: no tokens, so that every line is read for itself.
    const auto error =
        stages_->stage1(reinterpret_cast<const uint8_t*>(data_ + at_), size_ - at_, simdjson::stage1_mode::regular);
    if (!error) tokens_found_ = stages_->n_structural_indexes;
    base_ = data_ + at_;
    index_ = stages_->structural_indexes.get();
    return {};
  }

  Status read_rows() {
    while (rows_ < JG_BATCH_ROWS && at_ < size_) {
      if (token_ < tokens_found_) {
        if (fits(last_shape_)) continue;
        bool fitted = false;
        for (size_t s = 0; s < shapes_.size() && !fitted; s++) fitted = s != last_shape_ && fits(s);
        if (fitted) continue;
        if (learn() && fits(shapes_.size() - 1)) continue;
      }
      JG_RETURN_IF_ERROR(read_line());
    }
    return {};
  }

  char byte(uint32_t token) const { return base_[index_[token]]; }

  // Takes the row at token_ if it has the shape. Its line ends behind it, so that one line is one row.
  bool fits(size_t number) {
    if (number >= shapes_.size()) return false;
    const Shape& shape = shapes_[number];
    const uint32_t end = token_ + 4 * shape.fields;  // { (key : value ,)* value }
    if (end >= tokens_found_) return false;
    const uint32_t* p = index_ + token_;
    const char* base = base_;
    unsigned wrong = (base[p[0]] ^ '{') | (base[p[4 * shape.fields]] ^ '}');
    uint64_t strange = 0;  // the key's quote is in its end: what stands in front of the colon is a string
    for (uint32_t f = 0; f < shape.fields; f++) {
      const char* colon = base + p[4 * f + 2];
      wrong |= *colon ^ ':';
      strange |= (KeyEnd::at(colon) ^ shape.ends[f].word) & shape.ends[f].mask;
    }
    for (uint32_t f = 1; f < shape.fields; f++) wrong |= base[p[4 * f]] ^ ',';
    if (wrong | (strange != 0)) return false;
    if (base + p[0] < data_ + at_) return false;  // a token of a line that was read already
    const char* stop = base + p[4 * shape.fields] + 1;
    while (*stop == ' ' || *stop == '\t' || *stop == '\r') stop++;
    if (*stop != '\n' && stop < data_ + size_) return false;
    for (const auto& w : shape.wanted) {
      if (!w.key.equals(base + p[4 * w.place + 1])) return false;
    }
    for (size_t i = 0; i < shape.others.size(); i++) {
      if (!shape.others[i].equals(base + p[4 * shape.other_places[i] + 1])) return false;
    }
    if (source_->exact && !is_plain(shape, p)) return false;
    for (const auto& w : shape.wanted) {
      const char* value = base + p[4 * w.place + 3];
      const char* last = base + p[4 * w.place + 4];  // , or }
      while (static_cast<unsigned char>(last[-1]) <= ' ') last--;
      if (*value == '{' || *value == '[') return false;
      const bool null = *value == 'n';
      if (null && std::string_view(value, last - value) != "null") return false;
      tokens_[w.key_number][rows_] = null ? Token{nullptr, 0} : Token{value, static_cast<uint32_t>(last - value)};
    }
    for (int key : shape.missing) tokens_[key][rows_] = {nullptr, 0};
    if (source_->skip_errors && !convertible()) return false;
    token_ = end + 1;
    at_ = stop - data_ + 1;
    last_shape_ = number;
    rows_++;
    return true;
  }

  // Whether all values of a row that fits are JSON, also those that nobody reads. False: the row is to be validated.
  bool is_plain(const Shape& shape, const uint32_t* p) const {
    for (uint32_t f = 0; f < shape.fields; f++) {
      const char* value = base_ + p[4 * f + 3];
      const char* last = base_ + p[4 * f + 4];
      while (static_cast<unsigned char>(last[-1]) <= ' ') last--;
      if (!json::is_plain({value, static_cast<size_t>(last - value)})) return false;
    }
    return true;
  }

  // Makes a shape of the row at token_, if it is a flat object whose names differ. False: it is not, or there are
  // enough shapes.
  bool learn() {
    if (shapes_.size() >= kShapesMax) return false;
    uint32_t t = token_;
    auto is = [&](char c) { return t < tokens_found_ && byte(t) == c; };
    if (!is('{')) return false;
    t++;
    Shape shape;
    std::vector<bool> found(tokens_.size());
    while (is('"')) {
      const char* key = base_ + index_[t];
      const char* end = key + 1;
      while (*end != '"') end += *end == '\\' ? 2 : 1;
      const Key field(std::string_view(key, end + 1 - key));
      if (source_->exact && !json::is_plain({key, static_cast<size_t>(end + 1 - key)})) return false;
      t++;
      if (!is(':')) return false;
      const char* colon = base_ + index_[t];
      if (colon - end > 7) return false;
      shape.ends.emplace_back(key, colon);
      if (++t >= tokens_found_ || byte(t) == '{' || byte(t) == '[') return false;
      t++;
      const int key_number = key_of(field.name());
      if (key_number >= 0) {
        if (found[key_number]) return false;
        shape.wanted.push_back({shape.fields, key_number, field});
        found[key_number] = true;
      } else if (source_->exact || may_be_wanted(field.name(), 8 - (colon - end))) {
        shape.others.push_back(field);
        shape.other_places.push_back(shape.fields);
      }
      shape.fields++;
      if (is('}')) break;
      if (!is(',')) return false;
      t++;
    }
    if (!is('}') || shape.fields == 0) return false;
    for (size_t key_number = 0; key_number < found.size(); key_number++) {
      if (!found[key_number]) shape.missing.push_back(static_cast<int>(key_number));
    }
    shapes_.push_back(std::move(shape));
    return true;
  }

  // Whether a wanted name may stand where this key of another name does, with the same end.
  bool may_be_wanted(std::string_view raw, int64_t end_bytes) const {
    if (source_->escaped_names || raw.find('\\') != std::string_view::npos) return true;
    const std::string quoted = '"' + std::string(raw);
    const std::string_view known =
        std::string_view(quoted).substr(quoted.size() - std::min<size_t>(quoted.size(), end_bytes));
    for (const std::string_view name : source_->names) {
      if (('"' + std::string(name)).ends_with(known)) return true;
      // its letters may be escaped (\u0061): then what is known begins within the escape of one
      for (size_t i = 1; i <= 5 && i <= known.size() && may_escape(known[i - 1]); i++) {
        if (name.ends_with(known.substr(i))) return true;
      }
    }
    return false;
  }

  static bool may_escape(char c) {
    return std::string_view("0123456789abcdefABCDEFunrt/").find(c) != std::string_view::npos;
  }

  int key_of(std::string_view raw) {
    std::string name(raw);
    if (raw.find('\\') != std::string_view::npos && !unescape_(raw, &name)) name = raw;
    const auto at = source_->keys.find(name);
    return at == source_->keys.end() ? -1 : at->second;
  }

  // ---- any line ----

  Status read_line() {
    const char* line = data_ + at_;
    const void* newline = std::memchr(line, '\n', size_ - at_);
    const int64_t length = newline ? static_cast<const char*>(newline) - line : size_ - at_;
    const int64_t offset = chunks_.offset() + at_;
    at_ += length + 1;
    while (token_ < tokens_found_ && base_ + index_[token_] < line + length) token_++;
    std::string_view content(line, length);
    while (!content.empty() && static_cast<unsigned char>(content.back()) <= ' ') content.remove_suffix(1);
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
    simdjson::dom::element whole;
    const auto error = validator_.parse(line.data(), line.size(), true).get(whole);
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
    for (const auto& tokens : tokens_) tokens[rows_] = {nullptr, 0};
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
      while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
      if (token.empty() || (token[0] == 'n' && token != "null")) return "not valid JSON";
      tokens_[at->second][rows_] =
          token[0] == 'n' ? Token{nullptr, 0} : Token{token.data(), static_cast<uint32_t>(token.size())};
    }
    for (size_t key = 0; key < tokens_.size(); key++) {
      const Token t = tokens_[key][rows_];
      if (t.size == 0 || (*t.data != '{' && *t.data != '[')) continue;
      if (!source_->nested[key]) return "a wanted field holds an object or an array";
      simdjson::dom::element whole;
      if (validator_.parse(t.data, t.size, true).get(whole)) return "not valid JSON";
    }
    return document.at_end() ? nullptr : "a line must hold one JSON object";
  }

  // ---- conversion ----

  bool convertible() {
    for (size_t c = 0; c < cols_.size(); c++) {
      if (convert_one(static_cast<int>(c), rows_) != Parse::kOk) return false;
    }
    return true;
  }

  Status convert(int c, const int32_t* sel, int n) {
    const ColumnSpec& spec = source_->options.columns[c];
    const bool numbers = spec.type == JG_I64 || spec.type == JG_DEC64;
    const bool whole = spec.path.empty();
    const Token* tokens = tokens_[source_->key_of[c]].get();
    const int64_t limit = spec.type == JG_DEC64 ? text::power_of_ten(spec.precision) : INT64_MAX;
    for (int k = 0; k < n; k++) {
      const int i = sel ? sel[k] : k;
      int64_t number;
      const std::string_view v(tokens[i].data, tokens[i].size);
      if (spec.nesting != Nesting::kNone && v.size() > 0 && (v[0] == '{' || v[0] == '['))
        continue;  // done as it was read
      if (whole && numbers && text::short_decimal(v, spec.scale, &number) && is_json(v) && number < limit &&
          number > -limit && (!source_->exact || json::is_exact(spec, v))) {
        reinterpret_cast<int64_t*>(rooms_[c].data)[i] = number;
        rooms_[c].valid[i] = 1;
        continue;
      }
      const Parse parsed = convert_one(c, i);
      if (parsed == Parse::kOk) continue;
      const Token t = tokens[i];
      const bool in_chunk = t.data >= data_ && t.data < data_ + size_;
      const int64_t offset = in_chunk ? chunks_.offset() + (t.data - chunks_.data()) : chunks_.offset();
      return wrong_value(c, i, parsed, offset);
    }
    cols_[c] = {rooms_[c].data, rooms_[c].valid.get()};
    return {};
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
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stages_;
  simdjson::ondemand::parser parser_;
  simdjson::dom::parser validator_;
  json::Unescaper unescape_;
  json::NestedJson nested_json_;
  std::deque<columnar::NestedBytes> nested_;  // values of nested columns
  std::vector<columnar::ColumnRoom> rooms_;
  std::vector<std::unique_ptr<Token[]>> tokens_;  // by key and row: the values' raw text
  std::vector<JgCol> cols_;
  std::vector<Shape> shapes_;
  size_t last_shape_ = 0;
  std::vector<std::unique_ptr<std::string>> unescaped_;
  std::deque<std::string> kept_;
  const char* data_ = nullptr;  // the chunk, read up to at_
  int64_t size_ = 0, at_ = 0;
  const char* base_ = nullptr;       // what index_ counts from
  const uint32_t* index_ = nullptr;  // the chunk's tokens, consumed up to token_
  uint32_t token_ = 0, tokens_found_ = 0;
  int rows_ = 0;
};

std::unique_ptr<SourceWorker> JsonSource::worker() { return std::make_unique<JsonWorker>(this); }

}  // namespace

static Status make_json_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<JsonSource>(options);
  return {};
}

}  // namespace jg

JG_READER(json, jg::make_json_source);
