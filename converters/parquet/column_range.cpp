#include "parquet/column_range.h"

#include <parquet/statistics.h>

#include <algorithm>
#include <string>

namespace jg::columnar {

namespace {

struct ChunkValues {
  const parquet::Statistics& statistics;

  template <class Physical>
  auto min_max() const {
    const auto& typed = static_cast<const parquet::TypedStatistics<Physical>&>(statistics);
    return std::pair(typed.min(), typed.max());
  }
};

struct PageValues {
  const parquet::ColumnIndex& index;
  size_t page;

  template <class Physical>
  auto min_max() const {
    const auto& typed = static_cast<const parquet::TypedColumnIndex<Physical>&>(index);
    return std::pair(typed.min_values().at(page), typed.max_values().at(page));
  }
};

std::string bytes_of(parquet::ByteArray value) { return {reinterpret_cast<const char*>(value.ptr), value.len}; }

// Return whether minimum and maximum are in the order in which this reader compares: that of the column's type or, in
// files that name no order, that of signed numbers (parquet.thrift, ColumnOrder).
bool ordered(const parquet::ColumnDescriptor& column) {
  switch (column.column_order().get_order()) {
    case parquet::ColumnOrder::TYPE_DEFINED_ORDER:
      return column.sort_order() != parquet::SortOrder::UNKNOWN;
    case parquet::ColumnOrder::UNDEFINED:
      return column.sort_order() == parquet::SortOrder::SIGNED;
    case parquet::ColumnOrder::UNKNOWN:
      return false;
  }
  return false;
}

template <class Values>
void set_min_max(const Values& values, const parquet::ColumnDescriptor& column, JgType wanted, ColumnRange* range) {
  const parquet::LogicalType& logical = *column.logical_type();
  const bool is_signed = has_signed_integers(logical);
  auto [times, divide] = units(logical, wanted);
  range->exact = is_signed && divide == 1;
  switch (column.physical_type()) {
    case parquet::Type::INT32: {
      auto [low, high] = values.template min_max<parquet::Int32Type>();
      if (is_signed) range->integers = std::pair(low * times, high * times);
      break;
    }
    case parquet::Type::INT64: {
      auto [low, high] = values.template min_max<parquet::Int64Type>();
      if (is_signed) range->integers = std::pair(low * times / divide, high * times / divide);
      break;
    }
    case parquet::Type::FLOAT:
      range->floats = values.template min_max<parquet::FloatType>();
      break;
    case parquet::Type::DOUBLE:
      range->floats = values.template min_max<parquet::DoubleType>();
      break;
    case parquet::Type::BYTE_ARRAY:
      if (!logical.is_decimal()) {
        auto [low, high] = values.template min_max<parquet::ByteArrayType>();
        range->texts = std::pair(bytes_of(low), bytes_of(high));
      }
      break;
    default:
      break;
  }
}

// Bounds that are the wrong way round, or NaN, say nothing.
template <class T>
void drop_unless_ascending(std::optional<std::pair<T, T>>* bounds) {
  if (*bounds && !((*bounds)->first <= (*bounds)->second)) bounds->reset();
}

template <class Values>
void set_bounds(const Values& values, const parquet::ColumnDescriptor& column, JgType wanted, ColumnRange* range) {
  if (!ordered(column)) return;
  set_min_max(values, column, wanted, range);
  drop_unless_ascending(&range->integers);
  drop_unless_ascending(&range->floats);
  drop_unless_ascending(&range->texts);
}

}  // namespace

std::pair<jg_i128, jg_i128> units(const parquet::LogicalType& logical, JgType wanted) {
  using Unit = parquet::LogicalType::TimeUnit;
  Unit::unit unit = Unit::UNKNOWN;
  if (logical.is_timestamp()) unit = static_cast<const parquet::TimestampLogicalType&>(logical).time_unit();
  if (logical.is_time()) unit = static_cast<const parquet::TimeLogicalType&>(logical).time_unit();
  const bool nanos = wanted == JG_TIMESTAMP_NS;
  if (unit == Unit::MILLIS) return {nanos ? 1'000'000 : 1000, 1};
  if (unit == Unit::MICROS) return {nanos ? 1000 : 1, 1};
  return {1, unit == Unit::NANOS && !nanos ? 1000 : 1};
}

bool has_signed_integers(const parquet::LogicalType& logical) {
  return !logical.is_int() || static_cast<const parquet::IntLogicalType&>(logical).is_signed();
}

ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column,
                     JgType wanted) {
  ColumnRange range;
  try {
    std::shared_ptr<parquet::Statistics> statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
    if (!statistics) return range;
    if (statistics->HasNullCount() && statistics->null_count() >= 0)
      range.values = std::max<int64_t>(-1, chunk.num_values() - statistics->null_count());
    range.all_null = range.values == 0;
    if (statistics->HasMinMax()) set_bounds(ChunkValues{*statistics}, column, wanted, &range);
    range.exact &= statistics->is_min_value_exact() != false && statistics->is_max_value_exact() != false;
  } catch (const parquet::ParquetException&) {
    return {};  // bounds that are not values of the column's type
  }
  return range;
}

ColumnRange range_of(const parquet::ColumnIndex& index, size_t page, const parquet::ColumnDescriptor& column,
                     JgType wanted) {
  ColumnRange range;
  range.all_null = index.null_pages().at(page);
  if (!range.all_null) set_bounds(PageValues{index, page}, column, wanted, &range);
  return range;
}

}  // namespace jg::columnar
