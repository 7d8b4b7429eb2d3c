// Hashes of single values that generated programs call: XXH64, and Murmur3 as Spark has it. The oracle is
// jumpgate/dataflow/functions_hash.py.
#include "jg/hashes.h"

#include <bit>
#include <cstring>

namespace hashes {
namespace {

constexpr uint64_t kPrimes[5] = {0x9e3779b185ebca87u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x85ebca77c2b2ae63u,
                                 0x27d4eb2f165667c5u};

template <typename Word>
Word word_at(const char* p) {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint64_t xx_round(uint64_t state, uint64_t word) { return std::rotl(state + word * kPrimes[1], 31) * kPrimes[0]; }

uint64_t xxhash64(const char* p, uint64_t size, uint64_t seed) {
  const char* const end = p + size;
  uint64_t state = seed + kPrimes[4];
  if (size >= 32) {
    uint64_t lanes[4] = {seed + kPrimes[0] + kPrimes[1], seed + kPrimes[1], seed, seed - kPrimes[0]};
    for (; end - p >= 32; p += 32) {
      for (int i = 0; i < 4; ++i) lanes[i] = xx_round(lanes[i], word_at<uint64_t>(p + 8 * i));
    }
    state = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) state = (state ^ xx_round(0, lane)) * kPrimes[0] + kPrimes[3];
  }
  state += size;
  for (; end - p >= 8; p += 8) {
    state = std::rotl(state ^ xx_round(0, word_at<uint64_t>(p)), 27) * kPrimes[0] + kPrimes[3];
  }
  if (end - p >= 4) {
    state = std::rotl(state ^ word_at<uint32_t>(p) * kPrimes[0], 23) * kPrimes[1] + kPrimes[2];
    p += 4;
  }
  for (; p < end; ++p) state = std::rotl(state ^ static_cast<unsigned char>(*p) * kPrimes[4], 11) * kPrimes[0];
  state = (state ^ state >> 33) * kPrimes[1];
  state = (state ^ state >> 29) * kPrimes[2];
  return state ^ state >> 32;
}

uint32_t murmur_round(uint32_t state, uint32_t word) {
  state ^= std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u;
  return std::rotl(state, 13) * 5 + 0xe6546b64u;
}

uint32_t murmur3(const char* p, uint64_t size, uint32_t seed) {
  const char* const end = p + size;
  uint32_t state = seed;
  for (; end - p >= 4; p += 4) state = murmur_round(state, word_at<uint32_t>(p));
  for (; p < end; ++p) state = murmur_round(state, static_cast<uint32_t>(static_cast<signed char>(*p)));
  state ^= static_cast<uint32_t>(size);
  state = (state ^ state >> 16) * 0x85ebca6bu;
  state = (state ^ state >> 13) * 0xc2b2ae35u;
  return state ^ state >> 16;
}

template <typename Word>
int64_t xxhash64(Word word, int64_t seed) {
  return static_cast<int64_t>(xxhash64(reinterpret_cast<const char*>(&word), sizeof word, static_cast<uint64_t>(seed)));
}

template <typename Word>
int32_t murmur3(Word word, int32_t seed) {
  return static_cast<int32_t>(murmur3(reinterpret_cast<const char*>(&word), sizeof word, static_cast<uint32_t>(seed)));
}

}  // namespace
}  // namespace hashes

extern "C" {

int64_t jg_xxhash64(JgStr s, int64_t seed) {
  return static_cast<int64_t>(hashes::xxhash64(s.data, s.size, static_cast<uint64_t>(seed)));
}
int64_t jg_xxhash64_of_int32(int32_t value, int64_t seed) { return hashes::xxhash64(value, seed); }
int64_t jg_xxhash64_of_int64(int64_t value, int64_t seed) { return hashes::xxhash64(value, seed); }

int32_t jg_murmur3(JgStr s, int32_t seed) {
  return static_cast<int32_t>(hashes::murmur3(s.data, s.size, static_cast<uint32_t>(seed)));
}
int32_t jg_murmur3_of_int32(int32_t value, int32_t seed) { return hashes::murmur3(value, seed); }
int32_t jg_murmur3_of_int64(int64_t value, int32_t seed) { return hashes::murmur3(value, seed); }

}  // extern "C"
