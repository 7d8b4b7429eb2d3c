// The ends of edges that lead through a programmable switch, over datagrams (p4/PROTOCOL.md).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "edges/socket.h"
#include "jg/stream.h"

namespace jg {

struct DatagramOptions {
  struct Path {
    std::string address;  // where the packets go to, or come from, host:port
    int flow = 0;
    uint64_t secret = 0;  // in every packet of the flow, both ways
  };
  struct Drain {
    Path at;  // by the flow of which the buckets are reached
    uint32_t first = 0, buckets = 0;
  };
  std::vector<Path> paths;
  int window_bits = 8, slots = 4;
  std::vector<int> words = {64, 64};  // a tuple's integers by their bits: {64, 64} or {64, 32, 32}; {}: no tuples
  bool has_rows = false;              // packets may carry a row behind their tuple; without tuples as many as fit
  std::string payload_ntf;            // sender: format of that row; "": none
  bool ends = true;                   // sender: says when the flow is complete
  std::vector<std::string> outputs;   // receiver of groups: key | count | sum | min | max, one for each column
  std::vector<Drain> drains;          // receiver of groups: buckets to read and clear when all flows have ended

  bool only_rows() const { return words.empty(); }
};

// Columns of a batch: those of the row, then the tuple's words.
Status make_datagram_emitter(const EdgeOptions& edge, const DatagramOptions& options, net::Fd socket,
                             std::unique_ptr<Emitter>* out);
// Answers senders from now on, before it is opened too, and until it is destroyed.
Status make_datagram_source(const EdgeOptions& edge, const DatagramOptions& options, net::Fd socket,
                            std::unique_ptr<Source>* out);
// The channel "udp" (executor/channels.h): options as docs/protocol.md has them.
Status open_datagram_end(const std::string& bind, net::Fd* end, int* port);
Status make_datagram_source_of(const EdgeOptions& edge, const std::string& options, net::Fd end,
                               std::unique_ptr<Source>* out);
Status make_datagram_emitter_of(const EdgeOptions& edge, const std::string& options, net::Fd end,
                                std::unique_ptr<Emitter>* out);
// Check the requirements of both ends; the error is "internal".
Status check_datagrams(const EdgeOptions& edge, const DatagramOptions& options);

}  // namespace jg
