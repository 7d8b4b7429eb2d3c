#include "orc/bloom_filter.h"

#include <bit>
#include <cstring>

namespace jg::columnar {

namespace {

constexpr uint32_t kFunctionsMax = 64;  // more are a damaged filter

bool is_integer(OrcKind kind) { return (kind >= OrcKind::kByte && kind <= OrcKind::kLong) || kind == OrcKind::kDate; }
bool is_text(OrcKind kind) { return kind == OrcKind::kString || kind == OrcKind::kVarchar || kind == OrcKind::kBinary; }

// Murmur3's 64 bits as Hive has them: one half of the variant of 128.
uint64_t hash_of(std::string_view text) {
  constexpr uint64_t kSeed = 104729, kFirst = 0x87c37b91114253d5, kSecond = 0x4cf5ad432745937f;
  auto mixed = [](uint64_t word) { return std::rotl(word * kFirst, 31) * kSecond; };
  uint64_t hash = kSeed, word;
  size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    hash = std::rotl(hash ^ mixed(word), 27) * 5 + 0x52dce729;
  }
  if (at < text.size()) {
    word = 0;
    std::memcpy(&word, text.data() + at, text.size() - at);
    hash ^= mixed(word);
  }
  hash ^= text.size();
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return hash ^ hash >> 33;
}

// Thomas Wang's. Shifts to the right keep the sign of an Integer that is signed.
template <class Integer>
uint64_t hash_of(uint64_t key) {
  auto shifted = [](uint64_t word, int bits) { return static_cast<uint64_t>(static_cast<Integer>(word) >> bits); };
  key = ~key + (key << 21);
  key ^= shifted(key, 24);
  key = key + (key << 3) + (key << 8);
  key ^= shifted(key, 14);
  key = key + (key << 2) + (key << 4);
  key ^= shifted(key, 28);
  return key + (key << 31);
}

}  // namespace

bool has_filter_hash(OrcKind kind) { return is_integer(kind) || is_text(kind); }

BloomFilter::BloomFilter(std::string_view message) {
  for (ProtoReader p(message); p.next();) {
    if (p.field() == 1 && p.integer() <= kFunctionsMax) functions_ = static_cast<uint32_t>(p.integer());
    if (p.field() == 3) bits_ = p.bytes();
  }
  if (bits_.empty()) functions_ = 0;
}

bool BloomFilter::may_hold(OrcKind kind, const BoundValue& value) const {
  if (is_text(kind)) return has(hash_of(value.text));
  const auto number = static_cast<int64_t>(value.integer);
  return number == value.integer && has_number(number);
}

// ORC's C++ library shifted without the sign in the versions 1.6.0 to 1.6.11 and 1.7.0 (ORC-1024).
bool BloomFilter::has_number(int64_t number) const {
  const auto key = static_cast<uint64_t>(number);
  return has(hash_of<int64_t>(key)) || has(hash_of<uint64_t>(key));
}

bool BloomFilter::has(uint64_t hash) const {
  const auto first = static_cast<uint32_t>(hash), second = static_cast<uint32_t>(hash >> 32);
  for (uint32_t i = 1; i <= functions_; ++i) {
    uint32_t mixed = first + i * second;
    if (mixed >> 31) mixed = ~mixed;
    const uint64_t bit = mixed % (uint64_t{8} * bits_.size());
    if (!(static_cast<uint8_t>(bits_[bit / 8]) >> (bit % 8) & 1)) return false;
  }
  return true;
}

}  // namespace jg::columnar
