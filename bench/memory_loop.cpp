// How fast threads read memory: each adds up its own numbers, ROUNDS times over.
//
//   memory_loop THREADS BYTES ROUNDS   →   bytes a second of all threads together, of the fastest round
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int, char** argv) {
  const int threads = std::atoi(argv[1]), rounds = std::atoi(argv[3]);
  const auto numbers = static_cast<size_t>(std::atoll(argv[2])) / sizeof(uint64_t);
  std::vector<uint64_t> sums(threads * 8);
  double best = 0;
  auto begun = std::chrono::steady_clock::now();
  std::barrier together(threads, [&]() noexcept {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - begun).count();
    best = std::max(best, static_cast<double>(threads * numbers * sizeof(uint64_t)) / seconds);
    begun = now;
  });
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++) {
    all.emplace_back([&, t] {
      const std::vector<uint64_t> own(numbers, static_cast<uint64_t>(t));
      together.arrive_and_wait();  // filling takes longer than any round
      for (int round = 0; round < rounds; round++) {
        uint64_t sum = 0;
        for (const uint64_t n : own) sum += n;
        sums[t * 8] += sum;
        together.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  std::fprintf(stderr, "%llu\n", static_cast<unsigned long long>(sum));
  std::printf("%.0f\n", best);
}
