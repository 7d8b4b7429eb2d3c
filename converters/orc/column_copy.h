// Turns Arrow arrays, as the ORC reader makes them, into JgCol columns: in place where the layouts agree.
#pragma once
#include <arrow/array/array_base.h>
#include <arrow/type_fwd.h>

#include <functional>
#include <memory>

#include "common/column_room.h"
#include "jg/stream.h"

namespace jg::columnar {

// Rows [first, first + rows) of `array` as `out`; what cannot be pointed at is written to `room`.
using ColumnCopy = std::function<void(const arrow::Array& array, int64_t first, int32_t rows, ColumnRoom& room, JgCol* out)>;

// The copy from the file's type to the declared one; throws ReadError "schema" where the two do not agree.
ColumnCopy make_column_copy(const ColumnSpec& column, const arrow::DataType& found);

}  // namespace jg::columnar
