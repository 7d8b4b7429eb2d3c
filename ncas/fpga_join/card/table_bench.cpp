// How fast a core builds and probes the emulated table: `table_bench TUPLES BUCKET_BITS`, as JSON.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "table.h"

int main(int argc, char** argv) {
  using namespace jg::card;
  using Clock = std::chrono::steady_clock;
  constexpr size_t VALUE_BYTES = 8, BATCH = 80;  // rows of a packet
  if (argc != 3) {
    std::fprintf(stderr, "use: table_bench TUPLES BUCKET_BITS\n");
    return 2;
  }
  const size_t count = std::strtoull(argv[1], nullptr, 10) / BATCH * BATCH;
  const auto table = make_table(VALUE_BYTES, std::atoi(argv[2]));
  if (!table) return 1;
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = random();
  const std::vector<uint8_t> values(BATCH * VALUE_BYTES, 7);
  std::vector<uint32_t> overflown;
  std::vector<Answer> answers(BATCH);
  uint64_t found = 0;
  const auto start = Clock::now();
  for (size_t i = 0; i < count; i += BATCH) table->build(&keys[i], values.data(), BATCH, &overflown);
  const auto built = Clock::now();
  for (size_t i = 0; i < count; i += BATCH) {
    table->probe(&keys[i], BATCH, answers.data());
    for (const Answer& answer : answers) found += answer.count;
  }
  const auto probed = Clock::now();
  const auto per_s = [&](auto from, auto to) {
    return static_cast<double>(count) / std::chrono::duration<double>(to - from).count();
  };
  std::printf("{\"build_per_s\": %.0f, \"probe_per_s\": %.0f, \"overflown\": %zu, \"found\": %llu}\n",
              per_s(start, built), per_s(built, probed), overflown.size(), static_cast<unsigned long long>(found));
}
