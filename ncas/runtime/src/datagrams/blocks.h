// Rows that arrived as packets, on their way from the edge's thread to a worker.
#pragma once
#include <memory>
#include <vector>

#include "datagrams/edge.h"
#include "datagrams/packet.h"
#include "ntf/row.h"

namespace jg::datagram {

// At most JG_BATCH_ROWS rows: groups, or the rows behind tuples.
struct Block {
  struct Row {
    Group group;
    bool null_key;
  };
  std::vector<Row> groups;
  ntf::Bytes tuples, texts;  // the frame's two sections
  int32_t rows = 0;

  // Return whether another packet of any size, with at most this many rows, may not fit.
  bool is_full(size_t packet_rows_max) const {
    return static_cast<size_t>(rows) + packet_rows_max > JG_BATCH_ROWS ||
           tuples.size() + texts.size() > kBytesMax - kPacketBytesMax;
  }
  void clear() {
    groups.clear();
    tuples.clear();
    texts.clear();
    rows = 0;
  }
  void add(const Group& group, bool null_key) {
    groups.push_back({group, null_key});
    rows++;
  }

 private:
  static constexpr size_t kBytesMax = 256 << 10;
};

// The format of an edge's packets; the same for its thread and all workers.
class BlockFormat {
 public:
  static Status make(const EdgeOptions& edge, const DatagramOptions& options, BlockFormat* out);
  // Add a packet's rows to a block that is not full; return false, and add nothing, if it is malformed.
  bool add(const Data& data, Block* block) const;

  enum class Output { KEY, COUNT, SUM, MIN, MAX };
  bool has_groups() const { return outputs_.size() > 0; }
  size_t packet_rows_max() const { return packet_rows_max_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const ntf::Descriptor& descriptor() const { return descriptor_; }

 private:
  bool add_row(const uint8_t* payload, size_t size, Block* block) const;
  bool add_rows(const uint8_t* payload, size_t size, Block* block) const;
  bool has_forbidden_null(const uint8_t* row) const;

  ntf::Descriptor descriptor_;
  std::unique_ptr<ntf::RowLayout> layout_;
  std::vector<Output> outputs_;
  size_t packet_rows_max_ = kSlotsMax;
  bool only_rows_ = false;
  std::vector<uint8_t> never_null_;  // null bits that must not be set
};

// One worker's batches of blocks.
class BlockReader {
 public:
  BlockReader(const BlockFormat& format, std::string edge);
  // All rows of the block, which must live as long as the batch is used. "overflow" if a number does not fit its
  // column's type.
  Status read(Block* block, JgBatch* out);

 private:
  Status read_column(const Block& block, size_t c);

  const BlockFormat& format_;
  const std::string edge_;
  std::unique_ptr<ntf::FrameDecoder> decoder_;
  ntf::Bytes frame_;
  std::vector<ntf::Bytes> values_, masks_;
  std::vector<JgCol> cols_;
};

}  // namespace jg::datagram
