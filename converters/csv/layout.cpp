#include "csv/layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "csv/index.h"
#include "text/line_chunks.h"

namespace jg::csv {
namespace {

constexpr int64_t kLookBytes = 64 << 10, kLookBytesMax = 1 << 20, kCountBytes = 256 << 10;
constexpr int kPlainRecords = 2;  // that make a place without quotes nearby believable

enum class Inside { kNo, kYes, kUnknown };

// Judge whether text[0] lies inside quotes.
Inside judge(std::string_view text, const Dialect& d, int fields, bool to_file_end) {
  bool odd = false;  // an odd number of quotes so far
  bool any = false;
  for (size_t i = text.find(d.quote); i != text.npos; i = text.find(d.quote, i + 1), odd = !odd) {
    any = true;
    if (i == 0 || i + 1 == text.size()) continue;
    const char before = text[i - 1], behind = text[i + 1];
    if (before == d.quote || behind == d.quote) continue;
    const bool may_open = before == d.delimiter || before == d.line_end;
    const bool may_close = behind == d.delimiter || behind == d.line_end || behind == '\r';
    if (may_open == may_close) continue;
    return may_close != odd ? Inside::kYes : Inside::kNo;
  }
  if (any || fields < 2) return Inside::kUnknown;
  size_t at = text.find(d.line_end);
  for (int records = 0; records < kPlainRecords; records++) {
    if (at == text.npos) return Inside::kUnknown;
    const size_t end = text.find(d.line_end, at + 1);
    if (end == text.npos && !(to_file_end && at + 1 < text.size())) return Inside::kUnknown;
    const std::string_view line = text.substr(at + 1, end == text.npos ? end : end - at - 1);
    if (std::count(line.begin(), line.end(), d.delimiter) + 1 != fields) return Inside::kUnknown;
    at = end;
  }
  return Inside::kNo;
}

// Letters to change, add or leave out to make `a` of `b` (Levenshtein), whatever their case; blanks, _ and - are one.
size_t distance(std::string_view a, std::string_view b) {
  auto folded = [](char c) {
    return c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t changed = diagonal + (folded(a[i - 1]) != folded(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Return the remedy for a missing name.
std::string advice(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kNamesMax = 1000, kLettersMax = 100;
  const std::string* nearest = nullptr;
  size_t least = 1 + std::min<size_t>(2, name.size() / 3);
  for (size_t i = 0; i < names.size() && i < kNamesMax && name.size() < kLettersMax; i++) {
    if (names[i] == name || names[i].size() >= kLettersMax) continue;
    if (const size_t letters = distance(name, names[i]); letters < least) least = letters, nearest = &names[i];
  }
  return nearest ? "Did you mean '" + *nearest + "'?" : "If there is no header, set header=false.";
}

Status too_long(const text::Input& input, int64_t offset) {
  return input.at_line(
      "malformed", offset,
      "a record is longer than " + std::to_string(text::kLineBytesMax >> 20) + " MiB; is a quote missing?");
}

// Return the end of the first line, outside quotes: LF (or CRLF), or a CR alone; 0 if it is not in the text.
char line_end_of(std::string_view text, char quote, bool to_file_end) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    quoted ^= text[i] == quote;
    if (quoted) continue;
    if (text[i] == '\n') return '\n';
    if (text[i] != '\r') continue;
    if (i + 1 < text.size()) return text[i + 1] == '\n' ? '\n' : '\r';
    if (to_file_end) return '\r';
  }
  return to_file_end ? '\n' : 0;
}

// Return whether line-based readers find the record in one line and do not skip it.
bool is_line(std::string_view record) {
  if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
  return !is_blank(record) && record.find_first_of("\r\n") == record.npos;
}

// The fields of the first record, without quotes.
std::vector<std::string> header_names(const char* text, const Index& found, char quote) {
  std::vector<std::string> names;
  std::string room;
  for (int k = 0; k < found.records[0]; k++) {
    std::string_view name(text + found.ends[k] + 1, found.ends[k + 1] - found.ends[k] - 1);
    if (k + 1 == found.records[0] && !name.empty() && name.back() == '\r') name.remove_suffix(1);
    names.emplace_back(unquoted(name, quote, &room));
  }
  return names;
}

}  // namespace

bool is_blank(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

std::string_view unquoted(std::string_view text, char quote, std::string* room) {
  if (text.size() < 2 || text[0] != quote) return text;
  text = text.substr(1, text.size() - 2);
  size_t at = text.find(quote);
  if (at == text.npos) return text;
  room->clear();
  room->reserve(text.size() + kPadding);
  for (size_t from = 0;;) {
    room->append(text.substr(from, at == text.npos ? at : at + 1 - from));
    if (at == text.npos) return *room;
    from = at + 2;  // of two quotes, one
    if (from > text.size()) return *room;
    at = text.find(quote, from);
  }
}

Status Layouts::find(text::Input* input, int file, const Layout** out) {
  const std::lock_guard lock(mutex_);
  std::optional<Layout>& known = files_[file].layout;
  if (!known) {
    Layout found{*dialect_, input->size(), 0, 0, {}};
    JG_RETURN_IF_ERROR(read_header(input, &found));
    known = std::move(found);
  }
  *out = &*known;
  return {};
}

Status Layouts::read_header(text::Input* input, Layout* out) {
  std::string text;
  Index found;
  int64_t mark = 0;
  for (int64_t size = kLookBytes;; size *= 4) {
    text.assign(size + kPadding, '\0');
    int64_t got;
    JG_RETURN_IF_ERROR(input->read(0, size, text.data(), &got));
    const bool to_file_end = got < size;
    mark = got >= 3 && std::memcmp(text.data(), "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    out->data_begin = mark;
    const char line_end =
        line_end_of({text.data() + mark, static_cast<size_t>(got - mark)}, out->dialect.quote, to_file_end);
    if (line_end != 0) out->dialect.line_end = line_end;
    if (got == mark || (!dialect_->header && line_end != 0)) break;
    if (line_end != 0 && dialect_->header) {
      if (to_file_end && text[got - 1] != line_end) text[got++] = line_end;
      index(text.data() + mark, got - mark, out->dialect, &found);
      if (!found.records.empty() && found.ends[found.records[0]] < found.fault) break;
      if (found.fault < got - mark || to_file_end)
        return input->at_line("malformed", mark, "the header's quotes do not match");
    }
    if (size > text::kLineBytesMax) return too_long(*input, mark);
  }
  std::string_view header;
  if (dialect_->header && !found.records.empty()) {
    header = {text.data() + mark, static_cast<size_t>(found.ends[found.records[0]])};
    out->data_begin = std::min(out->size, mark + static_cast<int64_t>(header.size()) + 1);
    if (dialect_->exact && !is_line(header))
      return input->at_line("malformed", mark, "the first line is empty, or the header goes on behind it");
  }
  if (!dialect_->named || header.data() == nullptr) {
    out->fields = static_cast<int>(options_->file_columns.size());
    out->places = options_->positions;
    return {};
  }
  return place_columns(input->path(), header_names(text.data() + mark, found, dialect_->quote), out);
}

Status Layouts::place_columns(const std::string& path, const std::vector<std::string>& names, Layout* out) const {
  out->fields = static_cast<int>(names.size());
  std::unordered_map<std::string_view, int> places;
  for (size_t i = 0; i < names.size(); i++) {
    const auto [at, is_new] = places.emplace(names[i], static_cast<int>(i));
    if (!is_new) at->second = -1;
  }
  for (const ColumnSpec& column : options_->columns) {
    const auto at = places.find(column.name);
    if (at == places.end() || at->second < 0) {
      std::string list;
      for (size_t i = 0; i < names.size() && list.size() < 1000; i++) list += (i == 0 ? "" : ", ") + names[i];
      return {"schema",
              path + ": column '" + column.name + "' is " + (at == places.end() ? "not" : "more than once") +
                  " in the header, which has: " + list.substr(0, 1000) + ". " + advice(column.name, names),
              {{"file", path}, {"column", column.name}}};
    }
    out->places.push_back(at->second);
  }
  return {};
}

Status Layouts::count_to(text::Input* input, int file, int64_t offset, bool* inside) {
  const std::lock_guard lock(mutex_);
  std::map<int64_t, bool>& known = files_[file].inside;
  const auto near = known.upper_bound(offset);
  int64_t at = files_[file].layout->data_begin;
  *inside = false;
  if (near != known.begin()) std::tie(at, *inside) = *std::prev(near);
  std::vector<char> buffer(kCountBytes);
  while (at < offset) {
    int64_t got;
    JG_RETURN_IF_ERROR(input->read(at, std::min(offset - at, kCountBytes), buffer.data(), &got));
    if (got == 0) break;
    *inside ^= count_quotes(buffer.data(), got, dialect_->quote) & 1;
    at += got;
  }
  known[offset] = *inside;
  return {};
}

Status Layouts::record_start(text::Input* input, int file, int64_t offset, int64_t* out) {
  const Layout* layout;
  JG_RETURN_IF_ERROR(find(input, file, &layout));
  if (offset <= layout->data_begin || offset >= layout->size) {
    *out = std::min(std::max(offset, layout->data_begin), layout->size);
    return {};
  }
  const int64_t from = offset - 1;  // where its byte is the line end, a record starts at `offset`
  std::string text;
  auto inside = Inside::kUnknown;
  for (int64_t size = kLookBytes;; size *= 4) {
    text.resize(size);
    int64_t got;
    JG_RETURN_IF_ERROR(input->read(from, size, text.data(), &got));
    text.resize(got);
    if (inside == Inside::kUnknown) inside = judge(text, layout->dialect, layout->fields, got < size);
    if (inside == Inside::kUnknown && (got < size || size >= kLookBytesMax)) {
      bool counted;
      JG_RETURN_IF_ERROR(count_to(input, file, from, &counted));
      inside = counted ? Inside::kYes : Inside::kNo;
    }
    if (inside != Inside::kUnknown) {
      bool quoted = inside == Inside::kYes;
      for (int64_t i = 0; i < got; i++) {
        quoted ^= text[i] == dialect_->quote;
        if (quoted || text[i] != layout->dialect.line_end) continue;
        *out = from + i + 1;
        return {};
      }
    }
    if (got < size) break;
    if (size > text::kLineBytesMax) return too_long(*input, from);
  }
  *out = layout->size;
  return {};
}

}  // namespace jg::csv
