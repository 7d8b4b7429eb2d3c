// The whole card's bench: frames of random joins against a reference (`check SEED EPISODES`; `check-forgetful`: the
// memory loses a write now and then, which the bench must notice).
#include "Vcard_3_1_8_8.h"
#include "Vcard_4_4_4_23.h"
#include "card_episodes.h"

namespace jg::card {
namespace {

using One = Bench<Vcard_3_1_8_8, 3, 1, 8, 8>;
using Narrow = Bench<Vcard_4_4_4_23, 4, 4, 4, 23>;

int check(uint64_t seed, int episodes, bool forgetful) {
  Random random(seed);
  Coverage c;
  for (int i = 0; i < episodes; i++) {
    const bool ddr3 = i % 8 == 7;
    One::episode(&random, ddr3, forgetful, &c);
    Narrow::episode(&random, ddr3, forgetful, &c);
  }
  const auto n = [](uint64_t x) { return static_cast<unsigned long long>(x); };
  std::printf(
      "{\"built\": %llu, \"probed\": %llu, \"joined\": %llu, \"rested\": %llu, \"overflowed\": %llu, \"dropped\": "
      "%llu, "
      "\"frames\": %llu, \"aggregated\": %llu, \"forwards\": %llu, \"several\": %llu, \"least_kind\": %llu, "
      "\"never_null\": %llu}\n",
      n(c.built), n(c.probed), n(c.joined), n(c.rested), n(c.overflowed), n(c.dropped), n(c.frames), n(c.aggregated),
      n(c.forwards), n(c.several), n(*std::min_element(c.kinds, c.kinds + 5)), n(c.never_null));
  return 0;
}

}  // namespace
}  // namespace jg::card

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if ((verb == "check" || verb == "check-forgetful") && argc == 4) {
    return jg::card::check(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), verb != "check");
  }
  std::fprintf(stderr, "use: card_bench check|check-forgetful SEED EPISODES\n");
  return 2;
}
