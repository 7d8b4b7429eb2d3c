// Fills an arena under a budget that asks a host with little memory: prints how many MiB it held when it was told to
// stop, and how often a limit seemed to be exceeded by rows that another thread moves to disk, and by those of several
// threads whose rows go on in a file.
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/memory.h"

int exceeded_by_movable_rows() {
  jg::Budget budget;
  budget.begin(6 << 20, 2);
  std::atomic<bool> done{false};
  std::thread moves([&] {
    jg::Arena rows(&budget, jg::Beyond::kMoves);
    for (int i = 0; i < 2'000; i++) {
      for (int chunk = 0; chunk < 8; chunk++) rows.bytes(1 << 20);
      rows.reset();
    }
    done = true;
  });
  int exceeded = 0;
  while (!done) exceeded += budget.exceeded();
  moves.join();
  return exceeded;
}

int exceeded_by_mapped_rows() {
  constexpr int kThreads = 4;
  jg::Budget budget;
  budget.begin(6 << 20, kThreads);
  std::atomic<int> exceeded{0};
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&] {
      jg::Arena rows(&budget, jg::Beyond::kMaps);
      for (int i = 0; i < 200; i++) {
        together.arrive_and_wait();
        for (int chunk = 0; chunk < 3; chunk++) rows.bytes(1 << 20);
        exceeded += budget.exceeded();
        together.arrive_and_wait();
        rows.reset();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return exceeded;
}

int main() {
  if (jg::available_memory() <= 0) return 1;
  std::printf("%d %d ", exceeded_by_movable_rows(), exceeded_by_mapped_rows());
  jg::Budget budget;
  jg::Arena arena(&budget);
  auto fill = [&](int64_t mib) {
    for (int64_t i = 0; i < mib && !budget.exceeded(); i++) arena.bytes(1 << 20);
    std::printf("%lld ", static_cast<long long>(budget.held >> 20));
  };
  budget.available = [] { return jg::Budget::kReserve; };
  fill(200);
  budget.available = [] { return jg::Budget::kReserve - 1; };
  fill(200);
  std::printf("%d\n", budget.scarce());
}
