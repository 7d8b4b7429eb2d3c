// Frames of rows as the RTL of a card takes and makes them (rtl/frame_pkg.sv).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jg::card {

using Bytes = std::vector<uint8_t>;

inline constexpr size_t kBusBytes = 64, kHeaders = 58, kPayloadMax = 1384;
inline constexpr uint16_t kPort = 9801;

inline void big_endian(uint8_t* to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - i));
}
inline uint64_t number(const uint8_t* from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++) value = value << 8 | from[i];
  return value;
}
inline uint16_t ip_sum(const Bytes& frame) {
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(number(&frame[i], 2));
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

inline Bytes headers(uint64_t secret) {
  Bytes frame(kHeaders);
  big_endian(&frame[0], 0x020000000001, 6);
  big_endian(&frame[6], 0x020000000002, 6);
  big_endian(&frame[12], 0x0800, 2);
  frame[14] = 0x45;
  frame[22] = 64;
  frame[23] = 17;
  big_endian(&frame[26], 0x0A000001, 4);
  big_endian(&frame[30], 0x0A000002, 4);
  big_endian(&frame[34], kPort, 2);
  big_endian(&frame[36], kPort, 2);
  frame[42] = 1;
  frame[43] = 1;
  big_endian(&frame[50], secret, 8);
  return frame;
}

inline Bytes frame_of(uint16_t flow, const Bytes& rows, uint64_t secret) {
  Bytes frame = headers(secret);
  big_endian(&frame[16], 44 + rows.size(), 2);
  big_endian(&frame[38], 24 + rows.size(), 2);
  big_endian(&frame[44], flow, 2);
  big_endian(&frame[24], static_cast<uint16_t>(~ip_sum(frame)), 2);
  frame.insert(frame.end(), rows.begin(), rows.end());
  frame.resize(std::max<size_t>(frame.size(), 60));  // as Ethernet pads it
  return frame;
}

}  // namespace jg::card
