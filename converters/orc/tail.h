// What an ORC file's tail says beyond Arrow's adapter: types that would abort it, and statistics of stripes.
// Messages: orc_proto.proto of the ORC specification, version 1.
#pragma once
#include <cstdint>
#include <string_view>

namespace jg::columnar {

// Walks the fields of one protobuf message. Throws ReadError "malformed" where the bytes are not one.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : at_(bytes) {}

  // Moves on to the next field; false at the end.
  bool next();
  int field() const { return field_; }
  uint64_t integer() const { return integer_; }    // varint and fixed fields
  std::string_view bytes() const { return bytes_; }  // length-delimited fields

 private:
  uint64_t varint();
  std::string_view take(uint64_t size);

  std::string_view at_;
  int field_ = 0;
  uint64_t integer_ = 0;
  std::string_view bytes_;
};

// Throws ReadError "malformed" where the serialized FileTail declares a type that Arrow cannot make (it would abort).
void check_types(std::string_view file_tail);

}  // namespace jg::columnar
