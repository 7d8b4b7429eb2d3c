#include "inbox.h"

#include <algorithm>
#include <cstring>

namespace jgsw {

namespace {

// What the kernel copies to user space at most: shorter than the longest datagram, which the rest has room for.
constexpr uint32_t kDatagramBytesMax = 65535;

}  // namespace

Inbox::Inbox() : memory_(new Buffer[kMessages * kSegmentsMax]), rests_(size_t{kMessages} * kMessageBytesMax) {
  Buffer* next = memory_.get();
  for (uint32_t i = 0; i < kMessages; ++i) {
    Message& message = messages_[i];
    for (Buffer*& buffer : message.buffers) (buffer = next++)->reset();
    message.held = kSegmentsMax;
    lay_out(message, &rests_[size_t{i} * kMessageBytesMax]);
  }
}

void Inbox::prepare(uint32_t segment, uint32_t ahead, BufferPool& pool) {
  const bool anew = segment != segment_ || (segment != 0 && ahead != ahead_);
  segment_ = segment;
  ahead_ = ahead;
  for (uint32_t i = 0; i < kMessages; ++i) {
    Message& message = messages_[i];
    const bool short_of = message.taken > 0 || message.held < kSegmentsMax;
    if (short_of) refill(message, pool);
    if (short_of || anew) lay_out(message, &rests_[size_t{i} * kMessageBytesMax]);
    msghdr& header = messages[i].msg_hdr;
    header = {};
    header.msg_iov = message.vectors.data();
    header.msg_iovlen = message.ready + 1;
  }
}

// The places of those that were taken come first again: what is received into them is in the cache.
void Inbox::refill(Message& message, BufferPool& pool) {
  uint32_t at = 0;
  while (at < message.taken && (message.buffers[at] = pool.take()) != nullptr) ++at;
  const auto first = message.buffers.begin();
  std::copy(first + message.taken, first + message.held, first + at);
  message.held -= message.taken - at;
  message.taken = 0;
  while (message.held < kSegmentsMax && (message.buffers[message.held] = pool.take()) != nullptr) ++message.held;
}

void Inbox::lay_out(Message& message, uint8_t* rest) {
  message.ready = 0;
  if (segment_ != 0)
    message.ready = std::min({message.held, kSegmentsMax, (kDatagramBytesMax + segment_ - 1) / segment_});
  for (uint32_t k = 0; k < message.ready; ++k)
    message.vectors[k] = {message.buffers[k]->packet.data + ahead_, segment_};
  message.vectors[message.ready] = {rest, kMessageBytesMax};
}

uint32_t Inbox::scattered(uint32_t message, uint32_t segment) const {
  const uint32_t total = messages[message].msg_len;
  if (segment_ == 0 || (segment != segment_ && (segment != total || total > segment_))) return 0;
  const uint32_t segments = std::max(1u, (total + segment_ - 1) / segment_);
  return segments <= messages_[message].ready ? segments : 0;
}

const uint8_t* Inbox::gather(uint32_t message) {
  const Message& from = messages_[message];
  const uint32_t total = messages[message].msg_len;
  uint8_t* rest = static_cast<uint8_t*>(from.vectors[from.ready].iov_base);
  const uint32_t before = std::min(total, from.ready * segment_);
  std::memmove(rest + before, rest, total - before);
  for (uint32_t k = 0; k * segment_ < before; ++k)
    std::memcpy(rest + k * segment_, from.vectors[k].iov_base, std::min(segment_, before - k * segment_));
  return rest;
}

}  // namespace jgsw
