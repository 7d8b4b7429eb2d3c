// Rows of batches as the packets of one flow.
#pragma once
#include <vector>

#include "datagrams/edge.h"
#include "datagrams/packet.h"
#include "ntf/row.h"

namespace jg::datagram {

// Collects tuples into packets: a key always in the same slot, at most one tuple a slot. Packets are complete but for
// their flow and sequence.
class PacketBuilder {
 public:
  // Packets are `stride` bytes apart.
  PacketBuilder(int slots, size_t stride);
  // A payload only with one slot. A NULL key travels in any slot.
  void add(const Tuple& tuple, const uint8_t* payload, size_t payload_bytes);
  // A row alone, in the last packet if it fits there.
  void add_row(const uint8_t* row, size_t bytes);
  void flush();  // makes packets of all that is left

  size_t packets() const { return sizes_.size(); }
  uint8_t* packet(size_t i) { return bytes_.data() + i * stride_; }
  size_t size(size_t i) const { return sizes_[i]; }
  int64_t rows() const { return rows_; }  // in those packets
  void clear();

 private:
  static constexpr uint32_t kQueuedMax = 64;
  struct Queue {
    uint32_t head = 0, tail = 0;
    Tuple tuples[kQueuedMax];
    bool empty() const { return head == tail; }
    bool full() const { return tail - head == kQueuedMax; }
  };
  uint8_t* begin(size_t size);
  void leave();  // a packet of the first tuple of each slot

  const int slots_;
  const size_t stride_;
  std::vector<Queue> queues_;
  std::vector<uint8_t> bytes_;
  std::vector<uint16_t> sizes_;
  int64_t rows_ = 0;
  uint32_t nulls_ = 0;
};

// The tuples and payloads of a batch.
class TupleReader {
 public:
  static Status make(const EdgeOptions& edge, const DatagramOptions& options, TupleReader* out);
  // Bytes of the largest packet.
  size_t packet_bytes_max() const;
  // "protocol" for a NULL where packets have no room for one.
  Status open(const JgBatch& batch);
  bool has_tuples() const { return !types_.empty(); }
  Tuple tuple(int32_t row) const;
  // The row as a frame of one row has it, in memory that lives until the next call; null and *size = 0 without payload.
  const uint8_t* payload(int32_t row, size_t* size);

 private:
  bool halves_ = false;  // the second 64 bits are two words
  int slots_ = 4;
  std::vector<JgType> types_;  // of the columns that the program reads
  std::vector<uint64_t> values_[3];
  const uint8_t* valid_[3] = {};
  std::unique_ptr<ntf::RowLayout> layout_;  // of the payload
  std::unique_ptr<ntf::FrameEncoder> encoder_;
  const uint8_t *tuples_ = nullptr, *texts_ = nullptr;
  std::vector<uint8_t> row_;
  std::vector<ColumnSpec> payload_;
};

}  // namespace jg::datagram
