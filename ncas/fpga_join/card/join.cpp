#include "join.h"

#include <algorithm>

#include "ntf/row.h"

namespace jg::card {
namespace {

constexpr bool SWAP = true;  // network order

uint64_t key_at(const uint8_t* row, const RowShape& shape, size_t column) {
  return ntf::load<uint64_t>(row + shape.null_bytes() + column * KEY_BYTES, SWAP);
}

// Copies `count` bits from bit `from` on to bit `to` on; bits of `out` there are 0.
void copy_bits(const uint8_t* in, size_t from, size_t count, uint8_t* out, size_t to) {
  for (size_t i = 0; i < count; i++) {
    const uint8_t bit = in[(from + i) / 8] >> ((from + i) % 8) & 1;
    out[(to + i) / 8] = static_cast<uint8_t>(out[(to + i) / 8] | bit << ((to + i) % 8));
  }
}

}  // namespace

RowShape JoinShape::joined() const {
  RowShape row = probe;
  for (const TableShape& table : tables) {
    if (!table.pairs()) continue;
    row.columns += table.row.columns;
    row.bytes += table.row.bytes;
  }
  return row;
}

Join::Join(const JoinShape& shape) : shape_(shape), joined_(shape.joined()), whole_(joined_.stride()) {
  size_t columns = shape.probe.columns, bytes = shape.probe.bytes;
  for (const TableShape& t : shape.tables) {
    Table table;
    table.shape = t;
    table.first_column = columns;
    table.first_byte = bytes;
    table.rest = std::make_unique<Rest>(t.value_bytes, shape.rest_bytes);
    if (t.pairs()) {
      columns += t.row.columns;
      bytes += t.row.bytes;
    }
    tables_.push_back(std::move(table));
  }
  out_.columns = shape.leaving.size();
  for (const Leaver& column : shape.leaving) out_.bytes += column.bytes;
}

bool Join::open() {
  for (Table& table : tables_) {
    table.engine = make_engine(table.shape.value_bytes, table.shape.bucket_bits);
    if (!table.engine) return false;
  }
  return true;
}

bool Join::build(size_t number, const uint8_t* rows, size_t size, std::string* why) {
  Table& table = tables_[number];
  const TableShape& shape = table.shape;
  const size_t stride = shape.row.stride(), nulls = shape.value_nulls();
  if (size % stride != 0) {
    *why = "malformed";
    return false;
  }
  keys_.clear();
  values_.assign(size / stride * shape.value_bytes, 0);
  for (const uint8_t* row = rows; row < rows + size; row += stride) {
    if (is_null(row, 0)) continue;  // equals nothing
    uint8_t* value = &values_[keys_.size() * shape.value_bytes];
    copy_bits(row, 1, shape.payload_columns(), value, 0);
    std::memcpy(value + nulls, row + shape.row.null_bytes() + KEY_BYTES, shape.payload_bytes());
    keys_.push_back(key_at(row, shape.row, 0));
  }
  overflown_.clear();
  table.engine->build(keys_.data(), values_.data(), keys_.size(), &overflown_);
  counts_.built += keys_.size();
  counts_.rest += overflown_.size();
  for (const uint32_t i : overflown_) {
    if (!table.rest->add(keys_[i], &values_[i * shape.value_bytes], !shape.pairs())) {
      *why = "memory";
      return false;
    }
  }
  return true;
}

bool Join::probe(const uint8_t* rows, size_t size) {
  if (size % shape_.probe.stride() != 0) return false;
  waiting_.emplace_back(rows, rows + size);
  counts_.probed += size / shape_.probe.stride();
  return true;
}

void Join::look_up() {
  const std::vector<uint8_t>& packet = waiting_.front();
  const size_t stride = shape_.probe.stride();
  rows_ = packet.size() / stride;
  row_ = 0;
  keys_.resize(rows_);
  for (size_t t = 0; t < tables_.size(); t++) {
    for (size_t i = 0; i < rows_; i++) keys_[i] = key_at(&packet[i * stride], shape_.probe, t);
    if (tables_[t].answers.size() < rows_) tables_[t].answers.resize(rows_);
    tables_[t].engine->probe(keys_.data(), rows_, tables_[t].answers.data());
  }
  looked_up_ = true;
}

bool Join::start_row() {
  const uint8_t* row = &waiting_.front()[row_ * shape_.probe.stride()];
  for (size_t t = 0; t < tables_.size(); t++) {
    Table& table = tables_[t];
    const TableShape& shape = table.shape;
    table.found.clear();
    table.next = 0;
    if (!is_null(row, t)) {
      const Answer& answer = table.answers[row_];
      for (size_t i = 0; i < answer.count; i++) table.found.push_back(answer.values + i * shape.value_bytes);
      if (answer.overflown) table.rest->find(key_at(row, shape_.probe, t), &table.found);
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
  }
  return true;
}

bool Join::produce(uint8_t* out) {
  while (!waiting_.empty()) {
    if (!looked_up_) look_up();
    for (; row_ < rows_; row_++, in_row_ = false) {
      if (!in_row_) {
        if (!start_row()) continue;
        in_row_ = true;
      } else {  // the last table's values change fastest
        size_t t = tables_.size();
        while (t > 0 && ++tables_[t - 1].next == tables_[t - 1].found.size()) tables_[--t].next = 0;
        if (t == 0) continue;
      }
      write();
      leave(out);
      counts_.joined++;
      return true;
    }
    waiting_.pop_front();
    looked_up_ = false;
  }
  return false;
}

void Join::write() {
  const RowShape& probe = shape_.probe;
  uint8_t* out = whole_.data();
  const uint8_t* row = &waiting_.front()[row_ * probe.stride()];
  std::memset(out, 0, joined_.null_bytes());
  std::memcpy(out, row, probe.null_bytes());
  uint8_t* columns = out + joined_.null_bytes();
  std::memcpy(columns, row + probe.null_bytes(), probe.bytes);
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
    std::memcpy(to, row + probe.null_bytes() + t * KEY_BYTES, KEY_BYTES);
    std::memcpy(to + KEY_BYTES, value + shape.value_nulls(), shape.payload_bytes());
    copy_bits(value, 0, shape.payload_columns(), out, table.first_column + 1);
  }
}

void Join::leave(uint8_t* out) const {
  std::memset(out, 0, out_.null_bytes());
  uint8_t* to = out + out_.null_bytes();
  for (size_t i = 0; i < shape_.leaving.size(); i++) {
    const Leaver& column = shape_.leaving[i];
    if (is_null(whole_.data(), column.column)) out[i / 8] = static_cast<uint8_t>(out[i / 8] | 1u << (i % 8));
    std::memcpy(to, &whole_[joined_.null_bytes() + column.offset], column.bytes);
    to += column.bytes;
  }
}

Counts Join::counts() const {
  Counts all = counts_;
  for (const Table& table : tables_) all.cycles += table.engine ? table.engine->cycles() : 0;
  return all;
}

}  // namespace jg::card
