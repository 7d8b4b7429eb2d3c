// Nested columns of an ORC file: fields of structs as columns of their own, and whole structs, lists and maps.
#pragma once
#include <memory>

#include "orc/columns.h"

namespace jg::columnar {

// The decoder of the column's type from type `id` on, down column.path; throws ReadError "schema" where the two do not
// agree. `found`: set to the type at the path's end, negative where the file lacks it; then there is no decoder.
std::unique_ptr<OrcReader> make_orc_reader(const ColumnSpec& column, const OrcTail& tail, int id, int* found);

}  // namespace jg::columnar
