// Transactions of workers without Python's lock: logged, sent until they are answered, synced for several at a time.
// A record of the log is what Python gives, and a datagram as it was sent or came back.
#include "log.h"
#include "sender.h"

using jgtx::Log;
using jgtx::Sender;
using jgtx::Use;

namespace {

// An outcome that is no errno.
constexpr int kBrokenOff = -2;
// Of what the log has before a datagram, and of the longest datagram.
constexpr uint32_t kPrefixBytes = 9, kDatagramBytesMax = 256;

// What Python gives and takes: channel.py has the same.
struct Call {
  uint32_t size;                                       // of the packet and of the answer
  uint8_t is_synced;                                   // the packet's record, before it is sent
  uint8_t sent[kPrefixBytes], answered[kPrefixBytes];  // what their records begin with
  uint8_t packet[kDatagramBytesMax], answer[kDatagramBytesMax];
};

}  // namespace

extern "C" {

// A log that was closed is null to later calls, which return EBADF. It stays in memory, some 200 bytes: a thread may
// have taken it and not have entered yet.
Log* jgtx_log_open(int file, int64_t end) { return new Log(file, end); }
void jgtx_log_close(Log* log) {
  if (log != nullptr) log->finish();
}
uint64_t jgtx_log_append(Log* log, const uint8_t* body, uint32_t size) {
  return log == nullptr ? 0 : log->append(body, size, nullptr, 0);
}
int jgtx_log_sync(Log* log, uint64_t record) {
  if (log == nullptr) return EBADF;
  const Use use(log);
  return log->sync(record);
}
uint64_t jgtx_log_syncs(Log* log) { return log->syncs(); }
void jgtx_log_clear(Log* log) { log->clear(); }

// The way to the switch that the socket is connected to, of packets whose headers have `head` bytes. It is closed, and
// then the socket, once no thread uses it.
Sender* jgtx_sender_open(int socket, uint32_t head, int64_t lost_us) {
  return new Sender(socket, head, std::chrono::microseconds(lost_us));
}
void jgtx_sender_close(Sender* sender) { delete sender; }

// Sends a call's packet until it has the answer. Returns 0 or kLost.
int jgtx_ask(Sender* sender, Call* call) {
  jgtx::Request request{call->packet, call->size, call->answer, nullptr, nullptr, 0};
  return sender->run(request);
}

// Logs a call's packet, sends it, logs the answer, and syncs. Calls `reach`, if there is one, with 1 once the packet is
// logged and 2 once it is answered. Returns 0, kLost, kBrokenOff (by `reach`), or an errno of the log.
int jgtx_execute(Sender* sender, Log* log, Call* call, int (*reach)(int)) {
  if (log == nullptr) return EBADF;
  const Use use(log);
  const uint64_t record = log->append(call->sent, kPrefixBytes, call->packet, call->size);
  if (call->is_synced)
    if (const int failure = log->sync(record)) return failure;
  if (reach != nullptr && reach(1) != 0) return kBrokenOff;
  Log* const after = reach == nullptr ? log : nullptr;
  jgtx::Request request{call->packet, call->size, call->answer, after, call->answered, kPrefixBytes};
  if (const int failure = sender->run(request)) return failure;
  if (reach == nullptr) return 0;
  if (reach(2) != 0) return kBrokenOff;
  return log->sync(log->append(call->answered, kPrefixBytes, call->answer, call->size));
}

}  // extern "C"
