#include "orc/column_copy.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include <cstring>
#include <type_traits>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

void copy_validity(const arrow::Array& array, int64_t first, int32_t rows, ColumnRoom& room, JgCol* out) {
  out->valid = nullptr;
  if (array.null_count() == 0) return;
  const uint8_t* bits = array.null_bitmap_data();
  int64_t at = array.offset() + first;
  uint8_t* valid = room.valid.get();
  int32_t present = 0;
  for (int32_t i = 0; i < rows; ++i) {
    valid[i] = bits[(at + i) >> 3] >> ((at + i) & 7) & 1;
    present += valid[i];
  }
  if (present < rows) out->valid = valid;
}

template <class Array>
ColumnCopy in_place() {
  return [](const arrow::Array& array, int64_t first, int32_t, ColumnRoom&, JgCol* out) {
    const auto* values = static_cast<const Array&>(array).raw_values() + first;
    out->data = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(values)>>*>(values);
  };
}

// convert(array, row) → Out
template <class Array, class Out, class Convert>
ColumnCopy each(Convert convert) {
  return [convert](const arrow::Array& array, int64_t first, int32_t rows, ColumnRoom& room, JgCol* out) {
    const auto& typed = static_cast<const Array&>(array);
    Out* values = reinterpret_cast<Out*>(room.data);
    for (int32_t i = 0; i < rows; ++i) values[i] = convert(typed, first + i);
    out->data = values;
  };
}

template <class Array, class Out>
ColumnCopy widened() {
  return each<Array, Out>([](const Array& array, int64_t i) { return static_cast<Out>(array.Value(i)); });
}

template <class Array>
ColumnCopy text() {
  return each<Array, JgStr>([](const Array& array, int64_t i) {
    if (array.IsNull(i)) return JgStr{nullptr, 0};
    std::string_view view = array.GetView(i);
    return JgStr{view.data(), view.size()};
  });
}

template <class Out>
ColumnCopy decimal() {
  return each<arrow::Decimal128Array, Out>([](const arrow::Decimal128Array& array, int64_t i) {
    Out value;
    std::memcpy(&value, array.GetValue(i), sizeof(Out));
    return value;
  });
}

int64_t micros(const arrow::TimestampArray& array, int64_t i) {
  int64_t nanos = array.Value(i);
  if (nanos % 1000 == 0) return nanos / 1000;
  if (array.IsNull(i)) return 0;
  throw ReadError("schema", "a timestamp has digits below microseconds, which timestamp cannot hold");
}

template <class Out>
ColumnCopy integer(const arrow::DataType& found) {
  switch (found.id()) {
    case arrow::Type::INT8: return widened<arrow::Int8Array, Out>();
    case arrow::Type::INT16: return widened<arrow::Int16Array, Out>();
    case arrow::Type::INT32: return widened<arrow::Int32Array, Out>();
    default: return widened<arrow::Int64Array, Out>();
  }
}

ColumnCopy values_copy(const ColumnSpec& column, const arrow::DataType& found) {
  auto is = [&](arrow::Type::type type) { return found.id() == type; };
  auto fits = [&](int bits) { return arrow::is_signed_integer(found.id()) && found.bit_width() <= bits; };
  switch (column.type) {
    case JG_BOOL:
      if (is(arrow::Type::BOOL)) return widened<arrow::BooleanArray, uint8_t>();
      break;
    case JG_I8:
      if (is(arrow::Type::INT8)) return in_place<arrow::Int8Array>();
      break;
    case JG_I16:
      if (is(arrow::Type::INT16)) return in_place<arrow::Int16Array>();
      if (fits(16)) return integer<int16_t>(found);
      break;
    case JG_I32:
      if (is(arrow::Type::INT32)) return in_place<arrow::Int32Array>();
      if (fits(32)) return integer<int32_t>(found);
      break;
    case JG_I64:
      if (is(arrow::Type::INT64)) return in_place<arrow::Int64Array>();
      if (fits(64)) return integer<int64_t>(found);
      break;
    case JG_F32:
      if (is(arrow::Type::FLOAT)) return in_place<arrow::FloatArray>();
      break;
    case JG_F64:
      if (is(arrow::Type::DOUBLE)) return in_place<arrow::DoubleArray>();
      if (is(arrow::Type::FLOAT)) return widened<arrow::FloatArray, double>();
      break;
    case JG_DEC64:
    case JG_DEC128:
      if (is(arrow::Type::DECIMAL128)) {
        const auto& type = static_cast<const arrow::Decimal128Type&>(found);
        if (type.scale() != column.scale || type.precision() > column.precision) break;
        return column.type == JG_DEC64 ? decimal<int64_t>() : decimal<jg_i128>();
      }
      break;
    case JG_DATE:
      if (is(arrow::Type::DATE32)) return in_place<arrow::Date32Array>();
      break;
    case JG_TIMESTAMP:
      if (is(arrow::Type::TIMESTAMP)) return each<arrow::TimestampArray, int64_t>(micros);
      break;
    case JG_STRING:
      if (is(arrow::Type::STRING)) return text<arrow::StringArray>();
      break;
    case JG_BINARY:
      if (is(arrow::Type::BINARY)) return text<arrow::BinaryArray>();
      break;
  }
  throw wrong_type(column, found.ToString());
}

}  // namespace

ColumnCopy make_column_copy(const ColumnSpec& column, const arrow::DataType& found) {
  return [column, values = values_copy(column, found)](const arrow::Array& array, int64_t first, int32_t rows,
                                                       ColumnRoom& room, JgCol* out) {
    values(array, first, rows, room, out);
    copy_validity(array, first, rows, room, out);
    if (out->valid && !column.nullable) throw unexpected_null(column);
  };
}

}  // namespace jg::columnar
