// The rows that pass a filter's step, for generated programs.
#pragma once
#include <stdint.h>
#include <string.h>

#include "jg/batch.h"

// ---- conditions on columns that are computed for blocks of rows, without a branch ----
enum { JG_BLOCK = 64 };
struct JgAllValid {
  uint8_t rows[JG_BATCH_ROWS];
  constexpr JgAllValid() : rows() {
    for (uint8_t& row : rows) row = 1;
  }
};
static constexpr JgAllValid jg_all_valid;
// The column's validity, a byte a row.
static inline __attribute__((always_inline)) const uint8_t* jg_valid_of(const JgCol* c) {
  return c->valid ? c->valid : jg_all_valid.rows;
}
// A bit for each row: the lowest one of its byte.
static inline __attribute__((always_inline)) uint64_t jg_passed(const uint8_t (&passed)[JG_BLOCK]) {
  uint64_t rows = 0;
#if defined(__AVX512BW__) && !defined(__clang__)
  typedef char Bytes __attribute__((vector_size(64)));
  Bytes bytes;
  memcpy(&bytes, passed, 64);
  rows = __builtin_ia32_ptestmb512(bytes, bytes, ~0ull);
#elif defined(__AVX2__)
  typedef char Bytes __attribute__((vector_size(32)));
  for (int i = 0; i < JG_BLOCK; i += 32) {
    Bytes bytes;
    memcpy(&bytes, passed + i, 32);
    rows |= (uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((Bytes)(bytes != 0)) << i;
  }
#else
  for (int i = 0; i < JG_BLOCK; i += 8) {
    uint64_t eight;
    memcpy(&eight, passed + i, 8);
    rows |= (eight * 0x0102040810204080ull >> 56) << i;
  }
#endif
  return rows;
}
// The numbers of rows that passed, from `first` on; returns how many.
static inline __attribute__((always_inline)) int jg_select(const uint8_t (&passed)[JG_BLOCK], int first, int32_t* out) {
  int n = 0;
  for (uint64_t rows = jg_passed(passed); rows; rows &= rows - 1) out[n++] = first + __builtin_ctzll(rows);
  return n;
}

// ---- conditions on one column: of rows with the same code one is looked at ----
enum { JG_VERDICTS = 1 << 14 };  // codes from there on are looked at each
struct JgVerdicts {
  uint64_t dictionary;
  uint8_t of[JG_VERDICTS];  // 0: not known yet, 1: no, 2: yes
};
static inline uint8_t* jg_verdicts(JgVerdicts* v, uint64_t dictionary) {
  if (v->dictionary != dictionary) {
    memset(v->of, 0, sizeof v->of);
    v->dictionary = dictionary;
  }
  return v->of;
}
extern "C" {
// Appends those of the rows [from, n) whose codes have the verdict yes to the k rows in `out`, which have all been
// before `from`; without `out` they are but counted. Returns the first row whose code has no verdict yet, or n. Codes
// are below `count`.
int jg_judge(const uint32_t* codes, int from, int n, const uint8_t* verdicts, uint32_t count, int32_t* out, int* k);
}
