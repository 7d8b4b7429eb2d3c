// Days before 1582-10-15, which some writers count by the Julian calendar: engines that know this convert them, so that
// with the option `early_days = fail` a file that may have some is refused.
#pragma once
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

// Throws unless all of these values are later.
inline void require_late(const ColumnSpec& column, const ColumnRange& range) {
  constexpr jg_i128 kDay = -141427, kDayMicros = 86'400'000'000;
  if (range.all_null) return;
  if (range.integers && range.integers->first >= (column.type == JG_DATE ? kDay : kDay * kDayMicros)) return;
  throw ReadError(
      "schema",
      "column '" + column.name + "' may have days before 1582-10-15 by the Julian calendar, and early_days = fail",
      {{"column", column.name}});
}

}  // namespace jg::columnar
