// Batches of columns, which readers fill, generated pipelines process, and NTF codecs encode. C-like and light on
// purpose: generated code includes it.
#pragma once
#include <stdint.h>

typedef __int128 jg_i128;

// Physical types. Decimals are scaled integers: 64 bits up to precision 18, else 128 (little endian, 16-byte aligned).
enum JgType : int32_t {
  JG_BOOL = 0,  // uint8_t, 0 or 1
  JG_I8,
  JG_I16,
  JG_I32,
  JG_I64,
  JG_F32,
  JG_F64,
  JG_DEC64,         // int64_t
  JG_DEC128,        // jg_i128
  JG_DATE,          // int32_t, days since 1970-01-01
  JG_TIMESTAMP,     // int64_t, microseconds since the epoch; of clocks without a zone, or in UTC
  JG_TIME,          // int64_t, microseconds since midnight
  JG_TIMESTAMP_NS,  // int64_t, nanoseconds since the epoch, no zone
  JG_STRING,        // JgStr, UTF-8
  JG_BINARY,        // JgStr
};

// A view of bytes; the producer of the column owns them until its next batch.
struct JgStr {
  const char* data;
  uint64_t size;
};

// `data` points at `rows` values of the physical type. `valid` is one byte a row (1 = value, 0 = NULL); a null pointer
// means that every row has a value. Values under NULL are unspecified but initialised (strings: size 0).
// Values that come from a dictionary may have `codes`: of rows with values, equal ones are of equal values, in all
// batches whose `dictionary` is the same number; one that a thread has not met is larger than those before. Codes are
// below `code_count`. With `entries`, the values of the codes, `data` has room for the rows' values, but none of them
// yet: see jg_decode.
struct JgCol {
  void* data;
  uint8_t* valid;
  const uint32_t* codes = nullptr;
  uint64_t dictionary = 0;
  uint32_t code_count = 0;
  const void* entries = nullptr;
};

// Fills in the values of n rows, those that `rows` lists or all of the batch, where the column has only their codes.
template <class T>
static inline void jg_decode(JgCol* column, const int32_t* rows, int n) {
  const T* const entries = (const T*)column->entries;
  if (!entries) return;
  if (!rows) column->entries = nullptr;
  const uint32_t* const codes = column->codes;
  const uint8_t* const valid = column->valid;
  T* const values = (T*)column->data;
  if (valid) {
    for (int i = 0; i < n; i++) {
      const int row = rows ? rows[i] : i;
      values[row] = valid[row] ? entries[codes[row]] : T{};
    }
  } else if (rows) {
    for (int i = 0; i < n; i++) values[rows[i]] = entries[codes[rows[i]]];
  } else {
    for (int i = 0; i < n; i++) values[i] = entries[codes[i]];
  }
}

// At most JG_BATCH_ROWS rows; columns in the order that the source was configured with. `unread`: how many rows these
// stand for in addition to themselves, and of each column how many values that are not NULL; null: none.
struct JgBatch {
  int32_t rows;
  JgCol* cols;
  const int64_t* unread = nullptr;
};

enum { JG_BATCH_ROWS = 2048 };
