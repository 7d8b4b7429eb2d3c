#include "json/walk.h"

#include <algorithm>
#include <bit>

#include "json/token.h"
#if defined(__AVX2__)
#include "json/block.h"
#endif

namespace jg::json {

Walk::Walk(const std::vector<Value>& values, std::string_view behind, std::vector<int> missing)
    : missing_(std::move(missing)) {
  for (const Value& value : values) {
    fields_.push_back({add(value.before), value.wanted, value.text});
    bytes_min_ += fields_.back().before.bytes + 1;
  }
  behind_ = add(behind);
  bytes_min_ += behind_.bytes;
}

Walk::Literal Walk::add(std::string_view text) {
  const Literal literal{static_cast<uint32_t>(blocks_.size()), static_cast<uint32_t>(text.size())};
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), kBlockBytes))) {
    Masked& block = blocks_.emplace_back();
    const size_t n = std::min<size_t>(text.size(), kBlockBytes);
    std::memcpy(block.text, text.data(), n);
    std::memset(block.mask, 0xFF, n);
  }
  return literal;
}

#if defined(__AVX2__)

namespace {

// Neither a control character nor a byte that is not ASCII. Which letters may follow is seen where the string is read.
bool may_follow_backslash(char c) { return static_cast<signed char>(c) >= ' '; }

// Return the end of the string whose opening quote is in front of `p`, or null if it has a control character, or a
// backslash in front of a non-ASCII byte. `seen` collects the bits of its other bytes, and maybe of more.
const char* string_end(const char* p, Block* seen) {
  for (;;) {
    const Block block(p);
    *seen = *seen | block;
    const uint32_t stops = block.string_stops();
    if (stops == 0) {
      p += Block::kBytes;
      continue;
    }
    p += std::countr_zero(stops);
    if (*p == '"') return p + 1;
    if (*p != '\\' || !may_follow_backslash(p[1])) return nullptr;
    p += 2;
  }
}

}  // namespace

// Moves each p behind the literal, if it is there.
template <int N>
inline bool Walk::pass(const Literal& literal, const char* (&p)[N]) const {
  const Masked* block = &blocks_[literal.first];
  for (uint32_t at = 0;; at += kBlockBytes, block++) {
    const Block text(block->text), mask(block->mask);
    Block different;
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) different = different | ((Block(p[k] + at) ^ text) & mask);
    if (!different.is_zero()) return false;
    if (at + kBlockBytes >= literal.bytes) [[likely]]
      break;
  }
#pragma GCC unroll 8
  for (int k = 0; k < N; k++) p[k] += literal.bytes;
  return true;
}

// Sets where each line begins, of which the first is known; false if there are not so many.
template <int N>
[[gnu::always_inline]] inline bool Walk::find_lines(const char* end, const char* (&p)[N]) const {
#pragma GCC unroll 8
  for (int k = 1; k < N; k++) {
    if (end - p[k - 1] < bytes_min_) return false;
    p[k] = p[k - 1] + bytes_min_ - 1;
    uint32_t newlines;
    while ((newlines = Block(p[k]).newlines()) == 0) {
      p[k] += Block::kBytes;
      if (p[k] >= end) return false;
    }
    p[k] += std::countr_zero(newlines) + 1;
    if (p[k] >= end) return false;
  }
  return true;
}

// Sets where each value ends; false if one is not as the field's are. A field becomes one of texts when it first has
// one.
template <int N>
[[gnu::always_inline]] inline bool Walk::find_ends(Field& field, const char* const (&p)[N], const char* (&ends)[N],
                                                   Block* seen) const {
  if (!field.text) {
    uint32_t empty = 0;
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) {
      const uint32_t found = Block(p[k]).scalar_ends();
      empty |= found;
      ends[k] = p[k] + std::countr_zero(found);  // of a longer one it is not the end
    }
    if (!(empty & 1)) [[likely]]
      return true;
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) field.text |= *p[k] == '"';
    if (!field.text) return false;
  }
#pragma GCC unroll 8
  for (int k = 0; k < N; k++) {
    if (*p[k] == '"') [[likely]] {
      ends[k] = string_end(p[k] + 1, seen);
      if (!ends[k]) return false;
    } else {
      const uint32_t found = Block(p[k]).scalar_ends();
      if (found & 1) return false;
      ends[k] = p[k] + std::countr_zero(found);
    }
  }
  return true;
}

template <int N>
const char* Walk::take(const char* start, const char* end, Token* const* tokens, int row, bool exact) {
  const char* p[N];  // the position in each line; the lines' steps overlap
  p[0] = start;
  if (!find_lines(end, p)) return nullptr;
  Block seen;
  for (Field& field : fields_) {
    const char* value_end[N];
    if (!pass(field.before, p) || !find_ends(field, p, value_end, &seen)) return nullptr;
    if (field.wanted >= 0) {
      Token* out = tokens[field.wanted] + row;
      bool wrong = false;
#pragma GCC unroll 8
      for (int k = 0; k < N; k++) {
        out[k] = token_of(p[k], static_cast<uint32_t>(value_end[k] - p[k]), &wrong);
      }
      if (wrong) return nullptr;
    }
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) {
      if (exact && !is_plain({p[k], static_cast<size_t>(value_end[k] - p[k])})) return nullptr;
      p[k] = value_end[k];
    }
  }
  if (!pass(behind_, p)) return nullptr;
  if (!seen.is_ascii() && !simdjson::validate_utf8(start, p[N - 1] - start)) return nullptr;
  for (const int key : missing_) {
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) tokens[key][row + k] = kNull;
  }
  return p[N - 1];
}

#else

template <int N>
const char* Walk::take(const char*, const char*, Token* const*, int, bool) {
  return nullptr;
}

#endif

template const char* Walk::take<1>(const char*, const char*, Token* const*, int, bool);
template const char* Walk::take<Walk::kLanes>(const char*, const char*, Token* const*, int, bool);

}  // namespace jg::json
