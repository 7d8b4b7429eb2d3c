// The sockets of an instance, and the ends of edges that are made of them.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "edges/socket.h"
#include "executor/config.h"
#include "jg/stream.h"

namespace jg {

class InstanceEdges {
 public:
  // Opens the sockets; the answer says their ports (docs/protocol.md, Control protocol).
  Status allocate(const std::string& json, std::string* answer);
  Status make_source(const SourceConfig& config, std::unique_ptr<Source>* out);
  Status make_emitter(const SinkConfig& config, std::unique_ptr<Emitter>* out);
  Status start();  // to accept connections, once all sources are made
  void stop();

 private:
  Status take_end(const std::string& edge, net::Fd* out);

  std::unique_ptr<EdgeListener> listener_;
  std::map<std::string, net::Fd> ends_;  // by edge, until its source or emitter is made
};

}  // namespace jg
