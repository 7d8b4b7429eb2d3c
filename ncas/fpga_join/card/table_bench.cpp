// The emulated table: how fast a core builds and probes it (`table_bench rates TUPLES BUCKET_BITS`), and how much goes
// to the host's rest (`table_bench rest BUCKET_BITS`), as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "table.h"

namespace jg::card {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kValueBytes = 8, kBatch = 80;  // rows of a packet

int rates(size_t tuples, int bucket_bits) {
  const size_t count = tuples / kBatch * kBatch;
  const auto table = make_table(kValueBytes, bucket_bits);
  if (!table) return 1;
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = random();
  const std::vector<uint8_t> values(kBatch * kValueBytes, 7);
  std::vector<uint32_t> overflown;
  std::vector<Answer> answers(kBatch);
  uint64_t found = 0;
  const auto start = Clock::now();
  for (size_t i = 0; i < count; i += kBatch) table->build(&keys[i], values.data(), kBatch, &overflown);
  const auto built = Clock::now();
  for (size_t i = 0; i < count; i += kBatch) {
    table->probe(&keys[i], kBatch, answers.data());
    for (const Answer& answer : answers) found += answer.count;
  }
  const auto probed = Clock::now();
  const auto per_s = [&](auto from, auto to) {
    return static_cast<double>(count) / std::chrono::duration<double>(to - from).count();
  };
  std::printf("{\"build_per_s\": %.0f, \"probe_per_s\": %.0f, \"overflown\": %zu, \"found\": %llu}\n",
              per_s(start, built), per_s(built, probed), overflown.size(), static_cast<unsigned long long>(found));
  return 0;
}

// Shares of entries that have no room in their buckets, and of keys whose bucket had such: rows that ask for these are
// the host's. `copies` entries have the same key, and come in any order.
void rest(int bucket_bits, double load, size_t copies, bool last) {
  const auto table = make_table(kValueBytes, bucket_bits);
  if (!table) std::exit(1);
  const size_t places = slots_of(kValueBytes) << bucket_bits;
  const auto distinct = static_cast<size_t>(load * static_cast<double>(places) / static_cast<double>(copies));
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(distinct);
  for (uint64_t& key : keys) key = random();
  std::vector<uint64_t> entries;
  for (size_t i = 0; i < copies; i++) entries.insert(entries.end(), keys.begin(), keys.end());
  std::shuffle(entries.begin(), entries.end(), random);
  const std::vector<uint8_t> values(entries.size() * kValueBytes, 7);
  std::vector<uint32_t> overflown;
  table->build(entries.data(), values.data(), entries.size(), &overflown);
  std::vector<Answer> answers(keys.size());
  table->probe(keys.data(), keys.size(), answers.data());
  const auto asked = std::count_if(answers.begin(), answers.end(), [](const Answer& a) { return a.overflown; });
  std::printf("{\"load\": %.2f, \"copies\": %zu, \"entries\": %.4f, \"keys\": %.4f}%s", load, copies,
              static_cast<double>(overflown.size()) / static_cast<double>(entries.size()),
              static_cast<double>(asked) / static_cast<double>(keys.size()), last ? "]\n" : ", ");
}

}  // namespace
}  // namespace jg::card

int main(int argc, char** argv) {
  using namespace jg::card;
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "rates" && argc == 4) return rates(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
  if (verb == "rest" && argc == 3) {
    std::printf("[");
    for (const double load : {0.25, 0.5, 0.9}) {
      for (const size_t copies : {1, 2, 4, 8}) rest(std::atoi(argv[2]), load, copies, load == 0.9 && copies == 8);
    }
    return 0;
  }
  std::fprintf(stderr, "use: table_bench rates TUPLES BUCKET_BITS | rest BUCKET_BITS\n");
  return 2;
}
