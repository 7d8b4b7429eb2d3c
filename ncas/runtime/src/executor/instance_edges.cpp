#include "executor/instance_edges.h"

#include "executor/channels.h"
#include "jg/json.h"

namespace jg {

Status InstanceEdges::allocate(const std::string& json, std::string* answer) {
  AllocateConfig config;
  JG_RETURN_IF_ERROR(parse_allocate(json, &config));
  if (listener_) return {"internal", "allocate was called twice"};
  JG_RETURN_IF_ERROR(make_edge_listener(config.bind, &listener_));
  JsonWriter writer;
  writer.begin_object();
  writer.member("port", static_cast<int64_t>(listener_->port()));
  if (!config.ends.empty()) {
    writer.begin_object("ends");
    for (const auto& [edge, channel] : config.ends) {
      int port = 0;
      JG_RETURN_IF_ERROR(channel->open(config.bind, &ends_[edge], &port));
      writer.member(edge, static_cast<int64_t>(port));
    }
    writer.end_object();
  }
  writer.end_object();
  *answer = writer.take();
  return {};
}

Status InstanceEdges::make_source(const SourceConfig& config, std::unique_ptr<Source>* out) {
  if (!config.is_edge) {
    FileSourceOptions files = config.files;
    if (!config.edge.peers.empty()) {
      if (!listener_) return {"internal", "allocate was not told that siblings ask for shares of " + config.name};
      JG_RETURN_IF_ERROR(listener_->add_shares(config.edge, &files.shares));
    }
    return make_file_source(files, out);
  }
  const Channel& channel = *config.end.channel;
  if (channel.open) {
    net::Fd end;
    JG_RETURN_IF_ERROR(take_end(config.edge.edge, &end));
    return channel.make_source(config.edge, config.end.options, std::move(end), out);
  }
  if (!listener_) return {"internal", "allocate was not told that edge " + config.edge.edge + " arrives"};
  return listener_->add_receiver(config.edge, out);
}

Status InstanceEdges::make_emitter(const SinkConfig& config, std::unique_ptr<Emitter>* out) {
  const Channel& channel = *config.end.channel;
  if (!channel.open) return make_edge_emitter(config.edge, out);
  net::Fd end;
  JG_RETURN_IF_ERROR(take_end(config.edge.edge, &end));
  return channel.make_emitter(config.edge, config.end.options, std::move(end), out);
}

Status InstanceEdges::start() { return listener_ ? listener_->start() : Status(); }

void InstanceEdges::stop() {
  if (listener_) listener_->stop();
}

Status InstanceEdges::take_end(const std::string& edge, net::Fd* out) {
  const auto at = ends_.find(edge);
  if (at == ends_.end() || !at->second.is_open()) {
    return {"internal", "allocate was not told that edge " + edge + " has an end of its own"};
  }
  *out = std::move(at->second);
  return {};
}

}  // namespace jg
