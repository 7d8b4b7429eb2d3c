// How fast three tables of the whole card that share DDR3 controllers are built and looked into, as JSON.
#include "Vcard_3_1_8_8.h"
#include "Vcard_3_2_8_8.h"
#include "card_episodes.h"

namespace jg::card {
namespace {

using One = Bench<Vcard_3_1_8_8, 3, 1, 8, 8>;
using Two = Bench<Vcard_3_2_8_8, 3, 2, 8, 8>;

int rates(size_t rows) {
  const auto ddr3 = [](size_t buckets) { return std::make_unique<Ddr3Memory>(buckets); };
  const auto one = One::rate(rows, ddr3), two = Two::rate(rows, ddr3);
  std::printf("{\"one\": {\"build_per_s\": %.0f, \"probe_per_s\": %.0f}, ", one.build, one.probe);
  std::printf("\"two\": {\"build_per_s\": %.0f, \"probe_per_s\": %.0f}}\n", two.build, two.probe);
  return 0;
}

}  // namespace
}  // namespace jg::card

int main(int argc, char** argv) {
  if (argc == 2) return jg::card::rates(std::strtoull(argv[1], nullptr, 10));
  std::fprintf(stderr, "use: card_rates_bench ROWS\n");
  return 2;
}
