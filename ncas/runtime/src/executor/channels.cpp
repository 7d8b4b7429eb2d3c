#include "executor/channels.h"

#include "datagrams/edge.h"

namespace jg {
namespace {

// The same as CHANNELS in ncas/cpp/__init__.py.
constexpr Channel kChannels[] = {
    {"tcp"},
    {"udp", open_datagram_end, make_datagram_source_of, make_datagram_emitter_of},
};

}  // namespace

const Channel* find_channel(std::string_view name) {
  for (const Channel& channel : kChannels)
    if (name == channel.name) return &channel;
  return nullptr;
}

std::string channel_names() {
  std::string names;
  for (const Channel& channel : kChannels) names += (names.empty() ? "" : ", ") + std::string(channel.name);
  return names;
}

}  // namespace jg
