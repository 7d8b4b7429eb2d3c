// The contract between a compiled P4 program (one shared library) and the software switch that runs it.
//
// A library exports `extern "C" const jgsw::Program* jgsw_program()`. The program holds no state: tables, registers and
// counters belong to the pipe that runs it and are reached through the Context, so that several pipes can share a
// library.
//
// Words. Keys, action data and digests are arrays of 64-bit words: each field takes whole words of its own,
// ceil(bits / 64), least significant word first, unused high bits zero. `fields_words` counts them.
//
// Packets. `data` is the first byte of the frame (what a Tofino's parser sees after its intrinsic metadata: the program
// fills `ingress_intrinsic_metadata_t`, port metadata and `egress_intrinsic_metadata_t` from the Packet's fields, they
// are not in the bytes). At least kHeadroomBytes before `data` are writable. A deparser moves `data` back or forth,
// writes the emitted headers in front of the unparsed payload, and adjusts `length`. It may write before the payload
// only.
#pragma once

#include <cstdint>

namespace jgsw {

inline constexpr uint32_t kContract = 4;  // changes with every incompatible change of this file
inline constexpr uint32_t kHeadroomBytes =
    1024;  // a pass must not emit more bytes of headers than it parsed plus these
inline constexpr uint32_t kFrameBytesMax = 9216;  // longer frames are dropped and counted by the switch
inline constexpr uint32_t kMirrorHeaderBytesMax = 32;
inline constexpr uint32_t kWordsMax = 64;  // in one key, one action's data, or one digest
inline constexpr uint16_t kNoPort = 0x1ff;

// ---- what a program declares -------------------------------------------------------------------------------------

struct Field {
  const char* name;
  uint32_t bits;
};

enum class Match : uint8_t { exact = 0, ternary = 1, lpm = 2, range = 3 };

struct KeyField {
  const char* name;
  uint32_t bits;
  Match match;
};

struct Action {
  const char* name;  // as in P4Info: fully qualified
  uint32_t id;       // as in P4Info
  const Field* parameters;
  uint32_t parameter_count;
};

// One row, as the control plane gives it. For each word of the key: exact ignores `mask`; ternary and lpm match
// (key & mask) == value; range matches value <= key <= mask. Higher `priority` wins; lpm: the longer prefix wins.
struct Row {
  const uint64_t* value;
  const uint64_t* mask;
  int32_t priority;
  uint32_t action;  // index in the table's list of actions
  const uint64_t* data;
};

struct TableInfo {
  const char* name;
  uint32_t id;
  const KeyField* keys;
  uint32_t key_count;  // 0: the table has only a default action
  const Action* actions;
  uint32_t action_count;
  uint32_t size;            // entries that fit
  uint32_t default_action;  // index in `actions`
  const uint64_t* default_data;
  bool default_is_const;
  const Row* rows;  // const entries; a table that has some takes no others
  uint32_t row_count;
};

// An element is `field_count` (1 or 2) unsigned integers of `field_bytes` (1, 2, 4, 8). Registers that are reached with
// one index may lie together: in the memory of register `home`, which is this one or comes before it.
struct RegisterInfo {
  const char* name;
  uint32_t id;
  uint32_t size;    // elements; for a DirectRegister the table's size + 1 (see Entry::slot)
  int32_t table;    // index of the table of a DirectRegister, else -1
  Field fields[2];  // names ("" for a plain bit<N>) and widths
  uint32_t field_count;
  uint32_t field_bytes;
  uint64_t initial[2];
  uint32_t home;    // index of that register
  uint32_t offset;  // bytes into an element of that memory
  uint32_t stride;  // bytes from an element to the next
};

enum class CounterKind : uint8_t { packets = 0, bytes = 1, both = 2 };

struct CounterInfo {
  const char* name;
  uint32_t id;
  uint32_t size;  // cells; for a DirectCounter the table's size + 1 (see Entry::slot)
  int32_t table;  // index of the table of a DirectCounter, else -1
  CounterKind kind;
};

enum class MeterKind : uint8_t { packets = 0, bytes = 1 };

struct MeterInfo {
  const char* name;
  uint32_t id;
  uint32_t size;  // cells; for a DirectMeter the table's size + 1 (see Entry::slot)
  int32_t table;  // index of the table of a DirectMeter, else -1
  MeterKind kind;
};

struct DigestInfo {
  const char* name;
  uint32_t id;
  const Field* fields;
  uint32_t field_count;
};

// ---- what a program works on -------------------------------------------------------------------------------------

// A row that matched, or the table's default (`hit` false). Its action's data, in words, follows it.
struct alignas(8) Entry {
  uint32_t action;  // index in the table's list of actions
  uint32_t slot;    // of direct counters and registers: 0 … size - 1, the default's is `size`
  bool hit;

  const uint64_t* data() const { return reinterpret_cast<const uint64_t*>(this + 1); }
};
static_assert(sizeof(Entry) == 16);

struct CounterCell {
  uint64_t packets;
  uint64_t bytes;

