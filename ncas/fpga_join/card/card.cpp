#include "card.h"

#include <algorithm>

#include "ntf/row.h"

namespace jg::card {
namespace {

using datagram::Header;
using datagram::kHeaderBytes;
using datagram::kPacketBytesMax;

constexpr int kQueuedWindows = 4;     // packets that leave and are held, in windows
constexpr size_t kWaitingMax = 4096;  // packets of probing rows that wait for room among those that leave
constexpr uint32_t kLeadMax = 64;     // packets that a receiver may have more than another: links are to be used evenly
constexpr int kAddedAtOnce = 1 << 16;  // joined rows, before what is due is sent
constexpr int kReceivesAtOnce = 8;     // calls, before what is due is sent

}  // namespace

Card::Leaving::Leaving(const datagram::Address& to, int window_bits)
    : to(to),
      sender(window_bits),
      capacity(kQueuedWindows << window_bits),
      bytes(capacity * kPacketBytesMax),
      sizes(capacity) {}

// Whether all flows of the probing, or of the build sides, have.
bool Card::Running::have_ended(bool probing) const {
  return std::all_of(flows.begin(), flows.end(),
                     [&](const auto& flow) { return (flow.second.table == kProbe) != probing || flow.second.ended; });
}

Status Card::open(const std::string& host, int* port) {
  JG_RETURN_IF_ERROR(datagram::bind_socket(host, &socket_, port));
  incoming_ = std::make_unique<datagram::Incoming>(socket_.get());
  outgoing_ = std::make_unique<datagram::Outgoing>(socket_.get());
  return {};
}

std::string Card::add_join(const std::string& id, const JoinShape& shape, int window_bits) {
  if (joins_.count(id)) return "that join is there already";
  if (shape.out().stride() > kPacketBytesMax - kHeaderBytes) return "its rows fit no packet";
  std::string why;
  auto join = make_join(shape, bitstreams_[shape.tables[0].value_bytes], &why);
  if (join) joins_[id] = std::make_unique<Running>(std::move(join), shape, window_bits);
  return why;
}

std::string Card::add_receiver(const std::string& id, uint16_t number, const std::string& receiver) {
  const auto at = joins_.find(id);
  if (at == joins_.end() || owners_.count(number)) return "no such join, or that flow is there already";
  datagram::Address to;
  const Status found = datagram::resolve(receiver, socket_.get(), &to);
  if (!found.ok()) return found.error().message;
  at->second->leaving.try_emplace(number, to, at->second->window_bits);
  owners_[number] = id;
  return "";
}

std::string Card::add_flow(const std::string& id, uint16_t number, int table, const std::string& sender) {
  const auto at = joins_.find(id);
  if (at == joins_.end() || owners_.count(number)) return "no such join, or that flow is there already";
  if (table < kProbe || table >= static_cast<int>(at->second->shape.tables.size())) return "no such table";
  datagram::Address from;
  const Status found = datagram::resolve(sender, socket_.get(), &from);
  if (!found.ok()) return found.error().message;
  Arriving flow{from, table, at->second->shape.secret, datagram::FlowReceiver(at->second->window_bits)};
  at->second->flows.emplace(number, std::move(flow));
  owners_[number] = id;
  return "";
}

std::string Card::start(const std::string& id) {
  const auto at = joins_.find(id);
  if (at == joins_.end()) return "no such join";
  at->second->started = true;
  return "";
}

bool Card::remove(const std::string& id) {
  std::erase_if(owners_, [&](const auto& owner) { return owner.second == id; });
  return joins_.erase(id) > 0;
}

const Join* Card::find(const std::string& id) const {
  const auto at = joins_.find(id);
  return at == joins_.end() ? nullptr : at->second->join.get();
}

std::vector<std::string> Card::events() { return std::exchange(events_, {}); }

void Card::fail(const std::string& id, Running* running, const std::string& what) {
  if (!running->failed) events_.push_back("failed " + id + " " + what);
  running->failed = true;
}

double Card::work() {
  const double now = datagram::seconds_now();
  bool any = false;
  for (int i = 0; i < kReceivesAtOnce; i++) {
    if (!incoming_->receive([&](const datagram::Address& from, const uint8_t* packet, size_t size) {
          arrived(from, packet, size, now);
        })) {
      break;
    }
    any = true;
  }
  double wake_at = datagram::kNever;
  for (auto& [id, running] : joins_) {
    if (running->failed || !running->started) continue;
    any |= produce(running.get());
    send(id, running.get(), now);
    for (auto& [number, out] : running->leaving) wake_at = std::min(wake_at, out.sender.wake_at());
  }
  answers_.send(outgoing_.get());
  return any ? 0 : std::max(0.0, wake_at - datagram::seconds_now());
}

void Card::arrived(const datagram::Address& from, const uint8_t* packet, size_t size, double now) {
  Header header;
  if (!datagram::parse_header(packet, size, &header)) return;
  const auto owner = owners_.find(header.flow);
  if (owner == owners_.end()) return;
  Running* running = joins_[owner->second].get();
  if (running->failed || !running->started || header.secret != running->shape.secret) return;
  if (const auto out = running->leaving.find(header.flow); out != running->leaving.end()) {
    if (!datagram::same(from, out->second.to)) return;
    datagram::FlowSender& sender = out->second.sender;
    if (header.kind == datagram::ACK_RUN) {
      sender.acknowledged_run(header.sequence, header.present, now);
    } else if (header.kind == datagram::ACK && header.sequence == datagram::kBusy) {
      sender.busy(now);
    } else if (header.kind == datagram::ACK) {
      sender.acknowledged(header.sequence, now);
    }
    return;
  }
  Arriving& flow = running->flows.at(header.flow);
  if (datagram::same(from, flow.from)) received(owner->second, running, header.flow, &flow, packet, size, header);
}

void Card::received(const std::string& id, Running* running, uint16_t number, Arriving* flow, const uint8_t* packet,
                    size_t size, const Header& header) {
  datagram::Data data;
  bool has_room = true;
  if (header.kind == datagram::END) {
    flow->ended = true;
    return answers_.add(flow->from, {datagram::ACK, 0, number, 0, flow->secret});
  } else if (header.kind != datagram::DATA || header.sequence == 0 || header.sequence > datagram::kSequenceMax ||
             !datagram::parse_rows(packet, size, header, &data)) {
    return;
  } else if (!flow->ended && flow->protocol.is_new(header.sequence)) {
    if (flow->table != kProbe) {
      std::string why;
      if (!running->join->build(static_cast<size_t>(flow->table), data.payload, data.payload_bytes, &why)) {
        if (why == "memory") fail(id, running, "memory the entries without room in their buckets exceed rest_bytes");
        return;
      }
    } else if (!running->have_ended(false) || running->join->waiting() >= kWaitingMax) {
      has_room = false;
    } else if (!running->join->probe(data.payload, data.payload_bytes)) {
      return;
    }
    if (has_room) {
      flow->protocol.delivered(header.sequence);
      if (flow->table == kProbe) {  // a sender is ahead by the packets of a window that wait
        flow->held.insert(header.sequence);
        running->held.emplace_back(number, header.sequence);
        return;
      }
    }
  } else if (flow->held.count(header.sequence)) {
    has_room = false;
  }
  if (has_room) {
    answers_.acknowledge(flow->from, header, header.sequence, further(*flow, header.sequence));
  } else {
    answers_.add(flow->from, {datagram::ACK, 0, number, datagram::kBusy, flow->secret});
  }
}

// Packets behind that number that are acknowledged already: of a repetition their answers may be lost, too.
uint32_t Card::further(const Arriving& flow, uint32_t number) {
  uint32_t found = 0;
  while (found + 1 < datagram::kRunMax && flow.protocol.has(number + found + 1) &&
         !flow.held.count(number + found + 1)) {
    found++;
  }
  return found;
}

// Makes packets of joined rows while there is room, one for each receiver in turn; whether it made any.
bool Card::produce(Running* running) {
  const bool adds = running->shape.totals > 0;
  bool any = adds && add_up(running);
  for (bool more = !adds; more;) {
    more = false;
    uint32_t least = datagram::kSequenceMax;
    for (const auto& [number, out] : running->leaving) least = std::min(least, out.queued);
    for (auto& [number, out] : running->leaving) {
      if (out.has_room() && out.queued - least < kLeadMax && fill(running, number, &out)) any = more = true;
    }
  }
  for (; running->held.size() > running->join->waiting(); running->held.pop_front()) {
    const auto [number, sequence] = running->held.front();
    Arriving& flow = running->flows.at(number);
    flow.held.erase(sequence);
    answers_.acknowledge(flow.from, {datagram::ACK_RUN, 0, number, sequence, flow.secret}, sequence, 0);
  }
  running->complete = running->join->waiting() == 0 && running->have_ended(true) && running->have_ended(false);
  if (auto& [flow, out] = *running->leaving.begin(); adds && running->complete && out.queued == 0) {
    put_totals(*running, flow, &out);
  }
  return any;
}

// Adds up joined rows as long as there are some; whether there may be more.
bool Card::add_up(Running* running) {
  const RowShape out = running->shape.out();
  uint8_t row[kPacketBytesMax];
  for (int i = 0; i < kAddedAtOnce; i++) {
    if (!running->join->produce(row)) return false;
    running->totals.rows++;
    if (running->shape.totals == 1 || out.is_null(row, 0)) continue;
    running->totals.values++;
    running->totals.sum += static_cast<int64_t>(ntf::load<uint64_t>(row + out.null_bytes, true));
  }
  return true;
}

// The packet of one row of totals.
void Card::put_totals(const Running& running, uint16_t flow, Leaving* out) {
  const Totals of_card = running.join->totals();
  const uint64_t values = running.totals.values + of_card.values;
  const auto sum = static_cast<unsigned __int128>(running.totals.sum + of_card.sum);
  uint8_t* packet = out->packet(++out->queued);
  datagram::put_header(packet, {datagram::DATA, 1, flow, out->queued, running.shape.secret});
  uint8_t* to = packet + kHeaderBytes;
  const bool all = running.shape.totals > 1;
  if (all) *to++ = values == 0 ? 1u << 2 : 0;  // of its NULL bits the sum's
  ntf::store(to, running.totals.rows + of_card.rows, true);
  if (all) {
    ntf::store(to + 8, values, true);
    ntf::store(to + 16, static_cast<uint64_t>(sum >> 64), true);
    ntf::store(to + 24, static_cast<uint64_t>(sum), true);
  }
  out->sizes[out->queued % out->capacity] = static_cast<uint16_t>(to + (all ? 32 : 8) - packet);
}

// A packet of the next joined rows; false if there are none.
bool Card::fill(Running* running, uint16_t flow, Leaving* out) {
  const size_t stride = running->shape.out().stride();
  uint8_t row[kPacketBytesMax];
  if (!running->join->produce(row)) return false;
  uint8_t* packet = out->packet(++out->queued);
  datagram::put_header(packet, {datagram::DATA, 1, flow, out->queued, running->shape.secret});
  size_t size = kHeaderBytes;
  do {
    std::memcpy(packet + size, row, stride);
    size += stride;
  } while (size + stride <= kPacketBytesMax && running->join->produce(row));
  out->sizes[out->queued % out->capacity] = static_cast<uint16_t>(size);
  return true;
}

void Card::send(const std::string& id, Running* running, double now) {
  bool ended = true;
  for (auto& [flow, out] : running->leaving) {
    due_.clear();
    if (!out.sender.due(now, out.queued, running->complete, &due_)) {
      return fail(id, running, "unreachable the receiver does not answer");
    }
    ended &= out.sender.ended();
    for (const uint32_t number : due_) {
      if (number == 0) {
        datagram::put_header(out.end, {datagram::END, 0, flow, out.queued, running->shape.secret});
        outgoing_->add(out.to, out.end, sizeof out.end);
      } else {
        outgoing_->add(out.to, out.packet(number), out.sizes[number % out.capacity]);
      }
    }
  }
  if (ended && !running->ended) {
    running->ended = true;
    events_.push_back("ended " + id);
  }
}

}  // namespace jg::card
