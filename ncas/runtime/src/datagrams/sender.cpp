// The sending end of an edge through a switch: workers make packets and put them in line; a thread of the edge's own
// sends them, once and again, until each is acknowledged.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "datagrams/edge.h"
#include "datagrams/flow.h"
#include "datagrams/packet.h"
#include "datagrams/socket.h"
#include "datagrams/tuples.h"

namespace jg {
namespace {

using datagram::Address;
using datagram::FlowSender;
using datagram::Header;
using datagram::PacketBuilder;
using datagram::TupleReader;
using net::Fd;
using net::WaitTimer;

constexpr size_t kStagedMax = 64;                             // packets of a worker that are not in line yet
constexpr int kQueuedWindows = 4;                             // packets of a flow that are held, in windows
constexpr auto kCountEvery = std::chrono::milliseconds(100);  // a wait is counted so often while it lasts

// Packets [protocol.oldest(), queued] of a flow, in a ring. Workers add to its end; the rest is the thread's.
struct Flow {
  Flow(Address to, int number, uint64_t secret, int window_bits, size_t stride)
      : to(to),
        number(static_cast<uint16_t>(number)),
        secret(secret),
        protocol(window_bits),
        capacity(kQueuedWindows << window_bits),
        stride(stride),
        bytes(capacity * stride),
        sizes(capacity) {}

  uint8_t* packet(uint32_t sequence) { return &bytes[sequence % capacity * stride]; }
  uint16_t& size(uint32_t sequence) { return sizes[sequence % capacity]; }

  const Address to;
  const uint16_t number;
  const uint64_t secret;
  FlowSender protocol;  // of the thread
  const uint32_t capacity;
  const size_t stride;
  std::vector<uint8_t> bytes;
  std::vector<uint16_t> sizes;
  uint8_t end[datagram::kHeaderBytes];
  uint32_t sent = 0;               // of the thread: highest number
  uint32_t queued = 0, freed = 0;  // of the mutex: highest number in line, highest whose place is free
};

class DatagramEmitter : public Emitter {
 public:
  DatagramEmitter(const EdgeOptions& edge, const DatagramOptions& options, Fd socket, Fd wake)
      : edge_(edge), options_(options), socket_(std::move(socket)), wake_(std::move(wake)) {}
  ~DatagramEmitter() override {
    cancel();
    if (thread_.joinable()) thread_.join();
  }

  Status open() override {
    TupleReader reader;
    JG_RETURN_IF_ERROR(TupleReader::make(edge_, options_, &reader));
    packet_bytes_max_ = reader.packet_bytes_max();
    for (const auto& path : options_.paths) {
      Address to;
      JG_RETURN_IF_ERROR(datagram::resolve(path.address, socket_.get(), &to));
      flows_.push_back(std::make_unique<Flow>(to, path.flow, path.secret, options_.window_bits, packet_bytes_max_));
    }
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_;
    thread_ = std::thread([this] { run(); });
    return {};
  }

  std::unique_ptr<EmitterWorker> worker() override;

  Status finish() override {
    std::unique_lock lock(mutex_);
    complete_ = true;
    net::wake(wake_.get());
    wait(&lock, [this] { return finished_; });
    return failure_;
  }

  void cancel() override { fail(named("cancelled", "cancelled")); }

  // Puts a worker's packets in line; waits for room.
  Status enqueue(size_t path, PacketBuilder* builder) {
    Flow& flow = *flows_[path];
    std::unique_lock lock(mutex_);
    for (size_t i = 0; i < builder->packets(); i++) {
      wait(&lock, [&] { return flow.queued - flow.freed < flow.capacity; });
      if (!failure_.ok()) return failure_;
      if (flow.queued == datagram::kSequenceMax) return too_long(flow);
      const uint32_t sequence = ++flow.queued;
      const size_t size = builder->size(i);
      std::copy_n(builder->packet(i), size, flow.packet(sequence));
      Header header{datagram::DATA, builder->packet(i)[1], flow.number, sequence, flow.secret};
      datagram::put_header(flow.packet(sequence), header);
      flow.size(sequence) = static_cast<uint16_t>(size);
      if (i + 1 == builder->packets() || flow.queued - flow.freed == flow.capacity) net::wake(wake_.get());
    }
    counters.rows.fetch_add(builder->rows(), std::memory_order_relaxed);
    builder->clear();
    return {};
  }

  Status named(const std::string& code, const std::string& what) const {
    return {code, "edge '" + edge_.edge + "': " + what, {{"edge", edge_.edge}}};
  }

  const EdgeOptions& edge() const { return edge_; }
  const DatagramOptions& options() const { return options_; }
  size_t packet_bytes_max() const { return packet_bytes_max_; }

