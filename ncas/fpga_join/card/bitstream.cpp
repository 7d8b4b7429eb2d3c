// Configures the model of `join_card` for a job. Compiled once for each width of values: VALUE_BYTES.
#include "bitstream.h"

#include <numeric>

#include "Vcard.h"
#include "card_model.h"

namespace jg::card {
namespace {

constexpr size_t kTables = 4, kBanks = 2, kSlots = slots_of(VALUE_BYTES), kNullBits = 64;
constexpr int kAddressBits = 26, kMemoryBits = 28, kLatency = 40;
constexpr size_t kTableNulls = 8 * ((VALUE_BYTES + 8) / 8), kJoinedNulls = kNullBits + kTables * kTableNulls;
constexpr size_t kJoinedBytes = kNullBits / 8 + kRowMax + kTables * (kKeyBytes + VALUE_BYTES);

class Verilated : public Bitstream {
 public:
  Verilated(const JoinShape& shape, Host* host) : shape_(shape), host_(host), model_(memories()) {
    configure();
    choose();
    model_.overflowed = [this] { overflowed(); };
    model_.rested = [this] { rested(); };
    model_.reset();
  }

  void push(size_t flow, const uint8_t* rows, size_t size) override {
    const bool probes = flow == shape_.tables.size();
    model_.push(frame_of(static_cast<uint16_t>(probes ? kTables : flow), Bytes(rows, rows + size), shape_.secret));
  }
  size_t arriving() const override { return model_.arriving(); }
  bool idle() const override { return model_.idle(); }
  void step() override { model_.step(); }
  std::vector<Bytes> left() override { return std::exchange(model_.sent, {}); }
  Counts counts() const override {
    const Vcard& card = model_.card;
    __int128 sum = 0;
    std::memcpy(&sum, &card.sum, sizeof sum);
    return {card.built, card.probed, card.joined, model_.cycles(), card.added, sum};
  }

 private:
  using Model = CardModel<Vcard, kBanks, kMemoryBits>;

  uint64_t buckets_in_a_bank(const TableShape& table) const {
    return std::max<uint64_t>(1, (uint64_t{1} << table.bucket_bits) / kBanks);
  }
  typename Model::Memories memories() const {
    uint64_t buckets = 0;
    for (const TableShape& table : shape_.tables) buckets += buckets_in_a_bank(table);
    typename Model::Memories found;
    while (found.size() < kBanks) found.push_back(std::make_unique<IdealMemory>(buckets, kLatency));
    return found;
  }

  // Tables that the job does not have stay unused.
  void configure() {
    Vcard& card = model_.card;
    card.secret = shape_.secret;
    card.udp_port = kPort;
    card.aggregates = shape_.totals > 0;
    card.probe_nulls = static_cast<uint8_t>(shape_.probe.null_bytes);
    uint64_t base = 0;
    for (size_t t = 0; t < shape_.tables.size(); t++) {
      static constexpr RtlKind kKinds[] = {INNER, LEFT, SEMI, ANTI};
      const TableShape& table = shape_.tables[t];
      set_field(&card.kinds, 3 * t, 3, kKinds[static_cast<size_t>(table.kind)]);
      set_field(&card.build_nulls, 4 * t, 4, table.row.null_bytes);
      set_field(&card.strides, 7 * t, 7, table.row.stride());
      set_field(&card.masks, kAddressBits * t, kAddressBits, (uint64_t{1} << table.bucket_bits) - 1);
      set_field(&card.bases, kMemoryBits * t, kMemoryBits, base);
      base += buckets_in_a_bank(table);
    }
    set_field(&card.strides, 7 * kTables, 7, shape_.probe.stride());
    const Bytes own = headers(shape_.secret);
    put(&card.headers, own.data(), own.size());
  }

  // Which NULL bits and which bytes of joined rows leave.
  void choose() {
    const RowShape& probe = shape_.probe;
    std::vector<size_t> null_of(probe.columns), byte_of(probe.bytes);
    std::iota(null_of.begin(), null_of.end(), size_t{0});
    std::iota(byte_of.begin(), byte_of.end(), kNullBits / 8 + probe.null_bytes);
    for (size_t t = 0; t < shape_.tables.size(); t++) {
      const TableShape& table = shape_.tables[t];
      if (!table.pairs()) continue;
      const size_t key = kNullBits / 8 + kRowMax + t * (kKeyBytes + VALUE_BYTES);
      for (size_t c = 0; c < table.row.columns; c++) null_of.push_back(kNullBits + t * kTableNulls + c);
      for (size_t i = 0; i < kKeyBytes; i++) byte_of.push_back(key + i);
      for (size_t i = 0; i < table.payload_bytes(); i++) {
        byte_of.push_back(key + kKeyBytes + table.row.null_bytes + i);
      }
    }
    std::vector<size_t> nulls, bytes(shape_.out().null_bytes);
    std::iota(bytes.begin(), bytes.end(), size_t{0});  // the new NULL bits
    for (const Leaver& leaver : shape_.leaving) {
      nulls.push_back(null_of[leaver.column]);
      for (size_t i = 0; i < leaver.bytes; i++) bytes.push_back(byte_of[leaver.offset + i]);
    }
    Vcard& card = model_.card;
    const Bytes of_nulls = gathering(nulls, kJoinedNulls), of_bytes = gathering(bytes, kJoinedBytes);
    put(&card.null_places, of_nulls.data(), of_nulls.size());
    put(&card.byte_places, of_bytes.data(), of_bytes.size());
    const uint64_t mask = nulls.size() >= kNullBits ? ~uint64_t{0} : (uint64_t{1} << nulls.size()) - 1;
    card.null_mask = shape_.out_null_bytes > 0 ? mask : 0;
    card.out_stride = static_cast<uint8_t>(bytes.size());
  }

  void overflowed() {
    const Vcard& card = model_.card;
    host_->overflowed(card.overflow_table, card.overflow_key, reinterpret_cast<const uint8_t*>(&card.overflow_value));
  }

  void rested() {
    const Vcard& card = model_.card;
    const auto* values = reinterpret_cast<const uint8_t*>(&card.rest_values);
    std::vector<Answer> answers(shape_.tables.size());
    for (size_t t = 0; t < answers.size(); t++) {
      answers[t].overflown = card.rest_overflown >> t & 1;
      for (size_t slot = t * kSlots; slot < (t + 1) * kSlots; slot++) {
        if (!(card.rest_matches >> slot & 1)) continue;
        std::memcpy(answers[t].values + answers[t].count++ * VALUE_BYTES, values + slot * VALUE_BYTES, VALUE_BYTES);
      }
    }
    host_->rested(reinterpret_cast<const uint8_t*>(&card.rest_row), answers);
  }

  const JoinShape shape_;
  Host* const host_;
  Model model_;
};

}  // namespace
}  // namespace jg::card

extern "C" jg::card::Bitstream* jg_bitstream(const jg::card::JoinShape& shape, jg::card::Bitstream::Host* host) {
  return new jg::card::Verilated(shape, host);
}
