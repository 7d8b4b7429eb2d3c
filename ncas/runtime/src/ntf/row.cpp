// The row layout: tuples with a null bit vector and fields at known offsets, then one section of all their strings.
#include "ntf/row.h"

#include <algorithm>
#include <cstring>

#include "jg/ntf.h"
#include "ntf/bytes.h"

namespace jg::ntf {
namespace {

// Calls f with a value of the unsigned type of that width.
template <class F>
void with_width(size_t width, F f) {
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(jg_i128{});
  }
}

class RowEncoder : public FrameEncoder {
 public:
  explicit RowEncoder(const Descriptor& descriptor) : layout_(descriptor) {}

  void append(const JgBatch& batch, Rows rows) override {
    uint8_t* tuples = tuples_.grow(layout_.stride * rows.n);
    std::memset(tuples, 0, layout_.stride * rows.n);
    if (rows.sel)
      append_rows(batch, tuples, rows.n, Scattered{rows.sel});
    else
      append_rows(batch, tuples, rows.n, Dense{rows.from});
    rows_ += rows.n;
  }

  size_t bytes() const override { return tuples_.size() + text_.size(); }

  void seal(std::vector<iovec>* payload) override {
    if (!tuples_.empty()) payload->push_back({tuples_.data(), tuples_.size()});
    if (!text_.empty()) payload->push_back({text_.data(), text_.size()});
  }

  void clear() override {
    tuples_.clear();
    text_.clear();
    rows_ = 0;
  }

 private:
  template <class Index>
  void append_rows(const JgBatch& batch, uint8_t* tuples, int32_t n, Index index) {
    for (size_t c = 0; c < layout_.fields.size(); c++) {
      const RowField& field = layout_.fields[c];
      const JgCol& column = batch.cols[c];
      if (column.valid && layout_.null_bytes > 0) {
        for (int32_t i = 0; i < n; i++) {
          tuples[i * layout_.stride + c / 8] |= static_cast<uint8_t>(!column.valid[index(i)] << (c % 8));
        }
      }
      if (!field.is_text) append_fixed(field, column, tuples + field.offset, n, index);
    }
    if (!layout_.has_text) return;
    for (int32_t i = 0; i < n; i++) {
      for (size_t c = 0; c < layout_.fields.size(); c++) {
        if (layout_.fields[c].is_text) {
          append_text(batch.cols[c], index(i), tuples + i * layout_.stride + layout_.fields[c].offset);
        }
      }
    }
  }

  template <class Index>
  void append_fixed(const RowField& field, const JgCol& column, uint8_t* to, int32_t n, Index index) {
    with_width(memory_width(field.type), [&](auto kind) {
      using T = decltype(kind);
      const T* from = static_cast<const T*>(column.data);
      for (int32_t i = 0; i < n; i++) {
        if (!column.valid || column.valid[index(i)]) store(to + i * layout_.stride, from[index(i)], layout_.swap);
      }
    });
  }

  void append_text(const JgCol& column, int32_t row, uint8_t* to) {
    const auto* text = static_cast<const JgStr*>(column.data);
    const size_t size = text_size(column, text, row);
    store(to, static_cast<uint32_t>(text_.size()), layout_.swap);
    store(to + sizeof(uint32_t), static_cast<uint32_t>(size), layout_.swap);
    if (size) std::memcpy(text_.grow(size), text[row].data, size);
  }

  const RowLayout layout_;
  Bytes tuples_, text_;
};

class RowDecoder : public FrameDecoder {
 public:
  explicit RowDecoder(const Descriptor& descriptor) : specs_(descriptor.columns), layout_(descriptor) {
    values_.resize(specs_.size());
    masks_.resize(specs_.size());
    cols_.resize(specs_.size());
  }

