#include "edges/receiver.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace jg {

using net::errno_text;
using net::Fd;
using net::Io;
using net::make_wake;
using net::WaitTimer;
using net::wake;

namespace {

constexpr int kLookAgainMs = 1000;             // between looks at the time-out while producers are missing
constexpr size_t kChecksumBytes = 256u << 10;  // a piece of a frame whose checksum is taken while it is in the cache

int64_t steady_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

class ReceiverWorker : public SourceWorker {
 public:
  explicit ReceiverWorker(std::shared_ptr<EdgeReceiver> receiver)
      : receiver_(std::move(receiver)), decoder_(ntf::make_decoder(receiver_->descriptor())) {}

  Status next(JgBatch* batch, bool* done) override {
    *done = false;
    try {
      if (at_ >= rows_) {
        JG_RETURN_IF_ERROR(receiver_->next_frame(&buffer_, &frame_, done));
        if (*done) return {};
        JG_RETURN_IF_ERROR(checked(decoder_->open(buffer_.data(), frame_.header.length, frame_.header.rows)));
        at_ = 0;
        rows_ = frame_.header.rows;
      }
      JG_RETURN_IF_ERROR(checked(decoder_->batch(at_, batch)));
      at_ += batch->rows;
      return {};
    } catch (const std::bad_alloc&) {
      return receiver_->named("memory", "no memory for a frame");
    }
  }

  Status load(int column, const int32_t* sel, int32_t n) override { return {}; }  // every column is early

 private:
  Status checked(Status status) {
    if (status.ok()) return status;
    Status named =
        receiver_->named("protocol", "producer " + std::to_string(frame_.producer) + ", frame " +
                                         std::to_string(frame_.header.sequence) + ": " + status.error().message);
    receiver_->fail(named);
    return named;
  }

  const std::shared_ptr<EdgeReceiver> receiver_;
  const std::unique_ptr<ntf::FrameDecoder> decoder_;
  FrameBuffer buffer_;
  EdgeReceiver::Frame frame_{};
  uint32_t at_ = 0, rows_ = 0;
};

class ReceiverSource : public Source {
 public:
  explicit ReceiverSource(std::shared_ptr<EdgeReceiver> receiver) : receiver_(std::move(receiver)) {
    receiver_->counters = &counters;
  }
  ~ReceiverSource() override { receiver_->cancel(); }
  Status open() override {
    receiver_->open();
    return {};
  }
  std::unique_ptr<SourceWorker> worker() override { return std::make_unique<ReceiverWorker>(receiver_); }
  // One thread reads a stream while another works on the frame before.
  int64_t morsels_left() override { return 2 * receiver_->streams_left(); }
  void cancel() override { receiver_->cancel(); }

 private:
  const std::shared_ptr<EdgeReceiver> receiver_;
};

}  // namespace

uint8_t* FrameBuffer::reserve(size_t size) {
  if (size > capacity_ || !data_) {
    const size_t capacity = std::max<size_t>((size + 63) & ~size_t{63}, 64);
    data_.reset();
    data_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, capacity)));
    capacity_ = data_ ? capacity : 0;
  }
  return data_.get();
}

Status EdgeReceiver::make(const EdgeOptions& options, std::shared_ptr<EdgeReceiver>* out) {
  std::shared_ptr<EdgeReceiver> receiver(new EdgeReceiver(options));
  JG_RETURN_IF_ERROR(ntf::parse_descriptor(options.ntf, &receiver->descriptor_));
  receiver->poll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!receiver->poll_.is_open()) return {"internal", "cannot create an epoll: " + errno_text(errno)};
  JG_RETURN_IF_ERROR(make_wake(&receiver->wake_));
  epoll_event event{EPOLLIN, {.ptr = nullptr}};
  if (epoll_ctl(receiver->poll_.get(), EPOLL_CTL_ADD, receiver->wake_.get(), &event)) {
    return {"internal", "cannot poll an eventfd: " + errno_text(errno)};
  }
  *out = std::move(receiver);
  return {};
}

Status EdgeReceiver::named(const std::string& code, const std::string& what) const {
  return {code, "edge '" + options_.edge + "': " + what, {{"edge", options_.edge}}};
}

Status EdgeReceiver::adopt(const ntf::Hello& hello, net::Wire* wire) {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (hello.producer >= static_cast<uint32_t>(options_.producers)) {
    return named("protocol", "producer " + std::to_string(hello.producer) + " connected, " +
                                 std::to_string(options_.producers) + " are expected");
  }
  const auto [at, added] = streams_.try_emplace(hello.producer);
  if (!added) return named("protocol", "producer " + std::to_string(hello.producer) + " connected twice");
  at->second = std::make_unique<Incoming>(std::move(*wire), hello.producer);
  Incoming* stream = at->second.get();
  stream->wire.send_now(ntf::control_frame(ntf::ACCEPT, ""));
  epoll_event event{stream->events(), {.ptr = stream}};
  if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, stream->wire.fd(), &event)) {
    return named("internal", "cannot poll a connection: " + errno_text(errno));
  }
  return {};
}

void EdgeReceiver::fail(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
  for (auto& [producer, stream] : streams_) ::shutdown(stream->wire.fd(), SHUT_RDWR);
  wake(wake_.get());
}

