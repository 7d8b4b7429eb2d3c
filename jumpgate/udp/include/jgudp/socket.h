// Sockets whose packets leave and arrive many at a time.
#pragma once
#include <netinet/udp.h>
#include <sys/socket.h>

#include <utility>

#include "jgudp/address.h"

namespace jgudp {

constexpr int kSocketBytes = 8 << 20;  // of each socket's buffers, as far as the kernel permits

inline void widen(int socket) {
  for (const auto& [forced, plain] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (setsockopt(socket, SOL_SOCKET, forced, &kSocketBytes, sizeof kSocketBytes) != 0)
      setsockopt(socket, SOL_SOCKET, plain, &kSocketBytes, sizeof kSocketBytes);
}

// Bind a new socket to `local` and set that to the address it got; of IPv6, it reaches IPv4 addresses, too. Packets of
// one sender may arrive as one message. False: the system refused, as errno says; the caller closes what is in
// `socket`.
inline bool open(Address* local, int* socket) {
  *socket = ::socket(local->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (*socket < 0) return false;
  const int on = 1, off = 0;
  setsockopt(*socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  if (local->is_v6()) setsockopt(*socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  widen(*socket);
  socklen_t size = sizeof *local;
  return bind(*socket, &local->any, local->size()) == 0 && getsockname(*socket, &local->any, &size) == 0;
}

}  // namespace jgudp
