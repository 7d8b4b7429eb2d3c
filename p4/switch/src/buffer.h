// Packets in preallocated memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "jgsw/program.h"

namespace jgsw {

struct Buffer {
  Packet packet;
  alignas(64) uint8_t bytes[kHeadroomBytes + kFrameBytesMax];

  uint8_t* start() { return bytes + kHeadroomBytes; }
  // The packet is empty, with its headroom in front.
  void reset() {
    packet = {};
    packet.data = start();
    packet.egress_port = kNoPort;
  }
};

// The most recently released buffer is the next one out: its memory is still in the cache.
class BufferPool {
 public:
  explicit BufferPool(uint32_t count) : memory_(new Buffer[count]) {
    free_.reserve(count);
    for (uint32_t i = count; i > 0; --i) free_.push_back(&memory_[i - 1]);
  }

  // Null when all are in use; else reset.
  Buffer* take() {
    if (free_.empty()) return nullptr;
    Buffer* buffer = free_.back();
    free_.pop_back();
    buffer->reset();
    return buffer;
  }
  void give(Buffer* buffer) { free_.push_back(buffer); }
  size_t available() const { return free_.size(); }

 private:
  std::unique_ptr<Buffer[]> memory_;
  std::vector<Buffer*> free_;
};

}  // namespace jgsw
