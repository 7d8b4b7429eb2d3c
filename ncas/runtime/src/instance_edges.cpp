#include "instance_edges.h"

#include "datagram_socket.h"
#include "jg/json.h"

namespace jg {

Status InstanceEdges::allocate(const std::string& json, std::string* answer) {
  std::string bind;
  std::vector<std::string> datagrams;
  JG_RETURN_IF_ERROR(parse_allocate(json, &bind, &datagrams));
  if (listener_) return {"internal", "allocate was called twice"};
  JG_RETURN_IF_ERROR(make_edge_listener(bind, &listener_));
  JsonWriter writer;
  writer.begin_object();
  writer.member("port", static_cast<int64_t>(listener_->port()));
  if (!datagrams.empty()) {
    writer.begin_object("datagrams");
    for (const std::string& edge : datagrams) {
      int port = 0;
      JG_RETURN_IF_ERROR(datagram::bind_socket(bind, &datagrams_[edge], &port));
      writer.member(edge, static_cast<int64_t>(port));
    }
    writer.end_object();
  }
  writer.end_object();
  *answer = writer.take();
  return {};
}

Status InstanceEdges::make_source(const SourceConfig& config, std::unique_ptr<Source>* out) {
  if (!config.is_edge) return make_file_source(config.files, out);
  if (config.datagrams) {
    net::Fd socket;
    JG_RETURN_IF_ERROR(take_socket(config.edge.edge, &socket));
    return make_datagram_source(config.edge, *config.datagrams, std::move(socket), out);
  }
  if (!listener_) return {"internal", "allocate was not told that edge " + config.edge.edge + " arrives"};
  return listener_->add_receiver(config.edge, out);
}

Status InstanceEdges::make_emitter(const SinkConfig& config, std::unique_ptr<Emitter>* out) {
  if (!config.datagrams) return make_edge_emitter(config.edge, out);
  net::Fd socket;
  JG_RETURN_IF_ERROR(take_socket(config.edge.edge, &socket));
  return make_datagram_emitter(config.edge, *config.datagrams, std::move(socket), out);
}

Status InstanceEdges::start() { return listener_ ? listener_->start() : Status(); }

void InstanceEdges::stop() {
  if (listener_) listener_->stop();
}

Status InstanceEdges::take_socket(const std::string& edge, net::Fd* out) {
  const auto at = datagrams_.find(edge);
  if (at == datagrams_.end() || !at->second.is_open()) {
    return {"internal", "allocate was not told that edge " + edge + " leaves or arrives as datagrams"};
  }
  *out = std::move(at->second);
  return {};
}

}  // namespace jg
