// All that generated programs include: batches, rows of state tables, hashing, exact arithmetic, and the functions of
// the runtime library that they call. C-like on purpose, so that a program compiles in a fraction of a second.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jg/batch.h"
#include "jg/filters.h"
#include "jg/hashes.h"
#include "jg/nested.h"
#include "jg/sketches.h"

#define JG_INLINE static inline __attribute__((always_inline))
#define JG_LIKELY(x) __builtin_expect(!!(x), 1)
#define JG_UNLIKELY(x) __builtin_expect(!!(x), 0)

// ---- literals: typed parameters of a program, never part of its text ----
struct JgList {  // sorted, distinct, without NULL; element type as the generated code expects
  const void* items;
  int64_t count;
};
union JgParam {
  int64_t i;  // bool, integers, decimals of 64 bits, dates, timestamps
  double f;
  float f32;
  jg_i128 d;
  JgStr s;
  JgList list;
};

// ---- rows of state tables: join builds, groups, sort buffers; generated structs start with JgRow ----
struct JgRow {
  JgRow* next;  // chain of a hash bucket
  uint64_t hash;
};

// Buckets by the hash's top bits. A slot holds the chain's first row in its lower 48 bits; the upper 16 are a Bloom
// filter of the chain, so that most misses touch no row.
struct JgDirectory {
  uint64_t* slots;
  uint32_t shift;  // 64 - log2(slots)
};

// A complete join build, shared by all threads. Where the only key is an integer and the values lie close together,
// they are the slots' numbers, and nothing is hashed.
struct JgJoin {
  JgDirectory directory;
  uint64_t deal, deal_bits;  // of a partition: the first bits of its hashes, and which these are; else 0
  int64_t low;               // the lowest key
  uint64_t span;             // keys from that one on that have slots of their own, 0: these are found by hash
  uint64_t* present;  // a bit for each of `range` keys from the lowest on: whether a row has it, for probes that ask no
                      // more, or before they look into a slot; null: slots alone
  uint32_t* ranks;    // keys of rows before those of each word of bits: slots are those of such keys alone, in their
                      // order; null: each of `span` keys has one
  uint64_t range;
  int told_by;         // of several keys: the integer of those that tell by bits whether there may be a row
  bool is_unique;      // found by the key itself, and no key has two rows
  JgRow* const* rows;  // every row, also those whose key is NULL
  int64_t count;
  JgRow* const* null_rows;  // rows with a NULL key; not in the directory
  int64_t null_count;
};

// A group, and words from which its keys follow: of rows with these words nothing is hashed or compared.
template <int Words>
struct JgMemo {
  uint64_t words[Words];
  JgRow* row;
};
enum { JG_MEMO_BITS = 10, JG_MEMO_TRIAL = 1 << 14 };  // how many memos; rows after which they must have been of use

// One thread's groups. Those that have no room in the cache leave the directory; a key may then have several.
struct JgGroups {
  JgDirectory directory;
  int64_t count, capacity;  // in the directory
  int64_t seen;             // rows since it was empty
  bool is_apart;            // each row is a group of its own: hardly any had met another one of its keys
  JgRow* single;            // the only group of an aggregate without keys
  void* memos;              // null: not worth it
  int pipeline;             // whose words are in memos
  uint64_t dictionary;      // and the newest of those whose codes are
  int64_t asked, missed;    // how often they were
};

// The place of a thread's next row of a sort buffer, or its next group, by the first bits of a hash: in the partition
// that has all rows of that hash.
struct JgPlace {
  char *at, *end;
};
enum { JG_DEAL_BITS = 8 };

// Values of a group side by side: chunks of elements, each behind its header.
struct alignas(16) JgChunk {
  JgChunk* next;
  int64_t used, capacity;  // elements
};
struct JgValues {
  JgChunk *first, *last;
};
struct JgMemory;  // memory for completing groups; see values.h
struct JgFirst;   // first rows of partitions; see first_rows.h

#define JG_NO_STR (JgStr{nullptr, UINT64_MAX})

