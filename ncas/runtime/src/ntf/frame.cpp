// Frame headers, control frames and the totals of a stream.
#include <cstring>

#include "jg/ntf.h"

namespace jg::ntf {
namespace {

constexpr char kMagic[4] = {'J', 'G', 'T', 'F'};
constexpr uint8_t kVersion = 1;
constexpr size_t kCrcCovers = offsetof(FrameHeader, crc);

template <class T>
void put(std::string* to, T value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_text(std::string* to, std::string_view text) {
  put(to, static_cast<uint32_t>(text.size()));
  to->append(text);
}

template <class T>
bool take(std::string_view* from, T* value) {
  if (from->size() < sizeof(T)) return false;
  std::memcpy(value, from->data(), sizeof(T));
  from->remove_prefix(sizeof(T));
  return true;
}

bool take_text(std::string_view* from, std::string* text) {
  uint32_t size = 0;
  if (!take(from, &size) || from->size() < size) return false;
  text->assign(from->substr(0, size));
  from->remove_prefix(size);
  return true;
}

}  // namespace

FrameHeader make_header(Kind kind, uint32_t rows, uint32_t length, uint64_t sequence, uint32_t payload_crc) {
  FrameHeader h{};
  std::memcpy(h.magic, kMagic, 4);
  h.version = kVersion;
  h.kind = kind;
  h.rows = rows;
  h.length = length;
  h.sequence = sequence;
  h.crc = crc32c(payload_crc, &h, kCrcCovers);
  return h;
}

std::string control_frame(Kind kind, std::string_view payload, uint64_t sequence) {
  const FrameHeader h =
      make_header(kind, 0, static_cast<uint32_t>(payload.size()), sequence, crc32c(0, payload.data(), payload.size()));
  std::string frame(reinterpret_cast<const char*>(&h), sizeof h);
  return frame.append(payload);
}

Status check_header(const FrameHeader& h) {
  if (std::memcmp(h.magic, kMagic, 4) != 0) return {"protocol", "not a Jumpgate tuple stream: wrong magic number"};
  if (h.version != kVersion) {
    return {"protocol", "the peer speaks version " + std::to_string(h.version) +
                            " of the tuple stream, here is version " + std::to_string(kVersion) +
                            "; install the same release of Jumpgate on both ends"};
  }
  if (h.flags != 0 || h.reserved != 0) return {"protocol", "a frame header with unknown flags"};
  const bool data = h.kind == DATA;
  if (h.kind < HELLO || h.kind > ERROR) return {"protocol", "a frame of unknown kind " + std::to_string(h.kind)};
  if (data ? h.rows < 1 || h.rows > FRAME_ROWS_MAX : h.rows != 0) {
    return {"protocol",
            "a frame of " + std::to_string(h.rows) + " rows; allowed are 1 to " + std::to_string(FRAME_ROWS_MAX)};
  }
  if (h.length > (data ? FRAME_BYTES_MAX : CONTROL_BYTES_MAX)) {
    return {"protocol", "a frame of " + std::to_string(h.length) + " bytes; at most " +
                            std::to_string(data ? FRAME_BYTES_MAX : CONTROL_BYTES_MAX) + " are allowed"};
  }
  return {};
}

Status check_crc(const FrameHeader& h, uint32_t payload_crc) {
  if (crc32c(payload_crc, &h, kCrcCovers) == h.crc) return {};
  return {"protocol", "a frame whose bytes do not match its checksum (CRC-32C)"};
}

std::string encode_hello(const Hello& hello) {
  std::string payload;
  put(&payload, hello.producer);
  put(&payload, hello.partition);
  for (const std::string* text : {&hello.token, &hello.job, &hello.edge, &hello.fingerprint, &hello.text}) {
    put_text(&payload, *text);
  }
  return payload;
}

Status decode_hello(std::string_view payload, Hello* out) {
  bool ok = take(&payload, &out->producer) && take(&payload, &out->partition);
  for (std::string* text : {&out->token, &out->job, &out->edge, &out->fingerprint, &out->text}) {
    ok = ok && take_text(&payload, text);
  }
  if (ok && payload.empty()) return {};
  return {"protocol", "a malformed greeting"};
}

std::string encode_error(std::string_view code, std::string_view message) {
  std::string payload;
  put_text(&payload, code.substr(0, 64));
  put_text(&payload, message.substr(0, 4096));
  return payload;
}

Status decode_error(std::string_view payload, std::string* code, std::string* message) {
  if (take_text(&payload, code) && take_text(&payload, message) && payload.empty()) return {};
  return {"protocol", "a malformed error frame"};
}

void StreamTotals::add(const FrameHeader& header) {
  rows_ += header.rows;
  frames_++;
  crc_ = crc32c(crc_, &header.crc, sizeof header.crc);
}

std::string StreamTotals::encode() const {
  std::string payload;
  put(&payload, rows_);
  put(&payload, frames_);
  put(&payload, crc_);
  return payload;
}

Status StreamTotals::check_sequence(const FrameHeader& header) const {
  if (header.sequence == frames_) return {};
  return {"protocol",
          "frame " + std::to_string(frames_) + " was expected, frame " + std::to_string(header.sequence) + " came"};
}

Status StreamTotals::check_end(std::string_view payload) const {
  uint64_t rows = 0;
  if (payload == encode()) return {};
  if (!take(&payload, &rows) || rows == rows_) return {"protocol", "the end frame's totals do not match the stream"};
  return {"protocol", "the sender counts " + std::to_string(rows) + " rows, " + std::to_string(rows_) + " came"};
}

}  // namespace jg::ntf
