// What bench/libraries.py measures in C++: nanoseconds a call, one line each.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "executor/config.h"
#include "jg/ntf.h"

namespace {

volatile int64_t sink;

// Of this thread: what others run on its core does not count.
double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

template <typename F>
void measure(const char* name, int64_t calls, F call) {
  double best = 1e300;
  for (int round = 0; round < 20; round++) {
    const double start = cpu_ns();
    call(calls);
    best = std::min(best, (cpu_ns() - start) / calls);
  }
  std::printf("%s %.4f\n", name, best);
}

}  // namespace

// CONFIGURATION: a file with the JSON that an instance is configured with.
int main(int, char** argv) {
  std::ifstream file(argv[1]);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  measure("config_read", 200, [&](int64_t calls) {
    for (int64_t i = 0; i < calls; i++) {
      jg::Config config;
      if (!jg::parse_config(json, &config).ok()) std::abort();
      sink = config.threads;
    }
  });
  const std::string block(1 << 20, 'x');
  measure("crc32c_megabyte", 20, [&](int64_t calls) {
    uint32_t crc = 0;
    for (int64_t i = 0; i < calls; i++) crc = jg::ntf::crc32c(crc, block.data(), block.size());
    sink = crc;
  });
}