enum JgFailure : int32_t {
  JG_OK = 0,
  JG_OVERFLOW,
  JG_DIVISION_BY_ZERO,
  JG_INVALID_CAST,
  JG_MEMORY,
  JG_COMPUTE,
  JG_TEXT,    // of an aggregate: too long
  JG_STATUS,  // the task holds a Status with the details
};

// One thread's view of a running pipeline.
struct JgTask {
  const JgParam* params;
  JgCol* cols;            // columns of the current source batch
  const int64_t* unread;  // as in JgBatch
  JgRow** rows;           // or its rows, when the source is a state table
  void* scratch;          // the pipeline's generated struct
  JgJoin* const* joins;   // by table number
  JgGroups* const* groups;
  JgPlace* const* places;  // of tables whose rows are partitioned
  JgFirst* first;          // of the pipeline's step that keeps first rows
  int64_t* entered;        // rows that came to each step, and last to the sinks
  int32_t failure, site;   // first failure of this thread, and where: index into the program's expression texts
  void* impl;
};

extern "C" {
// Fills late column `column` of the current batch for the n rows in `sel` (ascending, perhaps repeated; null: for all).
// Non-zero: failed.
int jg_load(JgTask* task, int column, const int32_t* sel, int n);
// A zeroed row for join build `table` with the given hash. Never null.
JgRow* jg_append(JgTask* task, int table, uint64_t hash, int null_key);
// A zeroed row for row buffer `table`, partitioned by the hash. Never null.
JgRow* jg_append_row(JgTask* task, int table, uint64_t hash);
// Keys of rows that this thread appended, of those that are integers the one of that number, were within the range;
// low > high: there were none.
void jg_key_range(JgTask* task, int table, int number, int64_t low, int64_t high);
// Offers a row to sort buffer `table`, which copies it (and its strings) unless a top-n has no use for it.
void jg_offer(JgTask* task, int table, const JgRow* row);
// Makes room for a row at a place of `table` that has none.
void jg_extend(JgTask* task, int table, JgPlace* place);
// A zeroed group among this thread's. Never null.
JgRow* jg_new_group(JgTask* task, int table, uint64_t hash);
// The groups of `table` by the codes of n columns from which their keys follow: that of the first one comes first, a
// NULL has the code counts[i], and so counts[i] + 1 of them follow each other. Empty slots for dictionaries that are
// new. Null where a column of the current batch has no codes, or all have too many; `columns` belong to one sink.
JgRow** jg_coded_groups(JgTask* task, int table, const int* columns, int n, uint32_t* counts);
// A copy of the bytes that lives as long as this thread's part of `table`, beside those of rows with like hashes.
JgStr jg_keep(JgTask* task, int table, uint64_t hash, JgStr s);
// Keep a text that replaces `held`, which a group of `table` kept before; null: none.
JgStr jg_keep_instead(JgTask* task, int table, JgStr held, JgStr s);
// A chunk with room for an element of `size` bytes at the end of the list.
JgChunk* jg_grow_values(JgTask* task, int table, JgValues* values, int size);
// The n elements, aligned to 16, until the next call. They may be moved about.
void* jg_values(JgMemory* memory, const JgValues* values, int size, int64_t* n);
// Return the k-th of values[from, n) in order, all of which come after those before; values are moved about.
int64_t jg_select_int(int64_t* values, int64_t from, int64_t n, int64_t k);
jg_i128 jg_select_wide(jg_i128* values, int64_t from, int64_t n, int64_t k);
JgStr jg_select_text(JgStr* values, int64_t from, int64_t n, int64_t k);
// Sorts, and says where the value is that occurs most; of several the least.
int64_t jg_mode_int(int64_t* values, int64_t n);
int64_t jg_mode_wide(jg_i128* values, int64_t n);
int64_t jg_mode_text(JgStr* values, int64_t n);
// The texts that elements of `size` bytes begin with, in order, with a separator between them.
void jg_join_texts(JgTask* task, JgMemory* memory, const void* values, int64_t n, int size,
                   int (*order)(const void*, const void*), JgStr separator, JgStr* out);
// n bytes that live until the source's next batch.
char* jg_temp(JgTask* task, uint64_t n);
// Hands n dense rows to a sink. Non-zero: failed.
int jg_emit(JgTask* task, int sink, JgCol* cols, int n, const uint64_t* hashes);
// Return whether the rest of this batch is useless: the job was cancelled, a limit is full, or the tables exceed
// memory, which fails the task. For loops that may take long.
int jg_stop(JgTask* task);
// Claims up to n rows of a LIMIT: how many to pass on, after skipping *skip of them.
int jg_limit(JgTask* task, int limit, int n, int* skip);

// JgFailure where they have an `out`
int jg_like(JgStr s, JgStr pattern, int escape);   // escape: a byte, or -1
int jg_ilike(JgStr s, JgStr pattern, int escape);  // of an ASCII pattern
JgStr jg_left(JgStr s, int64_t n);
JgStr jg_right(JgStr s, int64_t n);
int jg_lpad(JgTask* task, JgStr s, int64_t n, JgStr fill, JgStr* out);
int jg_rpad(JgTask* task, JgStr s, int64_t n, JgStr fill, JgStr* out);
int jg_repeat(JgTask* task, JgStr s, int64_t n, JgStr* out);
int jg_replace(JgTask* task, JgStr s, JgStr part, JgStr by, JgStr* out);
// regular expressions: `pattern` is an automaton of jumpgate/dataflow/regex/automaton.py
int jg_regexp_like(JgStr s, JgStr pattern);
int64_t jg_regexp_count(JgStr s, JgStr pattern);
int64_t jg_regexp_position(JgStr s, JgStr pattern);
JgStr jg_regexp_extract(JgStr s, JgStr pattern);
int jg_regexp_replace(JgTask* task, JgStr s, JgStr pattern, JgStr by, JgStr* out);
int jg_regexp_replace_all(JgTask* task, JgStr s, JgStr pattern, JgStr by, JgStr* out);
JgStr jg_reverse(JgTask* task, JgStr s);
int64_t jg_position(JgStr s, JgStr part);
int jg_split_part(JgStr s, JgStr separator, int64_t n, JgStr* out);
int jg_initcap(JgTask* task, JgStr s, JgStr* out);
int jg_chr(JgTask* task, int64_t code, JgStr* out);
int64_t jg_ascii(JgStr s);
JgStr jg_concat_ws(JgTask* task, JgStr separator, const JgStr* parts, int n);  // JG_NO_STR: NULL
int jg_translate(JgTask* task, JgStr s, JgStr from, JgStr to, JgStr* out);
JgStr jg_md5(JgTask* task, JgStr s);  // digests in hex digits
JgStr jg_sha1(JgTask* task, JgStr s);
JgStr jg_sha256(JgTask* task, JgStr s);
JgStr jg_upper(JgTask* task, JgStr s);
JgStr jg_lower(JgTask* task, JgStr s);
JgStr jg_concat(JgTask* task, const JgStr* parts, int n);
int jg_substring(JgStr s, int64_t start, int64_t length, JgStr* out);  // code points, 1-based; SQL's clipping
int64_t jg_char_length(JgStr s);
JgStr jg_trim(JgStr s, int left, int right);  // spaces
int jg_contains(JgStr s, JgStr part);
JgStr jg_int_to_text(JgTask* task, int64_t v);
JgStr jg_decimal_to_text(JgTask* task, jg_i128 v, int scale);
JgStr jg_bool_to_text(int v);
// zoned: moments, whose text ends with Z
JgStr jg_date_to_text(JgTask* task, int32_t days, int zoned);
JgStr jg_time_to_text(JgTask* task, int64_t us, int zoned);
JgStr jg_timestamp_to_text(JgTask* task, int64_t us, int zoned);
JgStr jg_timestamp_ns_to_text(JgTask* task, int64_t ns, int zoned);
int jg_text_to_int(JgStr s, int64_t low, int64_t high, int64_t* out);
int jg_text_to_decimal(JgStr s, int precision, int scale, jg_i128* out);
int jg_text_to_float(JgStr s, double* out);
int jg_text_to_bool(JgStr s, uint8_t* out);
int jg_text_to_date(JgStr s, int32_t* out);
int jg_text_to_timestamp(JgStr s, int64_t* out);
// the same where a query casts text, which is read as DataFusion does
int jg_cast_to_bool(JgStr s, uint8_t* out);
int jg_cast_to_date(JgStr s, int32_t* out);
int jg_cast_to_time(JgStr s, int64_t* out);
int jg_cast_to_timestamp(JgStr s, int64_t* out);
int jg_cast_to_timestamp_ns(JgStr s, int64_t* out);
int jg_valid_utf8(JgStr s);
int jg_float_to_decimal(double v, int precision, int scale, jg_i128* out);
// the shortest digits that mean v, rounded half away from zero
int jg_shortest_decimal(double v, int precision, int scale, jg_i128* out);
// a * 10^by / b, rounded half away from zero
int jg_divide_decimal(jg_i128 a, jg_i128 b, int by, int precision, jg_i128* out);
double jg_round(double v, int digits);
double jg_floor(double v);
double jg_ceil(double v);
double jg_sqrt(double v);
double jg_fmod(double a, double b);
double jg_truncate(double v, int digits);
int jg_power(double a, double b, double* out);
double jg_log(double base, double v);
double jg_sign(double v);
double jg_degrees(double v);
double jg_radians(double v);
double jg_exp(double v);
double jg_ln(double v);
double jg_log2(double v);
double jg_log10(double v);
double jg_sin(double v);
double jg_cos(double v);
double jg_tan(double v);
double jg_asin(double v);
double jg_acos(double v);
double jg_atan(double v);
double jg_atan2(double a, double b);
double jg_sinh(double v);
double jg_cosh(double v);
double jg_tanh(double v);
// 0 year, 1 month, 2 day, 3 quarter, 4 day of week (Sunday 0), 5 day of year, 6 ISO day of week, 7 ISO week, 8 ISO year
int jg_date_part(int part, int32_t days);
// 0 year, 1 quarter, 2 month, 3 week, 4 day, 5 hour, 6 minute, 7 second, 8 millisecond, 9 microsecond
int64_t jg_date_trunc(int unit, int64_t us);
int jg_date_add_interval(int32_t date, int64_t months, int64_t days, int64_t us, int32_t* out);
int jg_timestamp_add_interval(int64_t timestamp, int64_t months, int64_t days, int64_t us, int64_t* out);
int jg_add_offset(int64_t timestamp, JgStr table, int64_t* out);  // table: int64 offset, start, offset, …
}

