// Converts a whole stream in memory to another tuple format: another language calls it through a plain C interface to
// prove that its codec and this one agree.
#include <cstdlib>
#include <cstring>
#include <new>

#include "jg/ntf.h"
#include "ntf/bytes.h"

namespace jg::ntf {
namespace {

Status take_frame(std::string_view* stream, FrameHeader* header, std::string_view* payload) {
  if (stream->size() < sizeof *header) return {"unreachable", "the stream ends without an end frame"};
  std::memcpy(header, stream->data(), sizeof *header);
  JG_RETURN_IF_ERROR(check_header(*header));
  if (stream->size() - sizeof *header < header->length) return {"unreachable", "the stream ends within a frame"};
  *payload = stream->substr(sizeof *header, header->length);
  stream->remove_prefix(sizeof *header + header->length);
  return check_crc(*header, crc32c(0, payload->data(), payload->size()));
}

Status convert_data(FrameDecoder* decoder, FrameEncoder* encoder, const FrameHeader& header, std::string_view payload,
                    StreamTotals* written, std::string* out) {
  Bytes aligned;
  std::memcpy(aligned.ensure(payload.size()), payload.data(), payload.size());
  JG_RETURN_IF_ERROR(decoder->open(aligned.data(), payload.size(), header.rows));
  for (uint32_t from = 0; from < header.rows; from += JG_BATCH_ROWS) {
    JgBatch batch;
    JG_RETURN_IF_ERROR(decoder->batch(from, &batch));
    encoder->append(batch, {nullptr, 0, batch.rows});
  }
  std::vector<iovec> pieces;
  encoder->seal(&pieces);
  std::string bytes;
  for (const iovec& piece : pieces) bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  encoder->clear();
  const FrameHeader to = make_header(DATA, header.rows, static_cast<uint32_t>(bytes.size()), written->frames(),
                                     crc32c(0, bytes.data(), bytes.size()));
  written->add(to);
  out->append(reinterpret_cast<const char*>(&to), sizeof to).append(bytes);
  return {};
}

}  // namespace

Status convert_stream(std::string_view stream, std::string_view to_text, std::string_view to_fingerprint,
                      std::string* out) {
  FrameHeader header;
  std::string_view payload;
  JG_RETURN_IF_ERROR(take_frame(&stream, &header, &payload));
  if (header.kind != HELLO) return {"protocol", "the first frame is not a greeting"};
  Hello hello;
  JG_RETURN_IF_ERROR(decode_hello(payload, &hello));
  Descriptor from, to;
  JG_RETURN_IF_ERROR(parse_descriptor(hello.text, &from));
  JG_RETURN_IF_ERROR(parse_descriptor(to_text, &to));
  bool same = from.columns.size() == to.columns.size();
  for (size_t i = 0; same && i < to.columns.size(); i++) same = from.columns[i].type == to.columns[i].type;
  if (!same) return {"protocol", "the formats have different columns"};
  hello.text = to_text;
  hello.fingerprint = to_fingerprint;
  *out = control_frame(HELLO, encode_hello(hello));

  const auto decoder = make_decoder(from);
  const auto encoder = make_encoder(to);
  StreamTotals read, written;
  while (true) {
    JG_RETURN_IF_ERROR(take_frame(&stream, &header, &payload));
    JG_RETURN_IF_ERROR(read.check_sequence(header));
    if (header.kind == END) break;
    if (header.kind != DATA) return {"protocol", "a frame of kind " + std::to_string(header.kind) + " amid data"};
    read.add(header);
    JG_RETURN_IF_ERROR(convert_data(decoder.get(), encoder.get(), header, payload, &written, out));
  }
  JG_RETURN_IF_ERROR(read.check_end(payload));
  if (!stream.empty()) return {"protocol", "bytes after the end frame"};
  out->append(control_frame(END, written.encode(), written.frames()));
  return {};
}

}  // namespace jg::ntf

extern "C" {

// Read a sender's whole stream (handshake, data, end) and write the same rows in another format. Returns 0 and the new
// stream, which jg_ntf_free takes back; else 1 and "code: message" in `error`.
int jg_ntf_convert(const uint8_t* stream, size_t size, const char* to_text, const char* to_fingerprint, uint8_t** out,
                   size_t* out_size, char* error, size_t error_size) {
  std::string result;
  jg::Status status;
  try {
    status = jg::ntf::convert_stream({reinterpret_cast<const char*>(stream), size}, to_text, to_fingerprint, &result);
    *out = status.ok() ? static_cast<uint8_t*>(std::malloc(result.size())) : nullptr;
    if (status.ok() && *out == nullptr) status = {"memory", "no memory for the converted stream"};
  } catch (const std::bad_alloc&) {
    status = {"memory", "no memory to convert a stream"};
  }
  if (!status.ok()) {
    const std::string text = status.error().code + ": " + status.error().message;
    if (error_size) error[text.copy(error, error_size - 1)] = 0;
    return 1;
  }
  std::memcpy(*out, result.data(), result.size());
  *out_size = result.size();
  return 0;
}

void jg_ntf_free(uint8_t* stream) { std::free(stream); }

uint32_t jg_ntf_crc32c(const uint8_t* data, size_t size, int portable) {
  return portable ? jg::ntf::crc32c_portable(0, data, size) : jg::ntf::crc32c(0, data, size);
}

}  // extern "C"
