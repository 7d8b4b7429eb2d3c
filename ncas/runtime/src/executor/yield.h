// Lets the threads of long jobs give way to those of short ones.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace jg {

// Lowers the priority of a thread that has computed for long. It stays low: raising it again needs a privilege.
class Yield {
 public:
  void after_batch() {
    if (yielded_) return;
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    if (used.tv_sec * 1'000'000'000ll + used.tv_nsec < kAfterNs) return;
    yielded_ = true;
    ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
  }

 private:
  static constexpr int64_t kAfterNs = 100'000'000;
  static constexpr int kNice = 19;

  bool yielded_ = false;
};

}  // namespace jg
