// Hostile bytes for everything that reads the wire: headers, greetings, descriptors, and frames of both layouts, whose
// values are then touched, written in the other layout and read again.
// Input: byte 0 chooses what is read; for frames, bytes 1 and 2 are the rows and the rest is the payload.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "jg/ntf.h"
#include "ntf/bytes.h"

namespace {

using namespace jg::ntf;

constexpr char FIELDS[] =
    "field 0 int64 id\nfield 1 bool? b\nfield 2 int8? i\nfield 3 string? s\nfield 4 decimal(7,2)? d\n"
    "field 5 decimal(38,4)? w\nfield 6 binary r\nfield 7 float32? f\nfield 8 date? t\nfield 9 int16 h\n";

Descriptor format(int which) {
  static const char* const heads[] = {
      "layout columnar\nbyte_order little\npacked no\nalignment 64\n",
      "layout row\nbyte_order little\npacked no\nalignment 8\n",
      "layout row\nbyte_order big\npacked yes\nalignment 1\n",
      "layout row\nbyte_order big\npacked no\nalignment 4\n",
  };
  Descriptor descriptor;
  const std::string text = std::string("jumpgate-ntf 1\n") + heads[which] + FIELDS;
  if (!parse_descriptor(text, &descriptor).ok()) std::abort();
  return descriptor;
}

// Reads a payload batch by batch into `encoder`, looking at every byte that a value points to.
bool copy(const Descriptor& descriptor, const uint8_t* data, size_t size, uint32_t rows, FrameEncoder* encoder) {
  Bytes payload;
  std::memcpy(payload.ensure(size ? size : 1), size ? data : reinterpret_cast<const uint8_t*>(""), size ? size : 1);
  const auto decoder = make_decoder(descriptor);
  if (!decoder->open(payload.data(), size, rows).ok()) return false;
  for (uint32_t from = 0; from < rows; from += JG_BATCH_ROWS) {
    JgBatch batch;
    if (!decoder->batch(from, &batch).ok()) return false;
    encoder->append(batch, {nullptr, 0, batch.rows});
  }
  return true;
}

std::string sealed(FrameEncoder* encoder) {
  std::vector<iovec> pieces;
  encoder->seal(&pieces);
  std::string bytes;
  for (const iovec& piece : pieces) bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  return bytes;
}

void read_frame(int which, uint32_t rows, const uint8_t* data, size_t size) {
  const Descriptor from = format(which), other = format((which + 1) % 4);
  const auto first = make_encoder(other), second = make_encoder(other);
  if (!copy(from, data, size, rows, first.get())) return;
  const std::string bytes = sealed(first.get());
  if (!copy(other, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), rows, second.get())) std::abort();
  if (sealed(second.get()) != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const uint32_t rows = 1 + (data[1] | data[2] << 8) % 5000;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  std::string a, b;
  Hello hello;
  FrameHeader header;
  Descriptor descriptor;
  jg::Status status;
  switch (data[0] % 8) {
    case 4:
      status = parse_descriptor(rest, &descriptor);
      a = first_difference(rest, "jumpgate-ntf 1\nlayout row\n");
      break;
    case 5:
      status = decode_hello(rest, &hello);
      if (status.ok() && encode_hello(hello) != rest) std::abort();
      break;
    case 6:
      status = decode_error(rest, &a, &b);
      status = StreamTotals().check_end(rest);
      break;
    case 7:
      if (rest.size() < sizeof(FrameHeader)) break;
      std::memcpy(&header, rest.data(), sizeof header);
      status = check_header(header);
      if (status.ok() && header.kind == DATA && (header.rows == 0 || header.length > FRAME_BYTES_MAX)) std::abort();
      break;
    default:
      read_frame(data[0] % 8, rows, data + 3, size - 3);
  }
  return 0;
}
