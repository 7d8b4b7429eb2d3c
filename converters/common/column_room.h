// Room for one batch of a column.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "jg/batch.h"

namespace jg::columnar {

// `data` (64-byte aligned, zeroed at first) holds JG_BATCH_ROWS values and may be read, not written, one value in
// front.
struct ColumnRoom {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> bytes;
  unsigned char* data = nullptr;
  std::unique_ptr<uint8_t[]> valid;
  size_t width = 0;  // bytes of a value
};

ColumnRoom make_room(JgType type);
// As jg_decode, by the bytes of a value.
void decode_values(size_t width, JgCol* column, const int32_t* rows, int32_t n);
// Fill `out` with NULLs.
void fill_with_nulls(ColumnRoom& room, int32_t rows, JgCol* out);

}  // namespace jg::columnar