JG_INLINE void jg_fail(JgTask* t, int failure, int site) {
  if (t->failure == JG_OK) {
    t->failure = failure;
    t->site = site;
  }
}

// Allocate a row of a table whose rows are partitioned.
JG_INLINE void* jg_deal(JgTask* t, int table, uint64_t hash, int size) {
  JgPlace* place = &t->places[table][hash >> (64 - JG_DEAL_BITS)];
  if (JG_UNLIKELY(place->at == place->end)) jg_extend(t, table, place);
  char* row = place->at;
  place->at += size;
  return row;
}

// jg_new_group; without a call where groups are apart.
JG_INLINE JgRow* jg_add_group(JgTask* t, JgGroups* g, int table, uint64_t hash, int size) {
  if (!g->is_apart || g->count >= g->capacity) return jg_new_group(t, table, hash);
  g->count++;
  JgRow* row = (JgRow*)jg_deal(t, table, hash, size);
  memset(row, 0, (size_t)size);
  row->hash = hash;
  return row;
}

// ---- hashing ----
JG_INLINE uint64_t jg_mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return x ^ (x >> 32);
}
JG_INLINE uint64_t jg_hash_int(uint64_t v) { return jg_mix(v + 0x632BE59BD9B4E019ull); }
JG_INLINE uint64_t jg_hash_wide(jg_i128 v) { return jg_mix((uint64_t)v + jg_mix((uint64_t)(v >> 64))); }
JG_INLINE uint64_t jg_hash_double(double v) {
  if (v == 0) v = 0;  // -0
  uint64_t bits;
  if (v != v)
    bits = 0x7FF8000000000000ull;
  else
    memcpy(&bits, &v, 8);
  return jg_hash_int(bits);
}
JG_INLINE uint64_t jg_mum(uint64_t a, uint64_t b) {
  unsigned __int128 r = (unsigned __int128)a * b;
  return (uint64_t)r ^ (uint64_t)(r >> 64);
}
JG_INLINE uint64_t jg_load64(const char* p) {
  uint64_t w;
  memcpy(&w, p, 8);
  return w;
}
JG_INLINE uint32_t jg_load32(const char* p) {
  uint32_t w;
  memcpy(&w, p, 4);
  return w;
}
// 1 to 7 bytes as a number, without a loop or a call: pieces that overlap agree where they do.
JG_INLINE uint64_t jg_load_few(const char* p, uint64_t n) {
  if (n >= 4) return jg_load32(p) | (uint64_t)jg_load32(p + n - 4) << (8 * (n - 4));
  const uint64_t middle = n >> 1, last = n - 1;
  return (uint8_t)p[0] | (uint64_t)(uint8_t)p[middle] << (8 * middle) | (uint64_t)(uint8_t)p[last] << (8 * last);
}
static inline uint64_t jg_hash_str(JgStr s) {
  const char* p = s.data;
  uint64_t n = s.size, h = 0xA0761D6478BD642Full ^ n;
  for (; n >= 8; n -= 8, p += 8) h = jg_mum(h ^ jg_load64(p), 0xE7037ED1A0B428DBull);
  if (n) {
    const uint64_t w = s.size >= 8 ? jg_load64(p + n - 8) >> (64 - 8 * n) : jg_load_few(p, n);
    h = jg_mum(h ^ w, 0x8EBC6AF09C88C6E3ull);
  }
  return jg_mix(h);
}
JG_INLINE uint64_t jg_hash_combine(uint64_t a, uint64_t b) {
  return jg_mix(a ^ (b + 0x9E3779B97F4A7C15ull + (a << 6)));
}
#define JG_HASH_NULL 0x7F4A7C159E3779B9ull

