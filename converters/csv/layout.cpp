#include "csv/layout.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "csv/index.h"
#include "text/line_chunks.h"

namespace jg::csv {
namespace {

constexpr int64_t kLookBytes = 64 << 10, kLookBytesMax = 1 << 20, kCountBytes = 256 << 10;
constexpr int kPlainRecords = 2;  // that make a place without quotes nearby believable

enum class Inside { kNo, kYes, kUnknown };

// Whether text[0] lies inside quotes.
Inside judge(std::string_view text, const Dialect& d, int fields, bool to_file_end) {
  bool odd = false;  // an odd number of quotes so far
  bool any = false;
  for (size_t i = text.find(d.quote); i != text.npos; i = text.find(d.quote, i + 1), odd = !odd) {
    any = true;
    if (i == 0 || i + 1 == text.size()) continue;
    const char before = text[i - 1], behind = text[i + 1];
    if (before == d.quote || behind == d.quote) continue;
    const bool may_open = before == d.delimiter || before == '\n';
    const bool may_close = behind == d.delimiter || behind == '\n' || behind == '\r';
    if (may_open == may_close) continue;
    return may_close != odd ? Inside::kYes : Inside::kNo;
  }
  if (any || fields < 2) return Inside::kUnknown;
  size_t at = text.find('\n');
  for (int records = 0; records < kPlainRecords; records++) {
    if (at == text.npos) return Inside::kUnknown;
    const size_t end = text.find('\n', at + 1);
    if (end == text.npos && !(to_file_end && at + 1 < text.size())) return Inside::kUnknown;
    const std::string_view line = text.substr(at + 1, end == text.npos ? end : end - at - 1);
    if (std::count(line.begin(), line.end(), d.delimiter) + 1 != fields) return Inside::kUnknown;
    at = end;
  }
  return Inside::kNo;
}

Status too_long(const std::string& path, int64_t offset) {
  return text::at_line(
      "malformed", path, offset,
      "a record is longer than " + std::to_string(text::kLineBytesMax >> 20) + " MiB; is a quote missing?");
}

}  // namespace

Status read_at(int fd, const std::string& path, int64_t offset, int64_t size, char* out, int64_t* got) {
  *got = 0;
  while (*got < size) {
    const ssize_t n = ::pread(fd, out + *got, size - *got, offset + *got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {"io", "cannot read " + path + ": " + strerror(errno), {{"file", path}}};
    if (n == 0) break;
    *got += n;
  }
  return {};
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

Status Layouts::find(int fd, int file, const Layout** out) {
  const std::lock_guard lock(mutex_);
  std::optional<Layout>& known = files_[file].layout;
  if (!known) {
    Layout found;
    JG_RETURN_IF_ERROR(read_header(fd, file, &found));
    known = std::move(found);
  }
  *out = &*known;
  return {};
}

Status Layouts::read_header(int fd, int file, Layout* out) {
  const std::string& path = options_->files[file];
  struct stat info;
  if (::fstat(fd, &info) != 0) return {"io", "cannot read " + path + ": " + strerror(errno), {{"file", path}}};
  out->size = info.st_size;
  std::string text;
  Index found;
  int64_t mark = 0;
  for (int64_t size = kLookBytes;; size *= 4) {
    text.assign(size + kPadding, '\0');
    int64_t got;
    JG_RETURN_IF_ERROR(read_at(fd, path, 0, size, text.data(), &got));
    mark = got >= 3 && std::memcmp(text.data(), "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    out->data_begin = mark;
    if (!dialect_->header || got == mark) break;
    if (got < size && text[got - 1] != '\n') text[got++] = '\n';
    index(text.data() + mark, got - mark, *dialect_, &found);
    if (!found.records.empty() && found.ends[found.records[0]] < found.fault) break;
    if (found.fault < got - mark || got < size)
      return text::at_line("malformed", path, mark, "the header's quotes do not match");
    if (size > text::kLineBytesMax) return too_long(path, mark);
  }
  if (!dialect_->header || found.records.empty()) {
    out->fields = static_cast<int>(options_->file_columns.size());
    out->places = options_->positions;
    return {};
  }
  std::vector<std::string> names;
  std::string room;
  for (int k = 0; k < found.records[0]; k++) {
    const char* start = text.data() + mark + found.ends[k] + 1;
    std::string_view name(start, found.ends[k + 1] - found.ends[k] - 1);
    if (k + 1 == found.records[0] && !name.empty() && name.back() == '\r') name.remove_suffix(1);
    names.emplace_back(unquoted(name, dialect_->quote, &room));
  }
  out->data_begin = std::min(out->size, mark + found.ends[found.records[0]] + 1);
  return place_columns(file, std::move(names), out);
}

Status Layouts::place_columns(int file, std::vector<std::string> names, Layout* out) const {
  out->fields = static_cast<int>(names.size());
  for (const ColumnSpec& column : options_->columns) {
    const auto at = std::find(names.begin(), names.end(), column.name);
    const std::string& path = options_->files[file];
    if (at == names.end() || std::find(at + 1, names.end(), column.name) != names.end()) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      return {"schema",
              path + ": column '" + column.name + "' is " + (at == names.end() ? "not" : "more than once") +
                  " in the header, which has: " + list.substr(0, 1000) + ". If there is no header, set header=false.",
              {{"file", path}, {"column", column.name}}};
    }
    out->places.push_back(static_cast<int>(at - names.begin()));
  }
  return {};
}

Status Layouts::count_to(int fd, int file, int64_t offset, bool* inside) {
  const std::lock_guard lock(mutex_);
  std::map<int64_t, bool>& known = files_[file].inside;
  const auto near = known.upper_bound(offset);
  int64_t at = files_[file].layout->data_begin;
  *inside = false;
  if (near != known.begin()) std::tie(at, *inside) = *std::prev(near);
  std::vector<char> buffer(kCountBytes);
  while (at < offset) {
    int64_t got;
    JG_RETURN_IF_ERROR(read_at(fd, options_->files[file], at, std::min(offset - at, kCountBytes), buffer.data(), &got));
    if (got == 0) break;
    *inside ^= count_quotes(buffer.data(), got, dialect_->quote) & 1;
    at += got;
  }
  known[offset] = *inside;
  return {};
}

Status Layouts::record_start(int fd, int file, int64_t offset, int64_t* out) {
  const Layout* layout;
  JG_RETURN_IF_ERROR(find(fd, file, &layout));
  if (offset <= layout->data_begin || offset >= layout->size) {
    *out = std::min(std::max(offset, layout->data_begin), layout->size);
    return {};
  }
  const std::string& path = options_->files[file];
  const int64_t from = offset - 1;  // where its byte is the newline, a record starts at `offset`
  std::string text;
  auto inside = Inside::kUnknown;
  for (int64_t size = kLookBytes;; size *= 4) {
    text.resize(size);
    int64_t got;
    JG_RETURN_IF_ERROR(read_at(fd, path, from, size, text.data(), &got));
    text.resize(got);
    if (inside == Inside::kUnknown) inside = judge(text, *dialect_, layout->fields, got < size);
    if (inside == Inside::kUnknown && (got < size || size >= kLookBytesMax)) {
      bool counted;
      JG_RETURN_IF_ERROR(count_to(fd, file, from, &counted));
      inside = counted ? Inside::kYes : Inside::kNo;
    }
    if (inside != Inside::kUnknown) {
      bool quoted = inside == Inside::kYes;
      for (int64_t i = 0; i < got; i++) {
        quoted ^= text[i] == dialect_->quote;
        if (quoted || text[i] != '\n') continue;
        *out = from + i + 1;
        return {};
      }
    }
    if (got < size) break;
    if (size > text::kLineBytesMax) return too_long(path, from);
  }
  *out = layout->size;
  return {};
}

}  // namespace jg::csv
