// The parts of a scan, partitioned over sibling instances: each begins with its own, and one without any left steals
// half of the rest of a sibling's (Blumofe and Leiserson, Scheduling Multithreaded Computations by Work Stealing, JACM
// 1999).
#pragma once
#include <mutex>
#include <string>

#include "jg/ntf.h"
#include "jg/stream.h"

namespace jg {

class Peer;

// Parts first, first + siblings, first + 2 * siblings, …: of instance i, those that are i modulo the number of
// siblings.
struct ShareRun {
  int64_t first = 0, count = 0;
};

class ScanShares : public Shares {
 public:
  // options.producers: how many siblings there are, this one being number options.index; options.peers: those after it,
  // in a ring, that it asks before the rest of the scan is others'.
  explicit ScanShares(const EdgeOptions& options) : options_(options) {}

  const EdgeOptions& options() const { return options_; }
  Status open(int64_t parts) override;
  Status next(int64_t* part, Counters* counters) override;
  int64_t left() override;
  void cancel() override;

  // Answer a sibling that has none left of that many parts, perhaps before they are known here.
  Status give(const ntf::Hello& asked, std::string* answer);

 private:
  bool take(int64_t* part);
  Status begin(int64_t parts);
  Status ask_siblings(Counters* counters);
  Status ask(size_t victim, Counters* counters, ShareRun* got);

  const EdgeOptions options_;
  std::mutex asking_;  // held while a sibling is asked, which may ask this one meanwhile
  size_t victim_ = 0;  // of options.peers: whom to ask first
  bool exhausted_ = false;
  std::mutex mutex_;  // of everything below, held for moments
  int64_t parts_ = -1;
  ShareRun mine_;
  Peer* asked_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

}  // namespace jg