 private:
  template <class Ready>
  void wait(std::unique_lock<std::mutex>* lock, Ready ready) {
    while (failure_.ok() && !ready()) {
      const WaitTimer timer(&counters.wait_ns);
      changed_.wait_for(*lock, kCountEvery);
    }
  }

  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok() && !finished_) failure_ = status;
    changed_.notify_all();
    net::wake(wake_.get());
  }

  Status too_long(const Flow& flow) const {
    return named("overflow", "flow " + std::to_string(flow.number) + " has more than " +
                                 std::to_string(datagram::kSequenceMax) + " packets. Use more instances.");
  }

  Status given_up(const Flow& flow) const {
    const uint32_t packet = flow.protocol.given_up();
    const std::string what = packet == 0 ? "its end" : "packet " + std::to_string(packet);
    return {"unreachable",
            "edge '" + edge_.edge + "': flow " + std::to_string(flow.number) + ": " + what + " was sent at least " +
                std::to_string(datagram::kSendsMax) +
                " times without an answer. Did the switch restart, or the receiver end? Run the job again.",
            {{"edge", edge_.edge}, {"flow", std::to_string(flow.number)}}};
  }

  // ---- the thread ----

  void run() {
    datagram::Incoming incoming(socket_.get());
    datagram::Outgoing outgoing(socket_.get());
    std::vector<uint32_t> queued(flows_.size());
    while (true) {
      bool complete = false, over = true;
      {
        const std::lock_guard lock(mutex_);
        if (!failure_.ok()) return;
        complete = complete_;
        for (size_t i = 0; i < flows_.size(); i++) {
          Flow& flow = *flows_[i];
          flow.freed = flow.protocol.oldest() - 1;
          queued[i] = flow.queued;
          over &= flow.protocol.ended() || (!options_.ends && flow.freed == flow.queued);
        }
        finished_ = complete && over;
        changed_.notify_all();
        if (finished_) return;
      }
      double wake_at = datagram::kNever;
      const double now = datagram::seconds_now();
      for (size_t i = 0; i < flows_.size(); i++) {
        if (!send(flows_[i].get(), queued[i], complete && options_.ends, now, &outgoing)) {
          return fail(given_up(*flows_[i]));
        }
        wake_at = std::min(wake_at, flows_[i]->protocol.wake_at());
      }
      outgoing.flush();
      if (receive(&incoming)) continue;
      datagram::wait_for_packets(socket_.get(), wake_.get(), wake_at - datagram::seconds_now());
      receive(&incoming);
    }
  }

  bool send(Flow* flow, uint32_t queued, bool complete, double now, datagram::Outgoing* outgoing) {
    due_.clear();
    const int64_t repeated = flow->protocol.repeated();
    if (!flow->protocol.due(now, queued, complete, &due_)) return false;
    counters.repeated_packets.fetch_add(flow->protocol.repeated() - repeated, std::memory_order_relaxed);
    for (const uint32_t number : due_) {
      if (number == 0) {
        datagram::put_header(flow->end, {datagram::END, 0, flow->number, queued, flow->secret});
        outgoing->add(flow->to, flow->end, sizeof flow->end);
        continue;
      }
      outgoing->add(flow->to, flow->packet(number), flow->size(number));
      if (number <= flow->sent) continue;
      flow->sent = number;
      counters.batches.fetch_add(1, std::memory_order_relaxed);
      counters.bytes.fetch_add(flow->size(number), std::memory_order_relaxed);
    }
    return true;
  }

  bool receive(datagram::Incoming* incoming) {
    const double now = datagram::seconds_now();
    bool any = false;
    while (incoming->receive([&](const Address& from, const uint8_t* packet, size_t size) {
      any |= acknowledged(from, packet, size, now);
    })) {
    }
    return any;
  }