// Return the coupon of a value for an approximate distinct count; a whole number's hash does not depend on its width.
JG_INLINE uint64_t jg_hash_whole(jg_i128 v) { return (int64_t)v == v ? jg_hash_int((uint64_t)v) : jg_hash_wide(v); }
JG_INLINE int32_t jg_distinct_coupon(uint64_t fingerprint) {
  const uint64_t word = jg_hash_int(fingerprint);
  return (int32_t)(word >> 51 << 5 | (uint64_t)__builtin_ctzll(word | 1ull << (JG_COUPON_COLUMNS - 1)));
}

// ---- lookups ----
JG_INLINE uint64_t jg_tag(uint64_t hash) { return 1ull << (48 + (hash & 15)); }
JG_INLINE JgRow* jg_lookup(const JgDirectory* d, uint64_t hash) {
  uint64_t slot = d->slots[hash >> d->shift];
  return (slot & jg_tag(hash)) ? (JgRow*)(slot & 0x0000FFFFFFFFFFFFull) : (JgRow*)0;
}

#define JG_CACHED_SLOTS_BITS 13  // of a directory that is in the cache anyway

// Bring rows into the cache, of which some may be null: where those would be nothing is mapped, and finding that out
// takes longer than the rest.
JG_INLINE void jg_prefetch_rows(JgRow* const* rows, int n, int row_size) {
  for (int i = 0; i < n; i++) {
    const char* row = rows[i] ? (const char*)rows[i] : (const char*)rows;
    __builtin_prefetch(row);
    __builtin_prefetch(row + row_size - 1);
  }
}
// Brings the slots and the first rows of n hashes into the cache.
JG_INLINE void jg_prefetch(const JgDirectory* d, const uint64_t* hashes, int n, int row_size) {
  if (d->shift > 64 - JG_CACHED_SLOTS_BITS) return;
  for (int i = 0; i < n; i++) __builtin_prefetch(&d->slots[hashes[i] >> d->shift]);
  for (int i = 0; i < n; i++) {
    JgRow* row = jg_lookup(d, hashes[i]);
    jg_prefetch_rows(&row, 1, row_size);
  }
}

