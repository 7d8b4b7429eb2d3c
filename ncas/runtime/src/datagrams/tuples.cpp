#include "datagrams/tuples.h"

#include <algorithm>
#include <cstring>

namespace jg::datagram {

// ---- packets ----

PacketBuilder::PacketBuilder(int slots, size_t stride)
    : slots_(slots), stride_(stride), queues_(slots > 1 ? slots : 0) {}

uint8_t* PacketBuilder::begin(size_t size) {
  const size_t at = sizes_.size() * stride_;
  if (bytes_.size() < at + stride_) bytes_.resize(std::max(at + stride_, 2 * bytes_.size()));
  sizes_.push_back(static_cast<uint16_t>(size));
  return bytes_.data() + at;
}

void PacketBuilder::add(const Tuple& tuple, const uint8_t* payload, size_t payload_bytes) {
  if (slots_ == 1) {
    uint8_t* at = begin(kHeaderBytes + kTupleBytes + payload_bytes);
    put_header(at, {DATA, 1, 0, 0});
    put_tuple(at + kHeaderBytes, tuple);
    if (payload_bytes) std::memcpy(at + kHeaderBytes + kTupleBytes, payload, payload_bytes);
    rows_++;
    return;
  }
  const bool is_null = tuple.nulls & 1;
  Queue& queue = queues_[is_null ? nulls_++ % slots_ : slot_of(tuple.key, slots_)];
  queue.tuples[queue.tail++ % kQueuedMax] = tuple;
  if (queue.full()) leave();
}

void PacketBuilder::add_row(const uint8_t* row, size_t bytes) {
  if (sizes_.empty() || sizes_.back() + bytes > stride_) put_header(begin(kHeaderBytes), {DATA, 1, 0, 0});
  std::memcpy(packet(sizes_.size() - 1) + sizes_.back(), row, bytes);
  sizes_.back() = static_cast<uint16_t>(sizes_.back() + bytes);
  rows_++;
}

void PacketBuilder::leave() {
  uint8_t* at = begin(0);
  Header header{DATA, 0, 0, 0};
  size_t size = kHeaderBytes;
  for (int slot = 0; slot < slots_; slot++) {
    Queue& queue = queues_[slot];
    if (queue.empty()) continue;
    header.present |= 1u << slot;
    put_tuple(at + size, queue.tuples[queue.head++ % kQueuedMax]);
    size += kTupleBytes;
    rows_++;
  }
  put_header(at, header);
  sizes_.back() = static_cast<uint16_t>(size);
}

void PacketBuilder::flush() {
  while (std::any_of(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.empty(); })) leave();
}

void PacketBuilder::clear() {
  sizes_.clear();
  rows_ = 0;
}

// ---- tuples ----

namespace {

bool is_wide_integer(JgType type) {
  return type == JG_I64 || type == JG_DEC64 || type == JG_TIMESTAMP || type == JG_I32 || type == JG_DATE ||
         type == JG_I16 || type == JG_I8;
}

template <class T>
void widen(const JgCol& column, int32_t rows, std::vector<uint64_t>* out) {
  const T* from = static_cast<const T*>(column.data);
  for (int32_t i = 0; i < rows; i++) {
    const bool valid = column.valid == nullptr || column.valid[i];
    (*out)[i] = valid ? static_cast<uint64_t>(static_cast<int64_t>(from[i])) : 0;
  }
}

void read(const JgCol& column, JgType type, int32_t rows, std::vector<uint64_t>* out) {
  out->resize(rows);
  switch (type) {
    case JG_I8:
      return widen<int8_t>(column, rows, out);
    case JG_I16:
      return widen<int16_t>(column, rows, out);
    case JG_I32:
    case JG_DATE:
      return widen<int32_t>(column, rows, out);
    default:
      return widen<int64_t>(column, rows, out);
  }
}

}  // namespace

