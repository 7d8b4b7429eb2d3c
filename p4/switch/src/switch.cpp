#include "switch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace jgsw {

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

Switch::Switch(const Program& program, uint16_t cpu_port, uint64_t seed)
    : pipe(program, cpu_port, seed), cpu_port_(cpu_port) {}

Switch::~Switch() { stop(); }

const Collected& Switch::process(const uint16_t* in_ports, const uint32_t* lengths, const uint8_t* bytes,
                                 uint32_t count, uint32_t passes_max) {
  gate.between_batches([&] {
    collected_.ports.clear();
    collected_.lengths.clear();
    collected_.bytes.clear();
    collects_ = true;
    const uint64_t now = now_ns();
    for (uint32_t i = 0; i < count; bytes += lengths[i], ++i) {
      if (lengths[i] > kFrameBytesMax) {
        ++pipe.counts.oversized;
        continue;
      }
      Buffer* buffer = pipe.take(*this);
      if (buffer == nullptr) continue;
      std::memcpy(buffer->packet.data, bytes, lengths[i]);
      buffer->packet.length = lengths[i];
      buffer->packet.ingress_port = in_ports[i];
      buffer->packet.arrived_ns = now;
      pipe.run(buffer, *this);
      uint32_t passes = 0;
      while (pipe.run_looped(*this) > 0 && passes < passes_max) ++passes;
    }
    pipe.drop_looped();
    collects_ = false;
  });
  return collected_;
}

void Switch::packet_out(const uint8_t* bytes, uint32_t length) {
  gate.between_batches([&] {
    if (length > kFrameBytesMax) {
      ++pipe.counts.oversized;
      return;
    }
    Buffer* buffer = pipe.take(*this);
    if (buffer == nullptr) return;
    std::memcpy(buffer->packet.data, bytes, length);
    buffer->packet.length = length;
    buffer->packet.ingress_port = cpu_port_;
    buffer->packet.arrived_ns = now_ns();
    pipe.run(buffer, *this);
    pipe.run_looped(*this);
    flush();
  });
  const uint64_t one = 1;  // the worker continues with what circulates
  if (wake_ >= 0 && write(wake_, &one, sizeof one) < 0) return;
}

bool Switch::add_port(Port* port, std::string& problem) {
  std::unique_ptr<Port> owned(port);
  if (is_taken(port->number())) return problem = "the port is already there", false;
  gate.between_batches([&] { ports[port->number()] = std::move(owned); });
  return true;
}

bool Switch::loop_port(uint16_t number, std::string& problem) {
  if (is_taken(number)) return problem = "the port is already there", false;
  pipe.loopback.set(number);
  return true;
}

bool Switch::start(std::string& problem) {
  poll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  bool ok = poll_ >= 0 && wake_ >= 0;
  epoll_event event{};
  event.events = EPOLLIN;
  ok = ok && epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &event) == 0;
  for (const auto& port : ports) {
    if (port == nullptr) continue;
    event.data.ptr = port.get();
    ok = ok && epoll_ctl(poll_, EPOLL_CTL_ADD, port->socket(), &event) == 0;
  }
  if (!ok) return problem = std::strerror(errno), false;
  worker_ = std::thread([this] { work(); });
  return true;
}

void Switch::stop() {
  stopping_ = true;
  const uint64_t one = 1;
  if (wake_ >= 0 && write(wake_, &one, sizeof one) < 0) stopping_ = true;  // it looks about every kIdleMs anyway
  if (worker_.joinable()) worker_.join();
  if (poll_ >= 0) close(poll_);
  if (wake_ >= 0) close(wake_);
  poll_ = wake_ = -1;
  gate.between_batches([&] {
    for (auto& port : ports) {
      if (port != nullptr) port->flush(pipe.pool);
      port.reset();
    }
    waiting_.clear();
  });
  events_ready_.notify_all();
}

void Switch::work() {
  std::array<epoll_event, 64> ready;
  size_t circulating = 0;
  while (!stopping_) {
    const int count = epoll_wait(poll_, ready.data(), ready.size(), circulating > 0 ? 0 : kIdleMs);
    gate.enter();
    const uint64_t now = now_ns();
    for (int i = 0; i < count; ++i) {
      if (ready[i].data.ptr != nullptr) {
        static_cast<Port*>(ready[i].data.ptr)->receive(inbox_, pipe, *this, now);
      } else {
        uint64_t ignored;
        if (read(wake_, &ignored, sizeof ignored) < 0) continue;
      }
    }
    circulating = pipe.run_looped(*this);
    flush();
    gate.leave();
  }
}

void Switch::flush() {
  for (Port* port : waiting_) port->flush(pipe.pool);
  waiting_.clear();
}

void Switch::send(uint16_t number, Buffer* buffer) {
  const Packet& packet = buffer->packet;
  if (collects_) {
    collected_.ports.push_back(number);
    collected_.lengths.push_back(packet.length);
    collected_.bytes.insert(collected_.bytes.end(), packet.data, packet.data + packet.length);
    ++pipe.counts.sent;
    pipe.pool.give(buffer);
    return;
  }
  Port* port = number < kPorts ? ports[number].get() : nullptr;
  if (port == nullptr) {
    ++pipe.counts.no_such_port;
    pipe.pool.give(buffer);
    return;
  }
  ++pipe.counts.sent;
  if (port->queued() == 0) waiting_.push_back(port);
  port->queue(buffer);
  if (port->queued() >= kQueuedMax) port->flush(pipe.pool);
}

bool Switch::make_room() {
  const size_t before = pipe.pool.available();
  flush();
  return pipe.pool.available() > before;
}

void Switch::announce(Event::Kind kind, uint32_t index, const void* bytes, size_t size, size_t& held, size_t most) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  {
    std::lock_guard lock(events_mutex_);
    if (held >= most) {
      ++pipe.counts.controller_full;
      return;
    }
    ++held;
    events_.push_back({kind, index, {first, first + size}});
  }
  events_ready_.notify_one();
}

void Switch::packet_in(const Packet& packet) {
  ++pipe.counts.to_controller;
  announce(Event::Kind::packet_in, packet.ingress_port, packet.data, packet.length, packet_ins_, kPacketInsMax);
}

void Switch::digest(uint32_t index, const uint64_t* words, uint32_t count) {
  announce(Event::Kind::digest, index, words, count * sizeof(uint64_t), digests_, kDigestsMax);
}

bool Switch::next_event(Event& event, int timeout_ms) {
  std::unique_lock lock(events_mutex_);
  events_ready_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return !events_.empty() || stopping_; });
  if (events_.empty()) return false;
  event = std::move(events_.front());
  events_.pop_front();
  --(event.kind == Event::Kind::packet_in ? packet_ins_ : digests_);
  return true;
}

}  // namespace jgsw
