// The other end of a connection that this instance opens to another one of its job: shakes hands and reports errors.
#pragma once
#include <string>

#include "edges/wire.h"
#include "jg/ntf.h"
#include "jg/stream.h"

namespace jg {

class Peer {
 public:
  // Number `partition` of the edge's consumers, or of the siblings that share a scan.
  Peer(const EdgeOptions& options, const std::string& address, size_t partition, std::atomic<int64_t>* wait_ns)
      : options_(options), address_(address), partition_(partition), wait_ns_(wait_ns) {}

  Status connect(net::Deadline deadline, const std::atomic<bool>& cancelled);
  // Agree on encryption within the time, and send the HELLO with `text` as the tuple format.
  Status greet(const std::string& text, int timeout_ms);
  // Wait for the answer to the HELLO, and return its payload.
  Status await_accept(net::Deadline deadline, std::string* payload);
  // Return the outcome of sending; if it failed, the reason that the peer gave, or the system's error.
  Status sent(net::Io io);
  Status named(const std::string& code, const std::string& what) const;

  net::Wire& wire() { return wire_; }
  int socket() const { return socket_; }  // from any thread; negative before there is one

 private:
  net::Io receive_control(int timeout_ms, ntf::FrameHeader* header, std::string* payload);
  Status told(const std::string& payload) const;

  const EdgeOptions& options_;
  const std::string address_;
  const size_t partition_;
  std::atomic<int64_t>* const wait_ns_;
  net::Wire wire_;               // set by connect
  std::atomic<int> socket_{-1};  // the same
};

}  // namespace jg
