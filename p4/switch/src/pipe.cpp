#include "pipe.h"

#include <algorithm>

namespace jgsw {

Pipe::Pipe(const Program& program, uint16_t cpu_port, uint64_t seed) : program_(program), cpu_port_(cpu_port) {
  for (uint32_t i = 0; i < program.table_count; ++i) {
    tables_.push_back(std::make_unique<TableStore>(program.tables[i]));
    table_views_.push_back(tables_.back().get());
  }
  for (uint32_t i = 0; i < program.register_count; ++i) {
    const RegisterInfo& info = program.registers[i];
    if (info.home == i) {
      registers_.emplace_back(new (std::align_val_t{kLineBytes}) uint8_t[size_t{info.size} * info.stride]());
      register_views_.push_back(registers_.back().get());
    } else {
      register_views_.push_back(register_bytes(info.home) + info.offset);
    }
    for (uint32_t element = 0; element < info.size; ++element) reset_register(i, element);
  }
  for (uint32_t i = 0; i < program.counter_count; ++i) {
    counters_.emplace_back(new CounterCell[program.counters[i].size]());
    counter_views_.push_back(counters_.back().get());
  }
  for (uint32_t i = 0; i < program.digest_count; ++i) {
    uint32_t words = 0;
    for (uint32_t f = 0; f < program.digests[i].field_count; ++f)
      words += field_words(program.digests[i].fields[f].bits);
    digest_words_.push_back(words);
  }
  for (uint32_t i = 0; i < program.meter_count; ++i) {
    meters_.emplace_back(new MeterCell[program.meters[i].size]());
    meter_views_.push_back(meters_.back().get());
  }
  context_ = {table_views_.data(), register_views_.data(), counter_views_.data(), seed | 1, mirror, digest, this,
              meter_views_.data()};
}

void Pipe::reset_register(uint32_t index, uint32_t element) {
  const RegisterInfo& info = program_.registers[index];
  uint8_t* at = register_bytes(index) + size_t{element} * info.stride;
  for (uint32_t f = 0; f < info.field_count; ++f)
    std::memcpy(at + f * info.field_bytes, &info.initial[f], info.field_bytes);
}

void Pipe::reset_direct(uint32_t table, uint32_t slot) {
  for (uint32_t i = 0; i < program_.counter_count; ++i)
    if (program_.counters[i].table == static_cast<int32_t>(table)) counters_[i][slot] = {};
  for (uint32_t i = 0; i < program_.register_count; ++i)
    if (program_.registers[i].table == static_cast<int32_t>(table)) reset_register(i, slot);
  for (uint32_t i = 0; i < program_.meter_count; ++i)
    if (program_.meters[i].table == static_cast<int32_t>(table)) meters_[i][slot].configure({});
}

Buffer* Pipe::take(Outlet& outlet) {
  Buffer* buffer = pool.take();
  if (buffer == nullptr && outlet.make_room()) buffer = pool.take();
  if (buffer == nullptr) ++counts.no_buffer;
  return buffer;
}

// Gives the next pass its headroom.
bool Pipe::recentre(Buffer* buffer) {
  Packet& packet = buffer->packet;
  if (packet.length > kFrameBytesMax) return false;
  if (packet.data != buffer->start()) {
    std::memmove(buffer->start(), packet.data, packet.length);
    packet.data = buffer->start();
  }
  return true;
}

void Pipe::run(Buffer* buffer, Outlet& outlet) {
  outlet_ = &outlet;
  ++counts.ingress_passes;
  Packet& packet = buffer->packet;
  Verdict verdict = program_.ingress(context_, packet);
  if (verdict == Verdict::resubmit) {  // once, as the hardware does
    ++counts.resubmitted;
    packet.resubmitted = true;
    verdict = program_.ingress(context_, packet);
    if (verdict == Verdict::resubmit) verdict = Verdict::drop;
  }
  if (verdict == Verdict::forward) return manage(buffer);
  drop(buffer, verdict == Verdict::drop ? counts.dropped_by_program : counts.malformed);
}

void Pipe::manage(Buffer* buffer) {
  Packet& packet = buffer->packet;
  const bool dropped = packet.drop & 1;
  if (dropped) {
    packet.egress_port = kNoPort;
    packet.multicast_a = packet.multicast_b = 0;
  }
  if (packet.drop & 2) packet.copy_to_cpu = false;
  const bool multicast_any = packet.multicast_a != 0 || packet.multicast_b != 0;
  if (packet.multicast_a != 0) replicate(packet, packet.multicast_a);
  if (packet.multicast_b != 0) replicate(packet, packet.multicast_b);
  if (packet.copy_to_cpu) {
    Packet copy = packet;
    copy.queue = 0;
    copy.cos = packet.cos_to_cpu;
    copy_to(copy, cpu_port_, 0, true);
  }
  if (packet.egress_port != kNoPort) {
    packet.replication_id = 0;
    packet.egress_first = true;
    return egress(buffer);
  }
  if (multicast_any || packet.copy_to_cpu)
    pool.give(buffer);
  else
    drop(buffer, dropped ? counts.dropped_by_program : counts.no_destination);
}

void Pipe::replicate(const Packet& packet, uint16_t group) {
  const auto found = multicast.find(group);
  if (found == multicast.end()) {
    ++counts.no_multicast_group;
    return;
  }
  bool first = true;
  for (const Replica& replica : found->second) {
    if (replica.port == packet.excluded_port || (replica.id != 0 && replica.id == packet.excluded_id)) continue;
    copy_to(packet, replica.port, replica.id, first);
    ++counts.replicated;
    first = false;
  }
}

void Pipe::copy_to(const Packet& packet, uint16_t port, uint16_t id, bool first) {
  Buffer* copy = take(*outlet_);
  if (copy == nullptr) return;
  uint8_t* start = copy->packet.data;
  copy->packet = packet;
  copy->packet.data = start - (packet.length > kFrameBytesMax ? packet.length - kFrameBytesMax : 0);
  std::memcpy(copy->packet.data, packet.data, packet.length);
  copy->packet.egress_port = port;
  copy->packet.replication_id = id;
  copy->packet.egress_first = first;
  loop(copy, 0, packet.queue);
}

void Pipe::egress(Buffer* buffer) {
  Packet& packet = buffer->packet;
  if (program_.egress != nullptr && !packet.bypass_egress) {
    if (!recentre(buffer)) return drop(buffer, counts.oversized);
    packet.drop = 0;
    const Verdict verdict = program_.egress(context_, packet);
    if (verdict == Verdict::parser_error) return drop(buffer, counts.malformed);
    if (verdict != Verdict::forward || (packet.drop & 1)) return drop(buffer, counts.dropped_by_program);
  }
  leave(buffer);
}

void Pipe::leave(Buffer* buffer) {
  Packet& packet = buffer->packet;
  if (packet.length > kFrameBytesMax) return drop(buffer, counts.oversized);
  const uint16_t port = packet.egress_port;
  if (recirculates(port) || loopback[port]) {
    recentre(buffer);
    uint8_t* data = packet.data;
    const uint32_t length = packet.length;
    const uint64_t arrived = packet.arrived_ns;
    const uint8_t priority = packet.queue;
    packet = {};
    packet.data = data;
    packet.length = length;
    packet.arrived_ns = arrived;
    packet.ingress_port = port;
    packet.egress_port = kNoPort;
    if (loop(buffer, loop_queue(port), priority)) ++counts.recirculated;
  } else if (port == cpu_port_) {
    outlet_->packet_in(packet);
    pool.give(buffer);
  } else {
    outlet_->send(port, buffer);
  }
}

bool Pipe::loop(Buffer* buffer, uint32_t queue, uint8_t priority) {
  if (waiting_[queue] >= kLoopedMax) {
    drop(buffer, counts.loop_full);
    return false;
  }
  looped_.push_back({buffer, queue, priority});
  ++waiting_[queue];
  return true;
}

size_t Pipe::run_looped(Outlet& outlet) {
  outlet_ = &outlet;
  const auto is_before = [](const Looped& a, const Looped& b) { return a.priority > b.priority; };
  if (!std::is_sorted(looped_.begin(), looped_.end(), is_before)) {
    std::stable_sort(looped_.begin(), looped_.end(), is_before);
  }
  for (size_t left = looped_.size(); left > 0; --left) {
    const Looped next = looped_.front();
    looped_.pop_front();
    --waiting_[next.queue];
    if (next.queue == 0)
      egress(next.buffer);
    else
      run(next.buffer, outlet);
  }
  return looped_.size();
}

void Pipe::drop_looped() {
  for (const Looped& looped : looped_) drop(looped.buffer, counts.loop_full);
  looped_.clear();
  waiting_ = {};
}

void Pipe::mirror(Context& context, const Packet& packet, uint32_t session, const uint8_t* header,
                  uint32_t header_bytes) {
  Pipe& pipe = *static_cast<Pipe*>(context.pipe);
  const auto found = pipe.mirror_sessions.find(session);
  if (found == pipe.mirror_sessions.end()) {
    ++pipe.counts.no_mirror_session;
    return;
  }
  if (header_bytes > kMirrorHeaderBytesMax || header_bytes + packet.length > kFrameBytesMax) {
    ++pipe.counts.oversized;
    return;
  }
  Buffer* copy = pipe.take(*pipe.outlet_);
  if (copy == nullptr) return;
  Packet& made = copy->packet;
  std::memcpy(made.data, header, header_bytes);
  std::memcpy(made.data + header_bytes, packet.data, packet.length);
  made.length = header_bytes + packet.length;
  made.ingress_port = packet.ingress_port;
  made.arrived_ns = packet.arrived_ns;
  made.egress_port = found->second;
  made.mirrored = true;
  if (pipe.loop(copy, 0, 0)) ++pipe.counts.mirrored;
}

void Pipe::digest(Context& context, uint32_t index, const uint64_t* words) {
  Pipe& pipe = *static_cast<Pipe*>(context.pipe);
  ++pipe.counts.digests;
  pipe.outlet_->digest(index, words, pipe.digest_words_[index]);
}

}  // namespace jgsw
