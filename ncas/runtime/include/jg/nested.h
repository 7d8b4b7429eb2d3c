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
// The parts of a text; most > 0: the last of so many is the rest. Returns a JgFailure.
int jg_split(JgTask* task, JgStr s, JgStr separator, int64_t most, JgStr* out);
}
