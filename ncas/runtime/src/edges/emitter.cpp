// The sending end of an edge: each worker collects rows for each peer and sends them as frames over connections that
// the workers share.
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <new>
#include <thread>

#include "edges/peer.h"
#include "jg/ntf.h"
#include "jg/stream.h"
#include "ntf/bytes.h"

namespace jg {

using net::Deadline;
using net::deadline_in;
using net::left_ms;
using net::WaitTimer;

namespace {

constexpr int64_t kFrameRows = 65536;         // a frame is sent when it has this many rows
constexpr size_t kFrameBytes = 256u << 10;    // or this many bytes: the next one is encoded while this one is received
constexpr size_t kColumnBytes = 8u << 10;     // more for wide rows: each column of a frame costs the receiver
constexpr size_t kWorkerBytesMax = 4u << 20;  // but what a worker fills takes no more than this for larger frames
constexpr size_t kValueBytesMax = 20;         // of a fixed-width value or an offset, with its share of bitmaps
constexpr size_t kAppendFrames = 4;           // most that is added at once, if it is more than one row
constexpr size_t kRowBytesMax = ntf::FRAME_BYTES_MAX / 2;
// interval of closing connections whose handshake is late: a connection may just be opening
constexpr int kHangUpMs = 100;

using ntf::FrameEncoder;
using ntf::FrameHeader;
using ntf::StreamTotals;

// A payload as pieces of memory, with the data for its frames' headers.
struct Payload {
  std::vector<iovec> pieces;
  uint32_t rows = 0, length = 0, crc = 0;
};

class Connection {
 public:
  Connection(const EdgeOptions& options, size_t peer, Counters* counters)
      : options_(options), counters_(counters), peer_(options, options.peers[peer], peer, &counters->wait_ns) {}

  Status connect(Deadline deadline, const std::atomic<bool>& cancelled) { return peer_.connect(deadline, cancelled); }

  Status greet(int timeout_ms) { return peer_.greet(options_.ntf, timeout_ms); }

  Status await_accept(Deadline deadline) {
    std::string nothing;
    JG_RETURN_IF_ERROR(peer_.await_accept(deadline, &nothing));
    const std::lock_guard lock(mutex_);
    broken_ = false;
    return {};
  }

  Status send(const Payload& payload) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      const WaitTimer timer(&counters_->wait_ns);
      lock.lock();
    }
    if (broken_) return peer_.named("unreachable", "the connection is closed");
    FrameHeader header = ntf::make_header(ntf::DATA, payload.rows, payload.length, totals_.frames(), payload.crc);
    std::vector<iovec> pieces{{&header, sizeof header}};
    pieces.insert(pieces.end(), payload.pieces.begin(), payload.pieces.end());
    broken_ = true;  // until the whole frame is out
    JG_RETURN_IF_ERROR(peer_.sent(peer_.wire().send_all(&pieces, &counters_->wait_ns)));
    broken_ = false;
    totals_.add(header);
    counters_->batches.fetch_add(1, std::memory_order_relaxed);
    counters_->rows.fetch_add(payload.rows, std::memory_order_relaxed);
    counters_->bytes.fetch_add(sizeof header + payload.length, std::memory_order_relaxed);
    bytes_.fetch_add(static_cast<int64_t>(sizeof header + payload.length), std::memory_order_relaxed);
    return {};
  }

  Status finish() {
    const std::lock_guard lock(mutex_);
    if (broken_) return peer_.named("unreachable", "the connection is closed");
    broken_ = true;
    const std::string end = ntf::control_frame(ntf::END, totals_.encode(), totals_.frames());
    JG_RETURN_IF_ERROR(peer_.sent(peer_.wire().send_all(end, &counters_->wait_ns)));
    ::shutdown(peer_.wire().fd(), SHUT_WR);
    return {};
  }

  // After finish: wait until the consumer has received everything.
  Status drain() { return peer_.sent(net::drain(peer_.wire().fd(), &counters_->wait_ns)); }

  int64_t bytes() const { return bytes_; }

