// Skipping by statistics: may a part of a file (row group, stripe) hold a row that satisfies all bounds of a read?
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jg/stream.h"

namespace jg::columnar {

// Statistics of one column in one part of a file, in physical values of the declared type. For floats, NaN is not
// counted.
struct ColumnRange {
  bool all_null = false, no_null = false;
  int64_t values = -1;  // that are not NULL; negative: unknown
  bool exact = false;   // the least and the largest of `integers` are values of the column
  std::optional<std::pair<jg_i128, jg_i128>> integers;  // integers, decimals, dates, timestamps
  std::optional<std::pair<double, double>> floats;
  std::optional<std::pair<std::string, std::string>> texts;  // bytes; may be wider than the values
};

// The value that a column is compared with, in physical values of its declared type.
struct BoundValue {
  jg_i128 integer = 0;
  double real = 0;
  std::string text;
};

class Bounds {
 public:
  // Bounds whose value cannot be read are left out, with all of a list: skipping is only ever a hint.
  Bounds(const std::vector<ColumnSpec>& columns, const std::vector<FileSourceOptions::Bound>& bounds);

  const std::vector<int>& columns() const { return columns_; }  // output columns that have bounds, each once
  // False only when no row of such a part can satisfy the column's bounds.
  bool may_match(int column, const ColumnRange& range) const;
  // True only when every row of such a part satisfies the column's bounds.
  bool must_match(int column, const ColumnRange& range) const;
  // has_equality: only rows that equal certain values satisfy the column's bounds. may_equal: there may be such rows,
  // where `holds` tells which values may occur.
  bool has_equality(int column) const;
  bool may_equal(int column, const std::function<bool(const BoundValue&)>& holds) const;

 private:
  enum class Op { kAny, kEq, kLt, kLe, kGt, kGe, kIsNull, kIsNotNull };
  struct Bound {
    int column;
    Op op;
    BoundValue value;
  };
  template <class T>
  static bool overlaps(Op op, const T& low, const T& high, const T& value);
  template <class T>
  static bool lies_within(Op op, const T& low, const T& high, const T& value);

  // Return whether `holds` is true for each of the column's bounds, and for at least one of those by kAny, if there are
  // any.
  template <class Holds>
  bool all_hold(int column, const Holds& holds) const;

  std::vector<Bound> bounds_;
  std::vector<int> columns_;
};

}  // namespace jg::columnar