  void count(uint32_t length) {
    packets += 1;
    bytes += length;
  }
};

enum class Colour : uint8_t { green = 0, yellow = 1, red = 2 };

// Rates in units (bytes or packets) a second, bursts in units.
struct MeterConfig {
  uint64_t committed_rate, committed_burst, peak_rate, peak_burst;
  bool set;  // else all is green
};

// The two rate three color marker (RFC 2698). Its clock is Packet::arrived_ns; buckets are full when it is set.
struct MeterCell {
  MeterConfig config;
  uint64_t filled_ns;                 // when the buckets were filled up last
  unsigned __int128 committed, peak;  // in the buckets, in units / 10^9

  void configure(const MeterConfig& wanted) {
    config = wanted;
    filled_ns = 0;
    committed = of(config.committed_burst);
    peak = of(config.peak_burst);
  }
  // `before` is what an earlier meter said (green: blind to it).
  Colour mark(uint64_t units, uint64_t now_ns, Colour before) {
    if (!config.set) return Colour::green;
    if (now_ns > filled_ns) {
      if (filled_ns != 0) {
        const uint64_t passed = now_ns - filled_ns;
        fill(committed, config.committed_rate, config.committed_burst, passed);
        fill(peak, config.peak_rate, config.peak_burst, passed);
      }
      filled_ns = now_ns;
    }
    const unsigned __int128 taken = of(units);
    if (before == Colour::red || peak < taken) return Colour::red;
    peak -= taken;
    if (before == Colour::yellow || committed < taken) return Colour::yellow;
    committed -= taken;
    return Colour::green;
  }

 private:
  static unsigned __int128 of(uint64_t units) { return static_cast<unsigned __int128>(units) * 1000000000u; }
  static void fill(unsigned __int128& bucket, uint64_t rate, uint64_t burst, uint64_t passed_ns) {
    bucket += static_cast<unsigned __int128>(rate) * passed_ns;
    if (bucket > of(burst)) bucket = of(burst);
  }
};

struct Packet {
  uint8_t* data;
  uint32_t length;

  // ingress reads
  uint16_t ingress_port;
  bool resubmitted;          // ig_intr_md.resubmit_flag
  uint8_t resubmit_data[8];  // what the earlier pass resubmitted; a program sets it before it returns Verdict::resubmit
  uint64_t arrived_ns;       // ingress_mac_tstamp and the other timestamps; the low 48 bits count

  // ingress writes (zero and kNoPort before): ingress_intrinsic_metadata_for_tm_t, _for_deparser_t
  uint16_t egress_port;               // ucast_egress_port; kNoPort: none. Egress reads it as egress_port
  uint16_t multicast_a, multicast_b;  // mcast_grp_a, mcast_grp_b; 0: none
  uint16_t replication_id;            // rid; egress reads it as egress_rid
  uint16_t excluded_id;               // level1_exclusion_id: no copy for replicas with that id; 0: excludes none
  uint16_t excluded_port = kNoPort;   // level2_exclusion_id: no multicast copy for that port
  uint8_t drop;                    // drop_ctl; bit 0: no unicast, multicast, resubmission, bit 1: no copy to the CPU,
                                   // bit 2: no mirrored copies (the program itself does not make them then)
  uint8_t queue, cos, cos_to_cpu;  // qid, ingress_cos, icos_for_copy_to_cpu; egress_qid and egress_cos of egress
  bool bypass_egress;
  bool copy_to_cpu;

  // egress reads
  bool egress_first;  // egress_rid_first
  bool mirrored;      // this is a copy that mirror() made
};

struct Table;  // the switch's side; programs use find_exact() and find() of lookup.h

struct Context {
  const Table* const* tables;  // in the order of Program::tables, as are the others
  void* const* registers;
  CounterCell* const* counters;
  uint64_t random_state;  // externs.h: random_bits()
  // A copy of the packet as its bytes are now (ingress: call before deparsing, egress: after) with `header` in front
  // goes to the egress port of the mirror session. `header_bytes` <= kMirrorHeaderBytesMax.
  void (*mirror)(Context& context, const Packet& packet, uint32_t session, const uint8_t* header,
                 uint32_t header_bytes);
  void (*digest)(Context& context, uint32_t digest, const uint64_t* words);
  void* pipe;  // the switch's own
  MeterCell* const* meters;
};

enum class Verdict : uint8_t {
  forward = 0,       // to the traffic manager (ingress), or out of egress_port (egress)
  drop = 1,          // the program wanted it: drop_ctl, or no destination
  parser_error = 2,  // too short, rejected, or a loop that was ended: dropped and counted as malformed
  resubmit = 3,      // ingress only: the bytes are untouched; parse them again with `resubmitted` set
};

// Called for one packet: parses, runs the control, deparses.
using Gress = Verdict (*)(Context& context, Packet& packet);

struct Program {
  uint32_t contract;  // kContract
  const char* name;
  const TableInfo* tables;
  uint32_t table_count;
  const RegisterInfo* registers;
  uint32_t register_count;
  const CounterInfo* counters;
  uint32_t counter_count;
  const DigestInfo* digests;
  uint32_t digest_count;
  Gress ingress;
  Gress egress;  // null: nothing to do, packets leave as ingress deparsed them
  const MeterInfo* meters;
  uint32_t meter_count;
};

inline constexpr uint32_t field_words(uint32_t bits) { return (bits + 63) / 64; }

}  // namespace jgsw

extern "C" const jgsw::Program* jgsw_program();