// Prefetch a row that is visited soon.
JG_INLINE void jg_prefetch_row(JgRow* const* rows, int64_t at, int64_t n) {
  if (at + 16 < n) __builtin_prefetch(rows[at + 16]);
}

// ---- groups by what their keys follow from ----
// Memos of a pipeline's words, some of which are codes of columns: none where these have no codes; empty where a
// dictionary is new, or another pipeline had them.
template <int Words>
JG_INLINE void* jg_memos(const JgTask* t, JgGroups* g, int pipeline, const int* columns, int n) {
  uint64_t newest = 0;
  for (int i = 0; i < n; i++) {
    const JgCol* c = &t->cols[columns[i]];
    if (!c->codes) return nullptr;
    newest = c->dictionary > newest ? c->dictionary : newest;
  }
  if (g->memos && (newest != g->dictionary || pipeline != g->pipeline)) {
    memset(g->memos, 0, sizeof(JgMemo<Words>) << JG_MEMO_BITS);
    g->dictionary = newest;
    g->pipeline = pipeline;
  }
  return g->memos;
}
template <int Words>
JG_INLINE JgMemo<Words>* jg_memo(void* memos, const uint64_t (&words)[Words]) {
  uint64_t h = 0;
  for (int i = 0; i < Words; i++) h = (h ^ words[i]) * 0x9E3779B97F4A7C15ull;
  return (JgMemo<Words>*)memos + (h >> (64 - JG_MEMO_BITS));
}
template <int Words>
JG_INLINE JgRow* jg_noted(const JgMemo<Words>* memo, const uint64_t (&words)[Words]) {
  uint64_t differ = 0;
  for (int i = 0; i < Words; i++) differ |= memo->words[i] ^ words[i];
  return differ ? nullptr : memo->row;
}
JG_INLINE void jg_judge_memos(JgGroups* g, int asked, int missed) {
  g->asked += asked;
  g->missed += missed;
  if (g->asked >= JG_MEMO_TRIAL && g->missed > g->asked / 2) g->memos = nullptr;
}

