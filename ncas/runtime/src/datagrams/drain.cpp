#include "datagrams/drain.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace jg::datagram {
namespace {

constexpr int kWindowBits = 8;

}  // namespace

Drain::Drain(int slots, uint16_t flow, uint64_t secret, uint32_t first, uint32_t buckets)
    : slots_(slots), flow_(flow), secret_(secret), first_(first), wanted_(buckets), answered_(buckets) {
  std::iota(wanted_.begin(), wanted_.end(), first);
  sender_.emplace(kWindowBits);
}

void Drain::next_phase() {
  while (number() > wanted_.size() && kind_ != CLEAR) {
    if (kind_ == READ_FIRST) std::erase_if(wanted_, [&](uint32_t bucket) { return of(bucket).present == 0; });
    kind_ = kind_ == READ_FIRST ? READ_SECOND : CLEAR;
    sender_.emplace(kWindowBits);
  }
}

bool Drain::due(double now, std::vector<Header>* out) {
  next_phase();
  numbers_.clear();
  if (!sender_->due(now, static_cast<uint32_t>(wanted_.size()), false, &numbers_)) return false;
  for (const uint32_t number : numbers_) {
    const uint32_t bucket = wanted_[number - 1];
    out->push_back({kind_, kind_ == READ_SECOND ? of(bucket).present : uint8_t{0}, flow_, bucket, secret_});
  }
  return true;
}

bool Drain::answered(const uint8_t* packet, size_t size, const Header& header, double now, Block* block) {
  if (header.secret != secret_) return false;
  if (header.kind != kind_ || header.flow != flow_) return header.kind == READ_SECOND || header.kind == READ_FIRST;
  const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), header.sequence);
  if (at == wanted_.end() || *at != header.sequence) return false;
  const auto number = static_cast<uint32_t>(at - wanted_.begin() + 1);
  Answered& answer = answered_[header.sequence - first_];
  if (kind_ == READ_FIRST) {
    FirstWords words[kSlotsMax];
    if (!parse_first(packet, size, header, slots_, words)) return false;
    if (!sender_->acknowledged(number, now)) return true;  // once more
    answer = {header.present, static_cast<uint32_t>(firsts_.size())};
    firsts_.insert(firsts_.end(), words, words + std::popcount(header.present));
  } else if (kind_ == READ_SECOND) {
    SecondWords words[kSlotsMax];
    if (header.present != answer.present || !parse_second(packet, size, header, slots_, words)) return false;
    if (block == nullptr) {
      sender_->busy(now);
      return true;
    }
    if (!sender_->acknowledged(number, now)) return true;
    for (int i = 0; i < std::popcount(answer.present); i++)
      block->add(group_of(firsts_[answer.at + i], words[i]), false);
  } else {
    if (size != kHeaderBytes) return false;
    sender_->acknowledged(number, now);
  }
  return true;
}

}  // namespace jg::datagram