  bool acknowledged(const Address& from, const uint8_t* packet, size_t size, double now) {
    Header header;
    if (datagram::parse_header(packet, size, &header) &&
        (header.kind == datagram::ACK || header.kind == datagram::ACK_RUN)) {
      for (auto& flow : flows_) {
        if (flow->number != header.flow || flow->secret != header.secret || !datagram::same(flow->to, from)) continue;
        if (header.kind == datagram::ACK_RUN) {
          return flow->protocol.acknowledged_run(header.sequence, header.present, now);
        }
        if (header.sequence != datagram::kBusy) return flow->protocol.acknowledged(header.sequence, now);
        flow->protocol.busy(now);
        return false;
      }
    }
    counters.dropped_packets.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  const EdgeOptions edge_;
  const DatagramOptions options_;
  const Fd socket_, wake_;
  size_t packet_bytes_max_ = 0;
  std::vector<std::unique_ptr<Flow>> flows_;  // by path
  std::vector<uint32_t> due_;                 // of the thread
  std::thread thread_;
  std::mutex mutex_;  // guards the members below, and the state of flows
  std::condition_variable changed_;
  Status failure_;
  bool complete_ = false, finished_ = false;  // all packets are in line; all flows have ended
};

class DatagramWorker : public EmitterWorker {
 public:
  explicit DatagramWorker(DatagramEmitter* emitter) : emitter_(emitter) {
    status_ = TupleReader::make(emitter->edge(), emitter->options(), &reader_);
    for (size_t i = 0; i < emitter->options().paths.size(); i++) {
      builders_.emplace_back(emitter->options().slots, emitter->packet_bytes_max());
    }
  }

  Status write(const JgBatch& batch, const uint64_t* hashes) override {
    JG_RETURN_IF_ERROR(status_);
    const size_t paths = builders_.size();
    if (paths > 1 && hashes == nullptr) return {"internal", "hash partitioning without hashes"};
    try {
      JG_RETURN_IF_ERROR(reader_.open(batch));
      for (int32_t row = 0; row < batch.rows; row++) {
        const size_t path = paths > 1 ? hashes[row] % paths : 0;
        size_t size;
        const uint8_t* payload = reader_.payload(row, &size);
        if (size > 0) JG_RETURN_IF_ERROR(check_size(size));
        if (reader_.has_tuples()) {
          builders_[path].add(reader_.tuple(row), payload, size);
        } else {
          builders_[path].add_row(payload, size);
        }
        if (builders_[path].packets() == kStagedMax) JG_RETURN_IF_ERROR(emitter_->enqueue(path, &builders_[path]));
      }
      return {};
    } catch (const std::bad_alloc&) {
      return emitter_->named("memory", "no memory to send");
    }
  }

  Status flush() override {
    for (size_t path = 0; path < builders_.size(); path++) {
      builders_[path].flush();
      JG_RETURN_IF_ERROR(emitter_->enqueue(path, &builders_[path]));
    }
    return {};
  }

 private:
  Status check_size(size_t payload) const {
    const size_t most = datagram::kPacketBytesMax - datagram::kHeaderBytes - datagram::kTupleBytes;
    if (payload <= most) return {};
    return emitter_->named("overflow", "a row of " + std::to_string(payload) +
                                           " bytes; one that travels through a "
                                           "switch has at most " +
                                           std::to_string(most) +
                                           ". Leave the switch out (offload), or select fewer columns.");
  }

  DatagramEmitter* const emitter_;
  Status status_;
  TupleReader reader_;
  std::vector<PacketBuilder> builders_;  // by path
};

std::unique_ptr<EmitterWorker> DatagramEmitter::worker() { return std::make_unique<DatagramWorker>(this); }

}  // namespace

Status check_datagrams(const EdgeOptions& edge, const DatagramOptions& options) {
  const auto mistake = [&](const std::string& what) { return Status("internal", "edge '" + edge.edge + "': " + what); };
  if (options.paths.empty()) return mistake("no path leads anywhere");
  if (options.slots < 1 || options.slots > static_cast<int>(datagram::kSlotsMax)) return mistake("1 to 8 slots");
  using Words = std::vector<int>;
  if (options.words != Words{64, 64} && options.words != Words{64, 32, 32} && !options.only_rows()) {
    return mistake("tuples are of 128 bits");
  }
  if (options.only_rows() && !options.has_rows) return mistake("packets carry neither tuples nor rows");
  if (options.window_bits < 1 || options.window_bits > 16) return mistake("a window of 2^1 to 2^16 packets");
  for (const auto& path : options.paths) {
    if (path.flow < 0 || path.flow > 0xFFFF) return mistake("a flow's number has 16 bits");
  }
  return {};
}

Status make_datagram_emitter(const EdgeOptions& edge, const DatagramOptions& options, Fd socket,
                             std::unique_ptr<Emitter>* out) {
  JG_RETURN_IF_ERROR(check_datagrams(edge, options));
  if (edge.partitioning != "hash" && options.paths.size() > 1) {
    return {"internal", "edge '" + edge.edge + "': several paths share rows by hash"};
  }
  TupleReader reader;
  JG_RETURN_IF_ERROR(TupleReader::make(edge, options, &reader));
  Fd wake;
  JG_RETURN_IF_ERROR(net::make_wake(&wake));
  *out = std::make_unique<DatagramEmitter>(edge, options, std::move(socket), std::move(wake));
  return {};
}

}  // namespace jg
