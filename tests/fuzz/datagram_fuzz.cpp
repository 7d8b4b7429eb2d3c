// Hostile packets for both ends of an edge through a switch: everything between the sockets and the batches.
// Input: byte 0 chooses what the packets hold; then packets, each behind its length in one byte.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "datagrams/blocks.h"
#include "datagrams/drain.h"
#include "datagrams/edge.h"
#include "datagrams/flow.h"
#include "datagrams/packet.h"

namespace {

using namespace jg::datagram;

struct Shape {
  const char* fields;
  int slots;
  bool aggregate;
};
constexpr Shape SHAPES[] = {
    {"field 0 int64? k\nfield 1 int64 c\nfield 2 decimal(38,0)? s\nfield 3 int32? l\nfield 4 date? h\n", 4, true},
    {"field 0 int64 i\nfield 1 string? s\nfield 2 binary b\nfield 3 bool? f\n", 1, false},
    {"field 0 decimal(38,4)? w\nfield 1 int8 i\n", 1, false},
};
constexpr uint32_t BUCKETS = 4;
constexpr uint16_t TOGETHER = 4;  // of a packet's flow: it arrives with the one before, and nothing is sent between

struct Ends {
  explicit Ends(const Shape& shape) : shape(shape) {
    edge.edge = "e1";
    edge.ntf = std::string("jumpgate-ntf 1\nlayout row\nbyte_order big\npacked yes\nalignment 1\n") + shape.fields;
    options.slots = shape.slots;
    options.has_rows = !shape.aggregate;
    if (!shape.aggregate) options.words = {64, 32, 32};
    if (shape.aggregate) options.outputs = {"key", "count", "sum", "min", "max"};
    if (!BlockFormat::make(edge, options, &format).ok()) std::abort();
    reader.emplace(format, edge.edge);
  }

  void arrived(const uint8_t* packet, size_t size) {
    Header header;
    now += 0.001;
    numbers.clear();
    requests.clear();
    const bool is_header = parse_header(packet, size, &header);
    if (!(header.flow & TOGETHER)) {
      const bool is_given_up = !sender.due(now, 40, true, &numbers);
      if (!is_given_up && !sender.ended() && sender.wake_at() == kNever) std::abort();  // it would stand still
    }
    if (!drain.due(now, &requests)) return;
    if (!is_header) return;
    if (header.kind == ACK) {
      if (header.sequence == kBusy)
        sender.busy(now);
      else
        sender.acknowledged(header.sequence, now);
    } else if (header.kind == ACK_RUN) {
      sender.acknowledged_run(header.sequence, header.present, now);
    } else if (header.kind == DATA) {
      data(packet, size, header);
    } else {
      drain.answered(packet, size, header, now, header.flow % 2 && !block.is_full(format.packet_rows_max()) ? &block : nullptr);
    }
    if (sender.oldest() > sender.next() || sender.next() > 41) std::abort();
    if (block.is_full(format.packet_rows_max())) read();
  }

  void data(const uint8_t* packet, size_t size, const Header& header) {
    Data data;
    if (!parse_data(packet, size, header, shape.slots, &data)) return;
    uint8_t again[kPacketBytesMax];
    put_header(again, header);
    for (int i = 0; i < data.tuples; i++) put_tuple(again + kHeaderBytes + kTupleBytes * i, data.tuple[i]);
    if (std::memcmp(again, packet, kHeaderBytes + kTupleBytes * data.tuples) != 0) std::abort();
    for (int i = 0; i < data.tuples; i++) {
      if (slot_of(data.tuple[i].key, shape.slots) >= shape.slots) std::abort();
    }
    const int32_t before = block.rows;
    const bool added = format.add(data, &block);
    if (block.rows != before + (added ? data.tuples : 0)) std::abort();
  }

  // Whatever was added is a batch, whose every byte may be looked at, unless a number does not fit.
  void read() {
    JgBatch batch{};
    const jg::Status status = reader->read(&block, &batch);
    if (!status.ok() && (!shape.aggregate || status.error().code == "internal")) std::abort();
    if (status.ok()) {
      const auto encoder = jg::ntf::make_encoder(format.descriptor());
      encoder->append(batch, {nullptr, 0, batch.rows});
      if (batch.rows != block.rows) std::abort();
    }
    block.clear();
  }

  const Shape& shape;
  jg::EdgeOptions edge;
  jg::DatagramOptions options;
  BlockFormat format;
  Block block;
  std::optional<BlockReader> reader;
  FlowSender sender{3};
  Drain drain{shape.slots, 3, 0, 0, BUCKETS};
  std::vector<uint32_t> numbers;
  std::vector<Header> requests;
  double now = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Ends ends(SHAPES[data[0] % std::size(SHAPES)]);
  for (size_t at = 1; at < size;) {
    const size_t length = std::min<size_t>(data[at], size - at - 1);
    const std::unique_ptr<uint8_t[]> packet(new uint8_t[length]);  // of its very size, for the sanitizer
    std::memcpy(packet.get(), data + at + 1, length);
    ends.arrived(packet.get(), length);
    at += 1 + length;
  }
  if (ends.block.rows > 0) ends.read();
  return 0;
}
