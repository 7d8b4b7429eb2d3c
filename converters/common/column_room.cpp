#include "common/column_room.h"

#include <cstring>
#include <new>

namespace jg::columnar {

ColumnRoom make_room(JgType type) {
  static constexpr size_t kWidths[] = {1, 1, 2, 4, 8, 4, 8, 8, 16, 4, 8, 8, 8, 16, 16};
  constexpr size_t kFront = 64;
  ColumnRoom room;
  room.width = kWidths[type];
  size_t bytes = kFront + room.width * JG_BATCH_ROWS;
  room.bytes.reset(static_cast<unsigned char*>(std::aligned_alloc(kFront, (bytes + kFront - 1) / kFront * kFront)));
  if (!room.bytes) throw std::bad_alloc();
  std::memset(room.bytes.get(), 0, bytes);
  room.data = room.bytes.get() + kFront;
  room.valid = std::make_unique<uint8_t[]>(JG_BATCH_ROWS);
  return room;
}

void decode_values(size_t width, JgCol* column, const int32_t* rows, int32_t n) {
  switch (width) {
    case 1:
      return jg_decode<char>(column, rows, n);
    case 2:
      return jg_decode<int16_t>(column, rows, n);
    case 4:
      return jg_decode<int32_t>(column, rows, n);
    case 8:
      return jg_decode<int64_t>(column, rows, n);
    default:
      return jg_decode<jg_i128>(column, rows, n);
  }
}

void fill_with_nulls(ColumnRoom& room, int32_t rows, JgCol* out) {
  std::memset(room.data, 0, static_cast<size_t>(rows) * room.width);
  std::memset(room.valid.get(), 0, static_cast<size_t>(rows));
  *out = {room.data, room.valid.get()};
}

}  // namespace jg::columnar
