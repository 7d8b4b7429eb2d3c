#include "edges/tls.h"

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>

namespace jg::net {
namespace {

// The stable binary interface of OpenSSL 3 (ssl.h, pem.h, err.h).
struct OpenSsl {
  using Ctx = void*;
  using Ssl = void*;
  const void* (*TLS_method)();
  Ctx (*SSL_CTX_new)(const void*);
  void (*SSL_CTX_free)(Ctx);
  long (*SSL_CTX_ctrl)(Ctx, int, long, void*);
  uint64_t (*SSL_CTX_set_options)(Ctx, uint64_t);
  int (*SSL_CTX_set_ciphersuites)(Ctx, const char*);
  void (*SSL_CTX_set_verify)(Ctx, int, void*);
  int (*SSL_CTX_set_num_tickets)(Ctx, size_t);
  void (*SSL_CTX_set_default_read_buffer_len)(Ctx, size_t);
  int (*SSL_CTX_use_certificate)(Ctx, void*);
  int (*SSL_CTX_use_PrivateKey)(Ctx, void*);
  void* (*SSL_CTX_get_cert_store)(Ctx);
  Ssl (*SSL_new)(Ctx);
  void (*SSL_free)(Ssl);
  int (*SSL_CTX_set_default_verify_paths)(Ctx);
  int (*SSL_set1_host)(Ssl, const char*);
  long (*SSL_ctrl)(Ssl, int, long, void*);
  int (*SSL_set_fd)(Ssl, int);
  void (*SSL_set_accept_state)(Ssl);
  void (*SSL_set_connect_state)(Ssl);
  int (*SSL_do_handshake)(Ssl);
  int (*SSL_read_ex)(Ssl, void*, size_t, size_t*);
  int (*SSL_write_ex)(Ssl, const void*, size_t, size_t*);
  int (*SSL_get_error)(Ssl, int);
  int (*SSL_has_pending)(Ssl);
  void* (*BIO_new_mem_buf)(const void*, int);
  int (*BIO_free)(void*);
  void* (*PEM_read_bio_X509)(void*, void*, void*, void*);
  void* (*PEM_read_bio_PrivateKey)(void*, void*, void*, void*);
  void (*X509_free)(void*);
  void (*EVP_PKEY_free)(void*);
  int (*X509_STORE_add_cert)(void*, void*);
  unsigned long (*ERR_get_error)();
  void (*ERR_error_string_n)(unsigned long, char*, size_t);
  void (*ERR_clear_error)();

