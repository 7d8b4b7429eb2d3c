// Functions of text that generated programs call. The oracle is jumpgate/dataflow/functions_text.py.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "functions/scalars.h"
#include "jg/kernel.h"

using namespace jg;

namespace {

bool alphanumeric(char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

JgStr first(JgStr s, int64_t n) { return {s.data, static_cast<uint64_t>(skip(s.data, s.data + s.size, n) - s.data)}; }

JgStr without_first(JgStr s, int64_t n) {
  const char* from = skip(s.data, s.data + s.size, n);
  return {from, static_cast<uint64_t>(s.data + s.size - from)};
}

int64_t length_after(JgStr s, int64_t n) {  // code points that are left without the n (> 0) of one end
  const int64_t length = jg_char_length(s);
  return n >= length ? 0 : length - n;
}

int64_t magnitude(int64_t n) { return n == INT64_MIN ? INT64_MAX : -n; }

char* append(char* at, JgStr s) {
  if (s.size) std::memcpy(at, s.data, s.size);
  return at + s.size;
}

int pad(JgTask* task, JgStr s, int64_t n, JgStr fill, bool before, JgStr* out) {
  const int64_t missing = n - std::min<int64_t>(n, jg_char_length(s));
  if (n <= 0 || missing <= 0 || fill.size == 0) {
    *out = first(s, n);
    return JG_OK;
  }
  const int64_t each = jg_char_length(fill), times = missing / each;
  const JgStr rest = first(fill, missing % each);
  if (static_cast<uint64_t>(missing) > kTextBytesMax) return JG_COMPUTE;
  const uint64_t size = s.size + times * fill.size + rest.size;
  if (size > kTextBytesMax) return JG_COMPUTE;
  char *p = jg_temp(task, size), *at = p;
  if (!before) at = append(at, s);
  for (int64_t i = 0; i < times; i++) at = append(at, fill);
  at = append(at, rest);
  if (before) append(at, s);
  *out = {p, size};
  return JG_OK;
}

}  // namespace

extern "C" {

JgStr jg_left(JgStr s, int64_t n) { return first(s, n < 0 ? length_after(s, magnitude(n)) : n); }

JgStr jg_right(JgStr s, int64_t n) { return without_first(s, n < 0 ? magnitude(n) : length_after(s, n)); }

int jg_lpad(JgTask* task, JgStr s, int64_t n, JgStr fill, JgStr* out) { return pad(task, s, n, fill, true, out); }
int jg_rpad(JgTask* task, JgStr s, int64_t n, JgStr fill, JgStr* out) { return pad(task, s, n, fill, false, out); }

int jg_repeat(JgTask* task, JgStr s, int64_t n, JgStr* out) {
  *out = {"", 0};
  if (n <= 0 || s.size == 0) return JG_OK;
  if (static_cast<uint64_t>(n) > kTextBytesMax / s.size) return JG_COMPUTE;
  char* p = jg_temp(task, n * s.size);
  char* at = p;
  for (int64_t i = 0; i < n; i++) at = append(at, s);
  *out = {p, n * s.size};
  return JG_OK;
}

int jg_replace(JgTask* task, JgStr s, JgStr part, JgStr by, JgStr* out) {
  *out = s;
  if (part.size == 0) return JG_OK;
  const std::string_view v = view(s);
  uint64_t count = 0;
  for (size_t i = v.find(view(part)); i != v.npos; i = v.find(view(part), i + part.size)) count++;
  if (count == 0) return JG_OK;
  const unsigned __int128 size = s.size - count * part.size + static_cast<unsigned __int128>(count) * by.size;
  if (size > kTextBytesMax) return JG_COMPUTE;
  char *p = jg_temp(task, static_cast<uint64_t>(size)), *at = p;
  size_t from = 0;
  for (size_t i = v.find(view(part)); i != v.npos; i = v.find(view(part), from)) {
    at = append(append(at, {s.data + from, i - from}), by);
    from = i + part.size;
  }
  append(at, {s.data + from, s.size - from});
  *out = {p, static_cast<uint64_t>(size)};
  return JG_OK;
}

JgStr jg_reverse(JgTask* task, JgStr s) {
  char* p = jg_temp(task, s.size);
  char* at = p + s.size;
  for (const char *c = s.data, *end = c + s.size; c < end;) {
    const int n = width(c, end);
    at -= n;
    std::memcpy(at, c, n);
    c += n;
  }
  return {p, s.size};
}

int64_t jg_position(JgStr s, JgStr part) {
  const size_t at = view(s).find(view(part));
  return at == std::string_view::npos ? 0 : jg_char_length({s.data, at}) + 1;
}

int jg_split_part(JgStr s, JgStr separator, int64_t n, JgStr* out) {
  if (n == 0) return JG_COMPUTE;
  *out = {"", 0};
  if (separator.size == 0) {
    if (n == 1 || n == -1) *out = s;
    return JG_OK;
  }
  const std::string_view v = view(s), by = view(separator);
  if (n < 0) {  // separators are found from the left: "aaa" by "aa" has the parts "" and "a"
    int64_t parts = 1;
    for (size_t i = v.find(by); i != v.npos; i = v.find(by, i + by.size())) parts++;
    n = magnitude(n) > parts ? INT64_MAX : parts + n + 1;
  }
  size_t from = 0;
  for (; n > 1; n--) {
    const size_t i = v.find(by, from);
    if (i == v.npos) return JG_OK;
    from = i + by.size();
  }
  const size_t end = std::min(v.find(by, from), v.size());
  *out = {s.data + from, end - from};
  return JG_OK;
}

int jg_split(JgTask* task, JgStr s, JgStr separator, int64_t most, JgStr* out) {
  const std::string_view v = view(s), by = view(separator);
  const uint64_t limit = most > 0 ? static_cast<uint64_t>(most) : UINT64_MAX;
  uint64_t parts = 1;
  for (size_t i = v.find(by); i != v.npos && parts < limit; i = v.find(by, i + by.size())) parts++;
  const uint64_t slots = 4 + (parts + 7) / 8, first = slots + 4 * parts;
  const uint64_t size = first + v.size() - (parts - 1) * by.size();
  if (size > kTextBytesMax) return JG_COMPUTE;
  char* const list = jg_temp(task, size);
  const auto put = [list](uint64_t at, uint64_t number) {
    const auto word = static_cast<uint32_t>(number);
    std::memcpy(list + at, &word, sizeof word);
  };
  put(0, parts);
  std::memset(list + 4, 0xFF, slots - 4);
  if (parts % 8) list[slots - 1] = static_cast<char>((1 << parts % 8) - 1);
  char* at = list + first;
  size_t from = 0;
  for (uint64_t part = 0; part < parts; part++) {
    const size_t end = part + 1 < parts ? v.find(by, from) : v.size();
    at = append(at, {s.data + from, end - from});
    put(slots + 4 * part, static_cast<uint64_t>(at - list));
    from = end + by.size();
  }
  *out = {list, size};
  return JG_OK;
}

int jg_initcap(JgTask* task, JgStr s, JgStr* out) {
  char* p = jg_temp(task, s.size);
  bool inside = false;
  for (uint64_t i = 0; i < s.size; i++) {
    const char c = s.data[i], low = static_cast<char>(c | 0x20);
    if (c & 0x80) return JG_COMPUTE;
    const bool letter = low >= 'a' && low <= 'z';
    p[i] = !letter ? c : inside ? low : static_cast<char>(low & ~0x20);
    inside = alphanumeric(c);
  }
  *out = {p, s.size};
  return JG_OK;
}

int jg_chr(JgTask* task, int64_t code, JgStr* out) {
  if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return JG_COMPUTE;
  char* p = jg_temp(task, 4);
  *out = {p, static_cast<uint64_t>(put_code_point(p, static_cast<uint32_t>(code)))};
  return JG_OK;
}

int64_t jg_ascii(JgStr s) { return s.size ? code_point(s.data, width(s.data, s.data + s.size)) : 0; }

JgStr jg_concat_ws(JgTask* task, JgStr separator, const JgStr* parts, int n) {
  uint64_t size = 0;
  int known = 0;
  for (int i = 0; i < n; i++) {
    if (parts[i].size == UINT64_MAX) continue;
    size += parts[i].size + (known++ ? separator.size : 0);
  }
  char *p = jg_temp(task, size), *at = p;
  known = 0;
  for (int i = 0; i < n; i++) {
    if (parts[i].size == UINT64_MAX) continue;
    if (known++) at = append(at, separator);
    at = append(at, parts[i]);
  }
  return {p, size};
}

int jg_translate(JgTask* task, JgStr s, JgStr from, JgStr to, JgStr* out) {
  if (s.size * 4 > kTextBytesMax) return JG_COMPUTE;
  char *p = jg_temp(task, s.size * 4), *at = p;
  for (const char *c = s.data, *end = c + s.size; c < end;) {
    const int n = width(c, end);
    const char *f = from.data, *fe = f + from.size, *t = to.data, *te = t + to.size;
    while (f < fe && !(width(f, fe) == n && std::memcmp(f, c, n) == 0)) {
      f += width(f, fe);
      if (t < te) t += width(t, te);
    }
    if (f == fe)
      at = append(at, {c, static_cast<uint64_t>(n)});
    else if (t < te)
      at = append(at, {t, static_cast<uint64_t>(width(t, te))});
    c += n;
  }
  *out = {p, static_cast<uint64_t>(at - p)};
  return JG_OK;
}

}  // extern "C"
