// plain_sender PORT BYTES: sends so many bytes to a port of this machine, 1 MiB at a time.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(argv[1])));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to)) return 1;
  std::vector<char> buffer(1 << 20, 'x');
  for (long left = std::atol(argv[2]); left > 0;) {
    const ssize_t n = send(fd, buffer.data(), std::min<size_t>(buffer.size(), left), MSG_NOSIGNAL);
    if (n <= 0) return 1;
    left -= n;
  }
  close(fd);
  return 0;
}
