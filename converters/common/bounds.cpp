#include "common/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace jg::columnar {

namespace {

bool parse_integer(const std::string& text, jg_i128* out) {
  bool negative = !text.empty() && text[0] == '-';
  if (text.size() == static_cast<size_t>(negative)) return false;
  jg_i128 value = 0;
  for (size_t i = negative; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    if (__builtin_mul_overflow(value, jg_i128{10}, &value)) return false;
    if (__builtin_sub_overflow(value, jg_i128{text[i] - '0'}, &value)) return false;
  }
  if (!negative && __builtin_sub_overflow(jg_i128{0}, value, &value)) return false;
  *out = value;
  return true;
}

bool parse_real(const std::string& text, double* out) {
  char* end = nullptr;
  *out = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() && !std::isnan(*out);
}

}  // namespace

Bounds::Bounds(const std::vector<ColumnSpec>& columns, const std::vector<FileSourceOptions::Bound>& bounds) {
  std::vector<int> cut;  // columns of whose list a value cannot be read
  for (const FileSourceOptions::Bound& from : bounds) {
    if (from.column < 0 || from.column >= static_cast<int>(columns.size())) continue;
    Bound bound;
    bound.column = from.column;
    if (from.op == "any") {
      bound.op = Op::kAny;
    } else if (from.op == "eq") {
      bound.op = Op::kEq;
    } else if (from.op == "lt") {
      bound.op = Op::kLt;
    } else if (from.op == "le") {
      bound.op = Op::kLe;
    } else if (from.op == "gt") {
      bound.op = Op::kGt;
    } else if (from.op == "ge") {
      bound.op = Op::kGe;
    } else if (from.op == "is_null") {
      bound.op = Op::kIsNull;
    } else if (from.op == "is_not_null") {
      bound.op = Op::kIsNotNull;
    } else {
      continue;
    }
    JgType type = columns[static_cast<size_t>(from.column)].type;
    if (bound.op == Op::kIsNull || bound.op == Op::kIsNotNull) {
      // no value
    } else if (type == JG_STRING || type == JG_BINARY) {
      bound.value.text = from.value;
    } else {
      const bool real = type == JG_F32 || type == JG_F64;
      if (real ? !parse_real(from.value, &bound.value.real) : !parse_integer(from.value, &bound.value.integer)) {
        if (bound.op == Op::kAny) cut.push_back(from.column);
        continue;
      }
    }
    bounds_.push_back(bound);
    if (std::find(columns_.begin(), columns_.end(), from.column) == columns_.end()) columns_.push_back(from.column);
  }
  std::erase_if(bounds_, [&](const Bound& bound) {
    return bound.op == Op::kAny && std::find(cut.begin(), cut.end(), bound.column) != cut.end();
  });
}

template <class T>
bool Bounds::overlaps(Op op, const T& low, const T& high, const T& value) {
  switch (op) {
    case Op::kAny:
    case Op::kEq:
      return !(value < low) && !(high < value);
    case Op::kLt:
      return low < value;
    case Op::kLe:
      return !(value < low);
    case Op::kGt:
      return value < high;
    case Op::kGe:
      return !(high < value);
    case Op::kIsNull:
    case Op::kIsNotNull:
      return true;
  }
  return true;
}

// All values of a range match where even the farther of its ends does.
template <class T>
bool Bounds::lies_within(Op op, const T& low, const T& high, const T& value) {
  return op != Op::kIsNull && overlaps(op, high, low, value);
}

template <class Holds>
bool Bounds::all_hold(int column, const Holds& holds) const {
  bool listed = false, found = false;
  for (const Bound& bound : bounds_) {
    if (bound.column != column) continue;
    if (bound.op != Op::kAny && !holds(bound)) return false;
    if (bound.op == Op::kAny) {
      listed = true;
      found = found || holds(bound);
    }
  }
  return found || !listed;
}

bool Bounds::may_match(int column, const ColumnRange& range) const {
  return all_hold(column, [&](const Bound& bound) {
    if (bound.op == Op::kIsNull ? range.no_null : range.all_null) return false;
    if (range.integers && !overlaps(bound.op, range.integers->first, range.integers->second, bound.value.integer))
      return false;
    if (range.texts && !overlaps(bound.op, range.texts->first, range.texts->second, bound.value.text)) return false;
    // NaN is above every number and not in the statistics: only bounds from above, and equality, exclude a range.
    bool above = bound.op == Op::kGt || bound.op == Op::kGe;
    return !range.floats || above || overlaps(bound.op, range.floats->first, range.floats->second, bound.value.real);
  });
}

bool Bounds::must_match(int column, const ColumnRange& range) const {
  return range.no_null && all_hold(column, [&](const Bound& bound) {
           if (bound.op == Op::kIsNotNull) return true;
           if (range.integers)
             return lies_within(bound.op, range.integers->first, range.integers->second, bound.value.integer);
           return range.texts && lies_within(bound.op, range.texts->first, range.texts->second, bound.value.text);
         });
}

bool Bounds::has_equality(int column) const {
  return !may_equal(column, [](const BoundValue&) { return false; });
}

bool Bounds::may_equal(int column, const std::function<bool(const BoundValue&)>& holds) const {
  return all_hold(
      column, [&](const Bound& bound) { return (bound.op != Op::kEq && bound.op != Op::kAny) || holds(bound.value); });
}

}  // namespace jg::columnar