// ---- comparison; floats in a total order: NaN equals itself and is above everything, -0 equals 0 ----
JG_INLINE bool jg_equal_str(JgStr a, JgStr b) {
  const uint64_t n = a.size;
  if (n != b.size || a.data == b.data) return n == b.size;
  if (n > 16) return memcmp(a.data, b.data, n) == 0;
  if (n >= 8) return jg_load64(a.data) == jg_load64(b.data) && jg_load64(a.data + n - 8) == jg_load64(b.data + n - 8);
  return n == 0 || jg_load_few(a.data, n) == jg_load_few(b.data, n);
}
JG_INLINE int jg_compare_str(JgStr a, JgStr b) {
  uint64_t n = a.size < b.size ? a.size : b.size;
  int c = n ? memcmp(a.data, b.data, n) : 0;
  return c ? c : (a.size > b.size) - (a.size < b.size);
}

JG_INLINE int jg_compare_double(double a, double b) {
  int an = a != a, bn = b != b;
  return (an | bn) ? an - bn : (a > b) - (a < b);
}
// Like jg_compare_double, but -0 is below 0.
JG_INLINE int jg_order_double(double a, double b) {
  int c = jg_compare_double(a, b);
  return c || a != 0 ? c : __builtin_signbit(b) - __builtin_signbit(a);
}
#define JG_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

// ---- values of a group ----
// Room for one more element.
JG_INLINE void* jg_collect(JgTask* t, int table, JgValues* v, int size) {
  JgChunk* c = v->last;
  if (JG_UNLIKELY(!c || c->used == c->capacity)) c = jg_grow_values(t, table, v, size);
  return (char*)(c + 1) + size * c->used++;
}
JG_INLINE void jg_join_values(JgValues* a, const JgValues* b) {
  if (!b->first) return;
  if (a->last)
    a->last->next = b->first;
  else
    a->first = b->first;
  a->last = b->last;
}
// Integers that order as the doubles do: NaN above everything, -0 equal to 0.
JG_INLINE int64_t jg_number_key(double v) {
  int64_t bits;
  if (v == 0) v = 0;  // -0
  if (v != v) return INT64_MAX;
  memcpy(&bits, &v, 8);
  return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}
