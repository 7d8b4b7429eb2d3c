#include "json/indexed_rows.h"

#include <algorithm>

namespace jg::json {

Key::Key(std::string_view quoted) : text_(quoted) {
  for (size_t i = 0; i < text_.size(); i += 8) {
    uint64_t word = 0, mask = 0;
    const size_t n = std::min<size_t>(8, text_.size() - i);
    std::memcpy(&word, text_.data() + i, n);
    std::memset(&mask, 0xFF, n);
    words_.push_back({word, mask});
  }
}

IndexedRows::IndexedRows(const Keys& keys, bool exact) : keys_(keys), exact_(exact) {
  for (const auto& [name, number] : keys) {
    for (const char letter : name)
      escaped_names_ |= letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < ' ';
  }
}

Status IndexedRows::index(const char* data, int64_t size) {
  base_ = data;
  end_ = data + size;
  token_ = 0;
  tokens_found_ = 0;
  if (!stages_ || stages_->capacity() < static_cast<size_t>(size)) {
    stages_.reset();
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(size, 1024, stages_))
      return {"memory", "no memory for the JSON parser"};
  }
  const auto error = stages_->stage1(reinterpret_cast<const uint8_t*>(data), size, simdjson::stage1_mode::regular);
  if (!error) tokens_found_ = stages_->n_structural_indexes;
  index_ = stages_->structural_indexes.get();
  return {};
}

const char* IndexedRows::take(const char* line, Token* const* tokens, int row) {
  while (token_ < tokens_found_ && base_ + index_[token_] < line) token_++;
  if (token_ >= tokens_found_) return nullptr;
  if (const char* end = fits(shape_, line, tokens, row)) return end;
  for (size_t s = 0; s < shapes_.size(); s++) {
    if (const char* end = s == shape_ ? nullptr : fits(s, line, tokens, row)) return end;
  }
  return learn() ? fits(shapes_.size() - 1, line, tokens, row) : nullptr;
}

const char* IndexedRows::value_end(uint32_t token) const {
  const char* end = base_ + index_[token];
  while (is_space(end[-1])) end--;
  return end;
}

// Match the row at token_ with the shape; its line must end behind it, so that one line is one row.
const char* IndexedRows::fits(size_t number, const char* line, Token* const* tokens, int row) {
  if (number >= shapes_.size()) return nullptr;
  const Shape& shape = shapes_[number];
  const uint32_t end = token_ + 4 * shape.fields;  // { (key : value ,)* value }
  if (end >= tokens_found_) return nullptr;
  const uint32_t* p = index_ + token_;
  const char* base = base_;
  unsigned wrong = (base[p[0]] ^ '{') | (base[p[4 * shape.fields]] ^ '}');
  uint64_t strange = 0;  // quotes begin and end a key: a string precedes the colon
  for (uint32_t f = 0; f < shape.fields; f++) {
    const char* colon = base + p[4 * f + 2];
    wrong |= (base[p[4 * f + 1]] ^ '"') | (*colon ^ ':');
    strange |= (KeyEnd::at(colon) ^ shape.ends[f].word) & shape.ends[f].mask;
  }
  for (uint32_t f = 1; f < shape.fields; f++) wrong |= base[p[4 * f]] ^ ',';
  if (wrong | (strange != 0)) return nullptr;
  const char* stop = base + p[4 * shape.fields] + 1;
  while (*stop == ' ' || *stop == '\t' || *stop == '\r') stop++;
  if (*stop != '\n' && stop < end_) return nullptr;
  for (const auto& w : shape.wanted) {
    if (!w.key.equals(base + p[4 * w.place + 1])) return nullptr;
  }
  for (size_t i = 0; i < shape.others.size(); i++) {
    if (!shape.others[i].equals(base + p[4 * shape.other_places[i] + 1])) return nullptr;
  }
  const char* start = base + p[0];
  if (exact_ && std::memchr(start, '\n', stop - start)) return nullptr;
  if (exact_ && !is_plain_row(shape, p)) return nullptr;
  bool no_value = false;
  for (const auto& w : shape.wanted) {
    const char* value = base + p[4 * w.place + 3];
    if (*value == '{' || *value == '[') return nullptr;
    const auto size = static_cast<uint32_t>(value_end(token_ + 4 * w.place + 4) - value);
    tokens[w.key_number][row] = token_of(value, size, &no_value);
  }
  if (no_value) return nullptr;
  for (int key : shape.missing) tokens[key][row] = kNull;
  shape_ = number;
  row_token_ = token_;
  token_ = end + 1;
  return std::min(stop + 1, end_);
}

