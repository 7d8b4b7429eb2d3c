// Functions that make lists of the elements of others. The oracle is jumpgate/dataflow/functions_list.py.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "functions/scalars.h"
#include "jg/kernel.h"

using namespace jg;

namespace {

constexpr uint64_t kEndBytes = sizeof(uint32_t);

bool is_known(JgStr e) { return e.size != UINT64_MAX; }

// Elements, each the bytes of its slot or of its text; JG_NO_STR: NULL.
using Elements = std::vector<JgStr>;

void add(JgStr list, int of, Elements& to) {
  const uint32_t n = jg_element_count(list);
  const uint64_t width = jg_element_width(of), slots = jg_slots(list);
  to.reserve(to.size() + n);
  for (uint32_t i = 0; i < n; i++)
    to.push_back(!jg_has_element(list, i) ? JG_NO_STR
                 : width                  ? JgStr{list.data + slots + i * width, width}
                                          : jg_bytes_element(list, i));
}

Elements elements(JgStr list, int of) {
  Elements all;
  add(list, of, all);
  return all;
}

int make(JgTask* task, const JgStr* all, uint64_t n, int of, JgStr* out) {
  const uint64_t width = jg_element_width(of), slot = width ? width : kEndBytes, slots = 4 + (n + 7) / 8;
  uint64_t size = slots + n * slot;
  for (uint64_t i = 0; i < n && !width; i++) size += is_known(all[i]) ? all[i].size : 0;
  if (size > kTextBytesMax) return JG_COMPUTE;
  char* const list = jg_temp(task, size);
  std::memset(list, 0, slots + n * slot);
  const auto count = static_cast<uint32_t>(n);
  std::memcpy(list, &count, sizeof count);
  auto end = static_cast<uint32_t>(slots + n * slot);
  for (uint64_t i = 0; i < n; i++) {
    const bool known = is_known(all[i]);
    char* const at = list + slots + i * slot;
    list[4 + i / 8] = static_cast<char>(list[4 + i / 8] | known << i % 8);
    if (width && known) std::memcpy(at, all[i].data, width);
    if (width) continue;
    if (known && all[i].size) std::memcpy(list + end, all[i].data, all[i].size);
    end += static_cast<uint32_t>(known ? all[i].size : 0);
    std::memcpy(at, &end, sizeof end);
  }
  *out = {list, size};
  return JG_OK;
}

int make(JgTask* task, const Elements& all, int of, JgStr* out) { return make(task, all.data(), all.size(), of, out); }

template <class T>
T value(JgStr e) {
  T v;
  std::memcpy(&v, e.data, sizeof v);
  return v;
}

template <class T>
int compare_numbers(JgStr a, JgStr b) {
  return JG_COMPARE(value<T>(a), value<T>(b));
}

// <0, 0, >0 of two values; NaN is equal to itself and the largest, -0.0 equals 0.0.
int compare(JgStr a, JgStr b, int of) {
  switch (of) {
    case 1:
      return compare_numbers<int8_t>(a, b);
    case 2:
      return compare_numbers<int16_t>(a, b);
    case 4:
      return compare_numbers<int32_t>(a, b);
    case 8:
      return compare_numbers<int64_t>(a, b);
    case 16:
      return compare_numbers<jg_i128>(a, b);
    case -4:
      return jg_compare_double(value<float>(a), value<float>(b));
    case -8:
      return jg_compare_double(value<double>(a), value<double>(b));
    default:
      return jg_compare_str(a, b);
  }
}

// Values as a hash table takes them; NULL equals itself.
struct Hash {
  int of;
  size_t operator()(JgStr e) const {
    if (!is_known(e)) return JG_HASH_NULL;
    if (of == -4) return jg_hash_double(value<float>(e));
    return of == -8 ? jg_hash_double(value<double>(e)) : jg_hash_str(e);
  }
};
struct Equal {
  int of;
  bool operator()(JgStr a, JgStr b) const {
    if (!is_known(a) || !is_known(b)) return is_known(a) == is_known(b);
    return of < 0 ? compare(a, b, of) == 0 : jg_equal_str(a, b);
  }
};

// Different values of a list, NULL among them.
class Different {
 public:
  explicit Different(int of) : of_(of), seen_(0, Hash{of}, Equal{of}) {}
  // Return whether it was not there.
  bool add(JgStr e) { return seen_.insert(e).second; }
  bool has(JgStr e) const { return seen_.contains(e); }

