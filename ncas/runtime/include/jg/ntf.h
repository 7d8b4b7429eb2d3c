// Network tuple formats: descriptor, frames and codecs. jumpgate/ntf/README.md specifies every byte. Pure functions of
// memory; sockets are the edges' business (stream.h). Everything that decodes is safe on hostile bytes.
#pragma once
#include <sys/uio.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jg/batch.h"
#include "jg/status.h"
#include "jg/stream.h"

namespace jg::ntf {

static_assert(std::endian::native == std::endian::little, "the codecs are written for little-endian hosts");

enum class Layout { kColumnar, kRow };

// The canonical text of an edge's format, parsed. Memory types of columns are those of JgType.
struct Descriptor {
  Layout layout = Layout::kColumnar;
  bool big_endian = false, packed = false;
  int alignment = 64;  // bytes
  std::vector<ColumnSpec> columns;
};
Status parse_descriptor(std::string_view text, Descriptor* out);  // "protocol" for any other text
// A type as canonical texts have it ("decimal(7,2)?"); false for any other word. Sets all but the column's name.
bool parse_type(std::string_view word, ColumnSpec* column);
// "field 3: int32 a here, int64 a there", or "" where the canonical texts are equal.
std::string first_difference(std::string_view mine, std::string_view theirs);

// CRC-32C (Castagnoli) of `size` bytes, continuing from the CRC of the bytes before (0 at the start).
uint32_t crc32c(uint32_t crc, const void* data, size_t size);
uint32_t crc32c_portable(uint32_t crc, const void* data, size_t size);

enum Kind : uint8_t { HELLO = 1, ACCEPT = 2, DATA = 3, END = 4, ERROR = 5 };

// All integers of headers and control payloads are little endian.
struct FrameHeader {
  char magic[4];      // "JGTF"
  uint8_t version;    // 1
  uint8_t kind;       // Kind
  uint16_t flags;     // 0
  uint32_t rows;      // of a DATA frame, else 0
  uint32_t length;    // of the payload, in bytes
  uint64_t sequence;  // of a DATA or END frame: how many DATA frames came before; else 0
  uint32_t reserved;  // 0
  uint32_t crc;       // CRC-32C of the payload followed by the 28 bytes above
};
static_assert(sizeof(FrameHeader) == 32);

enum : uint32_t {
  FRAME_ROWS_MAX = 1u << 20,
  FRAME_BYTES_MAX = 1u << 28,    // payload of a DATA frame
  CONTROL_BYTES_MAX = 1u << 20,  // payload of any other frame
};

// `payload_crc` is the payload's CRC; the header's own bytes are added to it.
FrameHeader make_header(Kind kind, uint32_t rows, uint32_t length, uint64_t sequence, uint32_t payload_crc);
// A whole control frame: header and payload.
std::string control_frame(Kind kind, std::string_view payload, uint64_t sequence = 0);
// Magic, version, flags, kind and bounds; the CRC is checked when the payload is there.
Status check_header(const FrameHeader& header);
Status check_crc(const FrameHeader& header, uint32_t payload_crc);

// A sender's introduction of itself and the edge.
struct Hello {
  uint32_t producer = 0, partition = 0;  // index of the sender, and of the consumer that it means to reach
  std::string token, job, edge, fingerprint, text;
};
std::string encode_hello(const Hello& hello);
Status decode_hello(std::string_view payload, Hello* out);
std::string encode_error(std::string_view code, std::string_view message);
Status decode_error(std::string_view payload, std::string* code, std::string* message);

// Counts one stream's DATA frames on either side; the END frame holds the result.
class StreamTotals {
 public:
  // Add a DATA frame in order; its header's CRC goes into the stream's checksum.
  void add(const FrameHeader& header);
  uint64_t frames() const { return frames_; }
  std::string encode() const;  // the END frame's payload
  Status check_sequence(const FrameHeader& header) const;
  Status check_end(std::string_view payload) const;

 private:
  uint64_t rows_ = 0, frames_ = 0;
  uint32_t crc_ = 0;
};

// Rows of a batch: those that `sel` lists, or `n` from `from` on where it is null.
struct Rows {
  const int32_t* sel;
  int32_t from, n;
};

// Collects rows for one frame.
class FrameEncoder {
 public:
  virtual ~FrameEncoder() = default;
  // The caller sees to it that the payload stays below FRAME_BYTES_MAX.
  virtual void append(const JgBatch& batch, Rows rows) = 0;
  virtual size_t bytes() const = 0;  // of the payload, roughly
  // The payload in pieces, valid until clear(). Appending after seal() needs a clear() before.
  virtual void seal(std::vector<iovec>* payload) = 0;
  virtual void clear() = 0;
  int64_t rows() const { return rows_; }

 protected:
  int64_t rows_ = 0;
};

// Reads one frame. Errors have code "protocol" and name the column.
class FrameDecoder {
 public:
  virtual ~FrameDecoder() = default;
  // Checks all that memory safety needs. `payload` is aligned to 64 bytes and outlives the batches.
  virtual Status open(const uint8_t* payload, size_t length, uint32_t rows) = 0;
  // At most JG_BATCH_ROWS rows from row `from`, a multiple of JG_BATCH_ROWS. Valid until the next call.
  virtual Status batch(uint32_t from, JgBatch* out) = 0;
};
// Convert a sender's whole stream in memory (handshake, data, end) to the same rows in another format.
Status convert_stream(std::string_view stream, std::string_view to_text, std::string_view to_fingerprint,
                      std::string* out);

std::unique_ptr<FrameEncoder> make_encoder(const Descriptor& descriptor);
std::unique_ptr<FrameDecoder> make_decoder(const Descriptor& descriptor);

}  // namespace jg::ntf