  Status open(const uint8_t* payload, size_t length, uint32_t rows) override {
    payload_ = payload;
    rows_ = rows;
    const size_t fixed = layout_.stride * rows;
    if (length < fixed) return {"protocol", "a frame too short for its tuples"};
    text_ = payload + fixed;
    for (size_t c = 0; c < specs_.size(); c++) {
      if (!specs_[c].nullable && any_null(c)) {
        return {"protocol", "NULLs in column '" + specs_[c].name + "', which has none"};
      }
    }
    size_t expected = 0;
    for (uint32_t i = 0; i < rows && layout_.has_text; i++) {
      for (size_t c = 0; c < specs_.size(); c++) {
        if (!layout_.fields[c].is_text) continue;
        const uint8_t* at = payload + i * layout_.stride + layout_.fields[c].offset;
        const auto offset = load<uint32_t>(at, layout_.swap),
                   size = load<uint32_t>(at + sizeof(uint32_t), layout_.swap);
        if (offset != expected || (size && is_null(i, c))) {
          return {"protocol",
                  "a string of column '" + specs_[c].name + "' is not where it must be in the variable section"};
        }
        expected += size;
      }
    }
    if (fixed + expected == length) return {};
    return {"protocol", "the variable section has " + std::to_string(length - fixed) + " bytes, its strings have " +
                            std::to_string(expected)};
  }

  Status batch(uint32_t from, JgBatch* out) override {
    const auto n = static_cast<int32_t>(std::min<uint32_t>(rows_ - from, JG_BATCH_ROWS));
    for (size_t c = 0; c < specs_.size(); c++) {
      JgCol& col = cols_[c];
      col.valid = nullptr;
      if (specs_[c].nullable) {
        col.valid = masks_[c].ensure(JG_BATCH_ROWS);
        for (int32_t i = 0; i < n; i++) col.valid[i] = !is_null(from + i, c);
        if (std::memchr(col.valid, 0, n) == nullptr) col.valid = nullptr;
      }
      const RowField& field = layout_.fields[c];
      const uint8_t* at = payload_ + from * layout_.stride + field.offset;
      col.data = values_[c].ensure(size_t{16} * JG_BATCH_ROWS);
      if (field.is_text) {
        auto* to = static_cast<JgStr*>(col.data);
        for (int32_t i = 0; i < n; i++, at += layout_.stride) {
          to[i] = {reinterpret_cast<const char*>(text_) + load<uint32_t>(at, layout_.swap),
                   load<uint32_t>(at + sizeof(uint32_t), layout_.swap)};
        }
        continue;
      }
      with_width(memory_width(field.type), [&](auto kind) {
        using T = decltype(kind);
        T* to = static_cast<T*>(col.data);
        for (int32_t i = 0; i < n; i++, at += layout_.stride) to[i] = load<T>(at, layout_.swap);
      });
      if (field.type == JG_BOOL) {
        auto* to = static_cast<uint8_t*>(col.data);
        for (int32_t i = 0; i < n; i++) to[i] = to[i] != 0;
      }
    }
    *out = {n, cols_.data()};
    return {};
  }

 private:
  bool is_null(size_t row, size_t column) const {
    return layout_.null_bytes > 0 && payload_[row * layout_.stride + column / 8] >> (column % 8) & 1;
  }

  bool any_null(size_t column) const {
    if (layout_.null_bytes == 0) return false;
    uint8_t any = 0;
    for (size_t i = 0; i < rows_; i++) any |= payload_[i * layout_.stride + column / 8];
    return any >> (column % 8) & 1;
  }

  const std::vector<ColumnSpec> specs_;
  const RowLayout layout_;
  std::vector<Bytes> values_, masks_;
  std::vector<JgCol> cols_;
  const uint8_t* payload_ = nullptr;
  const uint8_t* text_ = nullptr;
  uint32_t rows_ = 0;
};

}  // namespace

std::unique_ptr<FrameEncoder> make_row_encoder(const Descriptor& descriptor) {
  return std::make_unique<RowEncoder>(descriptor);
}

std::unique_ptr<FrameDecoder> make_row_decoder(const Descriptor& descriptor) {
  return std::make_unique<RowDecoder>(descriptor);
}

std::unique_ptr<FrameEncoder> make_encoder(const Descriptor& d) {
  switch (d.layout) {
    case Layout::kColumnar:
      return make_columnar_encoder(d);
    case Layout::kRow:
      return make_row_encoder(d);
  }
  return nullptr;
}

std::unique_ptr<FrameDecoder> make_decoder(const Descriptor& d) {
  switch (d.layout) {
    case Layout::kColumnar:
      return make_columnar_decoder(d);
    case Layout::kRow:
      return make_row_decoder(d);
  }
  return nullptr;
}

}  // namespace jg::ntf
