// Offsets of a tuple's fields in the row layout (README.md, "row"), and numbers in either byte order.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "jg/ntf.h"
#include "ntf/bytes.h"

namespace jg::ntf {

inline constexpr size_t kTextWidth = 8;  // uint32 offset, uint32 length

struct RowField {
  JgType type;
  size_t offset;  // in the tuple
  bool is_text;
};

// Offsets of a tuple's fields; README.md, "row".
struct RowLayout {
  explicit RowLayout(const Descriptor& d) : swap(d.big_endian) {
    const bool never_null = std::none_of(d.columns.begin(), d.columns.end(), [](const auto& c) { return c.nullable; });
    null_bytes = d.packed && never_null ? 0 : (d.columns.size() + 7) / 8;
    size_t at = null_bytes;
    for (const ColumnSpec& c : d.columns) {
      const bool text = c.type == JG_STRING || c.type == JG_BINARY;
      const size_t width = text ? kTextWidth : memory_width(c.type);
      const size_t natural = text ? sizeof(uint32_t) : width;
      at = round_up(at, std::min<size_t>(natural, d.alignment));
      fields.push_back({c.type, at, text});
      has_text |= text;
      at += width;
    }
    stride = round_up(at, d.alignment);
  }
  static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

  std::vector<RowField> fields;
  size_t stride = 0;      // bytes of a tuple's fixed part
  size_t null_bytes = 0;  // of these, in front: the null bit vector, if there is one
  bool swap;              // numbers are big endian
  bool has_text = false;
};

template <class T>
T swapped(T v) {
  if constexpr (sizeof(T) == 1) {
    return v;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(v);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(v);
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(v);
  } else {
    return static_cast<T>(static_cast<unsigned __int128>(__builtin_bswap64(static_cast<uint64_t>(v))) << 64 |
                          __builtin_bswap64(static_cast<uint64_t>(v >> 64)));
  }
}

template <class T>
T load(const uint8_t* at, bool swap) {
  T v;
  std::memcpy(&v, at, sizeof(T));
  return swap ? swapped(v) : v;
}

template <class T>
void store(uint8_t* at, T v, bool swap) {
  if (swap) v = swapped(v);
  std::memcpy(at, &v, sizeof(T));
}

}  // namespace jg::ntf
