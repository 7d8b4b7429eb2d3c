// The packets of p4/PROTOCOL.md as bytes. Pure functions of memory; all that parses is safe on hostile bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "jg/batch.h"

namespace jg::datagram {

enum Kind : uint8_t { DATA = 1, ACK = 2, READ_FIRST = 3, READ_SECOND = 4, CLEAR = 5, END = 6, ACK_RUN = 7 };

inline constexpr size_t kHeaderBytes = 16, kTupleBytes = 17, kSlotsMax = 8;
inline constexpr size_t kPacketBytesMax = 1400;  // passes every network that carries Ethernet frames

inline constexpr uint32_t kBusy = 0xFFFFFFFF;  // acknowledged by a receiver that has no room: nothing was taken
inline constexpr uint32_t kSequenceMax = kBusy - 1;
inline constexpr uint32_t kRunMax = 256;  // packets that an ACK_RUN acknowledges

struct Header {
  uint8_t kind = 0, present = 0;
  uint16_t flow = 0;
  uint32_t sequence = 0;
  uint64_t secret = 0;  // of the flow's job: a sender that does not know it gets no answer
};

// The words that a program reads: the second one is a value of 64 bits, or two of 32, the first in the upper half; bits
// of `nulls` are those of the words.
struct Tuple {
  uint8_t nulls;
  uint64_t key, value;
};

struct Data {
  int tuples = 0;
  Tuple tuple[kSlotsMax];
  const uint8_t* payload = nullptr;  // bytes after the tuples
  size_t payload_bytes = 0;
};

// One bucket's registers, in two answers: `first_h` and `second_h` in templates/p4/aggregate.p4.j2.
struct FirstWords {
  uint32_t key_high, count, sum_low, sum_high, min_high, min_low, max_high, max_low;
};
struct SecondWords {
  uint32_t key_low, carries_low, carries_high;
};

// A bucket's group. Sum, least and greatest value mean nothing where the count is 0.
struct Group {
  int64_t key, count, min, max;
  jg_i128 sum;
};

void put_header(uint8_t* at, const Header& header);
void put_tuple(uint8_t* at, const Tuple& tuple);
bool parse_header(const uint8_t* packet, size_t size, Header* out);
// A DATA packet whose header was parsed; false unless it has exactly the tuples that it announces, at least one and
// none beyond `slots`, and a payload only with one slot.
bool parse_data(const uint8_t* packet, size_t size, const Header& header, int slots, Data* out);
// A DATA packet of rows alone.
bool parse_rows(const uint8_t* packet, size_t size, const Header& header, Data* out);
// Answers to READ_FIRST and READ_SECOND: the words of each slot of header.present, in order. False unless there are
// exactly those and none beyond `slots`.
bool parse_first(const uint8_t* packet, size_t size, const Header& header, int slots, FirstWords* out);
bool parse_second(const uint8_t* packet, size_t size, const Header& header, int slots, SecondWords* out);
Group group_of(const FirstWords& first, const SecondWords& second);

// The slot that a key travels in (p4/programs/crc.py).
int slot_of(uint64_t key, int slots);

}  // namespace jg::datagram
