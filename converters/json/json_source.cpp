// JSON lines → batches, through simdjson's On-Demand parser.
//
// Fast: a chunk of whole lines is parsed as a document stream. Rows usually have their fields in the same places, so each
// place remembers its key and what to do with it; comparing the key is all that a skipped field costs. What is wanted is
// kept as raw text and converted when (and only for the rows for which) it is needed.
// Careful: a chunk in which anything is odd (a parse error, a document count that is not the line count) is read again
// line by line, with full validation, to name the line or to skip it. Of duplicate keys the first one counts.

#include <cstring>
#include <deque>
#include <memory>

#include "common/column_room.h"
#include "simdjson.h"
#include "text/line_chunks.h"
#include "text/values.h"

namespace jg {
namespace {

using simdjson::ondemand::document_stream;
using text::LineChunks;
using text::Parse;
using text::Ranges;

struct Token {
  const char* data;
  uint32_t size;  // 0: NULL
};

// Lines of a chunk that hold more than white space.
int64_t count_lines(const char* p, int64_t n) {
  int64_t lines = 0;
  bool content = false;
  for (const char* end = p + n; p < end;) {
    const char* newline = static_cast<const char*>(std::memchr(p, '\n', end - p));
    const char* stop = newline ? newline : end;
    content = false;
    for (const char* q = p; q < stop && !content; q++) content = *q != ' ' && *q != '\t' && *q != '\r';
    lines += content;
    p = stop + 1;
  }
  return lines;
}

class JsonSource : public Source {
 public:
  explicit JsonSource(const FileSourceOptions& options) : options(options) {
    for (const auto& [name, value] : options.options) skip_errors |= name == "on_error" && value == "skip";
  }
  Status open() override { return ranges.open(options.files, options.share_index, options.share_count); }
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override { return ranges.left(); }
  void cancel() override { ranges.cancel(); }

  const FileSourceOptions options;
  bool skip_errors = false;
  Ranges ranges;
};

class JsonWorker : public SourceWorker {
 public:
  explicit JsonWorker(JsonSource* source) : source_(source), chunks_(&source->ranges) {
    const auto& columns = source->options.columns;
    for (const ColumnSpec& c : columns) {
      rooms_.push_back(columnar::make_room(c.type));
      tokens_.push_back(std::make_unique<Token[]>(JG_BATCH_ROWS));
    }
    cols_.resize(columns.size());
    seen_.resize(columns.size());
  }

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    unescaped_.clear();
    lines_kept_.clear();
    while (true) {
      rows_ = 0;
      if (!in_chunk_) {
        JG_RETURN_IF_ERROR(next_chunk(done));
        if (*done) return {};
      }
      JG_RETURN_IF_ERROR(careful_ ? read_lines() : read_stream());
      if (rows_ > 0) break;
    }
    const auto& options = source_->options;
    for (size_t c = 0; c < cols_.size(); c++) {
      cols_[c] = {};
      if (options.early[c]) {
        JG_RETURN_IF_ERROR(convert(static_cast<int>(c), nullptr, rows_));
      }
    }
    source_->counters.rows += rows_;
    source_->counters.batches++;
    batch->rows = rows_;
    batch->cols = cols_.data();
    return {};
  }

  Status load(int column, const int32_t* sel, int32_t n) override { return convert(column, sel, n); }

 private:
  Status next_chunk(bool* done) {
    const int64_t before = chunks_.bytes_read;
    JG_RETURN_IF_ERROR(chunks_.next(done));
    source_->counters.bytes += chunks_.bytes_read - before;
    if (*done) return {};
    data_ = chunks_.data();
    size_ = chunks_.size();
    if (chunks_.at_file_start() && size_ >= 3 && std::memcmp(data_, "\xEF\xBB\xBF", 3) == 0) data_ += 3, size_ -= 3;
    in_chunk_ = true;
    lines_ = count_lines(data_, size_);
    documents_ = 0;
    at_ = 0;
    careful_ = false;
    in_batch_ = 0;
    const auto error = parser_.iterate_many(data_, size_, std::max<int64_t>(size_ + 1, 4096)).get(stream_);
    if (error) return be_careful();
    position_ = stream_.begin();
    return {};
  }

  // From here the chunk is read line by line. Rows of it that earlier batches had are passed over.
  Status be_careful() {
    careful_ = true;
    rows_ = 0;
    at_ = 0;
    resume_after_ = documents_ - in_batch_;
    in_batch_ = 0;
    return {};
  }

