// The RTL's bench: constrained random stimulus against a reference (`check SEED EPISODES`), and rates (`rates TUPLES`),
// as JSON. `check-forgetful`: the memory loses a write now and then, which the bench must notice.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "Vaxi_512.h"
#include "Vaxi_64.h"
#include "Vtable_23.h"
#include "Vtable_8.h"
#include "axi_memory.h"
#include "ddr3.h"
#include "model.h"

namespace jg::card {
namespace {

constexpr int kWindow = 64;

using Random = std::mt19937_64;
using Keys = std::vector<uint64_t>;

// Keys of one of these kinds, for a table of 2^bits buckets.
const char* const kKinds[] = {"uniform", "sequential", "all_equal", "adversarial"};

Keys keys_of(const std::string& kind, size_t count, int bits, Random* random) {
  Keys keys(count);
  if (kind == "adversarial") {  // different keys of few buckets that take turns
    constexpr uint32_t kTargets = 5;
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
    for (size_t i = 0; i < count; i++) {
      // CRC-32C is linear: a low word that any high word needs for the bucket wanted is found by trying few bits
      uint64_t key = (*random)();
      while ((hash_of(key) & mask) >= kTargets && bits <= 12) key = (*random)();
      keys[i] = key;
    }
    return keys;
  }
  for (size_t i = 0; i < count; i++) {
    keys[i] = kind == "uniform" ? (*random)() : kind == "sequential" ? i : 42;
  }
  return keys;
}

// What a table should hold and answer: the buckets as lists, in the order in which tuples came.
template <size_t VALUE_BYTES>
struct Reference {
  using Value = std::array<uint8_t, VALUE_BYTES>;
  struct List {
    std::vector<std::pair<uint64_t, Value>> entries;
    bool overflown = false;
  };
  std::map<uint32_t, List> buckets;
  uint32_t mask;

