#include "datagrams/blocks.h"

#include <cstring>

namespace jg::datagram {

Status BlockFormat::make(const EdgeOptions& edge, const DatagramOptions& options, BlockFormat* out) {
  const auto mistake = [&](const std::string& what) { return Status("internal", "edge '" + edge.edge + "': " + what); };
  JG_RETURN_IF_ERROR(ntf::parse_descriptor(edge.ntf, &out->descriptor_));
  const auto& columns = out->descriptor_.columns;
  if (options.has_rows) {
    if (options.slots != 1) return mistake("packets carry rows behind one tuple only");
    if (!options.outputs.empty() || !options.drains.empty()) return mistake("rows have neither outputs nor drains");
    if (out->descriptor_.layout != ntf::Layout::kRow) return mistake("rows travel in the row layout");
    out->layout_ = std::make_unique<ntf::RowLayout>(out->descriptor_);
    if (options.only_rows()) {
      if (out->layout_->has_text || out->layout_->stride == 0) return mistake("its rows have no fixed width");
      out->only_rows_ = true;
      out->packet_rows_max_ = kPacketBytesMax / out->layout_->stride;
    }
    out->never_null_.assign(out->layout_->null_bytes, 0xFF);
    for (size_t c = 0; c < columns.size(); c++) {
      if (columns[c].nullable) out->never_null_[c / 8] &= static_cast<uint8_t>(~(1u << (c % 8)));
    }
    return {};
  }
  if (options.outputs.size() != columns.size() || columns.empty()) return mistake("one output for each column");
  for (size_t c = 0; c < columns.size(); c++) {
    static constexpr std::pair<const char*, Output> kNames[] = {{"key", Output::KEY},
                                                                {"count", Output::COUNT},
                                                                {"sum", Output::SUM},
                                                                {"min", Output::MIN},
                                                                {"max", Output::MAX}};
    const size_t before = out->outputs_.size();
    for (const auto& [name, output] : kNames) {
      if (options.outputs[c] == name) out->outputs_.push_back(output);
    }
    if (out->outputs_.size() == before) return mistake("unknown output '" + options.outputs[c] + "'");
    switch (columns[c].type) {
      case JG_BOOL:
      case JG_F32:
      case JG_F64:
      case JG_STRING:
      case JG_BINARY:
        return mistake("column '" + columns[c].name + "' cannot hold an integer");
      default:
        break;
    }
  }
  return {};
}

bool BlockFormat::add(const Data& data, Block* block) const {
  if (only_rows_) return add_rows(data.payload, data.payload_bytes, block);
  if (!has_groups()) return add_row(data.payload, data.payload_bytes, block);
  if (data.payload_bytes > 0) return false;
  for (int i = 0; i < data.tuples; i++) {
    const Tuple& tuple = data.tuple[i];
    const bool null_key = tuple.nulls & 1, null_value = tuple.nulls & 2;
    const auto value = static_cast<int64_t>(tuple.value);
    block->add({static_cast<int64_t>(tuple.key), null_value ? 0 : 1, value, value, value}, null_key);
  }
  return true;
}

bool BlockFormat::has_forbidden_null(const uint8_t* row) const {
  for (size_t i = 0; i < never_null_.size(); i++) {
    if (row[i] & never_null_[i]) return true;
  }
  return false;
}

// Rows of a fixed width, one behind the other.
bool BlockFormat::add_rows(const uint8_t* payload, size_t size, Block* block) const {
  if (size % layout_->stride != 0) return false;
  for (size_t at = 0; at < size; at += layout_->stride) {
    if (has_forbidden_null(payload + at)) return false;
  }
  std::memcpy(block->tuples.grow(size), payload, size);
  block->rows += static_cast<int32_t>(size / layout_->stride);
  return true;
}

// Appends a frame of one row to the block's frame, whose strings follow each other in one section.
bool BlockFormat::add_row(const uint8_t* payload, size_t size, Block* block) const {
  if (size < layout_->stride) return false;
  if (has_forbidden_null(payload)) return false;
  size_t texts = 0;
  for (size_t c = 0; layout_->has_text && c < layout_->fields.size(); c++) {
    if (!layout_->fields[c].is_text) continue;
    const uint8_t* at = payload + layout_->fields[c].offset;
    const size_t length = ntf::load<uint32_t>(at + sizeof(uint32_t), layout_->swap);
    const bool is_null = layout_->null_bytes > 0 && payload[c / 8] >> (c % 8) & 1;
    if (ntf::load<uint32_t>(at, layout_->swap) != texts || (is_null && length > 0)) return false;
    if (length > size) return false;
    texts += length;
  }
  if (layout_->stride + texts != size) return false;
  uint8_t* tuple = block->tuples.grow(layout_->stride);
  std::memcpy(tuple, payload, layout_->stride);
  const auto start = static_cast<uint32_t>(block->texts.size());
  for (size_t c = 0; layout_->has_text && c < layout_->fields.size(); c++) {
    if (!layout_->fields[c].is_text) continue;
    uint8_t* at = tuple + layout_->fields[c].offset;
    ntf::store(at, ntf::load<uint32_t>(at, layout_->swap) + start, layout_->swap);
  }
  if (texts) std::memcpy(block->texts.grow(texts), payload + layout_->stride, texts);
  block->rows++;
  return true;
}

// ---- batches ----

BlockReader::BlockReader(const BlockFormat& format, std::string edge) : format_(format), edge_(std::move(edge)) {
  if (format_.has_groups()) {
    const size_t columns = format_.outputs().size();
    values_.resize(columns);
    masks_.resize(columns);
    cols_.resize(columns);
  } else {
    decoder_ = ntf::make_decoder(format_.descriptor());
  }
}

Status BlockReader::read(Block* block, JgBatch* out) {
  if (decoder_) {
    const size_t tuples = block->tuples.size(), texts = block->texts.size();
    uint8_t* frame = frame_.ensure(tuples + texts);
    if (tuples) std::memcpy(frame, block->tuples.data(), tuples);
    if (texts) std::memcpy(frame + tuples, block->texts.data(), texts);
    JG_RETURN_IF_ERROR(decoder_->open(frame, tuples + texts, static_cast<uint32_t>(block->rows)));
    return decoder_->batch(0, out);
  }
  for (size_t c = 0; c < cols_.size(); c++) JG_RETURN_IF_ERROR(read_column(*block, c));
  *out = {block->rows, cols_.data()};
  return {};
}

namespace {

jg_i128 power_of_ten(int digits) {
  jg_i128 power = 1;
  for (int i = 0; i < digits; i++) power *= 10;
  return power;
}

// The numbers that a column's type holds.
void range_of(const ColumnSpec& column, jg_i128* low, jg_i128* high) {
  int bits = 64;
  switch (column.type) {
    case JG_DEC64:
    case JG_DEC128:
      *high = power_of_ten(column.precision) - 1;
      *low = -*high;
      return;
    case JG_I8:
      bits = 8;
      break;
    case JG_I16:
      bits = 16;
      break;
    case JG_I32:
    case JG_DATE:
      bits = 32;
      break;
    default:
      break;
  }
  *high = (static_cast<jg_i128>(1) << (bits - 1)) - 1;
  *low = -*high - 1;
}

template <class Use>
void with_number(JgType type, Use use) {
  switch (type) {
    case JG_I8:
      return use(int8_t{});
    case JG_I16:
      return use(int16_t{});
    case JG_I32:
    case JG_DATE:
      return use(int32_t{});
    case JG_DEC128:
      return use(jg_i128{});
    default:
      return use(int64_t{});
  }
}

}  // namespace

Status BlockReader::read_column(const Block& block, size_t c) {
  using Output = BlockFormat::Output;
  const ColumnSpec& spec = format_.descriptor().columns[c];
  const Output output = format_.outputs()[c];
  const auto n = static_cast<size_t>(block.rows);
  uint8_t* valid = masks_[c].ensure(n);
  jg_i128 low, high;
  range_of(spec, &low, &high);
  bool fits = true, any_null = false;
  with_number(spec.type, [&](auto kind) {
    using T = decltype(kind);
    T* to = reinterpret_cast<T*>(values_[c].ensure(n * sizeof(T)));
    for (size_t i = 0; i < n; i++) {
      const Group& group = block.groups[i].group;
      const jg_i128 number = output == Output::KEY     ? static_cast<jg_i128>(group.key)
                             : output == Output::COUNT ? static_cast<jg_i128>(group.count)
                             : output == Output::SUM   ? group.sum
                             : output == Output::MIN   ? static_cast<jg_i128>(group.min)
                                                       : static_cast<jg_i128>(group.max);
      const bool null = output == Output::KEY     ? block.groups[i].null_key
                        : output == Output::COUNT ? false
                                                  : group.count == 0;
      valid[i] = !null;
      any_null |= null;
      fits &= null || (number >= low && number <= high);
      to[i] = null ? 0 : static_cast<T>(number);
    }
  });
  if (!fits) {
    return {"overflow",
            "edge '" + edge_ + "': a number from the switch does not fit column '" + spec.name + "'",
            {{"edge", edge_}, {"column", spec.name}}};
  }
  if (any_null && !spec.nullable) {
    return {"protocol",
            "edge '" + edge_ + "': NULLs in column '" + spec.name + "', which has none",
            {{"edge", edge_}, {"column", spec.name}}};
  }
  cols_[c] = {values_[c].data(), any_null ? valid : nullptr};
  return {};
}

}  // namespace jg::datagram