  // Wake the sending thread. Between frames the consumer is told why the stream ends.
  void cancel() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && !broken_) {
      peer_.wire().send_now(ntf::control_frame(ntf::ERROR, ntf::encode_error("cancelled", "the producer aborted")));
    }
    hang_up();
  }

  // Wake the thread that sends, shakes hands or waits for an answer.
  void hang_up() {
    if (const int fd = peer_.socket(); fd >= 0) ::shutdown(fd, SHUT_RDWR);
  }

 private:
  const EdgeOptions& options_;
  Counters* const counters_;
  Peer peer_;
  std::atomic<int64_t> bytes_{0};  // that were sent
  std::mutex mutex_;               // of everything below
  StreamTotals totals_;
  bool broken_ = true;  // not accepted yet, in the midst of a frame, or ended
};

// A set of hashes for few look-ups, most of which miss.
class HashSet {
 public:
  explicit HashSet(std::vector<uint64_t> hashes) : hashes_(std::move(hashes)) {
    std::sort(hashes_.begin(), hashes_.end());
    for (const uint64_t h : hashes_) bits_ |= uint64_t{1} << (h & 63);
  }
  bool empty() const { return hashes_.empty(); }
  bool contains(uint64_t h) const {
    return (bits_ >> (h & 63) & 1) && std::binary_search(hashes_.begin(), hashes_.end(), h);
  }

 private:
  std::vector<uint64_t> hashes_;
  uint64_t bits_ = 0;
};

enum class Partitioning { SINGLE, HASH, ROUND_ROBIN, BROADCAST };

class EdgeEmitter : public Emitter {
 public:
  EdgeEmitter(const EdgeOptions& options, ntf::Descriptor descriptor, Partitioning partitioning)
      : options_(options), descriptor_(std::move(descriptor)), partitioning_(partitioning), heavy_(options.heavy) {
    for (size_t i = 0; i < options_.peers.size(); i++) {
      connections_.push_back(std::make_unique<Connection>(options_, i, &counters));
    }
  }
  ~EdgeEmitter() override {
    cancel();
    if (approaching_.joinable()) approaching_.join();
  }

  void approach() override {
    try {
      std::packaged_task<Status()> greeting([this] { return greet(-1); });
      greeted_ = greeting.get_future();
      approaching_ = std::thread(std::move(greeting));
    } catch (const std::exception&) {  // no memory, or no more threads: open() does the handshake
    }
  }

  // Whoever approaches is in no hurry, as consumers may be busy until there is something to receive: a consumer has its
  // time to answer from here on.
  Status open() override {
    const Deadline deadline = deadline_in(options_.timeout_ms);
    if (!approaching_.joinable()) {
      JG_RETURN_IF_ERROR(greet(options_.timeout_ms));
    } else {
      for (Deadline end = deadline; greeted_.wait_until(end) == std::future_status::timeout;
           end = deadline_in(kHangUpMs))
        for (auto& c : connections_) c->hang_up();
      approaching_.join();
      JG_RETURN_IF_ERROR(greeted_.get());
    }
    for (auto& c : connections_) JG_RETURN_IF_ERROR(unless_cancelled(c->await_accept(deadline)));
    return {};
  }

  std::unique_ptr<EmitterWorker> worker() override;

  Status finish() override {
    for (auto& c : connections_) JG_RETURN_IF_ERROR(unless_cancelled(c->finish()));
    for (auto& c : connections_) JG_RETURN_IF_ERROR(unless_cancelled(c->drain()));
    return {};
  }

  std::vector<int64_t> peer_bytes() const override {
    std::vector<int64_t> found;
    for (const auto& c : connections_) found.push_back(c->bytes());
    return found;
  }

  void cancel() override {
    cancelled_ = true;
    for (auto& c : connections_) c->cancel();
  }

  // Connect to all peers and shake hands within the time (negative: no limit).
  Status greet(int timeout_ms) {
    try {
      const Deadline deadline = deadline_in(options_.timeout_ms);
      for (auto& c : connections_) JG_RETURN_IF_ERROR(unless_cancelled(c->connect(deadline, cancelled_)));
      for (auto& c : connections_)
        JG_RETURN_IF_ERROR(unless_cancelled(c->greet(timeout_ms < 0 ? -1 : left_ms(deadline, timeout_ms))));
      return {};
    } catch (const std::bad_alloc&) {
      return {"memory", "no memory to connect edge '" + options_.edge + "'"};
    }
  }

