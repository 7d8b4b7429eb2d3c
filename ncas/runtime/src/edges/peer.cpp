#include "edges/peer.h"

namespace jg {

using net::Deadline;
using net::deadline_in;
using net::Fd;
using net::Io;
using net::left_ms;

namespace {

constexpr int kErrorWaitMs = 200;  // for the reason that a peer gives before it closes

}  // namespace

Status Peer::connect(Deadline deadline, const std::atomic<bool>& cancelled) {
  Fd fd;
  const Status status = net::connect_to(address_, deadline, cancelled, &fd);
  if (!status.ok()) return named(status.error().code, status.error().message);
  net::set_edge_options(fd.get());
  wire_ = net::Wire(std::move(fd));
  if (options_.tls) JG_RETURN_IF_ERROR(wire_.encrypt(*options_.tls, /*is_consumer=*/false));
  socket_ = wire_.fd();
  return cancelled ? named("cancelled", "cancelled") : Status();
}

Status Peer::greet(const std::string& text, int timeout_ms) {
  const Io shaken = wire_.shake_hands(wait_ns_, timeout_ms);
  if (shaken == Io::FAILED) return named("protocol", "it does not have the job's certificate: " + wire_.reason());
  if (shaken != Io::OK) return named("unreachable", "it did not agree on encryption");
  const ntf::Hello hello{static_cast<uint32_t>(options_.index),
                         static_cast<uint32_t>(partition_),
                         options_.token,
                         options_.job,
                         options_.edge,
                         options_.fingerprint,
                         text};
  const std::string payload = ntf::encode_hello(hello);
  if (payload.size() > ntf::CONTROL_BYTES_MAX) {
    return named("protocol", "a handshake of " + std::to_string(payload.size()) + " bytes; at most " +
                                 std::to_string(ntf::CONTROL_BYTES_MAX) + " are allowed");
  }
  return sent(wire_.send_all(ntf::control_frame(ntf::HELLO, payload), wait_ns_));
}

Status Peer::await_accept(Deadline deadline, std::string* payload) {
  ntf::FrameHeader header;
  switch (receive_control(left_ms(deadline, options_.timeout_ms), &header, payload)) {
    case Io::OK:
      break;
    case Io::TIMED_OUT:
      return named("unreachable", "no answer to the greeting within " + std::to_string(options_.timeout_ms) + " ms");
    default:
      return named("unreachable", "it closed the connection during the handshake");
  }
  if (header.kind == ntf::ACCEPT) return {};
  if (header.kind == ntf::ERROR) return told(*payload);
  return named("protocol", "it answered the greeting with a frame of kind " + std::to_string(header.kind));
}

Io Peer::receive_control(int timeout_ms, ntf::FrameHeader* header, std::string* payload) {
  const Deadline deadline = deadline_in(timeout_ms);
  Io io = wire_.receive_all(header, sizeof *header, wait_ns_, timeout_ms);
  if (io != Io::OK) return io;
  if (!ntf::check_header(*header).ok() || header->kind == ntf::DATA) return Io::FAILED;
  payload->resize(header->length);
  io = wire_.receive_all(payload->data(), payload->size(), wait_ns_, left_ms(deadline, timeout_ms));
  if (io == Io::OK && !ntf::check_crc(*header, ntf::crc32c(0, payload->data(), payload->size())).ok())
    return Io::FAILED;
  return io;
}

Status Peer::sent(Io io) {
  if (io == Io::OK) return {};
  const std::string reason = io == Io::CLOSED ? "it closed the connection" : wire_.reason();
  ntf::FrameHeader header;
  std::string payload;
  if (receive_control(kErrorWaitMs, &header, &payload) == Io::OK && header.kind == ntf::ERROR) return told(payload);
  return named("unreachable", reason);
}

Status Peer::told(const std::string& payload) const {
  std::string code, message;
  JG_RETURN_IF_ERROR(ntf::decode_error(payload, &code, &message));
  return named(code == "protocol" ? "protocol" : "unreachable", "it answered: " + message);
}

Status Peer::named(const std::string& code, const std::string& what) const {
  return {code,
          "edge '" + options_.edge + "': consumer " + std::to_string(partition_) + " at " + address_ + ": " + what,
          {{"edge", options_.edge}, {"peer", address_}}};
}

}  // namespace jg