  std::string missing;  // why there is none
};

constexpr int kSetMode = 33, kSetReadAhead = 41, kSetMinVersion = 123;
constexpr int kSetServerName = 55;
constexpr long kTls12 = 0x0303, kTls13 = 0x0304;
constexpr long kPartialWrite = 1, kMovingWriteBuffer = 2;
constexpr int kVerifyPeer = 1, kFailIfNoPeerCertificate = 2;
constexpr uint64_t kIgnoreUnexpectedEof = uint64_t{1} << 7;
constexpr int kErrorWantRead = 2, kErrorWantWrite = 3, kErrorSyscall = 5, kErrorZeroReturn = 6;
constexpr size_t kReadBuffer = 128u << 10;  // several records a system call
// The first is the fastest where the processor has AES.
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";

// libparquet exports the functions of an OpenSSL of its own. Without RTLD_DEEPBIND the system's libraries would call
// some of these, whose structures differ. AddressSanitizer refuses the flag.
#ifdef __SANITIZE_ADDRESS__
constexpr int kOpening = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpening = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

OpenSsl load_openssl() {
  OpenSsl o{};
  void* const crypto = dlopen("libcrypto.so.3", kOpening);
  void* const ssl = crypto ? dlopen("libssl.so.3", kOpening) : nullptr;
  if (!ssl) {
    o.missing = dlerror();
    return o;
  }
  const auto find = [&o](void* library, const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (!*function) o.missing = std::string("it has no ") + name;
  };
#define JG_FIND(library, name) find(library, #name, &o.name)
  JG_FIND(ssl, TLS_method);
  JG_FIND(ssl, SSL_CTX_new);
  JG_FIND(ssl, SSL_CTX_free);
  JG_FIND(ssl, SSL_CTX_ctrl);
  JG_FIND(ssl, SSL_CTX_set_options);
  JG_FIND(ssl, SSL_CTX_set_ciphersuites);
  JG_FIND(ssl, SSL_CTX_set_verify);
  JG_FIND(ssl, SSL_CTX_set_num_tickets);
  JG_FIND(ssl, SSL_CTX_set_default_read_buffer_len);
  JG_FIND(ssl, SSL_CTX_use_certificate);
  JG_FIND(ssl, SSL_CTX_use_PrivateKey);
  JG_FIND(ssl, SSL_CTX_get_cert_store);
  JG_FIND(ssl, SSL_new);
  JG_FIND(ssl, SSL_free);
  JG_FIND(ssl, SSL_CTX_set_default_verify_paths);
  JG_FIND(ssl, SSL_set1_host);
  JG_FIND(ssl, SSL_ctrl);
  JG_FIND(ssl, SSL_set_fd);
  JG_FIND(ssl, SSL_set_accept_state);
  JG_FIND(ssl, SSL_set_connect_state);
  JG_FIND(ssl, SSL_do_handshake);
  JG_FIND(ssl, SSL_read_ex);
  JG_FIND(ssl, SSL_write_ex);
  JG_FIND(ssl, SSL_get_error);
  JG_FIND(ssl, SSL_has_pending);
  JG_FIND(crypto, BIO_new_mem_buf);
  JG_FIND(crypto, BIO_free);
  JG_FIND(crypto, PEM_read_bio_X509);
  JG_FIND(crypto, PEM_read_bio_PrivateKey);
  JG_FIND(crypto, X509_free);
  JG_FIND(crypto, EVP_PKEY_free);
  JG_FIND(crypto, X509_STORE_add_cert);
  JG_FIND(crypto, ERR_get_error);
  JG_FIND(crypto, ERR_error_string_n);
  JG_FIND(crypto, ERR_clear_error);
#undef JG_FIND
  return o;
}

const OpenSsl& openssl() {
  static const OpenSsl loaded = load_openssl();
  return loaded;
}

std::string last_error() {
  char text[256] = "no reason was given";
  if (const unsigned long code = openssl().ERR_get_error()) openssl().ERR_error_string_n(code, text, sizeof text);
  return text;
}

class OpenSslConnection : public TlsConnection {
 public:
  explicit OpenSslConnection(OpenSsl::Ssl ssl) : ssl_(ssl) {}
  ~OpenSslConnection() override { openssl().SSL_free(ssl_); }

  Result shake_hands() override {
    openssl().ERR_clear_error();
    return result(openssl().SSL_do_handshake(ssl_));
  }
  Result read(void* to, size_t size, size_t* got) override {
    openssl().ERR_clear_error();
    return result(openssl().SSL_read_ex(ssl_, to, size, got));
  }
  Result write(const void* from, size_t size, size_t* taken) override {
    openssl().ERR_clear_error();
    return result(openssl().SSL_write_ex(ssl_, from, size, taken));
  }
  bool has_pending() const override { return openssl().SSL_has_pending(ssl_); }
  std::string failure() const override { return failure_; }

 private:
  Result result(int done) {
    if (done == 1) return Result::OK;
    switch (openssl().SSL_get_error(ssl_, done)) {
      case kErrorWantRead:
        return Result::WANTS_READ;
      case kErrorWantWrite:
        return Result::WANTS_WRITE;
      case kErrorZeroReturn:
      case kErrorSyscall:
        return Result::CLOSED;
      default:
        failure_ = last_error();
        return Result::FAILED;
    }
  }

  const OpenSsl::Ssl ssl_;
  std::string failure_;
};

class JobTls : public Tls {
 public:
  explicit JobTls(OpenSsl::Ctx context) : context_(context) {}
  ~JobTls() override { openssl().SSL_CTX_free(context_); }

  Status connection(int fd, bool is_consumer, std::unique_ptr<TlsConnection>* out) const override {
    const OpenSsl& o = openssl();
    const OpenSsl::Ssl ssl = o.SSL_new(context_);
    if (!ssl || o.SSL_set_fd(ssl, fd) != 1) {
      if (ssl) o.SSL_free(ssl);
      return {"internal", "cannot encrypt a connection: " + last_error()};
    }
    is_consumer ? o.SSL_set_accept_state(ssl) : o.SSL_set_connect_state(ssl);
    *out = std::make_unique<OpenSslConnection>(ssl);
    return {};
  }