Status TupleReader::make(const EdgeOptions& edge, const DatagramOptions& options, TupleReader* out) {
  const size_t own = options.words.size();
  const auto mistake = [&](const std::string& what) { return Status("internal", "edge '" + edge.edge + "': " + what); };
  out->halves_ = own == 3;
  out->slots_ = options.slots;
  ntf::Descriptor rows, payload;
  JG_RETURN_IF_ERROR(ntf::parse_descriptor(edge.ntf, &rows));
  if (!options.payload_ntf.empty()) {
    if (!options.has_rows || options.slots != 1)
      return mistake("these tuples carry no rows, or several share a packet");
    JG_RETURN_IF_ERROR(ntf::parse_descriptor(options.payload_ntf, &payload));
    if (payload.layout != ntf::Layout::kRow || !payload.big_endian || !payload.packed)
      return mistake("rows travel packed, big endian");
    out->layout_ = std::make_unique<ntf::RowLayout>(payload);
    out->encoder_ = ntf::make_encoder(payload);
  }
  if (options.only_rows() && (!out->layout_ || out->layout_->has_text)) return mistake("its rows have no fixed width");
  if (rows.columns.size() != payload.columns.size() + own) {
    return mistake("its columns are not those of its packets");
  }
  out->payload_ = payload.columns;
  for (size_t c = 0; c < payload.columns.size(); c++) {
    if (rows.columns[c].type != payload.columns[c].type) return mistake("its columns are not those of the rows");
  }
  for (size_t c = payload.columns.size(); c < rows.columns.size(); c++) {
    const int bits = options.words[out->types_.size()];
    out->types_.push_back(rows.columns[c].type);
    if (!is_wide_integer(rows.columns[c].type)) return mistake("tuples hold integers of at most 64 bits");
    if (bits == 32 && rows.columns[c].type != JG_I32) return mistake("a word of 32 bits is an int32");
  }
  return {};
}

size_t TupleReader::packet_bytes_max() const {
  if (!has_tuples()) return kPacketBytesMax;
  const size_t tuples = kHeaderBytes + kTupleBytes * slots_;
  if (!layout_) return tuples;
  return layout_->has_text ? size_t{kPacketBytesMax} : std::min<size_t>(tuples + layout_->stride, kPacketBytesMax);
}

Status TupleReader::open(const JgBatch& batch) {
  for (size_t c = 0; c < types_.size(); c++) {
    const JgCol& column = batch.cols[payload_.size() + c];
    read(column, types_[c], batch.rows, &values_[c]);
    valid_[c] = column.valid;
  }
  if (!layout_) return {};
  for (size_t c = 0; c < payload_.size(); c++) {
    const uint8_t* valid = batch.cols[c].valid;
    if (valid && !payload_[c].nullable && std::memchr(valid, 0, batch.rows) != nullptr) {
      return {"protocol", "NULLs in column '" + payload_[c].name + "', which has none"};
    }
  }
  encoder_->clear();
  encoder_->append(batch, {nullptr, 0, batch.rows});
  std::vector<iovec> pieces;
  encoder_->seal(&pieces);
  tuples_ = texts_ = nullptr;
  size_t next = 0;
  if (layout_->stride > 0) tuples_ = static_cast<const uint8_t*>(pieces[next++].iov_base);
  if (next < pieces.size()) texts_ = static_cast<const uint8_t*>(pieces[next].iov_base);
  return {};
}

Tuple TupleReader::tuple(int32_t row) const {
  uint8_t nulls = 0;
  for (size_t c = 0; c < types_.size(); c++) {
    if (valid_[c] && !valid_[c][row]) nulls |= static_cast<uint8_t>(1u << c);
  }
  const uint64_t value = halves_ ? values_[1][row] << 32 | static_cast<uint32_t>(values_[2][row]) : values_[1][row];
  return {nulls, values_[0][row], value};
}

const uint8_t* TupleReader::payload(int32_t row, size_t* size) {
  *size = 0;
  if (!layout_) return nullptr;
  const uint8_t* tuple = tuples_ + row * layout_->stride;
  *size = layout_->stride;
  if (!layout_->has_text) return tuple;
  // A row's strings lie together, in the order of its columns: their offsets begin anew.
  size_t start = 0, bytes = 0;
  bool first = true;
  row_.assign(tuple, tuple + layout_->stride);
  for (const ntf::RowField& field : layout_->fields) {
    if (!field.is_text) continue;
    const auto offset = ntf::load<uint32_t>(tuple + field.offset, layout_->swap);
    if (first) start = offset;
    first = false;
    ntf::store(row_.data() + field.offset, static_cast<uint32_t>(offset - start), layout_->swap);
    bytes += ntf::load<uint32_t>(tuple + field.offset + sizeof(uint32_t), layout_->swap);
  }
  if (bytes) row_.insert(row_.end(), texts_ + start, texts_ + start + bytes);
  *size = row_.size();
  return row_.data();
}

}  // namespace jg::datagram
