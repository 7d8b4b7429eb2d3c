// The one listening socket of an instance: shakes hands with producers, many at a time, and hands each connection to
// the receiver of its edge.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <thread>

#include "edges/receiver.h"
#include "edges/scan_shares.h"

namespace jg {

using net::Deadline;
using net::deadline_in;
using net::Fd;
using net::Io;
using net::left_ms;
using net::listen_at;
using net::make_wake;
using net::set_edge_options;
using net::wake;

namespace {

constexpr size_t kHandshakesMax = 64;  // at once; others wait in the backlog
constexpr size_t kGreetingBytes = 64u << 10;
constexpr int kHandshakeMs = 30000;
constexpr int kAcceptRetryMs = 100;  // after running out of descriptors

bool same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); i++) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// A connection whose handshake is not complete.
struct Handshake {
  net::Wire wire;
  Deadline deadline;
  std::string bytes;
  bool is_private = false;  // the encryption is agreed on, or there is none
};

class Listener : public EdgeListener {
 public:
  ~Listener() override { stop(); }

  Status listen(const std::string& host) {
    JG_RETURN_IF_ERROR(make_wake(&wake_));
    return listen_at(host, &socket_, &port_);
  }

  int port() const override { return port_; }

  Status add_receiver(const EdgeOptions& options, std::unique_ptr<Source>* out) override {
    std::shared_ptr<EdgeReceiver> receiver;
    JG_RETURN_IF_ERROR(EdgeReceiver::make(options, &receiver));
    if (!receivers_.emplace(options.edge, receiver).second) {
      return {"internal", "edge '" + options.edge + "' is received twice"};
    }
    *out = make_receiver_source(std::move(receiver));
    return {};
  }

  Status add_shares(const EdgeOptions& options, std::shared_ptr<Shares>* out) override {
    auto shares = std::make_shared<ScanShares>(options);
    if (!shares_.emplace(options.edge, shares).second) {
      return {"internal", "scan '" + options.edge + "' is shared twice"};
    }
    *out = std::move(shares);
    return {};
  }

  Status start() override {
    for (const EdgeOptions* options : known()) tls_ = options->tls;  // the job's: one for all
    thread_ = std::thread([this] { run(); });
    return {};
  }

  void stop() override {
    stopped_ = true;
    wake(wake_.get());
    if (thread_.joinable()) thread_.join();
    handshakes_.clear();
    socket_.close();
  }

 private:
  void run() {
    std::vector<pollfd> polled;
    bool starved = false;  // of descriptors
    while (!stopped_) {
      polled.assign({{wake_.get(), POLLIN, 0}});
      const bool accepts = handshakes_.size() < kHandshakesMax && !starved;
      polled.push_back({accepts ? socket_.get() : -1, POLLIN, 0});
      int wait_ms = starved ? kAcceptRetryMs : -1;
      for (const Handshake& h : handshakes_) {
        polled.push_back({h.wire.fd(), POLLIN, 0});
        const int left = left_ms(h.deadline, kHandshakeMs);
        wait_ms = wait_ms < 0 ? left : std::min(wait_ms, left);
      }
      if (::poll(polled.data(), polled.size(), wait_ms) < 0) continue;
      auto ready = polled.begin() + 2;
      for (auto h = handshakes_.begin(); h != handshakes_.end(); ++ready) {
        const bool over = ready->revents ? !advance(&*h) : left_ms(h->deadline, 1) == 0;
        h = over ? handshakes_.erase(h) : std::next(h);
      }
      starved = polled[1].revents && !accept_one();
    }
  }

