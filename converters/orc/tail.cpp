#include "orc/tail.h"

#include <cstring>
#include <string>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

constexpr int kTailFooter = 2, kFooterTypes = 4;
constexpr int kTypeKind = 1, kTypeLength = 4, kTypePrecision = 5, kTypeScale = 6;
constexpr uint64_t kDecimal = 14, kChar = 17;

}  // namespace

uint64_t ProtoReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = static_cast<uint8_t>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return value;
  }
  malformed("a number in its footer does not end");
}

std::string_view ProtoReader::take(uint64_t size) {
  if (size > at_.size()) malformed("its footer ends inside a field");
  std::string_view taken = at_.substr(0, size);
  at_.remove_prefix(size);
  return taken;
}

bool ProtoReader::next() {
  if (at_.empty()) return false;
  uint64_t key = varint();
  field_ = static_cast<int>(key >> 3);
  integer_ = 0;
  bytes_ = {};
  switch (key & 7) {
    case 0: integer_ = varint(); break;
    case 1: std::memcpy(&integer_, take(8).data(), 8); break;
    case 2: bytes_ = take(varint()); break;
    case 5: std::memcpy(&integer_, take(4).data(), 4); break;
    default: malformed("its footer has a field of an unknown kind");
  }
  return true;
}

void check_types(std::string_view file_tail) {
  for (ProtoReader tail(file_tail); tail.next();) {
    if (tail.field() != kTailFooter) continue;
    for (ProtoReader footer(tail.bytes()); footer.next();) {
      if (footer.field() != kFooterTypes) continue;
      uint64_t kind = 0, precision = 0, scale = 0, length = 0;
      for (ProtoReader type(footer.bytes()); type.next();) {
        if (type.field() == kTypeKind) kind = type.integer();
        if (type.field() == kTypePrecision) precision = type.integer();
        if (type.field() == kTypeScale) scale = type.integer();
        if (type.field() == kTypeLength) length = type.integer();
      }
      if (kind == kDecimal && (precision > 38 || scale > 38)) malformed("a decimal of more than 38 digits in its footer");
      if (kind == kChar && length > INT32_MAX) malformed("a char of more than 2^31 bytes in its footer");
    }
  }
}

}  // namespace jg::columnar