  Status read_stream() {
    in_batch_ = 0;
    while (rows_ < JG_BATCH_ROWS && position_ != stream_.end()) {
      auto document = *position_;
      documents_++;
      in_batch_++;
      simdjson::ondemand::object object;
      if (document.get_object().get(object) || !read_object(object)) {
        JG_RETURN_IF_ERROR(be_careful());
        return read_lines();
      }
      if (source_->skip_errors && !convertible()) {
        JG_RETURN_IF_ERROR(be_careful());
        return read_lines();
      }
      rows_++;
      ++position_;
    }
    if (!(position_ != stream_.end())) {
      if (documents_ != lines_ || stream_.truncated_bytes() != 0) {
        // A batch of this chunk may be on its way already; its rows were whole lines unless two errors made up for each
        // other, which the careful reading finds as an error.
        JG_RETURN_IF_ERROR(be_careful());
        return read_lines();
      }
      in_chunk_ = false;
    }
    return {};
  }

  // Finds the wanted fields of one object. False: something is wrong with it.
  bool read_object(simdjson::ondemand::object& object) {
    std::fill(seen_.begin(), seen_.end(), false);
    int wanted = static_cast<int>(cols_.size());
    size_t place = 0;
    for (auto field : object) {
      simdjson::ondemand::field f;
      if (std::move(field).get(f)) return false;
      const char* key = f.key().raw();
      if (place == places_.size()) places_.push_back({});
      Place& p = places_[place++];
      // the bytes up to and including the closing quote are the same: the same key
      if (p.key.empty() || std::memcmp(key, p.key.data(), p.key.size()) != 0) learn(key, &p);
      if (p.column < 0) continue;
      const int c = p.column;
      if (seen_[c]) continue;
      std::string_view token;
      token = f.value().raw_json_token();
      while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
      if (token.empty() || token[0] == '{' || token[0] == '[') return false;
      tokens_[c][rows_] = token[0] == 'n' ? Token{nullptr, 0} : Token{token.data(), static_cast<uint32_t>(token.size())};
      if (token[0] == 'n' && token != "null") return false;
      seen_[c] = true;
      wanted--;
    }
    for (size_t c = 0; wanted > 0 && c < cols_.size(); c++) {
      if (!seen_[c]) tokens_[c][rows_] = {nullptr, 0};
    }
    return true;
  }

  struct Place {
    std::string key;  // raw, with its closing quote
    int column = -1;
  };

  void learn(const char* key, Place* place) {
    const char* end = key;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    place->key.assign(key, end + 1);
    const std::string_view raw(key, end - key);
    std::string name(raw);
    if (raw.find('\\') != std::string_view::npos) {
      simdjson::dom::parser parser;
      std::string_view unescaped;
      if (!parser.parse(simdjson::padded_string("\"" + name + "\"")).get(unescaped)) name = unescaped;
    }
    place->column = -1;
    const auto& columns = source_->options.columns;
    for (size_t c = 0; c < columns.size(); c++) {
      if (columns[c].name == name) place->column = static_cast<int>(c);
    }
  }

  // ---- line by line ----

  Status read_lines() {
    while (rows_ < JG_BATCH_ROWS && at_ < size_) {
      const char* line = data_ + at_;
      const char* newline = static_cast<const char*>(std::memchr(line, '\n', size_ - at_));
      const int64_t length = newline ? newline - line : size_ - at_;
      const int64_t offset = chunks_.offset() + (data_ - chunks_.data()) + at_;
      at_ += length + 1;
      std::string_view content(line, length);
      while (!content.empty() && static_cast<unsigned char>(content.back()) <= ' ') content.remove_suffix(1);
      if (content.find_first_not_of(" \t") == std::string_view::npos) continue;
      Status status = read_line(content, offset);
      if (status.ok()) {
        if (resume_after_ > 0) {
          resume_after_--;
          continue;
        }
        rows_++;
      } else if (source_->skip_errors) {
        source_->counters.skipped_rows++;
      } else {
        return status;
      }
    }
    if (at_ >= size_) in_chunk_ = false;
    return {};
  }

  Status read_line(std::string_view line, int64_t offset) {
    const std::string& path = source_->ranges.path(chunks_.file());
    simdjson::dom::element whole;
    if (const auto error = validator_.parse(line.data(), line.size(), true).get(whole); error)
      return text::at_line("malformed", path, offset, std::string("not valid JSON: ") + simdjson::error_message(error));
    if (!whole.is_object()) return text::at_line("schema", path, offset, "a line must hold a JSON object");
    lines_kept_.emplace_back(line);  // the tokens must outlive this call: the parser needs padding behind a line
    std::string& copy = lines_kept_.back();
    copy.append(simdjson::SIMDJSON_PADDING, '\0');
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    if (line_parser_.iterate(copy.data(), line.size(), copy.size()).get(document) || document.get_object().get(object) ||
        !read_object(object))
      return text::at_line("schema", path, offset, "a wanted field holds an object or an array");
    for (size_t c = 0; c < cols_.size(); c++) {  // a row that cannot be converted must be known before it counts
      const Parse parsed = convert_one(static_cast<int>(c), rows_);
      if (parsed != Parse::kOk) return wrong_value(static_cast<int>(c), rows_, parsed, path, offset);
    }
    return {};
  }

