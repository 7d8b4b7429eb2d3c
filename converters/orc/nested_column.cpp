#include "orc/nested_column.h"

#include <algorithm>
#include <cstring>

#include "common/nested.h"

namespace jg::columnar {

namespace {

// The validity of a struct's entries; it has no values of its own.
class Presence final : public OrcColumn {
 public:
  using OrcColumn::OrcColumn;

 private:
  void open_values() override {}
  size_t value_positions(size_t) const override { return 0; }
  void seek_values(OrcPositions&) override {}
  void skip_values(int64_t) override {}
  void read_values(int32_t, void*) override {}
  void spread_values(void*, const uint8_t*, int32_t, int32_t) override {}
};

// The numbers of elements of a list or map's entries.
class Lengths final : public OrcColumn {
 public:
  using OrcColumn::OrcColumn;

 private:
  void open_values() override {
    open(kLength, &stream_);
    lengths_.reset(&stream_, false, encoding().version2);
  }
  size_t value_positions(size_t place) const override { return place + 1; }
  void seek_values(OrcPositions& positions) override { lengths_.seek(positions); }
  void skip_values(int64_t n) override { lengths_.skip(n); }
  void read_values(int32_t n, void* out) override { lengths_.decode(static_cast<int64_t*>(out), n); }
  void spread_values(void* out, const uint8_t* valid, int32_t rows, int32_t count) override {
    int64_t* to = static_cast<int64_t*>(out);
    for (int32_t i = rows - 1, k = count - 1; i >= 0; --i) to[i] = valid[i] ? to[k--] : 0;
  }

  OrcStream stream_;
  IntRle lengths_;
};

// A part of a nested type, entry by entry: an entry for each value of the struct or element of the list above.
class OrcPart {
 public:
  OrcPart(const ColumnSpec& spec, const OrcTail& tail, int id);

  void start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer) {
    column_->start(file, compression, footer, 0);
    at_ = count_ = 0;
    loaded_ = expected_ = 0;
    for (const auto& part : parts_) {
      if (part) part->start(file, compression, footer);
    }
  }
  // There are n further entries.
  void expect(int64_t n) {
    if (n < 0 || __builtin_add_overflow(expected_, n, &expected_)) malformed("a list of impossible length");
  }
  // Passes over n entries.
  void skip(int64_t n);
  // Appends the value of the next entry; false: NULL.
  bool append(NestedBytes* out);

 private:
  void fill();
  bool valid() const { return col_.valid == nullptr || col_.valid[at_]; }
  int64_t length() const { return static_cast<const int64_t*>(col_.data)[at_]; }
  void append_value(NestedBytes* out) const;

