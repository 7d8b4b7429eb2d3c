// Parts of nested values (jumpgate/ntf/README.md, "Nested values").
#pragma once
#include <stdint.h>
#include <string.h>

#include "jg/batch.h"

// ---- fields of structs; offsets are those of slots within the value ----
static inline int jg_has_field(JgStr s, uint32_t field) {
  return s.size > field / 8 && ((uint8_t)s.data[field / 8] >> (field % 8) & 1);
}
template <class T>
static inline T jg_fixed_field(JgStr s, uint32_t slot) {
  T value;
  memcpy(&value, s.data + slot, sizeof value);
  return value;
}
static inline uint32_t jg_end_field(JgStr s, uint32_t slot) { return jg_fixed_field<uint32_t>(s, slot); }
static inline JgStr jg_bytes_field(JgStr s, uint32_t start, uint32_t slot) {
  return JgStr{s.data + start, jg_end_field(s, slot) - start};
}

// ---- elements of lists: a count, presence, slots, values ----
static inline uint32_t jg_element_count(JgStr list) { return jg_fixed_field<uint32_t>(list, 0); }
static inline int jg_has_element(JgStr list, uint32_t number) {
  return number < jg_element_count(list) && ((uint8_t)list.data[4 + number / 8] >> (number % 8) & 1);
}
// The place of element `number`, which is counted from 1, or from -1 backwards; beyond the list where there is none.
static inline uint32_t jg_place(JgStr list, int64_t number) {
  const int64_t count = jg_element_count(list), place = number > 0 ? number - 1 : count + number;
  return number && place >= 0 && place < count ? (uint32_t)place : UINT32_MAX;
}
static inline uint64_t jg_slots(JgStr list) { return 4 + ((uint64_t)jg_element_count(list) + 7) / 8; }
template <class T>
static inline T jg_fixed_element(JgStr list, uint32_t number) {
  T value;
  memcpy(&value, list.data + jg_slots(list) + number * (uint64_t)sizeof value, sizeof value);
  return value;
}
static inline JgStr jg_bytes_element(JgStr list, uint32_t number) {
  const char* const slots = list.data + jg_slots(list);
  uint32_t start = (uint32_t)(jg_slots(list) + 4 * (uint64_t)jg_element_count(list)), end;
  if (number) memcpy(&start, slots + 4 * (uint64_t)(number - 1), sizeof start);
  memcpy(&end, slots + 4 * (uint64_t)number, sizeof end);
  return JgStr{list.data + start, end - start};
}

// ---- lists that are made ----
struct JgTask;
struct JgMemory;
extern "C" {
// A list of the n elements that entries of `size` bytes begin with, in order: each `width` bytes, or 0 for texts.
// `null`: where an entry says that its element is NULL; -1: none is.
void jg_make_list(JgTask* task, JgMemory* memory, const void* values, int64_t n, int size,
                  int (*order)(const void*, const void*), int width, int null, JgStr* out);
// Those that follow return a JgFailure. `of`: what elements are, an enumerator or the width of integers in bytes.
enum JgElementKind { JG_OF_BYTES = 0, JG_OF_FLOATS = -4, JG_OF_DOUBLES = -8 };
// The parts of a text; most > 0: the last of so many is the rest.
int jg_split(JgTask* task, JgStr s, JgStr separator, int64_t most, JgStr* out);
int jg_list_distinct(JgTask* task, JgStr list, int of, JgStr* out);
int jg_list_intersect(JgTask* task, JgStr a, JgStr b, int of, JgStr* out);
int jg_list_except(JgTask* task, JgStr a, JgStr b, int of, JgStr* out);
int jg_list_sort(JgTask* task, JgStr list, int descending, int nulls_first, int of, JgStr* out);
int jg_list_slice(JgTask* task, JgStr list, int64_t start, int64_t length, int of, JgStr* out);
int jg_list_concat(JgTask* task, const JgStr* lists, int n, int of, JgStr* out);
int jg_flatten(JgTask* task, JgStr lists, int of, JgStr* out);  // of: elements of the lists that elements are
int jg_list_join(JgTask* task, JgStr list, JgStr separator, JgStr null, JgStr* out);  // null: JG_NO_STR leaves them out
// A list of the parts, which are alike, or a struct. Of one of fixed width `bytes` are its value; JG_NO_STR: NULL.
struct JgMember {
  JgStr bytes;
  uint64_t width;  // 0: of any length
};
int jg_make_nested(JgTask* task, const JgMember* parts, int n, int is_list, JgStr* out);
// Structs of the elements at one place of each list, NULL where it has fewer.
int jg_list_zip(JgTask* task, const JgStr* lists, const int* of, int n, JgStr* out);
// Keys or values of a map, and a map of them: no key is NULL, and none occurs twice.
int jg_map_part(JgTask* task, JgStr map, int key_of, int value_of, int is_value, JgStr* out);
int jg_map_of(JgTask* task, JgStr keys, JgStr values, int key_of, int value_of, JgStr* out);
}
static inline uint64_t jg_element_width(int of) { return (uint64_t)(of < 0 ? -of : of); }