  bool add(uint64_t key, const Value& value) {
    List& list = buckets[hash_of(key) & mask];
    if (list.entries.size() == slots_of(VALUE_BYTES)) {
      list.overflown = true;
      return false;
    }
    list.entries.emplace_back(key, value);
    return true;
  }
  Answer find(uint64_t key) const {
    Answer out;
    const auto at = buckets.find(hash_of(key) & mask);
    if (at == buckets.end()) return out;
    out.overflown = at->second.overflown;
    for (const auto& [own, value] : at->second.entries) {
      if (own == key) std::memcpy(out.values + out.count++ * VALUE_BYTES, value.data(), VALUE_BYTES);
    }
    return out;
  }
};

struct Coverage {
  uint64_t built = 0, overflowed = 0, probed = 0, matched = 0, nulls = 0, forwards = 0;
  uint64_t distances[kWindow + 1] = {};  // tuples whose bucket was last used so many tuples before
};

[[noreturn]] void wrong(const char* what, size_t at) {
  std::fprintf(stderr, "the model differs from the reference: %s %zu\n", what, at);
  std::exit(1);
}

// What a table's port leads to.
enum Behind { IDEAL, DDR3, AXI };

// A memory behind AXI4 that is ready at random; its bus has one of two widths.
std::unique_ptr<Memory> random_axi(size_t buckets, int latency, Random* random) {
  const AxiTiming timing{latency, static_cast<int>(1 + (*random)() % 100), (*random)()};
  if ((*random)() % 2 == 0) return std::make_unique<AxiMemory<Vaxi_512, 512>>(buckets, timing);
  return std::make_unique<AxiMemory<Vaxi_64, 64>>(buckets, timing);
}

std::unique_ptr<Memory> random_memory(Behind behind, size_t buckets, int latency, bool forgetful, Random* random) {
  if (behind == DDR3) return std::make_unique<Ddr3Memory>(buckets);
  if (behind == AXI) return random_axi(buckets, latency, random);
  return std::make_unique<IdealMemory>(buckets, latency, forgetful);
}

// Shares of cycles, in percent.
struct Shares {
  uint64_t idle, pressure;
};

// Builds the table; what has no room must come out, in the keys' order.
template <class V, size_t VALUE_BYTES>
void build(Model<V, VALUE_BYTES>* model, const Keys& keys,
           const std::vector<typename Reference<VALUE_BYTES>::Value>& values, const std::vector<size_t>& overflowing,
           Shares shares, Random* random) {
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  const size_t count = keys.size();
  size_t next = 0, overflowed = 0;
  for (uint64_t cycles = 0; next < count || !model->idle(); cycles++) {
    if (cycles > 1000 * count) wrong("stands still at tuple", next);
    Cycle c;
    c.offers = next < count && below(100) >= shares.idle;
    c.takes_overflow = below(100) >= shares.pressure;
    if (c.offers) c.key = keys[next];
    c.value = values[std::min(next, count - 1)].data();
    model->step(&c);
    if (c.overflowed) {
      if (overflowed == overflowing.size()) wrong("overflow", overflowed);
      const size_t own = overflowing[overflowed++];
      if (c.overflow_key != keys[own] || std::memcmp(c.overflow_value, values[own].data(), VALUE_BYTES) != 0) {
        wrong("overflow", own);
      }
    }
    next += c.accepted;
  }
  if (overflowed != overflowing.size()) wrong("overflows", overflowed);
}

// Asks for keys, some of which are NULL; at the probe's end the answers of all have come.
template <class V, size_t VALUE_BYTES>
void probe(Model<V, VALUE_BYTES>* model, const Reference<VALUE_BYTES>& reference, const Keys& keys, Shares shares,
           Random* random, Coverage* coverage) {
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  const size_t count = keys.size();
  model->set_probing(true);
  std::vector<uint64_t> wanted;
  std::vector<bool> nulls;
  for (size_t i = 0; i < count; i++) {
    wanted.push_back(below(3) == 0 ? (*random)() : keys[below(count)]);
    nulls.push_back(below(10) == 0);
  }
  size_t asked = 0;
  for (size_t answered = 0, cycles = 0; answered < count; cycles++) {
    if (cycles > 1000 * count) wrong("stands still at probe", answered);
    Cycle c;
    c.offers = asked < count && below(100) >= shares.idle;
    c.takes_answer = below(100) >= shares.pressure;
    if (c.offers) {
      c.key = wanted[asked];
      c.null = nulls[asked];
    }
    model->step(&c);
    if (c.answered) {
      const Answer truth = nulls[answered] ? Answer{} : reference.find(wanted[answered]);
      if (c.answer.count != truth.count || c.answer.overflown != truth.overflown ||
          std::memcmp(c.answer.values, truth.values, truth.count * VALUE_BYTES) != 0) {
        wrong("probe", answered);
      }
      coverage->matched += truth.count > 0;
      coverage->nulls += nulls[answered];
      answered++;
    }
    asked += c.accepted;
  }
  coverage->probed += count;
}

// One random episode: memory latency, shares of idle cycles and of back-pressure, and kind of keys are drawn.
template <class V, size_t VALUE_BYTES>
void episode(Random* random, Behind behind, bool forgetful, Coverage* coverage) {
  using Value = typename Reference<VALUE_BYTES>::Value;
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  const int bits = static_cast<int>(1 + below(9)), latency = static_cast<int>(1 + below(60));
  const Shares shares{below(3) * 20, below(3) * 25};
  Model<V, VALUE_BYTES> model(random_memory(behind, size_t{1} << bits, latency, forgetful, random), bits);
  Reference<VALUE_BYTES> reference{{}, static_cast<uint32_t>((1u << bits) - 1)};

  const size_t count = 400 + below(400);
  Keys keys = keys_of(kKinds[below(4)], count, bits, random);
  const uint64_t narrow = 1 + below(200);  // some keys come again
  for (uint64_t& key : keys) {
    if (below(3) == 0) key %= narrow;
  }
  std::vector<Value> values(count);
  for (Value& value : values) {
    for (uint8_t& byte : value) byte = static_cast<uint8_t>((*random)());
  }
  std::map<uint32_t, size_t> last;
  std::vector<size_t> overflowing;
  for (size_t i = 0; i < count; i++) {
    const uint32_t bucket = hash_of(keys[i]) & reference.mask;
    if (const auto at = last.find(bucket); at != last.end() && i - at->second <= kWindow) {
      coverage->distances[i - at->second]++;
    }
    last[bucket] = i;
    if (!reference.add(keys[i], values[i])) overflowing.push_back(i);
  }

  build(&model, keys, values, overflowing, shares, random);
  coverage->built += count;
  coverage->overflowed += overflowing.size();
  coverage->forwards += model.table().forwards;
  probe(&model, reference, keys, shares, random, coverage);
}

int check(uint64_t seed, int episodes, bool forgetful) {
  Random random(seed);
  Coverage coverage;
  for (int i = 0; i < episodes; i++) {
    const Behind behind = i % 8 == 7 ? DDR3 : i % 4 == 1 ? AXI : IDEAL;
    episode<Vtable_8, 8>(&random, behind, forgetful, &coverage);
    episode<Vtable_23, 23>(&random, behind, forgetful, &coverage);
  }
  const uint64_t least = *std::min_element(coverage.distances + 1, coverage.distances + kWindow + 1);
  std::printf(
      "{\"built\": %llu, \"overflowed\": %llu, \"forwards\": %llu, \"probed\": %llu, \"matched\": %llu, "
      "\"nulls\": %llu, \"least_covered_distance\": %llu}\n",
      static_cast<unsigned long long>(coverage.built), static_cast<unsigned long long>(coverage.overflowed),
      static_cast<unsigned long long>(coverage.forwards), static_cast<unsigned long long>(coverage.probed),
      static_cast<unsigned long long>(coverage.matched), static_cast<unsigned long long>(coverage.nulls),
      static_cast<unsigned long long>(least));
  return 0;
}

struct Rate {
  double build, probe;  // tuples a cycle, from the first that is taken to the last
  int build_latency = 0, probe_latency = 0;
  bool stalled = false;
};

using Table = Model<Vtable_8, 8>;

// The longest time without a gap matters: cycles from the first tuple that is accepted to the last.
Rate measure(std::unique_ptr<Memory> memory, int bits, const Keys& keys) {
  Table model(std::move(memory), bits);
  Rate rate{};
  const uint8_t value[8] = {1, 2, 3};
  size_t next = 0;
  uint64_t first = model.cycles(), last = first;
  while (next < keys.size()) {
    Cycle c;
    c.offers = true;
    c.key = keys[next];
    c.value = value;
    model.step(&c);
    rate.stalled |= !c.accepted;
    next += c.accepted;
  }
  last = model.cycles();
  rate.build = static_cast<double>(keys.size()) / static_cast<double>(last - first);
  for (Cycle c; !model.idle();) model.step(&c);
  rate.build_latency = static_cast<int>(model.cycles() - last);
  model.set_probing(true);
  size_t answered = 0;
  next = 0;
  first = model.cycles();
  uint64_t first_answer = 0;
  while (answered < keys.size()) {
    Cycle c;
    c.offers = next < keys.size();
    if (c.offers) c.key = keys[next];
    model.step(&c);
    if (c.offers) rate.stalled |= !c.accepted;
    next += c.accepted;
    if (c.answered && answered++ == 0) first_answer = model.cycles();
  }
  rate.probe_latency = static_cast<int>(first_answer - first);
  rate.probe = static_cast<double>(keys.size() - 1) / static_cast<double>(model.cycles() - first_answer);
  return rate;
}

int rates(size_t count) {
  constexpr int kLatency = 40, kSmallBits = 8, kDdr3Bits = 20;
  std::printf("{");
  for (const char* kind : kKinds) {
    Random random(1);
    const int bits = std::string(kind) == "adversarial" ? kSmallBits : kDdr3Bits;
    const Keys keys = keys_of(kind, count, bits, &random);
    const size_t buckets = size_t{1} << bits;
    const Rate r = measure(std::make_unique<IdealMemory>(buckets, kLatency), bits, keys);
    const Rate axi =
        measure(std::make_unique<AxiMemory<Vaxi_512, 512>>(buckets, AxiTiming{kLatency, 100, 0}), bits, keys);
    std::printf(
        "\"%s\": {\"build\": %.6f, \"probe\": %.6f, \"stalled\": %s, \"build_latency\": %d, "
        "\"probe_latency\": %d, \"axi_build\": %.6f, \"axi_probe\": %.6f, \"axi_probe_latency\": %d}, ",
        kind, r.build, r.probe, r.stalled ? "true" : "false", r.build_latency, r.probe_latency, axi.build, axi.probe,
        axi.probe_latency);
  }
  const double per_s = 1e9 / Ddr3Memory::kCycleNs;
  Random random(1);
  const Rate r = measure(std::make_unique<Ddr3Memory>(size_t{1} << kDdr3Bits), kDdr3Bits,
                         keys_of("uniform", count, kDdr3Bits, &random));
  std::printf("\"ddr3\": {\"build_per_s\": %.0f, \"probe_per_s\": %.0f, \"probe_latency\": %d}}\n", r.build * per_s,
              r.probe * per_s, r.probe_latency);
  return 0;
}

}  // namespace
}  // namespace jg::card

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if ((verb == "check" || verb == "check-forgetful") && argc == 4) {
    return jg::card::check(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), verb != "check");
  }
  if (verb == "rates" && argc == 3) return jg::card::rates(std::strtoull(argv[2], nullptr, 10));
  std::fprintf(stderr, "use: rtl_bench check|check-forgetful SEED EPISODES | rates TUPLES\n");
  return 2;
}
