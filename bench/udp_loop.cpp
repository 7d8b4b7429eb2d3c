// UDP over loopback with segmentation offload: `echo` sends back what it receives with as little work as possible;
// `drive SECONDS BYTES WINDOW` keeps a window of packets under way to the port that it reads from standard input, and
// prints how many came back a second and how many were lost.
//
// Both print their own port first. The echo ends with its standard input.
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kMessages = 32;
constexpr size_t kMessageBytes = 64 << 10;
constexpr uint32_t kSegmentsMax = 44;  // of 1400 bytes in one message
constexpr int kSocketBytes = 8 << 20;

struct Batch {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kMessages * kMessageBytes);
  mmsghdr messages[kMessages];
  iovec vectors[kMessages];
  sockaddr_in senders[kMessages];
  alignas(cmsghdr) uint8_t controls[kMessages][64];

  int receive(int socket, int flags) {
    for (int i = 0; i < kMessages; ++i) {
      vectors[i] = {&bytes[i * kMessageBytes], kMessageBytes};
      messages[i].msg_hdr = {&senders[i], sizeof senders[i], &vectors[i], 1, controls[i], sizeof controls[i], 0};
    }
    return recvmmsg(socket, messages, kMessages, flags, nullptr);
  }

  uint16_t segment(int i) {
    msghdr& header = messages[i].msg_hdr;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c))
      if (c->cmsg_type == UDP_GRO) {
        int size;
        std::memcpy(&size, CMSG_DATA(c), sizeof size);
        return static_cast<uint16_t>(size);
      }
    return static_cast<uint16_t>(messages[i].msg_len);
  }

  void cut(int i, uint16_t size) {
    msghdr& header = messages[i].msg_hdr;
    header.msg_control = controls[i];
    header.msg_controllen = CMSG_SPACE(sizeof size);
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof size);
    std::memcpy(CMSG_DATA(c), &size, sizeof size);
  }
};

int open_socket() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) std::exit(2);
  const int on = 1;
  setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  for (int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_RCVBUF, SO_SNDBUF})
    setsockopt(socket, SOL_SOCKET, option, &kSocketBytes, sizeof kSocketBytes);
  socklen_t size = sizeof any;
  getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  std::printf("%d\n", ntohs(any.sin_port));
  std::fflush(stdout);
  return socket;
}

int echo() {
  const int socket = open_socket();
  static Batch batch;
  pollfd both[2] = {{socket, POLLIN, 0}, {STDIN_FILENO, POLLIN | POLLHUP, 0}};
  while (poll(both, 2, -1) > 0 && both[1].revents == 0) {
    const int count = batch.receive(socket, MSG_DONTWAIT);
    for (int i = 0; i < count; ++i) {
      const uint16_t size = batch.segment(i);
      batch.vectors[i].iov_len = batch.messages[i].msg_len;
      batch.cut(i, size);
    }
    if (count > 0) sendmmsg(socket, batch.messages, static_cast<unsigned>(count), 0);
  }
  return 0;
}

int drive(double seconds, uint16_t bytes, int64_t window) {
  const int socket = open_socket();
  int port = 0;
  if (std::scanf("%d", &port) != 1) return 2;  // the server must know this socket first
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  static Batch in, out;
  // each packet is a frame for the program written by hand: forward to port 1
  for (uint32_t i = 0; i < kSegmentsMax; ++i) out.bytes[i * bytes + 1] = 1;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  int64_t back = 0, under_way = 0, lost = 0;
  double elapsed = 0;
  while ((elapsed = std::chrono::duration<double>(Clock::now() - start).count()) < seconds) {
    while (under_way + kSegmentsMax <= window) {
      out.vectors[0] = {out.bytes.data(), size_t{kSegmentsMax} * bytes};
      out.messages[0].msg_hdr = {&to, sizeof to, &out.vectors[0], 1, nullptr, 0, 0};
      out.cut(0, bytes);
      if (sendmsg(socket, &out.messages[0].msg_hdr, 0) < 0) std::exit(3);
      under_way += kSegmentsMax;
    }
    pollfd one{socket, POLLIN, 0};
    if (poll(&one, 1, 200) == 0) {
      lost += under_way;
      under_way = 0;
      continue;
    }
    const int count = in.receive(socket, MSG_DONTWAIT);
    for (int i = 0; i < count; ++i) {
      const int64_t packets = (in.messages[i].msg_len + in.segment(i) - 1) / in.segment(i);
      back += packets;
      under_way -= packets;
    }
  }
  std::printf("%.0f %lld\n", static_cast<double>(back) / elapsed, static_cast<long long>(lost));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "echo") return echo();
  if (mode == "drive" && count == 5)
    return drive(std::atof(words[2]), static_cast<uint16_t>(std::atoi(words[3])), std::atoll(words[4]));
  std::fprintf(stderr, "usage: udp_loop echo | drive SECONDS BYTES WINDOW\n");
  return 2;
}