  Status unless_cancelled(Status status) const {
    if (status.ok() || !cancelled_) return status;
    return {"cancelled", "edge '" + options_.edge + "' was cancelled", {{"edge", options_.edge}}};
  }

  const EdgeOptions options_;
  const ntf::Descriptor descriptor_;
  const Partitioning partitioning_;
  const HashSet heavy_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint32_t> workers_{0};
  std::thread approaching_;
  std::future<Status> greeted_;  // by it
};

class EdgeWorker : public EmitterWorker {
 public:
  explicit EdgeWorker(EdgeEmitter* emitter) : emitter_(emitter), next_peer_(emitter->workers_++) {
    const size_t encoders = emitter->partitioning_ == Partitioning::BROADCAST ? 1 : emitter->connections_.size();
    for (size_t i = 0; i < encoders; i++) encoders_.push_back(ntf::make_encoder(emitter->descriptor_));
    const size_t share = kWorkerBytesMax / encoders;
    frame_bytes_ = std::max(kFrameBytes, std::min(kColumnBytes * emitter->descriptor_.columns.size(), share));
    frame_bytes_max_ = std::max(frame_bytes_, std::min(emitter->options_.frame_bytes_max, share));
    append_bytes_max_ = kAppendFrames * frame_bytes_;
  }

  Status write(const JgBatch& batch, const uint64_t* hashes) override {
    try {
      return emitter_->unless_cancelled(distribute(batch, hashes));
    } catch (const std::bad_alloc&) {
      return {"memory", "no memory to send over edge '" + emitter_->options_.edge + "'"};
    }
  }

  Status flush() override {
    for (size_t peer = 0; peer < encoders_.size(); peer++) JG_RETURN_IF_ERROR(emitter_->unless_cancelled(leave(peer)));
    return {};
  }

 private:
  Status distribute(const JgBatch& batch, const uint64_t* hashes) {
    const size_t peers = encoders_.size();
    switch (emitter_->partitioning_) {
      case Partitioning::ROUND_ROBIN:
        return collect(next_peer_++ % peers, batch, {nullptr, 0, batch.rows});
      case Partitioning::HASH:
        return peers == 1 ? collect(0, batch, {nullptr, 0, batch.rows}) : scatter(batch, hashes);
      default:
        return collect(0, batch, {nullptr, 0, batch.rows});
    }
  }

  // A counting sort of the row numbers by peer; those of rows for all peers come last.
  Status scatter(const JgBatch& batch, const uint64_t* hashes) {
    if (hashes == nullptr) return {"internal", "hash partitioning without hashes"};
    const size_t peers = encoders_.size();
    starts_.assign(peers + 2, 0);
    peer_of_.resize(batch.rows);
    order_.resize(batch.rows);
    const bool has_heavy = !emitter_->heavy_.empty();
    for (int32_t i = 0; i < batch.rows; i++) {
      peer_of_[i] = static_cast<uint32_t>(hashes[i] % peers);
      if (has_heavy && emitter_->heavy_.contains(hashes[i])) {
        peer_of_[i] = static_cast<uint32_t>(emitter_->options_.copied ? peers : next_peer_++ % peers);
      }
      starts_[peer_of_[i] + 1]++;
    }
    for (size_t p = 0; p <= peers; p++) starts_[p + 1] += starts_[p];
    fill_.assign(starts_.begin(), starts_.end() - 1);
    for (int32_t i = 0; i < batch.rows; i++) order_[fill_[peer_of_[i]]++] = i;
    const auto sorted = [this](size_t p) {
      return ntf::Rows{order_.data() + starts_[p], 0, starts_[p + 1] - starts_[p]};
    };
    for (size_t p = 0; p < peers; p++) {
      JG_RETURN_IF_ERROR(collect(p, batch, sorted(p)));
      JG_RETURN_IF_ERROR(collect(p, batch, sorted(peers)));
    }
    return {};
  }