// Return which of `parts` parts of `size` rows the row at `at` is in, from 1 on; the first parts have one row more if
// sizes differ.
JG_INLINE int64_t jg_ntile(int64_t at, int64_t size, int64_t parts) {
  const int64_t least = size / parts, longer = size % parts, before = longer * (least + 1);
  return 1 + (at < before ? at / (least + 1) : longer + (at - before) / least);
}
// Return the row `offset` after row i of those from begin to end, or the nearest of these bounds.
JG_INLINE int64_t jg_row_at(int64_t i, int64_t offset, int64_t begin, int64_t end) {
  return offset < begin - i ? begin : offset > end - i ? end : i + offset;
}
// Numbers without sign that order as the values do.
JG_INLINE uint32_t jg_ordered_int32(int32_t v) { return (uint32_t)v ^ (1u << 31); }
JG_INLINE uint64_t jg_ordered_int(int64_t v) { return (uint64_t)v ^ (1ull << 63); }
JG_INLINE unsigned __int128 jg_ordered_wide(jg_i128 v) { return (unsigned __int128)v ^ ((unsigned __int128)1 << 127); }
// Eight bytes of a text from `at` on, with zeros where it ends.
JG_INLINE uint64_t jg_text_bytes(JgStr s, uint64_t at) {
  uint64_t v = 0;
  if (s.size >= at + 8)
    memcpy(&v, s.data + at, 8);
  else if (s.size > at)
    memcpy(&v, s.data + at, s.size - at);
  return __builtin_bswap64(v);
}
JG_INLINE double jg_key_number(int64_t key) {
  double v;
  if (key == INT64_MAX) return __builtin_nan("");
  key ^= (int64_t)((uint64_t)(key >> 63) >> 1);
  memcpy(&v, &key, 8);
  return v;
}
// Half of the sum, cut.
JG_INLINE jg_i128 jg_middle(jg_i128 a, jg_i128 b) {
  jg_i128 sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum / 2;
  return a / 2 + b / 2 + (a % 2 + b % 2) / 2;  // of one sign
}

// ---- membership in a sorted list ----
#define JG_DEFINE_IN(name, type, compare)        \
  static inline int name(JgList list, type v) {  \
    const type* items = (const type*)list.items; \
    int64_t low = 0, high = list.count;          \
    while (low < high) {                         \
      int64_t mid = (low + high) >> 1;           \
      int c = compare(items[mid], v);            \
      if (c == 0) return 1;                      \
      if (c < 0)                                 \
        low = mid + 1;                           \
      else                                       \
        high = mid;                              \
    }                                            \
    return 0;                                    \
  }
JG_DEFINE_IN(jg_in_int, int64_t, JG_COMPARE)
JG_DEFINE_IN(jg_in_wide, jg_i128, JG_COMPARE)
JG_DEFINE_IN(jg_in_double, double, jg_compare_double)
JG_DEFINE_IN(jg_in_str, JgStr, jg_compare_str)

// ---- exact decimals ----
// A table: no compiler unrolls a loop over so many digits.
struct JgPowers {
  jg_i128 of[39];
  constexpr JgPowers() : of() {
    for (int n = 0; n < 39; n++) of[n] = n == 0 ? 1 : 10 * of[n - 1];
  }
};
static constexpr JgPowers jg_powers;
JG_INLINE jg_i128 jg_power_of_ten(int n) { return jg_powers.of[n < 0 ? 0 : n < 38 ? n : 38]; }
// v scaled by 10^by (negative: divided, rounding half away from zero); false if it leaves `precision` digits.
static inline int jg_rescale(jg_i128 v, int by, int precision, jg_i128* out) {
  if (by > 0) {
    if (__builtin_mul_overflow(v, jg_power_of_ten(by), &v)) return 0;
  } else if (by < -38) {
    v = 0;  // less than half of 10^-by
  } else if (by < 0) {
    jg_i128 p = jg_power_of_ten(-by), half = p / 2;
    jg_i128 q = v / p, r = v % p;
    v = q + (r >= half) - (-r >= half);
  }
  *out = v;
  jg_i128 limit = jg_power_of_ten(precision);
  return v < limit && v > -limit;
}
JG_INLINE int jg_fits(jg_i128 v, int precision) {
  jg_i128 limit = jg_power_of_ten(precision);
  return v < limit && v > -limit;
}

