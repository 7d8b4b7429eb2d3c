// TLS 1.3 on edges, by the system's OpenSSL 3, which is looked for when the first job asks for it: nothing of it is
// needed to build the runtime, nor to run without encryption.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "edges/socket.h"

namespace jg::net {

// The job's certificate: each end shows it, and believes no other.
class Tls {
 public:
  virtual ~Tls() = default;
  // A connection over a connected, non-blocking socket, which must outlive it.
  virtual Status connection(int fd, bool is_consumer, std::unique_ptr<class TlsConnection>* out) const = 0;
};
Status make_tls(const std::string& certificate, const std::string& key, std::shared_ptr<const Tls>* out);  // PEM

// A connection to a server elsewhere, which shows a certificate for that host that the system's authorities
// ($SSL_CERT_FILE, or those of the distribution) vouch for; over a connected, non-blocking socket, which must outlive
// it.
Status server_connection(int fd, const std::string& host, std::unique_ptr<class TlsConnection>* out);

// Never blocks. One thread at a time.
class TlsConnection {
 public:
  virtual ~TlsConnection() = default;
  enum class Result { OK, WANTS_READ, WANTS_WRITE, CLOSED, FAILED };
  virtual Result shake_hands() = 0;
  virtual Result read(void* to, size_t size, size_t* got) = 0;
  virtual Result write(const void* from, size_t size, size_t* taken) = 0;
  virtual bool has_pending() const = 0;     // bytes that arrived with others and that no poll will tell of
  virtual std::string failure() const = 0;  // why FAILED
};

}  // namespace jg::net