  bool accept_one() {
    Fd fd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.is_open()) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    set_edge_options(fd.get());
    net::Wire wire(std::move(fd));
    if (tls_ && !wire.encrypt(*tls_, /*is_consumer=*/true).ok()) return true;  // for want of memory
    handshakes_.push_back({std::move(wire), deadline_in(kHandshakeMs), {}});
    return true;
  }

  // Read the bytes that have arrived; return false when the handshake is over, one way or the other.
  bool advance(Handshake* h) {
    if (!h->is_private) {
      const Io io = h->wire.shake_hands_now();
      if (io != Io::OK) return io == Io::TIMED_OUT;
      h->is_private = true;
    }
    while (true) {
      const Io io = read_greeting(h);
      if (io != Io::OK) return io == Io::TIMED_OUT;
    }
  }

  // Read a part of the HELLO; answering the whole one gives the connection away. Not OK: there is no more to read.
  Io read_greeting(Handshake* h) {
    ntf::FrameHeader header;
    size_t wanted = sizeof header;
    if (h->bytes.size() >= sizeof header) {
      std::memcpy(&header, h->bytes.data(), sizeof header);
      wanted += header.length;
    }
    const size_t before = h->bytes.size();
    h->bytes.resize(before + std::min(wanted - before, kGreetingBytes));
    size_t got = 0;
    const Io io = h->wire.receive_now(h->bytes.data() + before, h->bytes.size() - before, &got);
    h->bytes.resize(before + got);
    if (io != Io::OK || h->bytes.size() < sizeof header) return io;
    std::memcpy(&header, h->bytes.data(), sizeof header);
    Status status = ntf::check_header(header);
    if (status.ok() && header.kind != ntf::HELLO) status = {"protocol", "the first frame is not a greeting"};
    if (status.ok() && h->bytes.size() < sizeof header + header.length) return Io::OK;
    if (status.ok()) status = greet(header, h);
    if (!status.ok()) refuse(&h->wire, status);
    return Io::CLOSED;
  }

  Status greet(const ntf::FrameHeader& header, Handshake* h) {
    const std::string_view payload = std::string_view(h->bytes).substr(sizeof header);
    JG_RETURN_IF_ERROR(ntf::check_crc(header, ntf::crc32c(0, payload.data(), payload.size())));
    ntf::Hello hello;
    JG_RETURN_IF_ERROR(ntf::decode_hello(payload, &hello));
    const std::vector<const EdgeOptions*> ends = known();
    const bool trusted = std::any_of(ends.begin(), ends.end(), [&](const EdgeOptions* end) {
      return same_secret(end->token, hello.token) && end->job == hello.job;
    });
    if (!trusted) return {"protocol", "the job or its token is not the one that is expected here"};
    if (const auto scan = shares_.find(hello.edge); scan != shares_.end()) {
      std::string answer;
      JG_RETURN_IF_ERROR(scan->second->give(hello, &answer));
      h->wire.send_now(ntf::control_frame(ntf::ACCEPT, answer));
      return {};
    }
    const auto at = receivers_.find(hello.edge);
    if (at == receivers_.end()) return {"protocol", "edge '" + hello.edge + "' does not end here"};
    EdgeReceiver& receiver = *at->second;
    const Status agreed = agree(receiver, hello, h);
    if (!agreed.ok()) receiver.fail(agreed);
    return agreed;
  }

  std::vector<const EdgeOptions*> known() const {
    std::vector<const EdgeOptions*> ends;
    for (const auto& [edge, receiver] : receivers_) ends.push_back(&receiver->options());
    for (const auto& [scan, shares] : shares_) ends.push_back(&shares->options());
    return ends;
  }

  // Past the token: a producer that is refused here belongs to the job, so the job has failed.
  static Status agree(EdgeReceiver& receiver, const ntf::Hello& hello, Handshake* h) {
    const EdgeOptions& mine = receiver.options();
    if (mine.fingerprint != hello.fingerprint || mine.ntf != hello.text) {
      const std::string difference = ntf::first_difference(mine.ntf, hello.text);
      return receiver.named(
          "protocol", "the ends disagree on the tuple format: " + (difference.empty() ? "fingerprint" : difference));
    }
    if (hello.partition != static_cast<uint32_t>(mine.index)) {
      return receiver.named("protocol", "partition " + std::to_string(hello.partition) + " arrives at consumer " +
                                            std::to_string(mine.index));
    }
    return receiver.adopt(hello, &h->wire);
  }

  static void refuse(net::Wire* wire, const Status& status) {
    if (!wire->is_open()) return;
    wire->send_now(ntf::control_frame(ntf::ERROR, ntf::encode_error(status.error().code, status.error().message)));
  }

  Fd socket_, wake_;
  std::shared_ptr<const net::Tls> tls_;
  int port_ = 0;
  std::map<std::string, std::shared_ptr<EdgeReceiver>> receivers_;  // by edge
  std::map<std::string, std::shared_ptr<ScanShares>> shares_;       // by scan
  std::list<Handshake> handshakes_;                                 // of the thread
  std::thread thread_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

Status make_edge_listener(const std::string& bind_host, std::unique_ptr<EdgeListener>* out) {
  auto listener = std::make_unique<Listener>();
  JG_RETURN_IF_ERROR(listener->listen(bind_host));
  *out = std::move(listener);
  return {};
}

}  // namespace jg
