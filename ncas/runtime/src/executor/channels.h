// The channels of edges, by name, and their parts of a configuration.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "edges/socket.h"
#include "jg/stream.h"

namespace jg {

// Over one with `open`, each edge has an end of its own here, which allocate opens before its peers are known, and
// which configure hands on with the channel's own options (JSON). Without, connections come to the instance's one
// listener.
struct Channel {
  const char* name;
  Status (*open)(const std::string& bind, net::Fd* end, int* port) = nullptr;
  Status (*make_source)(const EdgeOptions& edge, const std::string& options, net::Fd end,
                        std::unique_ptr<Source>* out) = nullptr;
  Status (*make_emitter)(const EdgeOptions& edge, const std::string& options, net::Fd end,
                         std::unique_ptr<Emitter>* out) = nullptr;
};

// Null if there is none of that name.
const Channel* find_channel(std::string_view name);
std::string channel_names();

}  // namespace jg
