// Datagrams as a channel: parses the configuration of an end.
#include <cstdlib>

#include "base/config_json.h"
#include "datagrams/edge.h"
#include "datagrams/socket.h"

namespace jg {
namespace config_json {
namespace {

DatagramOptions::Path path(element e) {
  return {text(e, "address"), static_cast<int>(number(e, "flow")),
          std::strtoull(text(e, "secret").c_str(), nullptr, 16)};
}

void parse_datagrams(element e, DatagramOptions* o) {
  for (element p : list(e, "paths")) o->paths.push_back(path(p));
  o->window_bits = static_cast<int>(number(e, "window_bits"));
  o->slots = static_cast<int>(number(e, "slots"));
  o->words = ints(e, "words");
  o->has_rows = flag(e, "has_rows", false);
  o->payload_ntf = text_or(e, "payload_ntf", "");
  o->ends = flag(e, "ends", true);
  element found;
  if (!e["outputs"].get(found)) o->outputs = texts(e, "outputs");
  if (e["drains"].get(found)) return;
  for (element d : list(e, "drains")) {
    o->drains.push_back(
        {path(d), static_cast<uint32_t>(number(d, "first")), static_cast<uint32_t>(number(d, "buckets"))});
  }
}

Status datagram_options(const std::string& json, DatagramOptions* out) {
  return with_document(json, [out](element e) { parse_datagrams(e, out); });
}

}  // namespace
}  // namespace config_json

Status open_datagram_end(const std::string& bind, net::Fd* end, int* port) {
  return datagram::bind_socket(bind, end, port);
}

Status make_datagram_source_of(const EdgeOptions& edge, const std::string& json, net::Fd end,
                               std::unique_ptr<Source>* out) {
  DatagramOptions options;
  JG_RETURN_IF_ERROR(config_json::datagram_options(json, &options));
  return make_datagram_source(edge, options, std::move(end), out);
}

Status make_datagram_emitter_of(const EdgeOptions& edge, const std::string& json, net::Fd end,
                                std::unique_ptr<Emitter>* out) {
  DatagramOptions options;
  JG_RETURN_IF_ERROR(config_json::datagram_options(json, &options));
  return make_datagram_emitter(edge, options, std::move(end), out);
}

}  // namespace jg
