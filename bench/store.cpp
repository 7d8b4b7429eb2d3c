// An in-memory store in partitions, one a node, for benchmarks of transactions in the switch: two-phase locking
// (NO_WAIT or WAIT_DIE), two-phase commit over datagrams, and hot rows as others ("off"), locked in a switch ("locks")
// or kept in one ("on"). Nodes are groups of threads of this process; between them, and to the switch, there are only
// datagrams.
//
// Each message is handled a stated time after it was sent, half of it to and from the switch; loopback takes its own
// time in addition. So are an access and a synced log a stated time: all are stretched alike, so that many nodes' work
// fits few cores. Usage: store MODE POLICY LATENCY_US ACCESS_US LOG_US SECONDS SWITCH_PORT FILE...; bench/_store.py
// writes the files, a worker's transactions each.
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

enum class Mode { off, locks, on };
enum class Kind : uint8_t { lock, access, prepare, commit, abort, granted, refused, done };

// As bench/_store.py writes them. `hot`: in the switch in mode "on".
struct Access {
  uint64_t row;
  int32_t delta;  // 0: a read
  uint8_t node, hot, pad[2];
};
// Packets for the switch without their sequence numbers.
struct Transaction {
  std::vector<Access> accesses;
  std::string act, take, give;  // instructions of the hot part; its locks; none without hot accesses
};
struct Message {
  Kind kind;
  uint8_t pad[3];
  int32_t delta;
  uint64_t row, age;
  int64_t sent_ns;
};

Mode g_mode;
bool g_waits;
nanoseconds g_latency, g_access, g_log;
std::atomic<bool> g_stop{false}, g_are_workers_done{false};