  // Adds rows to the peer's frame. A batch of huge rows is halved, so that no frame grows past its bound.
  Status collect(size_t peer, const JgBatch& batch, ntf::Rows rows) {
    if (rows.n == 0) return {};
    size_t size = kValueBytesMax * emitter_->descriptor_.columns.size() * rows.n;
    for (size_t c = 0; c < emitter_->descriptor_.columns.size(); c++) {
      const JgType type = emitter_->descriptor_.columns[c].type;
      if (type == JG_STRING || type == JG_BINARY) size += ntf::text_bytes(batch.cols[c], rows);
    }
    if (size > append_bytes_max_ && rows.n > 1) {
      const int32_t half = rows.n / 2;
      const ntf::Rows first{rows.sel, rows.from, half};
      const ntf::Rows second{rows.sel ? rows.sel + half : nullptr, rows.sel ? 0 : rows.from + half, rows.n - half};
      JG_RETURN_IF_ERROR(collect(peer, batch, first));
      return collect(peer, batch, second);
    }
    if (size > kRowBytesMax) {
      return {"overflow",
              "edge '" + emitter_->options_.edge + "': a row of " + std::to_string(size) +
                  " bytes; one that is sent has at most " + std::to_string(kRowBytesMax),
              {{"edge", emitter_->options_.edge}}};
    }
    FrameEncoder& encoder = *encoders_[peer];
    encoder.append(batch, rows);
    return encoder.rows() >= kFrameRows || encoder.bytes() >= frame_bytes_ ? leave(peer) : Status();
  }

  // Send the rows collected for the peer (for all of them when broadcasting).
  Status leave(size_t peer) {
    FrameEncoder& encoder = *encoders_[peer];
    if (encoder.rows() == 0) return {};
    payload_.pieces.clear();
    encoder.seal(&payload_.pieces);
    payload_.rows = static_cast<uint32_t>(encoder.rows());
    payload_.length = payload_.crc = 0;
    for (const iovec& piece : payload_.pieces) {
      payload_.length += static_cast<uint32_t>(piece.iov_len);
      payload_.crc = ntf::crc32c(payload_.crc, piece.iov_base, piece.iov_len);
    }
    if (emitter_->partitioning_ == Partitioning::BROADCAST) {
      for (auto& c : emitter_->connections_) JG_RETURN_IF_ERROR(c->send(payload_));
    } else {
      JG_RETURN_IF_ERROR(emitter_->connections_[peer]->send(payload_));
    }
    encoder.clear();
    frame_bytes_ = std::min(2 * frame_bytes_, frame_bytes_max_);  // the first ones arrive soon
    return {};
  }

  EdgeEmitter* const emitter_;
  uint32_t next_peer_;
  size_t frame_bytes_, frame_bytes_max_, append_bytes_max_;
  std::vector<std::unique_ptr<FrameEncoder>> encoders_;  // one a peer; broadcast: one for all
  Payload payload_;
  std::vector<int32_t> starts_, fill_, order_;
  std::vector<uint32_t> peer_of_;
};

std::unique_ptr<EmitterWorker> EdgeEmitter::worker() { return std::make_unique<EdgeWorker>(this); }

}  // namespace

Status make_edge_emitter(const EdgeOptions& options, std::unique_ptr<Emitter>* out) {
  ntf::Descriptor descriptor;
  JG_RETURN_IF_ERROR(ntf::parse_descriptor(options.ntf, &descriptor));
  Partitioning partitioning = Partitioning::SINGLE;
  if (options.partitioning == "hash")
    partitioning = Partitioning::HASH;
  else if (options.partitioning == "round_robin")
    partitioning = Partitioning::ROUND_ROBIN;
  else if (options.partitioning == "broadcast")
    partitioning = Partitioning::BROADCAST;
  else if (options.partitioning != "single") {
    return {"internal", "edge '" + options.edge + "': unknown partitioning '" + options.partitioning + "'"};
  }
  if (options.peers.empty()) return {"internal", "edge '" + options.edge + "' has no consumers"};
  *out = std::make_unique<EdgeEmitter>(options, std::move(descriptor), partitioning);
  return {};
}

}  // namespace jg
