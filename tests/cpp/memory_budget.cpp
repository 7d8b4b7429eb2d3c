// Fills an arena under a budget that asks a host with little memory: prints how many MiB it held when it was told to
// stop.
#include <cstdio>

#include "base/memory.h"

int main() {
  if (jg::available_memory() <= 0) return 1;
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