// Return whether all values of a row that fits are JSON, unread ones included. False: the row must be validated.
bool IndexedRows::is_plain_row(const Shape& shape, const uint32_t* p) const {
  for (uint32_t f = 0; f < shape.fields; f++) {
    const char* value = base_ + p[4 * f + 3];
    if (!is_plain({value, static_cast<size_t>(value_end(token_ + 4 * f + 4) - value)})) return false;
  }
  return true;
}

// Makes a shape of the row at token_, if it is a flat object whose names differ. False: it is not, or there are enough
// shapes.
bool IndexedRows::learn() {
  if (shapes_.size() >= kShapesMax) return false;
  uint32_t t = token_;
  auto is = [&](char c) { return t < tokens_found_ && byte(t) == c; };
  if (!is('{')) return false;
  t++;
  Shape shape;
  std::vector<bool> found(keys_.size());
  while (is('"')) {
    const char* key = base_ + index_[t];
    const char* end = key + 1;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    const Key field(std::string_view(key, end + 1 - key));
    if (exact_ && !is_plain({key, static_cast<size_t>(end + 1 - key)})) return false;
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
    } else if (exact_ || may_be_wanted(field.name(), 8 - (colon - end))) {
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

std::optional<Walk> IndexedRows::walk(const char* line) const {
  const Shape& shape = shapes_[shape_];
  const uint32_t* p = index_ + row_token_;
  std::vector<Walk::Value> values;
  const char* from = line;
  for (uint32_t f = 0; f < shape.fields; f++) {
    const char* value = base_ + p[4 * f + 3];
    values.push_back({{from, static_cast<size_t>(value - from)}, *value == '"', -1});
    from = value_end(row_token_ + 4 * f + 4);
  }
  for (const Shape::Wanted& w : shape.wanted) values[w.place].wanted = w.key_number;
  const char* brace = base_ + p[4 * shape.fields];
  const void* stop = std::memchr(brace, '\n', end_ - brace);
  if (!Walk::kIsFast || !stop || std::memchr(line, '\n', brace - line)) return {};
  return Walk(values, {from, static_cast<size_t>(static_cast<const char*>(stop) + 1 - from)}, shape.missing);
}

// Return whether this key of another name could be a wanted name with the same end.
bool IndexedRows::may_be_wanted(std::string_view raw, int64_t end_bytes) const {
  if (escaped_names_ || raw.find('\\') != std::string_view::npos) return true;
  const std::string quoted = '"' + std::string(raw);
  const std::string_view known =
      std::string_view(quoted).substr(quoted.size() - std::min<size_t>(quoted.size(), end_bytes));
  auto may_escape = [](char c) { return std::string_view("0123456789abcdefABCDEFunrt/").find(c) != std::string::npos; };
  for (const auto& [name, number] : keys_) {
    if (('"' + std::string(name)).ends_with(known)) return true;
    // its letters may be escaped (\u0061): then the known text begins within the escape of one
    for (size_t i = 1; i <= 5 && i <= known.size() && may_escape(known[i - 1]); i++) {
      if (name.ends_with(known.substr(i))) return true;
    }
  }
  return false;
}

int IndexedRows::key_of(std::string_view raw) {
  std::string name(raw);
  if (raw.find('\\') != std::string_view::npos && !unescape_(raw, &name)) name = raw;
  const auto at = keys_.find(name);
  return at == keys_.end() ? -1 : at->second;
}

}  // namespace jg::json
