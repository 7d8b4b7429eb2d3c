// A connection of an edge: a socket, and the encryption over it where there is one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "edges/socket.h"
#include "edges/tls.h"

namespace jg::net {

class Wire {
 public:
  Wire() = default;
  explicit Wire(Fd fd) : fd_(std::move(fd)) {}
  // Encrypt everything that is sent and received from now on.
  Status encrypt(const Tls& tls, bool is_consumer) {
    JG_RETURN_IF_ERROR(tls.connection(fd_.get(), is_consumer, &tls_));
    staged_ = std::make_unique<uint8_t[]>(kRecordBytes);
    return {};
  }

  int fd() const { return fd_.get(); }
  bool is_open() const { return fd_.is_open(); }

  // The handshake; without encryption there is none.
  Io shake_hands(std::atomic<int64_t>* wait_ns, int timeout_ms);
  // Like the functions of socket.h.
  Io send_all(std::vector<iovec>* pieces, std::atomic<int64_t>* wait_ns);
  Io send_all(const std::string& bytes, std::atomic<int64_t>* wait_ns);
  Io receive_all(void* to, size_t size, std::atomic<int64_t>* wait_ns, int timeout_ms = -1);
  // Send or receive without waiting: TIMED_OUT if nothing is possible.
  Io shake_hands_now();
  Io receive_now(void* to, size_t size, size_t* got);
  void send_now(const std::string& bytes);

  // Bytes have come that no poll will tell of.
  bool has_pending() const { return tls_ && tls_->has_pending(); }
  // After FAILED: why, in words.
  std::string reason() const;

 private:
  static constexpr size_t kRecordBytes = 16u << 10;  // the most that TLS encrypts at once
  Io write(const uint8_t* from, size_t size, std::atomic<int64_t>* wait_ns);

  Fd fd_;
  std::unique_ptr<TlsConnection> tls_;  // destroyed before the socket
  std::unique_ptr<uint8_t[]> staged_;
};

}  // namespace jg::net
