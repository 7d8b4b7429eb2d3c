// The entries that had no room in their buckets, in the memory of the card's host: chains of equal keys.
#pragma once
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace jg::card {

class Rest {
 public:
  // Holds at most `bytes_max`, counted roughly.
  Rest(size_t value_bytes, size_t bytes_max) : value_bytes_(value_bytes), bytes_max_(bytes_max) {}

  // False if it is full. `once`: a key's further entries are of no use.
  bool add(uint64_t key, const uint8_t* value, bool once) {
    const auto [place, is_new] = last_.try_emplace(key, kNone);
    if (!is_new && once) return true;
    if ((next_.size() + 1) * (value_bytes_ + kEntryCost) > bytes_max_ || next_.size() >= kNone) return false;
    next_.push_back(place->second);
    place->second = static_cast<uint32_t>(next_.size() - 1);
    values_.insert(values_.end(), value, value + value_bytes_);
    return true;
  }
  // Adds where the key's values are; they stay there until the next `add`.
  void find(uint64_t key, std::vector<const uint8_t*>* out) const {
    const auto place = last_.find(key);
    if (place == last_.end()) return;
    for (uint32_t i = place->second; i != kNone; i = next_[i]) out->push_back(&values_[i * value_bytes_]);
  }
  size_t size() const { return next_.size(); }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static constexpr size_t kEntryCost = 64;  // of the map, if no keys are equal

  const size_t value_bytes_, bytes_max_;
  std::unordered_map<uint64_t, uint32_t> last_;
  std::vector<uint32_t> next_;
  std::vector<uint8_t> values_;
};

}  // namespace jg::card
