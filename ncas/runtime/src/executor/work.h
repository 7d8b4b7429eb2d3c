// The work of an instance's threads in a stage.
#pragma once
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <vector>

#include "jg/status.h"

namespace jg {

// Something that several threads can work on. The first one calls begin() before the others join it. run() returns when
// nothing is left for this thread; when every thread has left, finish() is called once.
struct Work {
  virtual ~Work() = default;
  virtual Status begin() = 0;
  virtual Status run(int thread) = 0;
  virtual Status finish() = 0;
  virtual bool again() { return false; }  // after finish(): another round follows
  virtual int64_t more() = 0;             // once it has begun: would another thread find something to do?
  std::vector<Work*> next;
  int stage = 1, waiting = 0, active = 0;
  bool exclusive = false, begun = false, exhausted = false, done = false;
};

// Lowers the priority of a thread that has computed for long, so that those of short jobs go first. It stays low:
// raising it again needs a privilege.
inline void yield_when_long() {
  constexpr int64_t kAfterNs = 100'000'000;
  constexpr int kNice = 19;
  thread_local bool yielded = false;
  if (yielded) return;
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  if (used.tv_sec * 1'000'000'000ll + used.tv_nsec < kAfterNs) return;
  yielded = true;
  ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
}

}  // namespace jg
