// Threads of a test's program.
#pragma once
#include <mutex>
#include <thread>
#include <vector>

#include "jg/status.h"

// Runs `body(thread)` on so many threads; the first error wins.
template <class F>
jg::Status on_threads(int threads, F body) {
  std::mutex mutex;
  jg::Status first;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; t++) {
    running.emplace_back([&, t] {
      const jg::Status status = body(t);
      const std::lock_guard lock(mutex);
      if (first.ok()) first = status;
    });
  }
  for (std::thread& t : running) t.join();
  return first;
}
