#include "datagrams/packet.h"

#include <array>
#include <bit>
#include <iterator>

#include "ntf/row.h"

namespace jg::datagram {
namespace {

constexpr bool kSwap = true;  // network order

// Tables of a reflected CRC-32: the contribution of byte i of eight to the remainder.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables(uint32_t polynomial) {
  uint32_t reflected = 0;
  for (int bit = 0; bit < 32; bit++) reflected |= (polynomial >> bit & 1) << (31 - bit);
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? reflected : 0);
    tables[7][byte] = crc;
  }
  for (int i = 6; i >= 0; i--) {
    for (uint32_t byte = 0; byte < 256; byte++) {
      const uint32_t crc = tables[i + 1][byte];
      tables[i][byte] = crc >> 8 ^ tables[7][crc & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kSlotTables = make_tables(0x814141AB);

template <class Words>
bool parse_words(const uint8_t* packet, size_t size, const Header& header, int slots, Words* out) {
  static_assert(sizeof(Words) % sizeof(uint32_t) == 0 && alignof(Words) == alignof(uint32_t));
  const auto count = static_cast<size_t>(std::popcount(header.present));
  if (header.present >> slots != 0 || size != kHeaderBytes + count * sizeof(Words)) return false;
  for (size_t i = 0; i < count; i++) {
    uint32_t words[sizeof(Words) / sizeof(uint32_t)];
    for (size_t k = 0; k < std::size(words); k++) {
      words[k] = ntf::load<uint32_t>(packet + kHeaderBytes + i * sizeof(Words) + k * sizeof(uint32_t), kSwap);
    }
    out[i] = std::bit_cast<Words>(words);
  }
  return true;
}

}  // namespace

void put_header(uint8_t* at, const Header& header) {
  at[0] = header.kind;
  at[1] = header.present;
  ntf::store(at + 2, header.flow, kSwap);
  ntf::store(at + 4, header.sequence, kSwap);
  ntf::store(at + 8, header.secret, kSwap);
}

void put_tuple(uint8_t* at, const Tuple& tuple) {
  at[0] = tuple.nulls;
  ntf::store(at + 1, tuple.key, kSwap);
  ntf::store(at + 9, tuple.value, kSwap);
}

bool parse_header(const uint8_t* packet, size_t size, Header* out) {
  if (size < kHeaderBytes) return false;
  *out = {packet[0], packet[1], ntf::load<uint16_t>(packet + 2, kSwap), ntf::load<uint32_t>(packet + 4, kSwap),
          ntf::load<uint64_t>(packet + 8, kSwap)};
  return true;
}

bool parse_data(const uint8_t* packet, size_t size, const Header& header, int slots, Data* out) {
  if (header.present == 0 || header.present >> slots != 0) return false;
  out->tuples = std::popcount(header.present);
  const size_t used = kHeaderBytes + kTupleBytes * out->tuples;
  if (size < used || (slots > 1 && size != used)) return false;
  for (int i = 0; i < out->tuples; i++) {
    const uint8_t* at = packet + kHeaderBytes + kTupleBytes * i;
    out->tuple[i] = {at[0], ntf::load<uint64_t>(at + 1, kSwap), ntf::load<uint64_t>(at + 9, kSwap)};
  }
  out->payload = packet + used;
  out->payload_bytes = size - used;
  return true;
}

bool parse_rows(const uint8_t* packet, size_t size, const Header& header, Data* out) {
  if (header.present != 1 || size <= kHeaderBytes) return false;
  out->payload = packet + kHeaderBytes;
  out->payload_bytes = size - kHeaderBytes;
  return true;
}

bool parse_first(const uint8_t* packet, size_t size, const Header& header, int slots, FirstWords* out) {
  return parse_words(packet, size, header, slots, out);
}

bool parse_second(const uint8_t* packet, size_t size, const Header& header, int slots, SecondWords* out) {
  return parse_words(packet, size, header, slots, out);
}

Group group_of(const FirstWords& first, const SecondWords& second) {
  constexpr uint64_t kBias = 1ull << 63;
  const auto wide = [](uint32_t high, uint32_t low) { return static_cast<uint64_t>(high) << 32 | low; };
  const auto count = static_cast<int64_t>(first.count);
  jg_i128 sum = first.sum_low;
  sum += (static_cast<jg_i128>(second.carries_low) + first.sum_high) << 32;
  sum += static_cast<jg_i128>(second.carries_high) << 64;
  sum -= static_cast<jg_i128>(kBias) * count;
  return {static_cast<int64_t>(wide(first.key_high, second.key_low)), count,
          static_cast<int64_t>(wide(first.min_high, first.min_low) ^ kBias),
          static_cast<int64_t>(~wide(first.max_high, first.max_low) ^ kBias), sum};
}

int slot_of(uint64_t key, int slots) {
  uint32_t crc = 0xFFFFFFFF;
  uint32_t out = 0;
  for (int i = 0; i < 8; i++) {
    const auto byte = static_cast<uint8_t>(key >> (56 - 8 * i));
    out ^= kSlotTables[i][(byte ^ crc) & 0xFF];
    crc = i < 3 ? crc >> 8 : 0;
  }
  return static_cast<int>(((out ^ 0xFFFFFFFF) >> 18) % static_cast<uint32_t>(slots));
}

}  // namespace jg::datagram
