// A program as the compiler would write it, by hand: every part of the contract with the switch in few lines.
//
// A frame is: operation (1 byte), port (1), key (4, big endian), the rest is payload. The operation says what happens:
// 0 forward to `port`, 1 look the key up in an exact table, 2 in a ternary one, 3 in lpm, 4 in range, 5 multicast to
// group `port`, 6 recirculate (becoming operation 0), 7 mirror with session `port` and forward to port 1, 8 digest, 9
// resubmit (then forward), 10 add the key to register[0] and put the sum into the key, 11 forward to the controller, 12
// recirculate for ever, 13 grow by 200 bytes and recirculate, other: drop.
#include "jgsw/externs.h"
#include "jgsw/lookup.h"

namespace {

using namespace jgsw;

constexpr uint32_t kHeader = 6;

const Field kSetPort[] = {{"port", 9}};
const Field kWide[] = {{"port", 9}, {"wide", 100}};
const Action kActions[] = {
    {"Ingress.drop", 0x01000001, nullptr, 0},
    {"Ingress.set_port", 0x01000002, kSetPort, 1},
    {"Ingress.set_wide", 0x01000003, kWide, 2},
};
const KeyField kExact[] = {{"hdr.key", 32, Match::exact}};
const KeyField kTernary[] = {{"hdr.key", 32, Match::ternary}, {"hdr.port", 8, Match::ternary}};
const KeyField kLpm[] = {{"hdr.key", 32, Match::lpm}};
const KeyField kRange[] = {{"hdr.key", 32, Match::range}, {"hdr.port", 8, Match::exact}};
const uint64_t kConstValue[] = {7}, kConstData[] = {5};
const Row kConstRows[] = {{kConstValue, nullptr, 0, 1, kConstData}};

const TableInfo kTables[] = {
    {"Ingress.exact_table", 0x02000001, kExact, 1, kActions, 3, 1024, 0, nullptr, false, nullptr, 0},
    {"Ingress.ternary_table", 0x02000002, kTernary, 2, kActions, 3, 512, 0, nullptr, false, nullptr, 0},
    {"Ingress.lpm_table", 0x02000003, kLpm, 1, kActions, 3, 512, 0, nullptr, false, nullptr, 0},
    {"Ingress.range_table", 0x02000004, kRange, 2, kActions, 3, 512, 0, nullptr, false, nullptr, 0},
    {"Ingress.const_table", 0x02000005, kExact, 1, kActions, 2, 1, 0, nullptr, true, kConstRows, 1},
};
const RegisterInfo kRegisters[] = {
    {"Ingress.sums", 0x16000001, 16, -1, {{"", 32}, {"", 0}}, 1, 4, {0, 0}, 0, 0, 4},
    {"Ingress.pairs", 0x16000002, 8, -1, {{"low", 16}, {"high", 16}}, 2, 2, {3, 4}, 1, 0, 4},
};
const CounterInfo kCounters[] = {
    {"Ingress.ports", 0x12000001, 512, -1, CounterKind::both},
    {"Ingress.exact_hits", 0x13000001, 1025, 0, CounterKind::both},
};
const Field kDigestFields[] = {{"key", 32}, {"port", 8}};
const DigestInfo kDigests[] = {{"learn", 0x17000001, kDigestFields, 2}};

Verdict apply(const Entry& entry, Packet& packet) {
  if (entry.action == 0) return Verdict::drop;
  packet.egress_port = static_cast<uint16_t>(entry.data()[0]);
  return Verdict::forward;
}

Verdict ingress(Context& context, Packet& packet) {
  if (packet.length < kHeader) return Verdict::parser_error;
  uint8_t* header = packet.data;
  uint32_t key = 0;
  for (int i = 2; i < 6; ++i) key = key << 8 | header[i];
  const uint16_t port = header[1];
  context.counters[0][packet.ingress_port].count(packet.length);
  const uint64_t one[] = {key}, two[] = {key, port};
  switch (header[0]) {
    case 0:
      packet.egress_port = port;
      return Verdict::forward;
    case 1: {
      const Entry& entry = find_exact<1>(*context.tables[0], one);
      context.counters[1][entry.slot].count(packet.length);
      return apply(entry, packet);
    }
    case 2:
      return apply(find(*context.tables[1], two), packet);
    case 3:
      return apply(find(*context.tables[2], one), packet);
    case 4:
      return apply(find(*context.tables[3], two), packet);
    case 5:
      packet.multicast_a = port;
      return Verdict::forward;
    case 6:
      header[0] = 0;
      packet.egress_port = 68;
      return Verdict::forward;
    case 7:
      context.mirror(context, packet, port, header, 1);
      packet.egress_port = 1;
      return Verdict::forward;
    case 8:
      context.digest(context, 0, two);
      packet.egress_port = port;
      return Verdict::forward;
    case 9:
      if (!packet.resubmitted) {
        packet.resubmit_data[0] = header[1];
        return Verdict::resubmit;
      }
      packet.egress_port = packet.resubmit_data[0];
      return Verdict::forward;
    case 10: {
      uint32_t& sum = static_cast<uint32_t*>(context.registers[0])[port & 15];
      sum += key;
      for (int i = 0; i < 4; ++i) header[2 + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
      packet.egress_port = port;
      return Verdict::forward;
    }
    case 11:
      packet.egress_port = 64;
      return Verdict::forward;
    case 12:
      packet.egress_port = 68;
      return Verdict::forward;
    case 13:
      packet.data -= 200;
      packet.length += 200;
      for (uint32_t i = 0; i < kHeader; ++i) packet.data[i] = packet.data[i + 200];
      for (uint32_t i = 0; i < 200; ++i) packet.data[kHeader + i] = 0xaa;
      packet.egress_port = 68;
      return Verdict::forward;
    case 14:
      return apply(find_exact<1>(*context.tables[4], one), packet);
    default:
      return Verdict::drop;
  }
}

// Writes the replication id into the key of copies.
Verdict egress(Context&, Packet& packet) {
  if (packet.length < kHeader) return Verdict::parser_error;
  if (packet.replication_id != 0) packet.data[5] = static_cast<uint8_t>(packet.replication_id);
  return Verdict::forward;
}

const Program kProgram = {kContract, "by_hand", kTables, 5, kRegisters, 2, kCounters, 2, kDigests, 1, ingress, egress};

}  // namespace

extern "C" const Program* jgsw_program() { return &kProgram; }
