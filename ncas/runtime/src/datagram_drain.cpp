#include "datagram_drain.h"

#include <algorithm>
#include <numeric>

namespace jg::datagram {
namespace {

constexpr int WINDOW_BITS = 8;

bool is_occupied(const GroupWords& second) { return second.key_low != 0; }

}  // namespace

Drain::Drain(int slots, uint16_t flow, uint32_t first, uint32_t buckets)
    : slots_(slots), flow_(flow), first_(first), wanted_(buckets), seconds_(size_t{buckets} * slots) {
  std::iota(wanted_.begin(), wanted_.end(), first);
  sender_.emplace(WINDOW_BITS);
}

void Drain::next_phase() {
  while (number() > wanted_.size() && kind_ != CLEAR) {
    if (kind_ == READ_SECOND) {
      std::erase_if(wanted_, [&](uint32_t bucket) {
        const GroupWords* words = &seconds_[size_t{bucket - first_} * slots_];
        return std::none_of(words, words + slots_, is_occupied);
      });
    }
    kind_ = kind_ == READ_SECOND ? READ_FIRST : CLEAR;
    sender_.emplace(WINDOW_BITS);
  }
}

bool Drain::due(double now, std::vector<Header>* out) {
  next_phase();
  numbers_.clear();
  if (!sender_->due(now, static_cast<uint32_t>(wanted_.size()), false, &numbers_)) return false;
  for (const uint32_t number : numbers_) out->push_back({kind_, 0, flow_, wanted_[number - 1]});
  return true;
}

bool Drain::answered(const uint8_t* packet, size_t size, const Header& header, double now, Block* block) {
  if (header.kind != kind_ || header.flow != flow_) return header.kind == READ_SECOND || header.kind == READ_FIRST;
  const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), header.sequence);
  if (at == wanted_.end() || *at != header.sequence) return false;
  const auto number = static_cast<uint32_t>(at - wanted_.begin() + 1);
  if (kind_ == CLEAR) {
    if (size != HEADER_BYTES) return false;
    sender_->acknowledged(number, now);
    return true;
  }
  GroupWords words[SLOTS_MAX];
  if (!parse_groups(packet, size, header, slots_, words)) return false;
  if (kind_ == READ_FIRST && block == nullptr) {
    sender_->busy(now);
    return true;
  }
  if (!sender_->acknowledged(number, now)) return true;  // once more
  GroupWords* seconds = &seconds_[size_t{header.sequence - first_} * slots_];
  for (int slot = 0; slot < slots_; slot++) {
    if (kind_ == READ_SECOND)
      seconds[slot] = words[slot];
    else if (is_occupied(seconds[slot]))
      block->add(group_of(words[slot], seconds[slot]), false);
  }
  return true;
}

}  // namespace jg::datagram
