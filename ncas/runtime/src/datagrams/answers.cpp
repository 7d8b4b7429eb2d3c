#include "datagrams/answers.h"

#include <algorithm>

namespace jg::datagram {

void Answers::add(const Address& to, const Header& header) {
  latest_.erase({header.secret, header.flow});
  answers_.push_back({to, header, {}});
}

void Answers::acknowledge(const Address& to, const Header& flow, uint32_t first, uint32_t further) {
  const auto [latest, is_first] = latest_.try_emplace({flow.secret, flow.flow}, answers_.size());
  if (!is_first) {
    Header& before = answers_[latest->second].header;
    const uint64_t next = uint64_t{before.sequence} + before.present + 1, end = uint64_t{first} + further + 1;
    if (first >= before.sequence && first <= next && end - before.sequence <= kRunMax) {
      before.present = static_cast<uint8_t>(std::max(next, end) - before.sequence - 1);
      return;
    }
  }
  latest->second = answers_.size();
  answers_.push_back({to, {ACK_RUN, static_cast<uint8_t>(further), flow.flow, first, flow.secret}, {}});
}

void Answers::send(Outgoing* outgoing) {
  for (Answer& answer : answers_) {
    put_header(answer.bytes, answer.header);
    outgoing->add(answer.to, answer.bytes, sizeof answer.bytes);
  }
  outgoing->flush();
  answers_.clear();
  latest_.clear();
}

}  // namespace jg::datagram