  ColumnSpec spec_;
  std::unique_ptr<OrcColumn> column_;
  std::vector<std::unique_ptr<OrcPart>> parts_;  // null: the file lacks the field
  std::unique_ptr<ListWriter> list_;
  ColumnRoom room_;
  JgCol col_{};
  int32_t at_ = 0, count_ = 0;         // of the entries in room_
  int64_t loaded_ = 0, expected_ = 0;  // in all
};

const std::vector<std::string>& names_of(const OrcType& type, const ColumnSpec& spec) {
  if (type.kind == OrcKind::kStruct && type.names.size() != type.children.size())
    malformed("a struct whose fields and names differ in number");
  static const std::vector<std::string> kList{"element"}, kMap{"key", "value"};
  return type.kind == OrcKind::kStruct ? type.names : spec.nesting == Nesting::kMap ? kMap : kList;
}

bool same_nesting(OrcKind kind, Nesting nesting) {
  return (kind == OrcKind::kStruct && nesting == Nesting::kStruct) ||
         (kind == OrcKind::kList && nesting == Nesting::kList) || (kind == OrcKind::kMap && nesting == Nesting::kMap);
}

OrcPart::OrcPart(const ColumnSpec& spec, const OrcTail& tail, int id) : spec_(spec) {
  if (spec.nesting == Nesting::kNone) {
    column_ = make_orc_column(spec, tail, id);
    room_ = make_room(spec.type);
    return;
  }
  const OrcType& type = tail.types[static_cast<size_t>(id)];
  if (!same_nesting(type.kind, spec.nesting)) throw wrong_type(spec, "another type");
  const std::vector<std::string>& names = names_of(type, spec);
  if (type.children.size() < names.size()) malformed("a list or map without the types of its parts");
  for (const ColumnSpec& part : spec.parts) {
    const auto found = std::find(names.begin(), names.end(), part.name);
    const bool absent = found == names.end();
    if (absent) refuse_other_case(spec, part.name, names);
    parts_.push_back(
        absent ? nullptr
               : std::make_unique<OrcPart>(part, tail, type.children[static_cast<size_t>(found - names.begin())]));
  }
  if (spec.nesting == Nesting::kStruct) {
    column_ = std::make_unique<Presence>(spec, id);
    room_ = make_room(JG_BOOL);
  } else {
    column_ = std::make_unique<Lengths>(spec, id);
    room_ = make_room(JG_I64);
    list_ = std::make_unique<ListWriter>(spec.nesting == Nesting::kMap ? map_entry() : spec.parts[0]);
  }
}

void OrcPart::fill() {
  count_ = static_cast<int32_t>(std::min<int64_t>(expected_ - loaded_, JG_BATCH_ROWS));
  if (count_ == 0) malformed("a list longer than its elements");
  column_->read(loaded_, count_, room_, &col_);
  decode_values(room_.width, &col_, nullptr, count_);
  loaded_ += count_;
  int64_t inside = 0;
  for (at_ = 0; at_ < count_; ++at_) {
    const int64_t entries = !valid() ? 0 : list_ ? length() : 1;
    if (entries < 0 || __builtin_add_overflow(inside, entries, &inside)) malformed("a list of impossible length");
  }
  at_ = 0;
  for (const auto& part : parts_) {
    if (part) part->expect(inside);
  }
}

void OrcPart::skip(int64_t n) {
  if (parts_.empty() && spec_.nesting == Nesting::kNone && n > count_ - at_) {  // its column passes over the rest
    n -= count_ - at_;
    at_ = count_ = 0;
    loaded_ += n;
    return;
  }
  while (n > 0) {
    if (at_ == count_) fill();
    int64_t inside = 0;
    for (; n > 0 && at_ < count_; --n, ++at_) inside += !valid() ? 0 : list_ ? length() : 1;
    for (const auto& part : parts_) {
      if (part) part->skip(inside);
    }
  }
}

bool OrcPart::append(NestedBytes* out) {
  if (at_ == count_) fill();
  if (!valid()) {
    ++at_;
    return false;
  }
  if (list_) {
    const int64_t length = this->length();
    ++at_;
    for (int64_t i = 0; i < length; ++i) {
      list_->add([&](NestedBytes* to) {
        if (spec_.nesting == Nesting::kList) return parts_[0]->append(to);
        write_struct(spec_.parts, to, [&](size_t part, NestedBytes* into) { return parts_[part]->append(into); });
        return true;
      });
    }
    list_->finish(out);
  } else if (spec_.nesting == Nesting::kStruct) {
    ++at_;
    write_struct(spec_.parts, out, [&](size_t i, NestedBytes* to) { return parts_[i] && parts_[i]->append(to); });
  } else {
    append_value(out);
    ++at_;
  }
  return true;
}

void OrcPart::append_value(NestedBytes* out) const {
  if (is_variable(spec_)) {
    const JgStr& text = static_cast<const JgStr*>(col_.data)[at_];
    out->append(text.data, text.size);
  } else {
    const size_t width = fixed_width(spec_);
    out->append(static_cast<const char*>(col_.data) + static_cast<size_t>(at_) * width, width);
  }
}

class WholeColumn final : public OrcReader {
 public:
  WholeColumn(const ColumnSpec& column, const OrcTail& tail, int id) : column_(column), root_(column, tail, id) {}

  void start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer, int64_t) override {
    root_.start(file, compression, footer);
    row_ = 0;
  }