int64_t now_ns() { return Clock::now().time_since_epoch().count(); }
void spend(nanoseconds time) {
  if (time.count() > 0) std::this_thread::sleep_for(time);
}
void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int open_socket(sockaddr_in& address) {
  const int made = socket(AF_INET, SOCK_DGRAM, 0), bytes = 4 << 20;
  socklen_t size = sizeof address;
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(made, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  if (bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
  getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
  return made;
}

void send_to(int from, const sockaddr_in& to, Message message) {
  message.sent_ns = now_ns();
  if (sendto(from, &message, sizeof message, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0) fail("sendto");
}

// The next message, once it is due; false if none came for long.
bool receive(int socket, Message& message, sockaddr_in& from) {
  socklen_t size = sizeof from;
  if (recvfrom(socket, &message, sizeof message, 0, reinterpret_cast<sockaddr*>(&from), &size) != sizeof message)
    return false;
  std::this_thread::sleep_until(Clock::time_point(nanoseconds(message.sent_ns) + g_latency));
  return true;
}

void limit_wait(int socket, int seconds) {
  const timeval time{seconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

// Who asks for a lock: another node's worker by its address, or one of this process, which waits.
struct Asker {
  uint64_t age;
  bool writes;
  sockaddr_in remote;
  struct Local {
    std::mutex mutex;
    std::condition_variable ended;
    int answer = -1;
  }* local;
};

class Node {
 public:
  Node() : socket_(open_socket(address)) { limit_wait(socket_, 1); }

  sockaddr_in address;

  // Answers now or, if it waits, when others release.
  void lock(uint64_t row, const Asker& asker) {
    const std::lock_guard guard(mutex_);
    consider(locks_[row], asker);
  }
  // Adds what was written, and lets the next ones look again.
  void release(uint64_t row, uint64_t age, int32_t delta) {
    const std::lock_guard guard(mutex_);
    add(row, delta);
    const auto found = locks_.find(row);
    if (found == locks_.end()) return;
    Lock& lock = found->second;
    std::erase(lock.holders, age);
    if (lock.holders.empty()) lock.is_exclusive = false;
    std::vector<Asker> waiting = std::move(lock.waiting);
    lock.waiting.clear();
    for (const Asker& asker : waiting) consider(lock, asker);
    if (lock.holders.empty()) locks_.erase(found);
  }
  void change(uint64_t row, int32_t delta) {
    const std::lock_guard guard(mutex_);
    add(row, delta);
  }
  int64_t sum() const {
    int64_t total = 0;
    for (const auto& [_, value] : rows_) total += value;
    return total;
  }

  // What other nodes' workers want. A commit or an abort needs no answer.
  void serve() {
    prctl(PR_SET_TIMERSLACK, 1);
    Message m;
    sockaddr_in from;
    while (true) {
      if (!receive(socket_, m, from)) {
        if (g_are_workers_done) return;
        continue;
      }
      if (m.kind == Kind::lock)
        lock(m.row, {m.age, m.delta != 0, from, nullptr});
      else if (m.kind == Kind::commit || m.kind == Kind::abort)
        release(m.row, m.age, m.kind == Kind::commit ? m.delta : 0);
      else {
        if (m.kind == Kind::access) change(m.row, m.delta);
        send_to(socket_, from, {.kind = Kind::done});
      }
    }
  }

 private:
  struct Lock {
    std::vector<uint64_t> holders;
    bool is_exclusive = false;
    std::vector<Asker> waiting;
  };

  void add(uint64_t row, int32_t delta) {
    if (delta != 0) rows_[row] += delta;
  }
  void consider(Lock& lock, const Asker& asker) {
    if (lock.holders.empty() || (!asker.writes && !lock.is_exclusive)) {
      lock.holders.push_back(asker.age);
      lock.is_exclusive = asker.writes;
      answer(asker, true);
    } else if (g_waits && std::ranges::all_of(lock.holders, [&](uint64_t age) { return asker.age < age; })) {
      lock.waiting.push_back(asker);
    } else {
      answer(asker, false);
    }
  }
  void answer(const Asker& asker, bool granted) {
    if (asker.local == nullptr)
      return send_to(socket_, asker.remote, {.kind = granted ? Kind::granted : Kind::refused});
    const std::lock_guard guard(asker.local->mutex);
    asker.local->answer = granted;
    asker.local->ended.notify_one();
  }

  const int socket_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Lock> locks_;
  std::unordered_map<uint64_t, int64_t> rows_;
};

std::atomic<uint64_t> g_age{1};

class Worker {
 public:
  Worker(std::vector<Node>& nodes, int node, int number, int switch_port) : nodes_(nodes), node_(node), rng_(number) {
    sockaddr_in own, to{};
    socket_ = open_socket(own);
    switch_ = open_socket(own);
    limit_wait(socket_, 10);
    limit_wait(switch_, 10);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(switch_port));
    if (connect(switch_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect");
  }

  uint64_t committed = 0, aborted = 0;
  // Where time went: for locks, to prepare and log, at the switch, for locks there, in attempts that were aborted.
  int64_t locking_ns = 0, logging_ns = 0, switch_ns = 0, aborted_ns = 0;
  int64_t written = 0;  // what committed transactions added, in the nodes and in the switch
  std::vector<Transaction> transactions;

  void run() {
    prctl(PR_SET_TIMERSLACK, 1);
    for (size_t at = 0; !g_stop; at = (at + 1) % transactions.size()) {
      const Transaction& t = transactions[at];
      const uint64_t age = g_age++;
      for (int64_t start = now_ns(); !attempt(t, age); start = now_ns()) {
        ++aborted;
        if (g_stop) return;
        spend(nanoseconds(static_cast<int64_t>(rng_()) % std::max<int64_t>(16 * g_access.count(), 16'000)));
        aborted_ns += now_ns() - start;
      }
      ++committed;
      for (const Access& a : t.accesses) written += a.delta;
    }
  }

 private:
  bool attempt(const Transaction& t, uint64_t age) {
    const bool switched = g_mode == Mode::locks && !t.take.empty();
    const int64_t started = now_ns();
    if (switched && !take_in_switch(t)) return false;
    size_t held = 0;
    bool is_good = true, is_spread = false;
    for (; held < t.accesses.size(); ++held) {
      const Access& a = t.accesses[held];
      if (g_mode != Mode::off && a.hot) continue;
      spend(g_access);
      if (!(is_good = lock(a, age))) break;
      is_spread |= a.node != node_;
    }
    if (is_good && switched)
      for (const Access& a : t.accesses)
        if (a.hot) access(a);
    const int64_t locked = now_ns();
    if (is_good && is_spread) prepare(t);
    if (is_good) spend(g_log);
    const int64_t logged = now_ns();
    if (is_good && g_mode == Mode::on && !t.act.empty()) ask_switch(t.act);
    if (is_good) {
      locking_ns += locked - started;
      logging_ns += logged - locked;
      switch_ns += now_ns() - logged;
    }
    for (size_t at = 0; at < held; ++at) {
      const Access& a = t.accesses[at];
      if (g_mode == Mode::off || !a.hot) release(a, age, is_good);
    }
    if (switched) ask_switch(t.give);
    return is_good;
  }

  bool lock(const Access& a, uint64_t age) {
    if (a.node != node_) return ask(a, Kind::lock, age) == Kind::granted;
    Asker::Local local;
    nodes_[a.node].lock(a.row, {age, a.delta != 0, {}, &local});
    std::unique_lock guard(local.mutex);
    local.ended.wait(guard, [&] { return local.answer >= 0; });
    return local.answer == 1;
  }
  void release(const Access& a, uint64_t age, bool commits) {
    if (a.node == node_) return nodes_[node_].release(a.row, age, commits ? a.delta : 0);
    send_to(socket_, nodes_[a.node].address,
            {.kind = commits ? Kind::commit : Kind::abort, .delta = a.delta, .row = a.row, .age = age});
  }
  void access(const Access& a) {
    spend(g_access);
    if (a.node == node_)
      nodes_[node_].change(a.row, a.delta);
    else
      ask(a, Kind::access, 0);
  }
  // All other nodes at a time: each says yes.
  void prepare(const Transaction& t) {
    uint64_t asked = 0;
    for (const Access& a : t.accesses) {
      const bool locked = g_mode == Mode::off || !a.hot;
      if (locked && a.node != node_ && (asked >> a.node & 1) == 0) {
        asked |= uint64_t{1} << a.node;
        send_to(socket_, nodes_[a.node].address, {.kind = Kind::prepare});
      }
    }
    for (; asked != 0; asked &= asked - 1) await();
  }
  Kind ask(const Access& a, Kind kind, uint64_t age) {
    send_to(socket_, nodes_[a.node].address, {.kind = kind, .delta = a.delta, .row = a.row, .age = age});
    return await();
  }
  Kind await() {
    Message m;
    sockaddr_in from;
    if (!receive(socket_, m, from)) fail("no answer of a node");
    return m.kind;
  }

  // Returns the answer's instructions: 12 bytes each, the result at 4.
  std::string ask_switch(std::string packet) {
    const uint32_t number = htonl(++sequence_);
    std::memcpy(packet.data() + 2, &number, sizeof number);
    std::this_thread::sleep_for(g_latency / 2);
    std::string found(2048, 0);
    if (send(switch_, packet.data(), packet.size(), 0) < 0) fail("send");
    const ssize_t size = recv(switch_, found.data(), found.size(), 0);
    if (size != static_cast<ssize_t>(packet.size())) fail("no answer of the switch");
    std::this_thread::sleep_for(g_latency / 2);
    return found.substr(0, static_cast<size_t>(size));
  }
  // A lock is a register: -1 is exclusive, otherwise it counts readers. Gives back what it got if it did not get all.
  bool take_in_switch(const Transaction& t) {
    constexpr size_t head = 52, bytes = 12;
    const std::string found = ask_switch(t.take);
    std::string back = t.give.substr(0, head);
    bool all = true;
    for (size_t at = head; at + 1 < found.size(); at += bytes) {
      int32_t old;
      std::memcpy(&old, found.data() + at + 4, sizeof old);
      old = static_cast<int32_t>(ntohl(static_cast<uint32_t>(old)));
      const bool exclusive = (t.take[at + 1] & 3) == 3;  // SWAP
      const bool got = exclusive ? old == 0 : old >= 0;
      all &= got;
      std::string step = t.give.substr(at, bytes);
      if (!got) std::memset(step.data() + 4, 0, 4);  // adds nothing
      back += step;
    }
    if (!all) ask_switch(back + t.give.back());
    return all;
  }

  std::vector<Node>& nodes_;
  const int node_;
  int socket_, switch_;
  uint32_t sequence_ = 0;
  std::minstd_rand rng_;
};

template <typename T>
T read(std::istream& in) {
  T value;
  if (!in.read(reinterpret_cast<char*>(&value), sizeof value)) fail("the file is short");
  return value;
}
std::string read_text(std::istream& in) {
  std::string text(read<uint32_t>(in), 0);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

}  // namespace

int main(int count, char** words) {
  constexpr int first_file = 8;
  if (count <= first_file) return 2;
  const std::string mode = words[1];
  g_mode = mode == "off" ? Mode::off : mode == "locks" ? Mode::locks : Mode::on;
  g_waits = std::string(words[2]) == "wait-die";
  const auto microseconds = [&](int at) { return nanoseconds(static_cast<int64_t>(std::atof(words[at]) * 1000)); };
  g_latency = microseconds(3);
  g_access = microseconds(4);
  g_log = microseconds(5);
  const double seconds = std::atof(words[6]);
  std::vector<std::ifstream> files;
  for (int at = first_file; at < count; ++at) files.emplace_back(words[at], std::ios::binary);
  const uint32_t node_count = read<uint32_t>(files[0]);
  std::vector<Node> nodes(node_count);
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t at = 0; at < files.size(); ++at) {
    std::ifstream& in = files[at];
    if (at != 0) read<uint32_t>(in);
    workers.emplace_back(
        new Worker(nodes, static_cast<int>(at % node_count), static_cast<int>(at) + 1, std::atoi(words[7])));
    for (uint32_t left = read<uint32_t>(in); left > 0; --left) {
      Transaction& t = workers.back()->transactions.emplace_back();
      for (uint32_t accesses = read<uint32_t>(in); accesses > 0; --accesses) t.accesses.push_back(read<Access>(in));
      t.act = read_text(in);
      t.take = read_text(in);
      t.give = read_text(in);
    }
  }
  std::vector<std::thread> threads, servers;
  for (Node& node : nodes) servers.emplace_back([&node] { node.serve(); });
  const auto start = Clock::now();
  for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  g_are_workers_done = true;
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  for (std::thread& thread : servers) thread.join();
  uint64_t committed = 0, aborted = 0;
  int64_t written = 0, held = 0, locking = 0, logging = 0, at_switch = 0, in_aborted = 0;
  for (const auto& worker : workers) {
    locking += worker->locking_ns;
    logging += worker->logging_ns;
    at_switch += worker->switch_ns;
    in_aborted += worker->aborted_ns;
    committed += worker->committed;
    aborted += worker->aborted;
    written += worker->written;
  }
  for (const Node& node : nodes) held += node.sum();
  const auto each = [&](int64_t ns) {
    return static_cast<double>(ns) / 1e3 / static_cast<double>(std::max<uint64_t>(committed, 1));
  };
  std::printf(
      "{\"committed\": %llu, \"aborted\": %llu, \"seconds\": %.3f, \"written\": %lld, \"held\": %lld, "
      "\"parts_us\": {\"locks\": %.1f, \"prepare and log\": %.1f, \"switch\": %.1f, \"aborted\": %.1f}}\n",
      static_cast<unsigned long long>(committed), static_cast<unsigned long long>(aborted), took,
      static_cast<long long>(written), static_cast<long long>(held), each(locking), each(logging), each(at_switch),
      each(in_aborted));
  return 0;
}
