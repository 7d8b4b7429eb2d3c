// Writes nested values: structs, lists and maps as bytes, in the encoding of jumpgate/ntf/README.md ("Nested values").
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/read_error.h"
#include "jg/stream.h"

namespace jg::columnar {

// Nested values that are read have no more levels than this (jumpgate/dataflow/types.py).
inline constexpr int kNestingMax = 32;

// The buffer to which values are appended.
using NestedBytes = std::string;

// The type of a map's entries, which it is a list of.
inline const ColumnSpec& map_entry() {
  static const ColumnSpec kEntry{"entry", JG_BINARY, 0, 0, false, Nesting::kStruct, {}, {}};
  return kEntry;
}

inline bool is_variable(const ColumnSpec& spec) { return spec.type == JG_STRING || spec.type == JG_BINARY; }

// Bytes of a value of fixed width.
inline size_t fixed_width(const ColumnSpec& spec) {
  static constexpr size_t kWidths[] = {1, 1, 2, 4, 8, 4, 8, 8, 16, 4, 8, 8, 8};
  return kWidths[spec.type];
}

// NestedBytes of a value's place in a struct or list: itself, or where it ends.
inline size_t slot_width(const ColumnSpec& spec) { return is_variable(spec) ? 4 : fixed_width(spec); }

inline void put_size(NestedBytes* out, size_t at, size_t size) {
  if (size > std::numeric_limits<uint32_t>::max()) throw ReadError("overflow", "a nested value of more than 4 GiB");
  const uint32_t small = static_cast<uint32_t>(size);
  std::memcpy(out->data() + at, &small, 4);
}

// Appends a struct. write(i, out) appends the value of field i; false: it is NULL, and nothing was appended.
template <class Write>
void write_struct(const std::vector<ColumnSpec>& fields, NestedBytes* out, Write&& write) {
  const size_t base = out->size(), bitmap = (fields.size() + 7) / 8;
  size_t head = bitmap;
  for (const ColumnSpec& field : fields) head += slot_width(field);
  out->resize(base + head);
  size_t slot = base + bitmap;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t start = out->size();
    if (write(i, out)) (*out)[base + i / 8] = static_cast<char>((*out)[base + i / 8] | 1 << (i & 7));
    if (is_variable(fields[i])) {
      put_size(out, slot, out->size() - base);
    } else if (out->size() > start) {
      std::memcpy(out->data() + slot, out->data() + start, fixed_width(fields[i]));
      out->resize(start);
    }
    slot += slot_width(fields[i]);
  }
}

// Collects the elements of a list, whose number is not known before its end.
class ListWriter {
 public:
  explicit ListWriter(const ColumnSpec& element) : variable_(is_variable(element)), width_(slot_width(element)) {}

  // write(out) as in write_struct.
  template <class Write>
  void add(Write&& write) {
    const size_t start = bodies_.size();
    const bool present = write(&bodies_);
    if (count_ % 8 == 0) bitmap_.push_back(0);
    if (present) bitmap_.back() = static_cast<char>(bitmap_.back() | 1 << (count_ % 8));
    ++count_;
    if (variable_) {
      ends_.push_back(bodies_.size());
    } else if (bodies_.size() == start) {
      bodies_.resize(start + width_);
    }
  }

  // Appends the list and is empty again.
  void finish(NestedBytes* out) {
    const size_t base = out->size(), head = 4 + bitmap_.size() + (variable_ ? 4 * count_ : 0);
    out->resize(base + head);
    put_size(out, base, count_);
    if (count_) std::memcpy(out->data() + base + 4, bitmap_.data(), bitmap_.size());
    for (size_t i = 0; i < ends_.size(); ++i) put_size(out, base + 4 + bitmap_.size() + 4 * i, head + ends_[i]);
    out->append(bodies_);
    count_ = 0;
    bitmap_.clear(), bodies_.clear(), ends_.clear();
  }

 private:
  const bool variable_;
  const size_t width_;
  size_t count_ = 0;
  NestedBytes bitmap_, bodies_;
  std::vector<size_t> ends_;
};

}  // namespace jg::columnar
