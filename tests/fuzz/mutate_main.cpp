// Drives a fuzz target without libFuzzer: mutates the seed files at random until the time is up.
// usage: target SEED_FOLDER SECONDS [SEED]; on a crash the input stays in SEED_FOLDER/crash.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes mutate(const Bytes& seed, std::mt19937_64& random) {
  Bytes bytes = seed;
  auto below = [&](size_t n) { return n ? static_cast<size_t>(random() % n) : 0; };
  for (size_t round = 1 + below(below(2) ? 3 : 20); round > 0 && !bytes.empty(); --round) {
    // Half of the changes go to the tail, where footers are.
    size_t tail = std::min<size_t>(bytes.size(), 1500);
    size_t at = below(2) ? below(bytes.size()) : bytes.size() - 1 - below(tail);
    switch (below(5)) {
      case 0:
        bytes[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 2:
        bytes[at] = below(2) ? 0xFF : 0x00;
        break;
      case 3:
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at),
                    bytes.begin() + static_cast<ptrdiff_t>(at + std::min(bytes.size() - at, 1 + below(8))));
        break;
      default:
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), 1 + below(4), static_cast<uint8_t>(random()));
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::filesystem::path folder = argv[1];
  std::mt19937_64 random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  std::vector<Bytes> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "crash") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) return 2;
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::strtod(argv[2], nullptr));
  long inputs = 0;
  for (; std::chrono::steady_clock::now() < end; ++inputs) {
    Bytes bytes = mutate(seeds[random() % seeds.size()], random);
    std::ofstream(folder / "crash", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::filesystem::remove(folder / "crash");
  std::printf("%ld inputs\n", inputs);
  return 0;
}
