// Joins in plain memory, row by row.
#include <cstring>
#include <deque>

#include "combiner.h"
#include "join.h"
#include "table.h"

namespace jg::card {
namespace {

class Emulated : public Join {
 public:
  explicit Emulated(const JoinShape& shape)
      : shape_(shape), combiner_(shape), answers_(shape.tables.size()), of_row_(shape.tables.size()) {}

  bool open() {
    for (const TableShape& table : shape_.tables) {
      tables_.push_back(make_table(table.value_bytes, table.bucket_bits));
      if (!tables_.back()) return false;
    }
    return true;
  }

  bool build(size_t number, const uint8_t* rows, size_t size, std::string* why) override {
    const TableShape& shape = shape_.tables[number];
    const size_t stride = shape.row.stride(), nulls = shape.row.null_bytes;
    if (size % stride != 0) {
      *why = "malformed";
      return false;
    }
    keys_.clear();
    values_.assign(size / stride * shape.value_bytes, 0);
    for (const uint8_t* row = rows; row < rows + size; row += stride) {
      if (shape.row.is_null(row, 0)) continue;  // equals nothing
      uint8_t* value = &values_[keys_.size() * shape.value_bytes];
      std::memcpy(value, row, nulls);
      std::memcpy(value + nulls, row + nulls + kKeyBytes, shape.payload_bytes());
      keys_.push_back(key_at(row, shape.row, 0));
    }
    overflown_.clear();
    tables_[number]->build(keys_.data(), values_.data(), keys_.size(), &overflown_);
    built_ += keys_.size();
    for (const uint32_t i : overflown_) {
      if (!combiner_.keep(number, keys_[i], &values_[i * shape.value_bytes])) {
        *why = "memory";
        return false;
      }
    }
    return true;
  }

  bool probe(const uint8_t* rows, size_t size) override {
    if (size % shape_.probe.stride() != 0) return false;
    waiting_.emplace_back(rows, rows + size);
    probed_ += size / shape_.probe.stride();
    return true;
  }

  size_t waiting() const override { return waiting_.size(); }

  bool produce(uint8_t* out) override {
    while (!combiner_.next(out)) {
      if (looked_up_ && row_ == rows_) {
        waiting_.pop_front();
        looked_up_ = false;
      }
      if (waiting_.empty()) return false;
      if (!looked_up_) look_up();
      if (row_ == rows_) continue;
      for (size_t t = 0; t < tables_.size(); t++) of_row_[t] = &answers_[t][row_];
      combiner_.start(&waiting_.front()[row_++ * shape_.probe.stride()], of_row_);
    }
    return true;
  }

  Counts counts() const override { return {built_, combiner_.kept(), probed_, combiner_.joined(), 0}; }

 private:
  void look_up() {  // the oldest waiting packet, in all tables
    const std::vector<uint8_t>& packet = waiting_.front();
    const size_t stride = shape_.probe.stride();
    rows_ = packet.size() / stride;
    row_ = 0;
    keys_.resize(rows_);
    for (size_t t = 0; t < tables_.size(); t++) {
      for (size_t i = 0; i < rows_; i++) keys_[i] = key_at(&packet[i * stride], shape_.probe, t);
      if (answers_[t].size() < rows_) answers_[t].resize(rows_);
      tables_[t]->probe(keys_.data(), rows_, answers_[t].data());
    }
    looked_up_ = true;
  }

  const JoinShape shape_;
  Combiner combiner_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::vector<Answer>> answers_;  // of each table, to the rows at hand
  std::vector<const Answer*> of_row_;
  std::deque<std::vector<uint8_t>> waiting_;
  bool looked_up_ = false;
  size_t row_ = 0, rows_ = 0;  // of the oldest packet
  std::vector<uint64_t> keys_;
  std::vector<uint8_t> values_;
  std::vector<uint32_t> overflown_;
  uint64_t built_ = 0, probed_ = 0;
};

}  // namespace

const char* const kBackend = "emulated";

std::unique_ptr<Join> make_join(const JoinShape& shape, const std::string&, std::string* why) {
  auto join = std::make_unique<Emulated>(shape);
  if (join->open()) return join;
  *why = "no memory for its tables";
  return nullptr;
}

}  // namespace jg::card
