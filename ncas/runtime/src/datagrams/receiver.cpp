// The receiving end of an edge through a switch: a thread of the edge's own acknowledges packets, drops repetitions and
// collects rows into blocks, which workers take.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <thread>

#include "datagrams/answers.h"
#include "datagrams/blocks.h"
#include "datagrams/drain.h"
#include "datagrams/edge.h"
#include "datagrams/flow.h"
#include "datagrams/packet.h"
#include "datagrams/socket.h"

namespace jg {
namespace {

using datagram::Address;
using datagram::Block;
using datagram::BlockFormat;
using datagram::BlockReader;
using datagram::Data;
using datagram::Drain;
using datagram::Header;
using net::Fd;
using net::WaitTimer;

constexpr size_t kBlocksMax = 16;  // that wait for workers; beyond, senders are told to wait
constexpr auto kLookAgain = std::chrono::milliseconds(100);

// A flow that ends here.
struct Arriving {
  Arriving(Address from, int number, uint64_t secret, int window_bits)
      : from(from), number(static_cast<uint16_t>(number)), secret(secret), protocol(window_bits) {}

  const Address from;
  const uint16_t number;
  const uint64_t secret;
  datagram::FlowReceiver protocol;
  bool ended = false;
  uint32_t packets = 0;  // said by END
};

struct Draining {
  Address from;
  Drain drain;
};

class DatagramSource : public Source {
 public:
  DatagramSource(const EdgeOptions& edge, const DatagramOptions& options, Fd socket, Fd wake)
      : edge_(edge), options_(options), socket_(std::move(socket)), wake_(std::move(wake)) {}
  ~DatagramSource() override {
    cancel();
    stopped_ = true;
    net::wake(wake_.get());
    if (thread_.joinable()) thread_.join();
  }

  Status start() {
    JG_RETURN_IF_ERROR(BlockFormat::make(edge_, options_, &format_));
    for (const auto& path : options_.paths) {
      Address from;
      JG_RETURN_IF_ERROR(datagram::resolve(path.address, socket_.get(), &from));
      flows_.emplace_back(from, path.flow, path.secret, options_.window_bits);
    }
    for (const auto& drain : options_.drains) {
      Address from;
      JG_RETURN_IF_ERROR(datagram::resolve(drain.at.address, socket_.get(), &from));
      const auto flow = static_cast<uint16_t>(drain.at.flow);
      drains_.push_back({from, Drain(options_.slots, flow, drain.at.secret, drain.first, drain.buckets)});
    }
    blocks_.push_back(std::make_unique<Block>());
    thread_ = std::thread([this] { run(); });
    return {};
  }

  Status open() override { return {}; }
  std::unique_ptr<SourceWorker> worker() override;
  int64_t morsels_left() override {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(blocks_.size()) - (blocks_.back()->rows == 0) + !done_;
  }
  void cancel() override { fail(named("cancelled", "cancelled")); }

  // A block with rows, or null at the end. The worker gives back the one that it had.
  Status take(std::unique_ptr<Block>* block) {
    std::unique_lock lock(mutex_);
    if (*block && spare_.size() < kBlocksMax) {
      (*block)->clear();
      spare_.push_back(std::move(*block));
    }
    block->reset();
    while (true) {
      if (!failure_.ok()) return failure_;
      if (blocks_.front()->rows > 0) {
        *block = std::move(blocks_.front());
        blocks_.pop_front();
        if (blocks_.empty()) blocks_.push_back(fresh());
        return {};
      }
      if (done_) return {};
      const WaitTimer timer(&counters.wait_ns);
      changed_.wait_for(lock, kLookAgain);
    }
  }

  const BlockFormat& format() const { return format_; }
  const EdgeOptions& edge() const { return edge_; }

  Status named(const std::string& code, const std::string& what) const {
    return {code, "edge '" + edge_.edge + "': " + what, {{"edge", edge_.edge}}};
  }

 private:
  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    changed_.notify_all();
  }

