// Addresses of UDP sockets.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace jgudp {

// Of a socket, IPv4 or IPv6.
union Address {
  Address() : v6{} {}

  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  // False unless `host` is a numeric address.
  bool parse(const char* host, uint16_t port) {
    *this = Address();
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
      any.sa_family = AF_INET;
      v4.sin_port = htons(port);
      return true;
    }
    any.sa_family = AF_INET6;
    v6.sin6_port = htons(port);
    return inet_pton(AF_INET6, host, &v6.sin6_addr) == 1;
  }
  bool is_v6() const { return any.sa_family == AF_INET6; }
  socklen_t size() const { return is_v6() ? sizeof v6 : sizeof v4; }
  in_port_t port() const { return is_v6() ? v6.sin6_port : v4.sin_port; }  // in network order
};

inline bool same(const Address& a, const Address& b) {
  if (a.any.sa_family != b.any.sa_family || a.port() != b.port()) return false;
  return a.is_v6() ? IN6_ARE_ADDR_EQUAL(&a.v6.sin6_addr, &b.v6.sin6_addr)
                   : a.v4.sin_addr.s_addr == b.v4.sin_addr.s_addr;
}

}  // namespace jgudp
