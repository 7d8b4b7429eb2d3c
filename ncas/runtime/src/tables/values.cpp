// Aggregates that need all values of a group: lists that grow with the rows, and results computed from them.
#include "tables/values.h"

#include <algorithm>
#include <vector>

#include "jg/kernel.h"

namespace {

constexpr int64_t kFirstElements = 4, kChunkBytesMax = 1 << 20;
constexpr uint64_t kResultBytesMax = 1 << 28;

struct JoinedTextLess {
  bool operator()(JgStr a, JgStr b) const { return jg_compare_str(a, b) < 0; }
};

template <typename T, typename Less = std::less<T>>
T kth_of(T* values, int64_t from, int64_t n, int64_t k) {
  if (k == from) {
    std::iter_swap(values + k, std::min_element(values + from, values + n, Less()));
  } else {
    std::nth_element(values + from, values + k, values + n, Less());
  }
  return values[k];
}

template <typename T, typename Less = std::less<T>>
int64_t mode_of(T* values, int64_t n) {
  const Less less;
  std::sort(values, values + n, less);
  int64_t best = 0, longest = 0;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && !less(values[begin], values[end]);) end++;
    if (end - begin > longest) best = begin, longest = end - begin;
  }
  return best;
}

// The n entries in their order.
std::vector<const char*> in_order(const void* values, int64_t n, int size, int (*order)(const void*, const void*)) {
  std::vector<const char*> entries(n);
  for (int64_t i = 0; i < n; i++) entries[i] = static_cast<const char*>(values) + i * size;
  std::sort(entries.begin(), entries.end(), [order](const char* a, const char* b) { return order(a, b) < 0; });
  return entries;
}

JgStr text_of(const char* entry) { return *reinterpret_cast<const JgStr*>(entry); }

}  // namespace

char* JgMemory::elements(int64_t bytes) {
  if (bytes > size_) {
    const int64_t wanted = std::max(bytes, 2 * size_);
    release();
    at_ = elements_.bytes(static_cast<uint64_t>(wanted));
    size_ = wanted;
  }
  return at_;
}

void JgMemory::release() {
  elements_.reset();
  size_ = 0;
}

JgChunk* jg::new_chunk(Arena* arena, JgValues* values, int size) {
  const int64_t most = std::max<int64_t>(kChunkBytesMax / size, 1);
  const int64_t capacity = values->last ? std::min(2 * values->last->capacity, most) : kFirstElements;
  auto* chunk = reinterpret_cast<JgChunk*>(arena->bytes(sizeof(JgChunk) + capacity * size));
  *chunk = {nullptr, 0, capacity};
  (values->last ? values->last->next : values->first) = chunk;
  values->last = chunk;
  return chunk;
}

void* jg_values(JgMemory* memory, const JgValues* values, int size, int64_t* n) {
  *n = 0;
  if (values->first && values->first == values->last) {
    *n = values->first->used;
    return values->first + 1;
  }
  for (const JgChunk* c = values->first; c; c = c->next) *n += c->used;
  char* all = memory->elements(*n * size);
  char* at = all;
  for (const JgChunk* c = values->first; c; c = c->next) {
    std::memcpy(at, c + 1, c->used * size);
    at += c->used * size;
  }
  return all;
}

int64_t jg_select_int(int64_t* values, int64_t from, int64_t n, int64_t k) { return kth_of(values, from, n, k); }
jg_i128 jg_select_wide(jg_i128* values, int64_t from, int64_t n, int64_t k) { return kth_of(values, from, n, k); }
JgStr jg_select_text(JgStr* values, int64_t from, int64_t n, int64_t k) {
  return kth_of<JgStr, JoinedTextLess>(values, from, n, k);
}
int64_t jg_mode_int(int64_t* values, int64_t n) { return mode_of(values, n); }
int64_t jg_mode_wide(jg_i128* values, int64_t n) { return mode_of(values, n); }
int64_t jg_mode_text(JgStr* values, int64_t n) { return mode_of<JgStr, JoinedTextLess>(values, n); }

void jg_join_texts(JgTask* task, JgMemory* memory, const void* values, int64_t n, int size,
                   int (*order)(const void*, const void*), JgStr separator, JgStr* out) {
  uint64_t bytes = (n - 1) * separator.size;
  for (int64_t i = 0; i < n; i++) bytes += text_of(static_cast<const char*>(values) + i * size).size;
  if (bytes > kResultBytesMax) return jg_fail(task, JG_TEXT, -1);
  const std::vector<const char*> entries = in_order(values, n, size, order);
  char* at = memory->results.bytes(bytes);
  *out = {at, bytes};
  auto append = [&at](JgStr s) {
    if (s.size) std::memcpy(at, s.data, s.size);
    at += s.size;
  };
  for (int64_t i = 0; i < n; i++) {
    if (i > 0) append(separator);
    append(text_of(entries[i]));
  }
}

void jg_make_list(JgTask* task, JgMemory* memory, const void* values, int64_t n, int size,
                  int (*order)(const void*, const void*), int width, int null, JgStr* out) {
  const auto is_null = [null](const char* entry) { return null >= 0 && entry[null]; };
  const uint64_t slot = width ? width : sizeof(uint32_t), slots = 4 + (static_cast<uint64_t>(n) + 7) / 8;
  uint64_t bytes = slots + n * slot;
  for (int64_t i = 0; i < n && !width; i++) {
    const char* entry = static_cast<const char*>(values) + i * size;
    bytes += is_null(entry) ? 0 : text_of(entry).size;
  }
  if (bytes > kResultBytesMax) return jg_fail(task, JG_TEXT, -1);
  char* const list = memory->results.bytes(bytes);
  const auto count = static_cast<uint32_t>(n);
  std::memset(list, 0, slots + n * slot);
  std::memcpy(list, &count, sizeof count);
  auto end = static_cast<uint32_t>(slots + n * slot);
  char* at = list + slots;
  int64_t i = 0;
  for (const char* entry : in_order(values, n, size, order)) {
    const bool known = !is_null(entry);
    list[4 + i / 8] = static_cast<char>(list[4 + i / 8] | known << i % 8);
    i++;
    if (width && known) std::memcpy(at, entry, width);
    if (!width) {
      const JgStr text = known ? text_of(entry) : JgStr{};
      if (text.size) std::memcpy(list + end, text.data, text.size);
      end += static_cast<uint32_t>(text.size);
      std::memcpy(at, &end, sizeof end);
    }
    at += slot;
  }
  *out = {list, bytes};
}