void EdgeReceiver::cancel() { fail(named("cancelled", "cancelled")); }

void EdgeReceiver::open() { opened_ns_ = steady_ns(); }

Status EdgeReceiver::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status EdgeReceiver::next_frame(FrameBuffer* buffer, Frame* frame, bool* done) {
  while (true) {
    Incoming* stream = nullptr;
    JG_RETURN_IF_ERROR(await_stream(&stream));
    if (stream == nullptr) {
      *done = ended_ == options_.producers;
      if (*done) return {};
      continue;
    }
    bool data = false;
    const Status status = read_frame(stream, buffer, frame, &data);
    if (!status.ok()) {
      fail(status);
      return failure();  // the cause, where this is its consequence
    }
    if (!data) continue;
    const uint32_t events = stream->events();
    stream->turns.fetch_add(1, std::memory_order_release);
    const int fd = stream->wire.fd();
    epoll_event event{events, {.ptr = stream}};
    epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event);
    return {};
  }
}

Status EdgeReceiver::await_stream(Incoming** stream) {
  JG_RETURN_IF_ERROR(failure());
  if (ended_ == options_.producers) return {};
  epoll_event event{};
  {
    const WaitTimer timer(&counters->wait_ns);
    if (epoll_wait(poll_.get(), &event, 1, kLookAgainMs) == 1) {
      *stream = static_cast<Incoming*>(event.data.ptr);
      if (*stream) (*stream)->turns.fetch_add(1, std::memory_order_acquire);
      return {};
    }
  }
  const std::lock_guard lock(mutex_);
  const int missing = options_.producers - static_cast<int>(streams_.size());
  if (missing == 0 || steady_ns() - opened_ns_ < options_.timeout_ms * int64_t{1'000'000}) return {};
  return named("unreachable", std::to_string(missing) + " of " + std::to_string(options_.producers) +
                                  " producers did not connect within " + std::to_string(options_.timeout_ms) + " ms");
}

Status EdgeReceiver::read_frame(Incoming* stream, FrameBuffer* buffer, Frame* frame, bool* data) {
  net::Wire& wire = stream->wire;
  ntf::FrameHeader& header = frame->header;
  frame->producer = stream->producer;
  const std::string who = "producer " + std::to_string(stream->producer) + ": ";
  Io io = wire.receive_all(&header, sizeof header, &counters->wait_ns);
  if (io != Io::OK) return vanished(*stream, io);
  const auto checked = [&](const Status& s) { return s.ok() ? s : named(s.error().code, who + s.error().message); };
  JG_RETURN_IF_ERROR(checked(ntf::check_header(header)));
  uint8_t* payload = buffer->reserve(header.length);
  if (payload == nullptr)
    return named("memory", "no memory for a frame of " + std::to_string(header.length) + " bytes");
  uint32_t crc = 0;
  for (size_t at = 0; at < header.length; at += kChecksumBytes) {
    const size_t size = std::min<size_t>(kChecksumBytes, header.length - at);
    io = wire.receive_all(payload + at, size, &counters->wait_ns);
    if (io != Io::OK) return vanished(*stream, io);
    crc = ntf::crc32c(crc, payload + at, size);
  }
  JG_RETURN_IF_ERROR(checked(ntf::check_crc(header, crc)));
  const std::string_view text(reinterpret_cast<const char*>(payload), header.length);
  counters->bytes.fetch_add(sizeof header + header.length, std::memory_order_relaxed);
  switch (header.kind) {
    case ntf::DATA:
      JG_RETURN_IF_ERROR(checked(stream->totals.check_sequence(header)));
      stream->totals.add(header);
      counters->rows.fetch_add(header.rows, std::memory_order_relaxed);
      counters->batches.fetch_add(1, std::memory_order_relaxed);
      *data = true;
      return {};
    case ntf::END:
      JG_RETURN_IF_ERROR(checked(stream->totals.check_sequence(header)));
      JG_RETURN_IF_ERROR(checked(stream->totals.check_end(text)));
      return end(stream);
    case ntf::ERROR: {
      std::string code, message;
      JG_RETURN_IF_ERROR(checked(ntf::decode_error(text, &code, &message)));
      return named("unreachable", who + message);
    }
    default:
      return named("protocol", who + "a frame of kind " + std::to_string(header.kind) + " after the handshake");
  }
}

Status EdgeReceiver::end(Incoming* stream) {
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, stream->wire.fd(), nullptr);
  ::shutdown(stream->wire.fd(), SHUT_RDWR);  // the descriptor stays ours until the edge is gone: cancel may name it
  if (++ended_ == options_.producers) wake(wake_.get());
  return {};
}

Status EdgeReceiver::vanished(const Incoming& stream, Io io) const {
  return named("unreachable", "producer " + std::to_string(stream.producer) + " vanished before the end of its stream" +
                                  (io == Io::CLOSED ? "" : " (" + stream.wire.reason() + ")"));
}

std::unique_ptr<Source> make_receiver_source(std::shared_ptr<EdgeReceiver> receiver) {
  return std::make_unique<ReceiverSource>(std::move(receiver));
}

}  // namespace jg