  std::unique_ptr<Block> fresh() {
    if (spare_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }

  // Under the mutex: the block that takes the next packet; null if workers have enough to do.
  Block* room() {
    if (!blocks_.back()->is_full(format_.packet_rows_max())) return blocks_.back().get();
    if (blocks_.size() == kBlocksMax) return nullptr;
    blocks_.push_back(fresh());
    return blocks_.back().get();
  }

  // ---- the thread ----

  void run() {
    try {
      work();
    } catch (const std::bad_alloc&) {
      fail(named("memory", "no memory for what arrives"));
    }
  }

  void work() {
    datagram::Incoming incoming(socket_.get());
    datagram::Outgoing outgoing(socket_.get());
    while (!stopped_) {
      double wake_at = datagram::kNever;
      bool any = false;
      {
        const std::lock_guard lock(mutex_);
        const double now = datagram::seconds_now();
        any = incoming.receive(
            [&](const Address& from, const uint8_t* packet, size_t size) { arrived(from, packet, size, now); });
        if (!done_ && failure_.ok() && all_ended()) advance(now, &wake_at);
        changed_.notify_all();
      }
      answers_.send(&outgoing);
      if (!any) datagram::wait_for_packets(socket_.get(), wake_.get(), wake_at - datagram::seconds_now());
    }
  }

  bool all_ended() const {
    return std::all_of(flows_.begin(), flows_.end(), [](const Arriving& flow) { return flow.ended; });
  }

  void arrived(const Address& from, const uint8_t* packet, size_t size, double now) {
    Header header;
    if (!datagram::parse_header(packet, size, &header) || !handle(from, packet, size, header, now)) {
      counters.dropped_packets.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // False if the packet should not have come.
  bool handle(const Address& from, const uint8_t* packet, size_t size, const Header& header, double now) {
    if (header.kind == datagram::DATA || header.kind == datagram::END) {
      for (Arriving& flow : flows_) {
        if (flow.number != header.flow || flow.secret != header.secret || !datagram::same(flow.from, from)) continue;
        return received(&flow, packet, size, header);
      }
      return false;
    }
    for (Draining& draining : drains_) {
      if (!all_ended() || !datagram::same(draining.from, from)) continue;
      Block* block = room();
      const int32_t before = block ? block->rows : 0;
      if (!draining.drain.answered(packet, size, header, now, block)) continue;
      counters.bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
      if (block) counters.rows.fetch_add(block->rows - before, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  bool received(Arriving* flow, const uint8_t* packet, size_t size, const Header& header) {
    if (header.kind == datagram::END) {
      if (!flow->ended) flow->packets = header.sequence;
      flow->ended = true;
      answers_.add(flow->from, {datagram::ACK, 0, flow->number, 0, flow->secret});
      return true;
    }
    Data data;
    if (header.sequence == 0 || header.sequence > datagram::kSequenceMax ||
        !(options_.only_rows() ? datagram::parse_rows(packet, size, header, &data)
                               : datagram::parse_data(packet, size, header, options_.slots, &data))) {
      return false;
    }
    if (!flow->ended && flow->protocol.is_new(header.sequence)) {
      Block* block = room();
      if (block == nullptr) {
        answers_.add(flow->from, {datagram::ACK, 0, flow->number, datagram::kBusy, flow->secret});
        return true;
      }
      const int32_t before = block->rows;
      if (!format_.add(data, block)) return false;
      flow->protocol.delivered(header.sequence);
      counters.rows.fetch_add(block->rows - before, std::memory_order_relaxed);
      counters.bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
      counters.batches.fetch_add(1, std::memory_order_relaxed);
    }
    acknowledge(*flow, header);
    return true;
  }

  // All flows have ended: the buckets, then the end.
  void advance(double now, double* wake_at) {
    uint64_t packets = 0;
    for (const Arriving& flow : flows_) packets += flow.packets;
    if (!drains_.empty() && packets > UINT32_MAX) {
      failure_ = named("overflow", "the flows have " + std::to_string(packets) +
                                       " packets together; a switch counts to 4294967295. Use fewer rows a job.");
      return;
    }
    bool done = true;
    for (Draining& draining : drains_) {
      requests_.clear();
      if (!draining.drain.due(now, &requests_)) {
        failure_ = named("unreachable",
                         "the switch did not answer when its buckets were read, though it was asked at least " +
                             std::to_string(datagram::kSendsMax) + " times. Did it restart? Run the job again.");
        return;
      }
      for (const Header& request : requests_) answers_.add(draining.from, request);
      *wake_at = std::min(*wake_at, draining.drain.wake_at());
      done &= draining.drain.done();
    }
    done_ = done;
  }

  // A card reads how many there are; a repetition says that an answer was lost, perhaps those of the next packets, too.
  void acknowledge(const Arriving& flow, const Header& data) {
    if (!options_.only_rows()) {
      answers_.add(flow.from, {datagram::ACK, 0, flow.number, data.sequence, flow.secret});
      return;
    }
    uint32_t further = 0;
    while (further + 1 < datagram::kRunMax && flow.protocol.has(data.sequence + further + 1)) further++;
    answers_.acknowledge(flow.from, data, data.sequence, further);
  }

  const EdgeOptions edge_;
  const DatagramOptions options_;
  const Fd socket_, wake_;
  BlockFormat format_;
  std::thread thread_;
  std::atomic<bool> stopped_{false};

  datagram::Answers answers_;  // of the thread, as those that follow
  std::vector<Header> requests_;
  std::vector<Arriving> flows_;
  std::vector<Draining> drains_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Block>> blocks_;  // never empty; the last one is being filled
  std::vector<std::unique_ptr<Block>> spare_;
  Status failure_;
  bool done_ = false;
};

class DatagramSourceWorker : public SourceWorker {
 public:
  explicit DatagramSourceWorker(DatagramSource* source)
      : source_(source), reader_(source->format(), source->edge().edge) {}

  Status next(JgBatch* batch, bool* done) override {
    try {
      JG_RETURN_IF_ERROR(source_->take(&block_));
      *done = block_ == nullptr;
      return *done ? Status() : reader_.read(block_.get(), batch);
    } catch (const std::bad_alloc&) {
      return source_->named("memory", "no memory for a batch");
    }
  }

  Status load(int column, const int32_t* sel, int32_t n) override { return {}; }  // every column is early

 private:
  DatagramSource* const source_;
  BlockReader reader_;
  std::unique_ptr<Block> block_;
};

std::unique_ptr<SourceWorker> DatagramSource::worker() { return std::make_unique<DatagramSourceWorker>(this); }

}  // namespace

Status make_datagram_source(const EdgeOptions& edge, const DatagramOptions& options, Fd socket,
                            std::unique_ptr<Source>* out) {
  JG_RETURN_IF_ERROR(check_datagrams(edge, options));
  Fd wake;
  JG_RETURN_IF_ERROR(net::make_wake(&wake));
  auto source = std::make_unique<DatagramSource>(edge, options, std::move(socket), std::move(wake));
  JG_RETURN_IF_ERROR(source->start());
  *out = std::move(source);
  return {};
}

}  // namespace jg
