#include "edges/scan_shares.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "edges/peer.h"

namespace jg {
namespace {

Status cancelled_status() { return {"cancelled", "the scan was cancelled"}; }

}  // namespace

Status ScanShares::open(int64_t parts) {
  const std::lock_guard lock(mutex_);
  return begin(parts);
}

Status ScanShares::begin(int64_t parts) {
  if (parts_ >= 0 && parts_ != parts) {
    return {"file_changed", "the files of a scan are not the same on all hosts: instance " +
                                std::to_string(options_.index) + " finds " + std::to_string(parts_) +
                                " parts in them, another one " + std::to_string(parts)};
  }
  if (parts_ >= 0) return {};
  const int64_t siblings = options_.producers, index = options_.index;
  parts_ = parts;
  mine_ = {index, (parts - index + siblings - 1) / siblings};
  return {};
}

bool ScanShares::take(int64_t* part) {
  const std::lock_guard lock(mutex_);
  if (mine_.count <= 0) return false;
  *part = mine_.first;
  mine_.first += options_.producers;
  mine_.count--;
  return true;
}

Status ScanShares::next(int64_t* part, Counters* counters) {
  while (!cancelled_) {
    if (take(part)) return {};
    const std::lock_guard lock(asking_);
    if (take(part)) return {};  // another thread has got some meanwhile
    if (!exhausted_) JG_RETURN_IF_ERROR(ask_siblings(counters));
    if (!exhausted_) continue;
    *part = -1;
    return {};
  }
  return cancelled_status();
}

// Fills this instance's run, or finds that nothing is left. A scan of no more parts than siblings is not worth it.
Status ScanShares::ask_siblings(Counters* counters) {
  const size_t peers = options_.peers.size();
  exhausted_ = parts_ <= options_.producers;
  for (size_t i = 0; !exhausted_ && i < peers; i++, victim_ = (victim_ + 1) % peers) {
    ShareRun got;
    JG_RETURN_IF_ERROR(ask(victim_, counters, &got));
    if (got.count == 0) continue;
    counters->stolen_shares += got.count;
    const std::lock_guard lock(mutex_);
    mine_ = got;
    return {};
  }
  exhausted_ = true;
  return {};
}

Status ScanShares::ask(size_t victim, Counters* counters, ShareRun* got) {
  const size_t sibling = (static_cast<size_t>(options_.index) + 1 + victim) % static_cast<size_t>(options_.producers);
  Peer peer(options_, options_.peers[victim], sibling, &counters->wait_ns);
  const auto remember = [this](Peer* asked) {
    const std::lock_guard lock(mutex_);
    asked_ = asked;
  };
  remember(&peer);
  const net::Deadline deadline = net::deadline_in(options_.timeout_ms);
  std::string answer;
  Status status = peer.connect(deadline, cancelled_);
  if (status.ok()) status = peer.greet(std::to_string(parts_), net::left_ms(deadline, options_.timeout_ms));
  if (status.ok()) status = peer.await_accept(deadline, &answer);
  remember(nullptr);
  if (cancelled_) return cancelled_status();
  if (status.ok() && answer.size() != sizeof *got) return peer.named("protocol", "it gives no share of a scan");
  if (status.ok()) std::memcpy(got, answer.data(), sizeof *got);
  return status;
}

Status ScanShares::give(const ntf::Hello& asked, std::string* answer) {
  int64_t parts = -1;
  std::from_chars(asked.text.data(), asked.text.data() + asked.text.size(), parts);
  if (parts < 0 || asked.partition != static_cast<uint32_t>(options_.index))
    return {"protocol", "a malformed question for a share of a scan"};
  const std::lock_guard lock(mutex_);
  JG_RETURN_IF_ERROR(begin(parts));
  const int64_t count = std::max<int64_t>(0, mine_.count + 1) / 2;
  mine_.count -= count;
  const ShareRun given{mine_.first + mine_.count * options_.producers, count};
  answer->assign(reinterpret_cast<const char*>(&given), sizeof given);
  return {};
}

int64_t ScanShares::left() {
  const std::lock_guard lock(mutex_);
  return std::max<int64_t>(0, mine_.count);
}

void ScanShares::cancel() {
  cancelled_ = true;
  const std::lock_guard lock(mutex_);
  if (asked_ != nullptr && asked_->socket() >= 0) ::shutdown(asked_->socket(), SHUT_RDWR);
}

}  // namespace jg
