// What stands for IPv6 addresses in the IPv4 headers that programs see.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>

#include "jgudp/address.h"

namespace jgsw {

using jgudp::Address;
using jgudp::same;

// The IPv4 addresses by which a program knows hosts that have IPv6 ones; the controller gives them. All IPv4 addresses
// are in network order.
class StandIns {
 public:
  void set(uint32_t v4, const in6_addr& v6) {
    if (const auto old = hosts_.find(v4); old != hosts_.end()) names_.erase(key(old->second));
    hosts_[v4] = v6;
    names_[key(v6)] = v4;
  }

  // What headers have for an address: its own of IPv4; of IPv6 the one that it embeds, or its stand-in, or 0.0.0.0.
  uint32_t shown(const Address& address) const {
    if (!address.is_v6()) return address.v4.sin_addr.s_addr;
    const in6_addr& v6 = address.v6.sin6_addr;
    uint32_t found = 0;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      std::memcpy(&found, &v6.s6_addr[12], sizeof found);
    } else if (const auto name = names_.find(key(v6)); name != names_.end()) {
      found = name->second;
    }
    return found;
  }

  // Where a socket that is bound to `local` sends what headers address to `v4`.
  Address meant(uint32_t v4, in_port_t port, const Address& local) const {
    Address to;
    to.any.sa_family = local.any.sa_family;
    if (!local.is_v6()) {
      to.v4.sin_addr.s_addr = v4;
      to.v4.sin_port = port;
      return to;
    }
    to.v6.sin6_port = port;
    if (const auto host = hosts_.find(v4); host != hosts_.end()) {
      to.v6.sin6_addr = host->second;
    } else {
      to.v6.sin6_addr.s6_addr[10] = to.v6.sin6_addr.s6_addr[11] = 0xff;
      std::memcpy(&to.v6.sin6_addr.s6_addr[12], &v4, sizeof v4);
    }
    return to;
  }

 private:
  using Key = std::array<uint8_t, 16>;
  static Key key(const in6_addr& v6) {
    Key bytes;
    std::memcpy(bytes.data(), &v6, bytes.size());
    return bytes;
  }

  std::map<uint32_t, in6_addr> hosts_;
  std::map<Key, uint32_t> names_;
};

}  // namespace jgsw
