#include "combiner.h"

#include <cstring>

#include "ntf/row.h"

namespace jg::card {
namespace {

constexpr bool kSwap = true;  // network order

// Copies `count` bits from bit `from` on to bit `to` on; bits of `out` there are 0.
void copy_bits(const uint8_t* in, size_t from, size_t count, uint8_t* out, size_t to) {
  for (size_t i = 0; i < count; i++) {
    const uint8_t bit = in[(from + i) / 8] >> ((from + i) % 8) & 1;
    out[(to + i) / 8] = static_cast<uint8_t>(out[(to + i) / 8] | bit << ((to + i) % 8));
  }
}

}  // namespace

uint64_t key_at(const uint8_t* row, const RowShape& shape, size_t column) {
  return ntf::load<uint64_t>(row + shape.null_bytes + column * kKeyBytes, kSwap);
}

Combiner::Combiner(const JoinShape& shape)
    : shape_(shape), joined_(shape.joined()), out_(shape.out()), whole_(joined_.stride()) {
  size_t columns = shape.probe.columns, bytes = shape.probe.bytes;
  for (const TableShape& t : shape.tables) {
    tables_.push_back({t, Rest(t.value_bytes, shape.rest_bytes), columns, bytes});
    if (t.pairs()) {
      columns += t.row.columns;
      bytes += t.row.bytes;
    }
  }
}

bool Combiner::keep(size_t table, uint64_t key, const uint8_t* value) {
  kept_++;
  return tables_[table].rest.add(key, value, !tables_[table].shape.pairs());
}

void Combiner::start(const uint8_t* row, const std::vector<const Answer*>& answers) {
  row_ = row;
  has_row_ = true;
  begun_ = false;
  for (size_t t = 0; t < tables_.size() && has_row_; t++) has_row_ = find(t, *answers[t]);
}

bool Combiner::find(size_t number, const Answer& answer) {
  Table& table = tables_[number];
  const TableShape& shape = table.shape;
  table.found.clear();
  table.next = 0;
  if (!shape_.probe.is_null(row_, number)) {
    for (size_t i = 0; i < answer.count; i++) table.found.push_back(answer.values + i * shape.value_bytes);
    if (answer.overflown) table.rest.find(key_at(row_, shape_.probe, number), &table.found);
  }
  const bool matched = !table.found.empty();
  switch (shape.kind) {
    case Kind::INNER:
    case Kind::SEMI:
      if (!matched) return false;
      break;
    case Kind::ANTI:
      if (matched) return false;
      break;
    case Kind::LEFT:
      break;
  }
  if (!shape.pairs() || !matched) table.found.assign(1, nullptr);
  return true;
}

bool Combiner::turn() {  // the last table's values change fastest
  if (!begun_) return begun_ = true;
  for (size_t t = tables_.size(); t > 0; t--) {
    Table& table = tables_[t - 1];
    if (++table.next < table.found.size()) return true;
    table.next = 0;
  }
  return false;
}

bool Combiner::next(uint8_t* out) {
  has_row_ = has_row_ && turn();
  if (!has_row_) return false;
  write();
  leave(out);
  joined_rows_++;
  return true;
}

void Combiner::write() {
  const RowShape& probe = shape_.probe;
  uint8_t* out = whole_.data();
  std::memset(out, 0, joined_.null_bytes);
  std::memcpy(out, row_, probe.null_bytes);
  uint8_t* columns = out + joined_.null_bytes;
  std::memcpy(columns, row_ + probe.null_bytes, probe.bytes);
  for (size_t t = 0; t < tables_.size(); t++) {
    const Table& table = tables_[t];
    const TableShape& shape = table.shape;
    if (!shape.pairs()) continue;
    uint8_t* to = columns + table.first_byte;
    const uint8_t* value = table.found[table.next];
    if (value == nullptr) {
      std::memset(to, 0, shape.row.bytes);
      for (size_t c = table.first_column; c < table.first_column + shape.row.columns; c++) {
        out[c / 8] = static_cast<uint8_t>(out[c / 8] | 1u << (c % 8));
      }
      continue;
    }
    std::memcpy(to, row_ + probe.null_bytes + t * kKeyBytes, kKeyBytes);
    std::memcpy(to + kKeyBytes, value + shape.row.null_bytes, shape.payload_bytes());
    if (shape.row.null_bytes > 0) copy_bits(value, 0, shape.row.columns, out, table.first_column);
  }
}

void Combiner::leave(uint8_t* out) const {
  std::memset(out, 0, out_.null_bytes);
  uint8_t* to = out + out_.null_bytes;
  for (size_t i = 0; i < shape_.leaving.size(); i++) {
    const Leaver& column = shape_.leaving[i];
    if (out_.null_bytes > 0 && joined_.is_null(whole_.data(), column.column)) {
      out[i / 8] = static_cast<uint8_t>(out[i / 8] | 1u << (i % 8));
    }
    std::memcpy(to, &whole_[joined_.null_bytes + column.offset], column.bytes);
    to += column.bytes;
  }
}

}  // namespace jg::card