  void read(int64_t row, int32_t rows, ColumnRoom& room, JgCol* out) override {
    root_.expect(row + rows - row_);
    root_.skip(row - row_);
    row_ = row + rows;
    auto* values = reinterpret_cast<JgStr*>(room.data);
    bool nulls = false;
    bytes_.clear();
    for (int32_t i = 0; i < rows; ++i) {
      const size_t begin = bytes_.size();
      room.valid[i] = root_.append(&bytes_);
      nulls |= !room.valid[i];
      values[i].size = bytes_.size() - begin;
    }
    const char* next = bytes_.data();
    for (int32_t i = 0; i < rows; ++i) {
      values[i].data = next;
      next += values[i].size;
    }
    if (nulls && !column_.nullable) throw unexpected_null(column_);
    out->data = values;
    out->valid = nulls ? room.valid.get() : nullptr;
  }

 private:
  const ColumnSpec column_;
  OrcPart root_;
  int64_t row_ = 0;
  NestedBytes bytes_;
};

// A field of a struct: the file has its values only for rows that have the struct.
class FieldColumn final : public OrcReader {
 public:
  FieldColumn(const ColumnSpec& column, int id, std::unique_ptr<OrcReader> field)
      : presence_(column, id), field_(std::move(field)), room_(make_room(JG_BOOL)) {}

  void start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer, int64_t) override {
    presence_.start(file, compression, footer, 0);
    field_->start(file, compression, footer, 0);
    row_ = entry_ = 0;
  }

  void read(int64_t row, int32_t rows, ColumnRoom& room, JgCol* out) override {
    while (row_ < row) entry_ += pass(static_cast<int32_t>(std::min<int64_t>(row - row_, JG_BATCH_ROWS)));
    const int32_t count = pass(rows);
    *out = {room.data, nullptr};
    if (count > 0) field_->read(entry_, count, room, out);
    entry_ += count;
    if (count == rows) return;
    decode_values(room.width, out, nullptr, count);
    out->codes = nullptr;
    uint8_t* valid = room.valid.get();
    if (out->valid == nullptr) std::memset(valid, 1, static_cast<size_t>(count));
    for (int32_t i = rows - 1, k = count - 1; i >= 0; --i) {
      unsigned char* to = room.data + static_cast<size_t>(i) * room.width;
      if (present_.valid[i]) {
        std::memmove(to, room.data + static_cast<size_t>(k) * room.width, room.width);
        valid[i] = valid[k--];
      } else {
        std::memset(to, 0, room.width);
        valid[i] = 0;
      }
    }
    out->valid = valid;
  }

 private:
  // Reads the presence of the next rows; returns how many have the struct.
  int32_t pass(int32_t rows) {
    presence_.read(row_, rows, room_, &present_);
    row_ += rows;
    if (present_.valid == nullptr) return rows;
    return static_cast<int32_t>(std::count(present_.valid, present_.valid + rows, 1));
  }

  Presence presence_;
  std::unique_ptr<OrcReader> field_;
  ColumnRoom room_;
  JgCol present_{};
  int64_t row_ = 0, entry_ = 0;
};

std::unique_ptr<OrcReader> make_below(const ColumnSpec& column, const OrcTail& tail, int id, size_t depth, int* found) {
  *found = id;
  if (depth >= column.path.size()) {
    if (column.nesting != Nesting::kNone) return std::make_unique<WholeColumn>(column, tail, id);
    return make_orc_column(column, tail, id);
  }
  const OrcType& type = tail.types[static_cast<size_t>(id)];
  if (type.kind != OrcKind::kStruct) throw wrong_type(column, "no field of a struct");
  const std::vector<std::string>& names = names_of(type, column);
  const auto at = std::find(names.begin(), names.end(), column.path[depth]);
  *found = -1;
  if (at == names.end()) {
    refuse_other_case(column, column.path[depth], names);
    return nullptr;
  }
  auto field = make_below(column, tail, type.children[static_cast<size_t>(at - names.begin())], depth + 1, found);
  if (!field) return nullptr;
  return std::make_unique<FieldColumn>(column, id, std::move(field));
}

}  // namespace

std::unique_ptr<OrcReader> make_orc_reader(const ColumnSpec& column, const OrcTail& tail, int id, int* found) {
  return make_below(column, tail, id, 1, found);
}

}  // namespace jg::columnar
