// Days before 1582-10-15, which some writers count by the Julian calendar: engines that know this convert them, so that
// with the option `early_days = fail` a file that may have some is refused.
#pragma once
#include <algorithm>
#include <string>

#include "common/bounds.h"
#include "common/read_error.h"

namespace jg::columnar {

inline bool refuses_early_days(const FileSourceOptions& options) {
  for (const auto& [name, value] : options.options) {
    if (name == "early_days") return value == "fail";
  }
  return false;
}

inline bool has_days(const ColumnSpec& column) { return column.type == JG_DATE || column.type == JG_TIMESTAMP; }

// The error of a column that may have earlier ones.
inline ReadError early_days(const ColumnSpec& column) {
  return ReadError(
      "schema",
      "column '" + column.name + "' may have days before 1582-10-15 by the Julian calendar, and early_days = fail",
      {{"column", column.name}});
}

// Whether days are among the parts of a nested column, of which no statistics say how late they are.
inline bool has_nested_days(const ColumnSpec& column) {
  return std::any_of(column.parts.begin(), column.parts.end(), [](const ColumnSpec& part) {
    return (part.nesting == Nesting::kNone && has_days(part)) || has_nested_days(part);
  });
}

// Throws unless all of these values are later.
inline void require_late(const ColumnSpec& column, const ColumnRange& range) {
  constexpr jg_i128 kDay = -141427, kDayMicros = 86'400'000'000;
  if (range.all_null) return;
  if (range.integers && range.integers->first >= (column.type == JG_DATE ? kDay : kDay * kDayMicros)) return;
  throw early_days(column);
}

}  // namespace jg::columnar
