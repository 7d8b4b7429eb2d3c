// The columnar layout: Arrow-compatible buffers, each starting at a multiple of 64 bytes of the payload.
#include <algorithm>
#include <cstring>

#include "jg/ntf.h"
#include "ntf/bytes.h"

namespace jg::ntf {
namespace {

constexpr size_t kAlignment = 64;
const uint8_t kZeros[kAlignment] = {};

constexpr size_t padded(size_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

bool is_text(JgType type) { return type == JG_STRING || type == JG_BINARY; }

// Bytes of one fixed-width value on the wire; bool is a bitmap.
size_t wire_width(JgType type) { return type == JG_DEC64 ? 16 : memory_width(type); }

struct ColumnEncoder {
  explicit ColumnEncoder(const ColumnSpec& spec) : type(spec.type), width(memory_width(spec.type)) {}

  JgType type;
  size_t width;
  Bytes values;                  // wire form; bool: a byte a row
  Bytes ends;                    // strings: uint32 end of each value
  Bytes mask;                    // a byte a row; empty while every row has a value
  Bytes valid_bits, value_bits;  // made by seal

  template <class Index>
  void append(const JgCol& column, size_t rows_before, int32_t n, Index index) {
    if (column.valid && mask.empty()) std::memset(mask.grow(rows_before), 1, rows_before);
    if (column.valid) {
      uint8_t* to = mask.grow(n);
      for (int32_t i = 0; i < n; i++) to[i] = column.valid[index(i)];
    } else if (!mask.empty()) {
      std::memset(mask.grow(n), 1, n);
    }
    switch (type) {
      case JG_STRING:
      case JG_BINARY:
        return append_text(column, n, index);
      case JG_DEC64: {
        const auto* from = static_cast<const int64_t*>(column.data);
        auto* to = reinterpret_cast<int64_t*>(values.grow(size_t{16} * n));
        for (int32_t i = 0; i < n; i++) {
          const int64_t v = from[index(i)];
          to[2 * i] = v;
          to[2 * i + 1] = v >> 63;
        }
        return;
      }
      default:
        break;
    }
    switch (width) {
      case 1:
        return append_fixed<uint8_t>(column, n, index);
      case 2:
        return append_fixed<uint16_t>(column, n, index);
      case 4:
        return append_fixed<uint32_t>(column, n, index);
      case 8:
        return append_fixed<uint64_t>(column, n, index);
      default:
        return append_fixed<jg_i128>(column, n, index);
    }
  }

  template <class T, class Index>
  void append_fixed(const JgCol& column, int32_t n, Index index) {
    const T* from = static_cast<const T*>(column.data);
    uint8_t* to = values.grow(sizeof(T) * n);
    if constexpr (Index::kDense) {
      std::memcpy(to, from + index(0), sizeof(T) * n);
    } else {
      T* out = reinterpret_cast<T*>(to);
      for (int32_t i = 0; i < n; i++) out[i] = from[index(i)];
    }
  }

  template <class Index>
  void append_text(const JgCol& column, int32_t n, Index index) {
    const auto* from = static_cast<const JgStr*>(column.data);
    auto* end = reinterpret_cast<uint32_t*>(ends.grow(sizeof(uint32_t) * n));
    size_t total = values.size();
    for (int32_t i = 0; i < n; i++) {
      total += text_size(column, from, index(i));
      end[i] = static_cast<uint32_t>(total);
    }
    uint8_t* to = values.grow(total - values.size());
    for (int32_t i = 0; i < n; i++) {
      const size_t size = text_size(column, from, index(i));
      std::memcpy(to, from[index(i)].data ? from[index(i)].data : "", size);
      to += size;
    }
  }

  bool has_nulls() const { return !mask.empty() && std::memchr(mask.data(), 0, mask.size()) != nullptr; }
  size_t bytes() const { return values.size() + ends.size() + mask.size() / 8; }
  void clear() {
    for (Bytes* b : {&values, &ends, &mask, &valid_bits, &value_bits}) b->clear();
  }
};

class ColumnarEncoder : public FrameEncoder {
 public:
  explicit ColumnarEncoder(const Descriptor& descriptor) {
    for (const ColumnSpec& c : descriptor.columns) columns_.emplace_back(c);
  }

  void append(const JgBatch& batch, Rows rows) override {
    for (size_t c = 0; c < columns_.size(); c++) {
      if (rows.sel)
        columns_[c].append(batch.cols[c], rows_, rows.n, Scattered{rows.sel});
      else
        columns_[c].append(batch.cols[c], rows_, rows.n, Dense{rows.from});
    }
    rows_ += rows.n;
  }

  size_t bytes() const override {
    size_t total = 0;
    for (const ColumnEncoder& c : columns_) total += c.bytes();
    return total;
  }

  void seal(std::vector<iovec>* payload) override {
    out_ = payload;
    presence_.clear();
    std::memset(presence_.grow((columns_.size() + 7) / 8), 0, (columns_.size() + 7) / 8);
    add(presence_.data(), presence_.size());
    for (size_t c = 0; c < columns_.size(); c++) {
      ColumnEncoder& column = columns_[c];
      if (column.has_nulls()) {
        presence_.data()[c / 8] |= static_cast<uint8_t>(1u << (c % 8));
        add_bits(column.mask, &column.valid_bits);
      }
      if (column.type == JG_BOOL) {
        add_bits(column.values, &column.value_bits);
        continue;
      }
      if (is_text(column.type)) {
        payload->push_back({const_cast<uint8_t*>(kZeros), sizeof(uint32_t)});
        add(column.ends.data(), column.ends.size(), sizeof(uint32_t));
      }
      add(column.values.data(), column.values.size());
    }
  }

  void clear() override {
    for (ColumnEncoder& c : columns_) c.clear();
    rows_ = 0;
  }

 private:
  // One buffer, padded; `before` bytes of it are in the payload already.
  void add(const uint8_t* data, size_t size, size_t before = 0) {
    if (size) out_->push_back({const_cast<uint8_t*>(data), size});
    const size_t padding = padded(before + size) - before - size;
    if (padding) out_->push_back({const_cast<uint8_t*>(kZeros), padding});
  }

  void add_bits(const Bytes& bytes, Bytes* bits) {
    bits->clear();
    pack_bits(bytes.data(), bytes.size(), bits->grow((bytes.size() + 7) / 8));
    add(bits->data(), bits->size());
  }

  std::vector<ColumnEncoder> columns_;
  Bytes presence_;
  std::vector<iovec>* out_ = nullptr;
};

class ColumnarDecoder : public FrameDecoder {
 public:
  explicit ColumnarDecoder(const Descriptor& descriptor) : specs_(descriptor.columns) {
    columns_.resize(specs_.size());
    cols_.resize(specs_.size());
  }

  Status open(const uint8_t* payload, size_t length, uint32_t rows) override {
    payload_ = payload;
    length_ = length;
    at_ = 0;
    rows_ = rows;
    const uint8_t* presence = nullptr;
    if (!take((specs_.size() + 7) / 8, &presence)) return cut_short("the presence bits");
    for (size_t c = 0; c < specs_.size(); c++) {
      const ColumnSpec& spec = specs_[c];
      Column& column = columns_[c];
      column.valid = nullptr;
      if (presence[c / 8] >> (c % 8) & 1) {
        if (!spec.nullable) return {"protocol", "NULLs in column '" + spec.name + "', which has none"};
        if (!take((size_t{rows} + 7) / 8, &column.valid)) return cut_short(spec.name);
      }
      if (is_text(spec.type)) {
        JG_RETURN_IF_ERROR(take_text(spec, &column));
      } else {
        const size_t size = spec.type == JG_BOOL ? (size_t{rows} + 7) / 8 : rows * wire_width(spec.type);
        if (!take(size, &column.values)) return cut_short(spec.name);
      }
    }
    if (at_ == length_) return {};
    return {"protocol", std::to_string(length_ - at_) + " bytes too many in a frame"};
  }

  Status batch(uint32_t from, JgBatch* out) override {
    const auto n = static_cast<int32_t>(std::min<uint32_t>(rows_ - from, JG_BATCH_ROWS));
    for (size_t c = 0; c < specs_.size(); c++) {
      Column& column = columns_[c];
      JgCol& col = cols_[c];
      col.valid = nullptr;
      if (column.valid) {
        col.valid = column.mask.ensure(JG_BATCH_ROWS);
        unpack_bits(column.valid + from / 8, n, col.valid);
      }
      switch (specs_[c].type) {
        case JG_BOOL:
          col.data = column.scratch.ensure(JG_BATCH_ROWS);
          unpack_bits(column.values + from / 8, n, static_cast<uint8_t*>(col.data));
          break;
        case JG_STRING:
        case JG_BINARY:
          col.data = column.scratch.ensure(sizeof(JgStr) * JG_BATCH_ROWS);
          view_text(column, from, n, col.valid, static_cast<JgStr*>(col.data));
          break;
        case JG_DEC64:
          col.data = column.scratch.ensure(sizeof(int64_t) * JG_BATCH_ROWS);
          if (!narrow(column, from, n, col.valid, static_cast<int64_t*>(col.data))) {
            return {"protocol", "a value in column '" + specs_[c].name + "' exceeds decimal(" +
                                    std::to_string(specs_[c].precision) + ", " + std::to_string(specs_[c].scale) + ")"};
          }
          break;
        default:
          col.data = const_cast<uint8_t*>(column.values) + size_t{from} * wire_width(specs_[c].type);
      }
    }
    *out = {n, cols_.data()};
    return {};
  }

 private:
  struct Column {
    const uint8_t* valid = nullptr;   // bitmap, or null where every row has a value
    const uint8_t* values = nullptr;  // strings: the characters
    const uint32_t* offsets = nullptr;
    Bytes mask, scratch;  // of the current batch
  };

  static Status cut_short(const std::string& what) { return {"protocol", "a frame too short for '" + what + "'"}; }

  bool take(size_t size, const uint8_t** buffer) {
    if (length_ - at_ < padded(size)) return false;
    *buffer = payload_ + at_;
    at_ += padded(size);
    return true;
  }

  Status take_text(const ColumnSpec& spec, Column* column) {
    const uint8_t* offsets = nullptr;
    if (!take((size_t{rows_} + 1) * sizeof(uint32_t), &offsets)) return cut_short(spec.name);
    column->offsets = reinterpret_cast<const uint32_t*>(offsets);
    bool descends = column->offsets[0] != 0;
    for (uint32_t i = 0; i < rows_; i++) descends |= column->offsets[i] > column->offsets[i + 1];
    if (descends) return {"protocol", "offsets of column '" + spec.name + "' that do not ascend from zero"};
    if (!take(column->offsets[rows_], &column->values)) return cut_short(spec.name);
    return {};
  }

  // Whatever a sender left under NULL is not seen: batch.h promises size 0.
  static void view_text(const Column& column, uint32_t from, int32_t n, const uint8_t* valid, JgStr* out) {
    const uint32_t* offsets = column.offsets + from;
    for (int32_t i = 0; i < n; i++) {
      const uint64_t size = offsets[i + 1] - offsets[i];
      out[i] = {reinterpret_cast<const char*>(column.values) + offsets[i], valid && !valid[i] ? 0 : size};
    }
  }

  // 128 bits on the wire, 64 in memory; false where a value does not fit.
  static bool narrow(const Column& column, uint32_t from, int32_t n, const uint8_t* valid, int64_t* out) {
    const auto* wire = reinterpret_cast<const int64_t*>(column.values) + 2 * size_t{from};
    uint64_t lost = 0;
    for (int32_t i = 0; i < n; i++) {
      out[i] = wire[2 * i];
      lost |=
          static_cast<uint64_t>(wire[2 * i + 1] ^ (wire[2 * i] >> 63)) & (valid ? -uint64_t{valid[i]} : ~uint64_t{0});
    }
    return lost == 0;
  }

  const std::vector<ColumnSpec> specs_;
  std::vector<Column> columns_;
  std::vector<JgCol> cols_;
  const uint8_t* payload_ = nullptr;
  size_t length_ = 0, at_ = 0;
  uint32_t rows_ = 0;
};

}  // namespace

std::unique_ptr<FrameEncoder> make_columnar_encoder(const Descriptor& descriptor) {
  return std::make_unique<ColumnarEncoder>(descriptor);
}

std::unique_ptr<FrameDecoder> make_columnar_decoder(const Descriptor& descriptor) {
  return std::make_unique<ColumnarDecoder>(descriptor);
}

}  // namespace jg::ntf