// ---- exports of a program ----
// The rows of every table.
struct JgRowLayout {
  uint32_t row_size;
  int32_t text_count;
  const uint32_t* texts;  // of tables that may go to disk: offsets of the string fields
};
enum { JG_KEYS = 4 };
struct JgJoinInfo : JgRowLayout {
  int32_t matched_offset;                    // of the flag that a right or full join sets; -1: none
  bool is_set;                               // nobody asks more than whether a key is there
  bool is_by_number;                         // the only key is an integer
  int32_t integers;                          // how many keys are, JG_KEYS at most
  int64_t (*key)(const JgRow*, int number);  // one of these
};
struct JgAggregateInfo : JgRowLayout {
  int32_t memo_words;                                 // 0: there are no memos
  int (*equal)(const JgRow*, const JgRow*);           // same keys
  void (*merge)(JgTask*, int, JgRow*, const JgRow*);  // adds the second's states to the first's
  void (*complete)(JgTask*, JgMemory*, JgRow*);       // computes results of groups that hold values; null: none do
};
struct JgSortInfo : JgRowLayout {
  int (*compare)(const JgRow*, const JgRow*);  // <0, 0, >0
  // Numbers, one after the other, that order as rows do; how many there are of this row. Where some row has fewer than
  // sort_words, rows whose numbers are equal may yet differ.
  int (*words)(const JgRow*, uint64_t*);
  int32_t sort_words;
  // With windows over partitions, rows are partitioned by the partitions' hash. If rows keep 32 bits of it, these order
  // them first, so that the partitions' keys need no words. -1: they do not
  int32_t hash_offset;
  bool is_dealt;
  void (*windows)(JgTask*, JgRow* const* rows, int64_t n);  // fills the fields of window functions
  int (*together)(const JgRow*, const JgRow*);              // with windows: in one partition
  // Where rows are partitioned and functions see whole partitions: does the work of `windows` for rows of one partition
  // of the buffer in any order. `slots` are empty, more than there are rows, and 2 ^ (64 - shift); `firsts` has room
  // for each row.
  void (*whole)(JgTask*, JgRow* const* rows, int64_t n, JgRow** slots, int shift, JgRow** firsts);
  int64_t (*skyline)(JgRow** rows, int64_t n);  // moves the rows that stay to the front
};
// The runtime's classes of tables, each with the layout that it takes.
struct JgTableClass;
extern "C" {
extern const JgTableClass jg_join_table;       // JgJoinInfo
extern const JgTableClass jg_aggregate_table;  // JgAggregateInfo
extern const JgTableClass jg_sort_buffer;      // JgSortInfo
extern const JgTableClass jg_row_buffer;       // JgRowLayout
}
struct JgTableInfo {
  const JgTableClass* of;
  const JgRowLayout* info;
};
// Source rows whose column is outside the range of a field of a join build have no partner there.
struct JgJoinFilter {
  int32_t column, table;
  void (*range)(JgRow* const* rows, int64_t n, int64_t* low, int64_t* high);  // NULLs apart; low > high: no value
};
struct JgPipelineInfo {
  uint64_t scratch_size;
  int32_t step_count;
  int (*process)(JgTask*, int rows);  // one batch; non-zero: failed
  const JgJoinFilter* filters;        // of a pipeline that reads files
  int32_t filter_count;
};
struct JgProgramInfo {
  uint32_t abi;
  int32_t table_count, pipeline_count;
  const JgTableInfo* tables;
  const JgPipelineInfo* pipelines;
};
#define JG_SORT_WORDS 16  // of a row at most
#define JG_ABI 23