  // ---- conversion ----

  bool convertible() {
    for (size_t c = 0; c < cols_.size(); c++) {
      if (convert_one(static_cast<int>(c), rows_) != Parse::kOk) return false;
    }
    return true;
  }

  Status convert(int c, const int32_t* sel, int n) {
    for (int k = 0; k < n; k++) {
      const int i = sel ? sel[k] : k;
      const Parse parsed = convert_one(c, i);
      if (parsed == Parse::kOk) continue;
      const Token t = tokens_[c][i];
      const bool in_chunk = t.data >= data_ && t.data < data_ + size_;
      const int64_t offset = in_chunk ? chunks_.offset() + (t.data - chunks_.data()) : chunks_.offset();
      return wrong_value(c, i, parsed, source_->ranges.path(chunks_.file()), offset);
    }
    cols_[c] = {rooms_[c].data, rooms_[c].valid.get()};
    return {};
  }

  Parse convert_one(int c, int i) {
    const ColumnSpec& spec = source_->options.columns[c];
    const Token t = tokens_[c][i];
    uint8_t* valid = rooms_[c].valid.get();
    if (t.size == 0) {
      valid[i] = 0;
      if (spec.type >= JG_STRING) reinterpret_cast<JgStr*>(rooms_[c].data)[i] = {"", 0};
      return spec.nullable ? Parse::kOk : Parse::kWrong;
    }
    valid[i] = 1;
    std::string_view v(t.data, t.size);
    if (v[0] != '"') {
      if (spec.type == JG_BOOL) return v == "true" || v == "false" ? text::store(spec, v, rooms_[c].data, i) : Parse::kWrong;
      if (spec.type < JG_DATE && v[0] != 't' && v[0] != 'f') return text::store(spec, v, rooms_[c].data, i);
      if (spec.type >= JG_STRING) return text::store(spec, v, rooms_[c].data, i);  // 12 as a string is "12"
      return Parse::kWrong;
    }
    v = v.substr(1, v.size() - 2);
    if (v.find('\\') != std::string_view::npos && !unescape(&v)) return Parse::kWrong;
    return text::store(spec, v, rooms_[c].data, i);
  }

  bool unescape(std::string_view* v) {
    std::string_view result;
    if (unescaper_.parse("\"" + std::string(*v) + "\"").get(result)) return false;
    unescaped_.push_back(std::make_unique<std::string>(result));
    *v = *unescaped_.back();
    return true;
  }

  Status wrong_value(int c, int i, Parse parsed, const std::string& path, int64_t offset) {
    const ColumnSpec& spec = source_->options.columns[c];
    const Token t = tokens_[c][i];
    const std::string value = t.size == 0 ? "null" : std::string(t.data, std::min<uint32_t>(t.size, 60));
    const bool overflow = parsed == Parse::kOverflow;
    return text::at_line(overflow ? "overflow" : "schema", path, offset,
                         "column '" + spec.name + "' holds " + value + ", which is " +
                             (overflow ? "out of the range of " : "no ") + text::name_of(spec.type),
                         spec.name);
  }

  JsonSource* source_;
  LineChunks chunks_;
  simdjson::ondemand::parser parser_, line_parser_;
  simdjson::dom::parser validator_, unescaper_;
  document_stream stream_;
  document_stream::iterator position_;
  std::vector<columnar::ColumnRoom> rooms_;
  std::vector<std::unique_ptr<Token[]>> tokens_;
  std::vector<JgCol> cols_;
  std::vector<char> seen_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<std::string>> unescaped_;
  std::deque<std::string> lines_kept_;
  const char* data_ = nullptr;
  int64_t size_ = 0, at_ = 0, lines_ = 0, documents_ = 0, in_batch_ = 0, resume_after_ = 0;
  int rows_ = 0;
  bool in_chunk_ = false, careful_ = false;
};

std::unique_ptr<SourceWorker> JsonSource::worker() { return std::make_unique<JsonWorker>(this); }

}  // namespace

Status make_json_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = std::make_unique<JsonSource>(options);
  return {};
}

}  // namespace jg
