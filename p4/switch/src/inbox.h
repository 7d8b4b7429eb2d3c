// What a worker receives into.
//
// The kernel hands over segments of one sender and size as one message. Where a port knows their size, each goes to the
// buffer of a packet at once; everything else goes to the rest, from where it is copied.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "address.h"
#include "buffer.h"
#include "jgudp/messages.h"

namespace jgsw {

using jgudp::kMessageBytesMax;
using jgudp::kSegmentsMax;

inline constexpr uint32_t kMessages = 16;  // of one receiving or sending call

class Inbox {
 public:
  Inbox();

  // Prepares `messages` for a receiving call. Segments have `segment` bytes (0: not known) and go `ahead` bytes behind
  // the starts of buffers. Buffers that were taken since the last call are made up for from the pool.
  void prepare(uint32_t segment, uint32_t ahead, BufferPool& pool);

  // Where the message's segments lie in buffers of their own, one each: how many; else 0.
  uint32_t scattered(uint32_t message, uint32_t segment) const;
  // The buffer of the next segment of a scattered message.
  Buffer* take(uint32_t message) {
    Message& from = messages_[message];
    return from.buffers[from.taken++];
  }
  // The message's bytes in one piece.
  const uint8_t* gather(uint32_t message);

  std::array<mmsghdr, kMessages> messages;
  std::array<jgudp::Envelope, kMessages> envelopes;

 private:
  struct Message {
    std::array<Buffer*, kSegmentsMax> buffers;
    uint32_t held = 0;   // of the buffers
    uint32_t taken = 0;  // of those held
    uint32_t ready = 0;  // of those held: in `vectors`, before the rest
    std::array<iovec, kSegmentsMax + 1> vectors;
  };

  void refill(Message& message, BufferPool& pool);
  void lay_out(Message& message, uint8_t* rest);

  std::unique_ptr<Buffer[]> memory_;  // as many as are held at first; later they and the pool's are one
  std::vector<uint8_t> rests_;
  std::array<Message, kMessages> messages_;
  uint32_t segment_ = 0, ahead_ = 0;
};

}  // namespace jgsw
