// Joins by the RTL of a card, cycle by cycle. What it leaves to its host is joined here.
#include <dlfcn.h>

#include <cstring>
#include <deque>
#include <new>

#include "bitstream.h"
#include "combiner.h"
#include "join.h"

namespace jg::card {
namespace {

constexpr size_t kTablesMax = 4, kRowBytesMax = 64;  // of the RTL

bool fits(const JoinShape& shape) {
  bool found =
      shape.tables.size() <= kTablesMax && shape.probe.stride() <= kRowBytesMax && shape.out().stride() <= kRowBytesMax;
  for (const TableShape& table : shape.tables) {
    found &= table.row.stride() <= kRowBytesMax && table.value_bytes == shape.tables[0].value_bytes;
  }
  return found;
}

class Verilated : public Join, Bitstream::Host {
 public:
  Verilated(const JoinShape& shape, MakeBitstream* make)
      : shape_(shape), stride_(shape.out().stride()), combiner_(shape), rtl_(make(shape, this)) {}

  bool build(size_t table, const uint8_t* rows, size_t size, std::string* why) override {
    if (size % shape_.tables[table].row.stride() != 0) {
      *why = "malformed";
      return false;
    }
    rtl_->push(table, rows, size);
    while (!rtl_->idle()) rtl_->step();
    if (full_) *why = "memory";
    return !full_;
  }

  bool probe(const uint8_t* rows, size_t size) override {
    if (size % shape_.probe.stride() != 0) return false;
    rtl_->push(shape_.tables.size(), rows, size);
    return true;
  }

  size_t waiting() const override { return rtl_->arriving() + !is_done(); }

  bool produce(uint8_t* out) override {
    while (true) {
      if (at_ < frame_.size()) {
        std::memcpy(out, &frame_[at_], stride_);
        at_ += stride_;
        return true;
      }
      if (combiner_.next(out)) return true;
      if (!rested_.empty()) {
        row_ = std::move(rested_.front());
        rested_.pop_front();
        for (size_t t = 0; t < row_.answers.size(); t++) of_row_[t] = &row_.answers[t];
        combiner_.start(row_.bytes.data(), of_row_);
      } else if (!frames_.empty()) {
        frame_ = std::move(frames_.front());
        frames_.pop_front();
        at_ = kHeaders;
      } else if (!rtl_->idle()) {
        rtl_->step();
        for (Bytes& frame : rtl_->left()) frames_.push_back(std::move(frame));
      } else {
        return false;
      }
    }
  }

  Totals totals() const override {
    const Bitstream::Counts rtl = rtl_->counts();
    return {rtl.joined, rtl.added, rtl.sum};
  }

  Counts counts() const override {
    const Bitstream::Counts rtl = rtl_->counts();
    return {rtl.built, combiner_.kept(), rtl.probed, rtl.joined + combiner_.joined(), rtl.cycles};
  }

 private:
  struct Rested {
    Bytes bytes;
    std::vector<Answer> answers;
  };

  void overflowed(size_t table, uint64_t key, const uint8_t* value) override {
    full_ |= !combiner_.keep(table, key, value);
  }
  void rested(const uint8_t* row, const std::vector<Answer>& answers) override {
    rested_.push_back({Bytes(row, row + shape_.probe.stride()), answers});
  }
  bool is_done() const {
    return rtl_->idle() && frames_.empty() && rested_.empty() && at_ >= frame_.size() && !combiner_.has_row();
  }

  const JoinShape shape_;
  const size_t stride_;
  Combiner combiner_;
  std::unique_ptr<Bitstream> rtl_;
  bool full_ = false;
  std::deque<Bytes> frames_;
  Bytes frame_;  // the oldest one that left
  size_t at_ = 0;
  std::deque<Rested> rested_;
  Rested row_;  // the oldest one
  std::vector<const Answer*> of_row_ = std::vector<const Answer*>(shape_.tables.size());
};

}  // namespace

const char* const kBackend = "verilated";

std::unique_ptr<Join> make_join(const JoinShape& shape, const std::string& bitstream, std::string* why) {
  if (!fits(shape)) {
    *why = "more tables or wider rows than the RTL has";
    return nullptr;
  }
  void* library = dlopen(bitstream.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays, for the next job
  auto* make = library ? reinterpret_cast<MakeBitstream*>(dlsym(library, kBitstreamSymbol)) : nullptr;
  if (make == nullptr) {
    *why = dlerror();
    return nullptr;
  }
  try {
    return std::make_unique<Verilated>(shape, make);
  } catch (const std::bad_alloc&) {
    *why = "no memory for its tables";
    return nullptr;
  }
}

}  // namespace jg::card
