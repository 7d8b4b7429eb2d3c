// The plain C interface that the Python package calls. A function that can fail returns a message that lives until the
// thread's next failure, or null. Indices are those of the program's lists and are checked by the caller.
#include <arpa/inet.h>
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "switch.h"

using jgsw::Row;
using jgsw::Switch;

namespace {

thread_local std::string g_problem;

const char* failed(std::string problem) {
  g_problem = std::move(problem);
  return g_problem.c_str();
}

}  // namespace

extern "C" {

const char* jgsw_load(const char* path, const jgsw::Program** program) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return failed(dlerror());
  auto* entry = reinterpret_cast<const jgsw::Program* (*)()>(dlsym(library, "jgsw_program"));
  if (entry == nullptr) return failed(std::string(path) + " is not a compiled P4 program: it has no jgsw_program");
  *program = entry();
  if ((*program)->contract != jgsw::kContract)
    return failed(std::string(path) + " was compiled for another version of the switch; compile it again");
  return nullptr;
}

Switch* jgsw_create(const jgsw::Program* program, uint16_t cpu_port, uint64_t seed) {
  return new Switch(*program, cpu_port, seed);
}
void jgsw_destroy(Switch* sw) { delete sw; }

const char* jgsw_add_udp(Switch* sw, uint16_t number, int32_t kind, const char* host, uint16_t port,
                         const char* peer_host, uint16_t peer_port, uint16_t shown_port, uint16_t* bound) {
  jgsw::Address local, peer;
  if (!local.parse(host, port) || !peer.parse(peer_host, peer_port)) return failed("not an address");
  std::string problem;
  jgsw::Port* opened =
      jgsw::Port::open_udp(number, static_cast<jgsw::PortKind>(kind), local, peer, shown_port, sw->stand_ins, problem);
  if (opened == nullptr) return failed(problem);
  *bound = ntohs(opened->local().port());
  return sw->add_port(opened, problem) ? nullptr : failed(problem);
}
const char* jgsw_add_interface(Switch* sw, uint16_t number, const char* name) {
  std::string problem;
  jgsw::Port* opened = jgsw::Port::open_interface(number, name, problem);
  if (opened == nullptr) return failed(problem);
  return sw->add_port(opened, problem) ? nullptr : failed(problem);
}
const char* jgsw_loop_port(Switch* sw, uint16_t number) {
  std::string problem;
  return sw->loop_port(number, problem) ? nullptr : failed(problem);
}
// From now on `v4` stands for the IPv6 host in the headers that programs see.
const char* jgsw_stand_in(Switch* sw, const char* v4, const char* v6) {
  in_addr name;
  in6_addr host;
  if (inet_pton(AF_INET, v4, &name) != 1 || inet_pton(AF_INET6, v6, &host) != 1) return failed("not an address");
  sw->gate.between_batches([&] {
    sw->stand_ins.set(name.s_addr, host);
    for (const auto& port : sw->ports)
      if (port != nullptr) port->forget_sender();
    return 0;
  });
  return nullptr;
}
const char* jgsw_start(Switch* sw) {
  std::string problem;
  return sw->start(problem) ? nullptr : failed(problem);
}
void jgsw_stop(Switch* sw) { sw->stop(); }

void jgsw_process(Switch* sw, const uint16_t* ports, const uint32_t* lengths, const uint8_t* bytes, uint32_t count,
                  uint32_t passes_max, uint32_t* out_count, const uint16_t** out_ports, const uint32_t** out_lengths,
                  const uint8_t** out_bytes) {
  const jgsw::Collected& collected = sw->process(ports, lengths, bytes, count, passes_max);
  *out_count = static_cast<uint32_t>(collected.ports.size());
  *out_ports = collected.ports.data();
  *out_lengths = collected.lengths.data();
  *out_bytes = collected.bytes.data();
}
void jgsw_packet_out(Switch* sw, const uint8_t* bytes, uint32_t length) { sw->packet_out(bytes, length); }
// The size of the event's bytes, of which at most `capacity` were written, or -1 if none came in time.
int64_t jgsw_next_event(Switch* sw, int32_t timeout_ms, int32_t* kind, uint32_t* index, uint8_t* bytes,
                        uint32_t capacity) {
  jgsw::Event event;
  if (!sw->next_event(event, timeout_ms)) return -1;
  *kind = static_cast<int32_t>(event.kind);
  *index = event.index;
  std::memcpy(bytes, event.bytes.data(), std::min<size_t>(capacity, event.bytes.size()));
  return static_cast<int64_t>(event.bytes.size());
}

// ---- tables; operation: 0 insert, 1 modify, 2 delete; answers are WriteResult
// -----------------------------------------

