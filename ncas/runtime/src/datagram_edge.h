// The ends of edges that lead through a programmable switch, over datagrams (p4/PROTOCOL.md).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "edge_socket.h"
#include "jg/stream.h"

namespace jg {

struct DatagramOptions {
  struct Path {
    std::string address;  // of the switch, host:port
    int flow = 0;
  };
  struct Drain {
    std::string address;
    uint32_t first = 0, buckets = 0;
  };
  std::vector<Path> paths;
  int window_bits = 8, slots = 4;
  bool aggregate = true;             // what tuples are: (key, value), or (key, a, b) of prune
  std::string payload_ntf;           // sender: format of the row behind a tuple; "": none
  bool ends = true;                  // sender: says when the flow is complete
  std::vector<std::string> outputs;  // receiver of aggregate: key | count | sum | min | max, one for each column
  std::vector<Drain> drains;         // receiver of aggregate: buckets to read and clear when all flows have ended
};

// Columns of a batch: key and value; or, for prune, those of the payload, then key, a and b.
Status make_datagram_emitter(const EdgeOptions& edge, const DatagramOptions& options, net::Fd socket,
                             std::unique_ptr<Emitter>* out);
// Answers senders from now on, before it is opened too, and until it is destroyed.
Status make_datagram_source(const EdgeOptions& edge, const DatagramOptions& options, net::Fd socket,
                            std::unique_ptr<Source>* out);
// What both ends need, or "internal".
Status check_datagrams(const EdgeOptions& edge, const DatagramOptions& options);

}  // namespace jg