 private:
  int of_;
  std::unordered_set<JgStr, Hash, Equal> seen_;
};

// Different elements of `a` that are in `b`, or are not.
int chosen(JgTask* task, JgStr a, JgStr b, int of, bool in, JgStr* out) {
  Different others(of), seen(of);
  for (const JgStr e : elements(b, of)) others.add(e);
  Elements kept;
  for (const JgStr e : elements(a, of))
    if (others.has(e) == in && seen.add(e)) kept.push_back(e);
  return make(task, kept, of, out);
}

}  // namespace

extern "C" {

int jg_list_distinct(JgTask* task, JgStr list, int of, JgStr* out) {
  Different seen(of);
  Elements kept;
  for (const JgStr e : elements(list, of))
    if (seen.add(e)) kept.push_back(e);
  return make(task, kept, of, out);
}

int jg_list_intersect(JgTask* task, JgStr a, JgStr b, int of, JgStr* out) { return chosen(task, a, b, of, true, out); }

int jg_list_except(JgTask* task, JgStr a, JgStr b, int of, JgStr* out) { return chosen(task, a, b, of, false, out); }

int jg_list_sort(JgTask* task, JgStr list, int descending, int nulls_first, int of, JgStr* out) {
  Elements all = elements(list, of);
  std::stable_sort(all.begin(), all.end(), [=](JgStr a, JgStr b) {
    if (!is_known(a) || !is_known(b)) return is_known(a) != is_known(b) && is_known(a) != nulls_first;
    return descending ? compare(b, a, of) < 0 : compare(a, b, of) < 0;
  });
  return make(task, all, of, out);
}

int jg_list_slice(JgTask* task, JgStr list, int64_t start, int64_t length, int of, JgStr* out) {
  if (start == 0 || length < 0) return JG_COMPUTE;
  const Elements all = elements(list, of);
  const auto n = static_cast<int64_t>(all.size()), first = start > 0 ? start - 1 : n + start;
  if (first < 0 || first >= n) return make(task, all.data(), 0, of, out);
  return make(task, all.data() + first, static_cast<uint64_t>(std::min(length, n - first)), of, out);
}

int jg_list_concat(JgTask* task, const JgStr* lists, int n, int of, JgStr* out) {
  Elements all;
  for (int i = 0; i < n; i++) add(lists[i], of, all);
  return make(task, all, of, out);
}

int jg_flatten(JgTask* task, JgStr lists, int of, JgStr* out) {
  Elements all;
  for (const JgStr list : elements(lists, 0))
    if (is_known(list)) add(list, of, all);
  return make(task, all, of, out);
}

int jg_list_join(JgTask* task, JgStr list, JgStr separator, JgStr null, JgStr* out) {
  Elements parts = elements(list, 0);
  if (is_known(null))
    std::replace_if(parts.begin(), parts.end(), [](JgStr e) { return !is_known(e); }, null);
  else
    std::erase_if(parts, [](JgStr e) { return !is_known(e); });
  uint64_t size = parts.empty() ? 0 : (parts.size() - 1) * separator.size;
  for (const JgStr e : parts) size += e.size;
  if (size > kTextBytesMax) return JG_COMPUTE;
  char *const text = jg_temp(task, size), *at = text;
  const auto put = [&at](JgStr s) {
    if (s.size) std::memcpy(at, s.data, s.size);
    at += s.size;
  };
  for (size_t i = 0; i < parts.size(); i++) {
    if (i) put(separator);
    put(parts[i]);
  }
  *out = {text, size};
  return JG_OK;
}

int jg_make_nested(JgTask* task, const JgMember* parts, int n, int is_list, JgStr* out) {
  const uint64_t head = is_list ? 4 : 0, slots = head + (static_cast<uint64_t>(n) + 7) / 8;
  uint64_t first = slots, size;
  for (int i = 0; i < n; i++) first += parts[i].width ? parts[i].width : kEndBytes;
  size = first;
  for (int i = 0; i < n; i++) size += parts[i].width || !is_known(parts[i].bytes) ? 0 : parts[i].bytes.size;
  if (size > kTextBytesMax) return JG_COMPUTE;
  char *const made = jg_temp(task, size), *at = made + slots;
  std::memset(made, 0, first);
  if (is_list) std::memcpy(made, &n, sizeof n);
  auto end = static_cast<uint32_t>(first);
  for (int i = 0; i < n; i++) {
    const JgStr bytes = parts[i].bytes;
    const bool known = is_known(bytes);
    made[head + i / 8] = static_cast<char>(made[head + i / 8] | known << i % 8);
    if (parts[i].width) {
      if (known) std::memcpy(at, bytes.data, parts[i].width);
      at += parts[i].width;
      continue;
    }
    if (known && bytes.size) std::memcpy(made + end, bytes.data, bytes.size);
    end += static_cast<uint32_t>(known ? bytes.size : 0);
    std::memcpy(at, &end, sizeof end);
    at += kEndBytes;
  }
  *out = {made, size};
  return JG_OK;
}

int jg_list_zip(JgTask* task, const JgStr* lists, const int* of, int n, JgStr* out) {
  std::vector<Elements> all;
  size_t longest = 0;
  for (int i = 0; i < n; i++) longest = std::max(longest, all.emplace_back(elements(lists[i], of[i])).size());
  Elements made(longest);
  std::vector<JgMember> parts(static_cast<size_t>(n));
  for (size_t row = 0; row < longest; row++) {
    for (size_t i = 0; i < parts.size(); i++)
      parts[i] = {row < all[i].size() ? all[i][row] : JG_NO_STR, jg_element_width(of[i])};
    if (const int failure = jg_make_nested(task, parts.data(), n, 0, &made[row]); failure != JG_OK) return failure;
  }
  return make(task, made, JG_OF_BYTES, out);
}

int jg_map_part(JgTask* task, JgStr map, int key_of, int value_of, int is_value, JgStr* out) {
  const uint64_t key = jg_element_width(key_of), value = jg_element_width(value_of);
  const auto slot = static_cast<uint32_t>(1 + (key ? key : kEndBytes));
  const auto rest = static_cast<uint32_t>(slot + (value ? value : kEndBytes));
  Elements all = elements(map, JG_OF_BYTES);
  for (JgStr& e : all) {
    const JgStr entry = e;
    if (!jg_has_field(entry, is_value))
      e = JG_NO_STR;
    else if (!is_value)
      e = key ? JgStr{entry.data + 1, key} : jg_bytes_field(entry, rest, 1);
    else
      e = value ? JgStr{entry.data + slot, value} : jg_bytes_field(entry, key ? rest : jg_end_field(entry, 1), slot);
  }
  return make(task, all, is_value ? value_of : key_of, out);
}

int jg_map_of(JgTask* task, JgStr keys, JgStr values, int key_of, int value_of, JgStr* out) {
  const Elements k = elements(keys, key_of), v = elements(values, value_of);
  if (k.size() != v.size()) return JG_COMPUTE;
  Different seen(key_of);
  for (const JgStr key : k)
    if (!is_known(key) || !seen.add(key)) return JG_COMPUTE;
  const JgStr both[] = {keys, values};
  const int of[] = {key_of, value_of};
  return jg_list_zip(task, both, of, 2, out);
}
}
