#include "json/nested_json.h"

namespace jg::json {

namespace {

using columnar::NestedBytes;

// Reads valid JSON from the front; at its end it stays there.
class ValidJson {
 public:
  explicit ValidJson(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) { skip_space(); }

  bool ended() const { return at_ == end_; }
  char next() const { return ended() ? '\0' : *at_; }
  void pass() {
    if (!ended()) ++at_;
    skip_space();
  }
  // The raw text of the value that starts here, behind which the reader is then.
  std::string_view value() {
    const char* start = at_;
    int64_t depth = 0;
    do {
      if (ended()) break;
      switch (*at_) {
        case '"':
          string();
          break;
        case '{':
        case '[':
          ++depth;
          ++at_;
          break;
        case '}':
        case ']':
          --depth;
          ++at_;
          break;
        case ',':
        case ':':
          ++at_;
          break;
        default:
          scalar();
      }
      if (depth > 0) skip_space();
    } while (depth > 0);
    const std::string_view found(start, static_cast<size_t>(at_ - start));
    skip_space();
    return found;
  }

 private:
  void string() {
    for (++at_; !ended() && *at_ != '"'; ++at_) {
      if (*at_ == '\\' && at_ + 1 < end_) ++at_;
    }
    if (!ended()) ++at_;
  }
  void scalar() {
    while (!ended() && !is_space(*at_) && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != ':') ++at_;
  }
  void skip_space() {
    while (!ended() && is_space(*at_)) ++at_;
  }

  const char* at_;
  const char* const end_;
};

std::string_view or_empty(std::string_view value) { return value == "null" ? std::string_view() : value; }

}  // namespace

template <class Each>
void NestedJson::each_field(std::string_view object, Each&& each) {
  ValidJson reader(object);
  std::string unescaped;
  for (reader.pass(); reader.next() == '"';) {
    std::string_view key = reader.value();
    key = key.substr(1, key.size() - 2);
    if (key.find('\\') != key.npos && unescape_(key, &unescaped)) key = unescaped;
    reader.pass();  // the colon
    each(key, or_empty(reader.value()));
    if (reader.next() == ',') reader.pass();
  }
}

Parse NestedJson::member(std::string_view text, std::string_view name, std::string_view* value) {
  *value = {};
  if (text[0] != '{') return Parse::kWrong;
  each_field(text, [&](std::string_view key, Value found) {
    if (key == name) *value = found;
  });
  return Parse::kOk;
}

Parse NestedJson::write(const ColumnSpec& spec, std::string_view text, NestedBytes* out) {
  if (text[0] != (spec.nesting == Nesting::kList ? '[' : '{')) return failed(spec, text, Parse::kWrong);
  switch (spec.nesting) {
    case Nesting::kStruct:
      return write_fields(spec, text, out);
    case Nesting::kList:
      return write_elements(spec, text, out);
    default:
      return write_entries(spec, text, out);
  }
}

Parse NestedJson::write_fields(const ColumnSpec& spec, std::string_view text, NestedBytes* out) {
  std::vector<Value> values(spec.parts.size());
  size_t expected = 0;  // fields mostly come in the order of the type
  each_field(text, [&](std::string_view key, Value value) {
    for (size_t tried = 0; tried < spec.parts.size(); ++tried, expected = (expected + 1) % spec.parts.size()) {
      if (spec.parts[expected].name != key) continue;
      values[expected] = value;
      expected = (expected + 1) % spec.parts.size();
      return;
    }
  });
  Parse parsed = Parse::kOk;
  columnar::write_struct(spec.parts, out,
                         [&](size_t i, NestedBytes* to) { return append(spec.parts[i], values[i], to, &parsed); });
  return parsed;
}

Parse NestedJson::write_elements(const ColumnSpec& spec, std::string_view text, NestedBytes* out) {
  columnar::ListWriter list(spec.parts[0]);
  Parse parsed = Parse::kOk;
  ValidJson reader(text);
  for (reader.pass(); !reader.ended() && reader.next() != ']';) {
    const Value value = or_empty(reader.value());
    list.add([&](NestedBytes* to) { return append(spec.parts[0], value, to, &parsed); });
    if (reader.next() == ',') reader.pass();
  }
  list.finish(out);
  return parsed;
}

Parse NestedJson::write_entries(const ColumnSpec& spec, std::string_view text, NestedBytes* out) {
  Entries entries;
  std::unordered_map<std::string, size_t> places;
  each_field(text, [&](std::string_view key, Value value) {
    const auto [at, added] = places.emplace(key, entries.size());
    if (added) entries.emplace_back(key, value);
    entries[at->second].second = value;
  });
  columnar::ListWriter list(columnar::map_entry());
  Parse parsed = Parse::kOk;
  for (const auto& entry : entries) {
    list.add([&](NestedBytes* to) {
      const std::string_view key = entry.first;
      columnar::write_struct(spec.parts, to, [&](size_t i, NestedBytes* part) {
        if (i == 1) return append(spec.parts[1], entry.second, part, &parsed);
        alignas(16) unsigned char slot[16] = {};
        const Parse stored = text::store(spec.parts[0], key, slot, 0);
        if (stored != Parse::kOk) parsed = failed(spec.parts[0], key, stored);
        if (columnar::is_variable(spec.parts[0])) {
          part->append(key);
        } else {
          part->append(reinterpret_cast<const char*>(slot), columnar::fixed_width(spec.parts[0]));
        }
        return true;
      });
      return true;
    });
  }
  list.finish(out);
  return parsed;
}

bool NestedJson::append(const ColumnSpec& spec, Value value, NestedBytes* out, Parse* parsed) {
  if (value.empty()) return false;
  if (spec.nesting != Nesting::kNone) {
    const Parse found = write(spec, value, out);
    if (found != Parse::kOk) *parsed = found;
    return true;
  }
  alignas(16) unsigned char slot[16] = {};
  std::string unescaped;
  const Parse stored = store_token(spec, value, slot, 0, false, [&](std::string_view* text) {
    if (!unescape_(*text, &unescaped)) return false;
    *text = unescaped;
    return true;
  });
  if (stored != Parse::kOk) {
    *parsed = failed(spec, value, stored);
    return false;
  }
  if (columnar::is_variable(spec)) {
    JgStr text;
    std::memcpy(&text, slot, sizeof text);
    out->append(text.data, text.size);
  } else {
    out->append(reinterpret_cast<const char*>(slot), columnar::fixed_width(spec));
  }
  return true;
}

Parse NestedJson::failed(const ColumnSpec& spec, std::string_view text, Parse parsed) {
  fault_ = {&spec, std::string(text)};
  return parsed;
}

}  // namespace jg::json