 private:
  const OpenSsl::Ctx context_;
};

// For all connections to servers; null if the authorities cannot be loaded.
OpenSsl::Ctx server_context() {
  const OpenSsl& o = openssl();
  const OpenSsl::Ctx context = o.SSL_CTX_new(o.TLS_method());
  if (!context || o.SSL_CTX_ctrl(context, kSetMinVersion, kTls12, nullptr) != 1 ||
      o.SSL_CTX_set_default_verify_paths(context) != 1) {
    return nullptr;
  }
  o.SSL_CTX_set_verify(context, kVerifyPeer, nullptr);
  o.SSL_CTX_ctrl(context, kSetMode, kPartialWrite | kMovingWriteBuffer, nullptr);
  return context;
}

}  // namespace

Status server_connection(int fd, const std::string& host, std::unique_ptr<TlsConnection>* out) {
  const OpenSsl& o = openssl();
  if (!o.missing.empty()) return {"io", "https needs OpenSSL 3, which this host lacks (" + o.missing + ")"};
  static const OpenSsl::Ctx context = server_context();
  const OpenSsl::Ssl ssl = context ? o.SSL_new(context) : nullptr;
  std::string name = host;
  if (!ssl || o.SSL_set_fd(ssl, fd) != 1 || o.SSL_set1_host(ssl, name.c_str()) != 1 ||
      o.SSL_ctrl(ssl, kSetServerName, 0, name.data()) != 1) {
    if (ssl) o.SSL_free(ssl);
    return {"io", "cannot encrypt a connection: " + last_error()};
  }
  o.SSL_set_connect_state(ssl);
  *out = std::make_unique<OpenSslConnection>(ssl);
  return {};
}

Status make_tls(const std::string& certificate, const std::string& key, std::shared_ptr<const Tls>* out) {
  const OpenSsl& o = openssl();
  if (!o.missing.empty()) {
    return {"config", "edges are encrypted by OpenSSL 3, which this host lacks (" + o.missing +
                          "): install it (`apt-get install libssl3`), or set edges = false in [tls] of jumpgate.toml"};
  }
  const OpenSsl::Ctx context = o.SSL_CTX_new(o.TLS_method());
  if (!context) return {"internal", "OpenSSL: " + last_error()};
  auto tls = std::make_shared<JobTls>(context);
  const auto pem = [&o](const std::string& text, auto read) {
    void* const bytes = o.BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
    void* const found = bytes ? read(bytes, nullptr, nullptr, nullptr) : nullptr;
    if (bytes) o.BIO_free(bytes);
    return found;
  };
  void* const shown = pem(certificate, o.PEM_read_bio_X509);
  void* const secret = pem(key, o.PEM_read_bio_PrivateKey);
  const bool usable = shown && secret && o.SSL_CTX_ctrl(context, kSetMinVersion, kTls13, nullptr) == 1 &&
                      o.SSL_CTX_set_ciphersuites(context, kCiphers) == 1 &&
                      o.SSL_CTX_use_certificate(context, shown) == 1 &&
                      o.SSL_CTX_use_PrivateKey(context, secret) == 1 &&
                      o.X509_STORE_add_cert(o.SSL_CTX_get_cert_store(context), shown) == 1;
  if (shown) o.X509_free(shown);
  if (secret) o.EVP_PKEY_free(secret);
  if (!usable) return {"internal", "the job's certificate cannot be used: " + last_error()};
  o.SSL_CTX_set_verify(context, kVerifyPeer | kFailIfNoPeerCertificate, nullptr);
  o.SSL_CTX_set_options(context, kIgnoreUnexpectedEof);  // a stream has an end frame of its own
  o.SSL_CTX_set_num_tickets(context, 0);  // a producer reads nothing, and unread bytes would reset its connection
  o.SSL_CTX_ctrl(context, kSetMode, kPartialWrite | kMovingWriteBuffer, nullptr);
  o.SSL_CTX_ctrl(context, kSetReadAhead, 1, nullptr);
  o.SSL_CTX_set_default_read_buffer_len(context, kReadBuffer);
  *out = std::move(tls);
  return {};
}

}  // namespace jg::net
