// The receiving end of one edge: connections that the listener accepted, and the workers that read frames from them.
#pragma once
#include <sys/epoll.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "edges/wire.h"
#include "jg/ntf.h"
#include "jg/stream.h"

namespace jg {

// One producer's connection. Only the worker that the poll handed it to touches it.
struct Incoming {
  Incoming(net::Wire wire, uint32_t producer) : wire(std::move(wire)), producer(producer) {}

  // Return the events to poll for next.
  uint32_t events() const { return EPOLLIN | EPOLLONESHOT | (wire.has_pending() ? uint32_t{EPOLLOUT} : 0u); }

  net::Wire wire;
  const uint32_t producer;
  ntf::StreamTotals totals;
  std::atomic<uint32_t> turns{0};  // the poll orders one worker after the other; this says so in C++'s memory model
};

class EdgeReceiver {
 public:
  static Status make(const EdgeOptions& options, std::shared_ptr<EdgeReceiver>* out);

  const EdgeOptions& options() const { return options_; }
  const ntf::Descriptor& descriptor() const { return descriptor_; }
  // Takes over a connection that shook hands, and answers it. On an error it stays with the caller.
  Status adopt(const ntf::Hello& hello, net::Wire* wire);
  // The first failure ends the edge for every worker.
  void fail(const Status& status);
  void cancel();
  void open();  // from now on producers have timeout_ms to connect
  int64_t streams_left() const { return options_.producers - ended_; }

  // The next DATA frame's payload in `buffer` (grown as needed), or *done. Any number of threads.
  struct Frame {
    ntf::FrameHeader header;
    uint32_t producer;
  };
  Status next_frame(class FrameBuffer* buffer, Frame* frame, bool* done);
  Status named(const std::string& code, const std::string& what) const;

  Counters* counters = nullptr;  // of the Source, which outlives its workers

 private:
  explicit EdgeReceiver(const EdgeOptions& options) : options_(options) {}
  Status failure();
  Status await_stream(Incoming** stream);  // null when all have ended, or to look again
  Status read_frame(Incoming* stream, FrameBuffer* buffer, Frame* frame, bool* data);
  Status vanished(const Incoming& stream, net::Io io) const;
  Status end(Incoming* stream);

  const EdgeOptions options_;
  ntf::Descriptor descriptor_;
  net::Fd poll_, wake_;
  std::atomic<int> ended_{0};
  std::atomic<int64_t> opened_ns_{0};                      // steady clock; 0 = not yet
  std::mutex mutex_;                                       // of everything below
  std::map<uint32_t, std::unique_ptr<Incoming>> streams_;  // by producer
  Status failure_;
};

// Memory for one payload, aligned to 64 bytes.
class FrameBuffer {
 public:
  uint8_t* reserve(size_t size);  // null when there is no memory
  uint8_t* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t capacity_ = 0;
};

std::unique_ptr<Source> make_receiver_source(std::shared_ptr<EdgeReceiver> receiver);

}  // namespace jg