int32_t jgsw_table_write(Switch* sw, uint32_t table, int32_t operation, const uint64_t* value, const uint64_t* mask,
                         int32_t priority, uint32_t action, const uint64_t* data) {
  return sw->gate.between_batches([&] {
    jgsw::TableStore& store = sw->pipe.table(table);
    const Row row{value, mask, priority, action, data};
    uint32_t slot = 0;
    const jgsw::WriteResult result = operation == 0   ? store.insert(row, slot)
                                     : operation == 1 ? store.modify(row, slot)
                                                      : store.remove(row, slot);
    if (result == jgsw::WriteResult::ok && operation == 0) sw->pipe.reset_direct(table, slot);
    return static_cast<int32_t>(result);
  });
}
int32_t jgsw_table_default(Switch* sw, uint32_t table, uint32_t action, const uint64_t* data) {
  return sw->gate.between_batches(
      [&] { return static_cast<int32_t>(sw->pipe.table(table).set_default(action, data)); });
}
void jgsw_table_default_reset(Switch* sw, uint32_t table) {
  sw->gate.between_batches([&] { sw->pipe.table(table).reset_default(); });
}
uint32_t jgsw_table_count(Switch* sw, uint32_t table) {
  return sw->gate.between_batches([&] { return sw->pipe.table(table).count(); });
}
int32_t jgsw_table_locate(Switch* sw, uint32_t table, const uint64_t* value, const uint64_t* mask, int32_t priority,
                          uint32_t* slot) {
  return sw->gate.between_batches(
      [&] { return static_cast<int32_t>(sw->pipe.table(table).locate({value, mask, priority, 0, nullptr}, *slot)); });
}
// The entry in a slot (the table's size: the default action); false if the slot is free.
bool jgsw_table_read(Switch* sw, uint32_t table, uint32_t slot, uint64_t* value, uint64_t* mask, int32_t* priority,
                     uint32_t* action, uint64_t* data) {
  return sw->gate.between_batches([&] {
    const jgsw::TableStore& store = sw->pipe.table(table);
    if (slot == store.info().size) {
      *action = store.default_entry().action;
      std::memcpy(data, store.default_entry().data(), store.action_words(*action) * sizeof(uint64_t));
      return true;
    }
    Row row;
    if (!store.read(slot, row)) return false;
    std::memcpy(value, row.value, store.words() * sizeof(uint64_t));
    std::memcpy(mask, row.mask != nullptr ? row.mask : row.value, store.words() * sizeof(uint64_t));
    *priority = row.priority;
    *action = row.action;
    std::memcpy(data, row.data, store.action_words(row.action) * sizeof(uint64_t));
    return true;
  });
}

// ---- registers, counters, meters, the traffic manager
// -------------------------------------------------------------------------

void jgsw_register_read(Switch* sw, uint32_t index, uint32_t first, uint32_t count, uint8_t* bytes) {
  const jgsw::RegisterInfo& info = sw->pipe.program().registers[index];
  const size_t element = size_t{info.field_count} * info.field_bytes;
  sw->gate.between_batches([&] {
    const uint8_t* at = sw->pipe.register_bytes(index) + size_t{first} * info.stride;
    for (uint32_t i = 0; i < count; ++i) std::memcpy(bytes + i * element, at + size_t{i} * info.stride, element);
  });
}
void jgsw_register_write(Switch* sw, uint32_t index, uint32_t first, uint32_t count, const uint8_t* bytes) {
  const jgsw::RegisterInfo& info = sw->pipe.program().registers[index];
  const size_t element = size_t{info.field_count} * info.field_bytes;
  sw->gate.between_batches([&] {
    uint8_t* at = sw->pipe.register_bytes(index) + size_t{first} * info.stride;
    for (uint32_t i = 0; i < count; ++i) std::memcpy(at + size_t{i} * info.stride, bytes + i * element, element);
  });
}
void jgsw_register_reset(Switch* sw, uint32_t index) {
  sw->gate.between_batches([&] {
    for (uint32_t i = 0; i < sw->pipe.program().registers[index].size; ++i) sw->pipe.reset_register(index, i);
  });
}
void jgsw_counter_read(Switch* sw, uint32_t index, uint32_t first, uint32_t count, jgsw::CounterCell* cells) {
  sw->gate.between_batches(
      [&] { std::memcpy(cells, sw->pipe.counter(index) + first, count * sizeof(jgsw::CounterCell)); });
}
void jgsw_counter_write(Switch* sw, uint32_t index, uint32_t first, uint32_t count, const jgsw::CounterCell* cells) {
  sw->gate.between_batches(
      [&] { std::memcpy(sw->pipe.counter(index) + first, cells, count * sizeof(jgsw::CounterCell)); });
}
void jgsw_meter_read(Switch* sw, uint32_t index, uint32_t cell, jgsw::MeterConfig* config) {
  sw->gate.between_batches([&] { *config = sw->pipe.meter(index)[cell].config; });
}
// Its buckets are full again.
void jgsw_meter_write(Switch* sw, uint32_t index, uint32_t cell, const jgsw::MeterConfig* config) {
  sw->gate.between_batches([&] { sw->pipe.meter(index)[cell].configure(*config); });
}
// No replicas: the group is removed.
void jgsw_multicast(Switch* sw, uint32_t group, const uint16_t* ports, const uint16_t* ids, uint32_t count) {
  sw->gate.between_batches([&] {
    sw->pipe.multicast.erase(group);
    for (uint32_t i = 0; i < count; ++i) sw->pipe.multicast[group].push_back({ports[i], ids[i]});
  });
}
// kNoPort: the session is removed.
void jgsw_mirror_session(Switch* sw, uint32_t session, uint16_t port) {
  sw->gate.between_batches([&] {
    sw->pipe.mirror_sessions.erase(session);
    if (port != jgsw::kNoPort) sw->pipe.mirror_sessions[session] = port;
  });
}
void jgsw_counts(Switch* sw, jgsw::Counts* counts) {
  sw->gate.between_batches([&] { *counts = sw->pipe.counts; });
}
bool jgsw_port_counts(Switch* sw, uint16_t number, jgsw::PortCounts* counts) {
  return sw->gate.between_batches([&] {
    if (number >= jgsw::kPorts || sw->ports[number] == nullptr) return false;
    *counts = sw->ports[number]->counts;
    return true;
  });
}

}  // extern "C"
