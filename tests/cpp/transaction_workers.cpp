// transaction_workers FILE: threads append notes that nobody syncs and execute transactions, over a network that
// repeats and loses answers, until the log is closed. Checks that the file has what came before. Prints what went
// wrong. Is compiled behind worker.cpp, as one source.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "expect.h"
#include "jg/ntf.h"

namespace {

constexpr uint32_t kWorkers = 4, kEach = 100, kHead = 27, kBytes = kHead + 12 + 1;
constexpr int64_t kLostUs = 60'000'000;

// A worker and its transaction, behind 's' for sent, 'a' for answered, or 'n' for a note that nobody waits for.
using Known = std::pair<char, uint32_t>;

// Begins a packet: the worker is its flow.
uint32_t numbered(uint32_t worker, uint32_t transaction) { return transaction << 16 | worker; }

// Answers two packets of three, every fifth twice, until an empty one comes.
void be_switch(int socket) {
  uint8_t packet[2048];
  for (uint32_t count = 0;; ++count) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t got = recvfrom(socket, packet, sizeof packet, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got == 0) return;
    EXPECT(got == kBytes);
    packet[26] = 4;
    packet[kHead] |= 0x80;
    for (uint32_t i = 0; i < (count % 3 == 0 ? 0 : count % 5 == 0 ? 2 : 1); ++i)
      sendto(socket, packet, kBytes, 0, reinterpret_cast<sockaddr*>(&from), size);
  }
}

int connected(const sockaddr_in& address) {
  const int made = ::socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT(connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return made;
}

int goes_on(int) { return 0; }

// Executes transactions until the log is closed; returns how many were acknowledged.
uint32_t work(const std::atomic<Log*>& log, Sender* sender, uint32_t worker, std::atomic<uint32_t>& done) {
  Call call{};
  call.size = kBytes;
  call.sent[0] = 's';
  call.answered[0] = 'a';
  uint32_t acknowledged = 0;
  for (;; ++acknowledged, ++done, done.notify_one()) {
    const uint32_t number = numbered(worker, acknowledged);
    std::memcpy(call.packet, &number, sizeof number);
    std::memcpy(call.packet + 15, &number, sizeof number);
    uint8_t note[kPrefixBytes + sizeof number] = {'n'};
    std::memcpy(note + kPrefixBytes, &number, sizeof number);
    jgtx_log_append(log, note, sizeof note);
    call.is_synced = acknowledged % 2 == 0;
    const int outcome = jgtx_execute(sender, log, &call, acknowledged % 8 == 1 ? goes_on : nullptr);
    if (outcome == EBADF) break;
    EXPECT(outcome == 0 && std::memcmp(call.answer, call.packet, 4) == 0);
  }
  return acknowledged;
}

std::vector<Known> read_back(int file) {
  std::vector<Known> found;
  uint32_t words[2];
  uint8_t body[256];
  for (off_t at = 0; pread(file, words, sizeof words, at) == sizeof words; at += words[0]) {
    at += sizeof words;
    EXPECT(words[0] <= sizeof body && pread(file, body, words[0], at) == words[0]);
    EXPECT(jg::ntf::crc32c(0, body, words[0]) == words[1]);
    uint32_t number;
    std::memcpy(&number, body + kPrefixBytes, sizeof number);
    found.emplace_back(body[0], number);
  }
  return found;
}

}  // namespace

int main(int, char** arguments) {
  const int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int near = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT(file >= 0 && bind(near, reinterpret_cast<sockaddr*>(&address), size) == 0);
  EXPECT(getsockname(near, reinterpret_cast<sockaddr*>(&address), &size) == 0);

  std::atomic<Log*> log{jgtx_log_open(file, 0)};
  std::atomic<uint32_t> done{0};
  uint32_t acknowledged[kWorkers];
  const int socket = connected(address);
  Sender* const sender = jgtx_sender_open(socket, kHead, kLostUs);
  std::vector<std::thread> workers;
  std::thread network(be_switch, near);
  for (uint32_t worker = 0; worker < kWorkers; ++worker)
    workers.emplace_back([&, worker] { acknowledged[worker] = work(log, sender, worker, done); });
  uint64_t syncs = 0;
  for (uint32_t seen = 0; seen < kWorkers * kEach; done.wait(seen), seen = done) {
    const uint64_t now = jgtx_log_syncs(log);
    EXPECT(now >= syncs);
    syncs = now;
  }
  jgtx_log_close(log.exchange(nullptr));
  for (auto& worker : workers) worker.join();
  jgtx_sender_close(sender);
  EXPECT(send(socket, "", 0, 0) == 0);
  network.join();

  const auto found = read_back(file);
  const std::set<Known> known(found.begin(), found.end());
  EXPECT(known.size() == found.size());  // nothing is there twice
  for (uint32_t worker = 0; worker < kWorkers; ++worker)
    for (uint32_t i = 0; i < acknowledged[worker]; ++i)
      for (const char kind : {'n', 's', 'a'}) EXPECT(known.count({kind, numbered(worker, i)}));
}
