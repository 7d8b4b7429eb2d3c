#include "objects/http.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace jg::objects {
namespace {

constexpr int kConnectMs = 10'000, kSilenceMs = 30'000, kSliceMs = 100;
constexpr size_t kHeadBytesMax = 64 << 10, kLineBytesMax = 4 << 10;

Status broken(const std::string& why) { return {"unreachable", why}; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool parse_head(const std::string& head, Answer* answer) {
  size_t at = head.find("\r\n");
  if (!head.starts_with("HTTP/1.") || at < 12) return false;
  if (std::from_chars(head.data() + 9, head.data() + 12, answer->status).ec != std::errc()) return false;
  answer->headers.clear();
  for (at += 2; at < head.size();) {
    const size_t end = head.find("\r\n", at), colon = head.find(':', at);
    if (end == head.npos || colon == head.npos || colon > end) return false;
    const size_t begin = head.find_first_not_of(" \t", colon + 1);
    size_t last = end;
    while (last > colon + 1 && (head[last - 1] == ' ' || head[last - 1] == '\t')) last--;
    const std::string value = begin < last ? head.substr(begin, last - begin) : "";
    // a header that is repeated is a list (RFC 9110, 5.2): two lengths or tags are no value then, and are refused
    const auto [header, is_first] = answer->headers.emplace(lower(head.substr(at, colon - at)), value);
    if (!is_first) header->second += ", " + value;
    at = end + 2;
  }
  return true;
}

// The length of the body, which a header says or the status implies.
bool find_length(Answer* answer) {
  if (const auto coding = answer->headers.find("transfer-encoding"); coding != answer->headers.end()) {
    answer->length = -1;
    return lower(coding->second) == "chunked";
  }
  const auto length = answer->headers.find("content-length");
  if (length == answer->headers.end()) return answer->status == 204 || answer->status == 304;
  const std::string& text = length->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), answer->length);
  return error == std::errc() && end == text.data() + text.size() && answer->length >= 0;
}

}  // namespace

bool parse_url(const std::string& text, Url* out) {
  const bool plain = text.starts_with("http://");
  if (!plain && !text.starts_with("https://")) return false;
  out->is_encrypted = !plain;
  const size_t begin = plain ? 7 : 8, slash = std::min(text.find('/', begin), text.size());
  out->authority = text.substr(begin, slash - begin);
  out->target = slash < text.size() ? text.substr(slash) : "/";
  const size_t colon = out->authority.rfind(':');
  const bool has_port = colon != text.npos && out->authority.find(']', colon) == text.npos;
  out->host = has_port ? out->authority.substr(0, colon) : out->authority;
  out->address = has_port ? out->authority : out->authority + (plain ? ":80" : ":443");
  const auto is_safe = [](unsigned char c) { return c > ' ' && c < 127; };
  return !out->host.empty() && std::all_of(text.begin(), text.end(), is_safe);
}

Status Connection::open(const Url& url, std::unique_ptr<Connection>* out) {
  static const std::atomic<bool> never{false};
  net::Fd fd;
  JG_RETURN_IF_ERROR(net::connect_to(url.address, net::deadline_in(kConnectMs), never, &fd));
  net::set_edge_options(fd.get());
  std::unique_ptr<Connection> connection(new Connection(std::move(fd)));
  if (url.is_encrypted) JG_RETURN_IF_ERROR(connection->shake_hands(url.host));
  *out = std::move(connection);
  return {};
}

Status Connection::wait(short events) {
  for (int waited = 0; waited < kSilenceMs; waited += kSliceMs) {
    const net::Io io = net::wait_for(fd_.get(), events, &wait_ns_, kSliceMs);
    if (io == net::Io::OK) return {};
    if (io != net::Io::TIMED_OUT) return broken("the connection is lost");
    if (stops_()) return broken("the read was ended");
  }
  return broken("silent for " + std::to_string(kSilenceMs / 1000) + " s");
}

Status Connection::shake_hands(const std::string& host) {
  JG_RETURN_IF_ERROR(net::server_connection(fd_.get(), host, &tls_));
  while (true) {
    switch (tls_->shake_hands()) {
      case net::TlsConnection::Result::OK:
        return {};
      case net::TlsConnection::Result::WANTS_READ:
        JG_RETURN_IF_ERROR(wait(POLLIN));
        break;
      case net::TlsConnection::Result::WANTS_WRITE:
        JG_RETURN_IF_ERROR(wait(POLLOUT));
        break;
      case net::TlsConnection::Result::CLOSED:
        return broken("the server closed the connection during the TLS handshake");
      case net::TlsConnection::Result::FAILED:
        return {"io", "TLS: " + tls_->failure()};  // a wrong certificate stays wrong
    }
  }
}

Status Connection::send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    if (tls_) {
      size_t taken = 0;
      const auto result = tls_->write(bytes.data() + sent, bytes.size() - sent, &taken);
      sent += taken;
      if (result == net::TlsConnection::Result::OK) continue;
      if (result == net::TlsConnection::Result::CLOSED || result == net::TlsConnection::Result::FAILED)
        return broken("the connection is lost");
      JG_RETURN_IF_ERROR(wait(result == net::TlsConnection::Result::WANTS_READ ? POLLIN : POLLOUT));
      continue;
    }
    const ssize_t n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      JG_RETURN_IF_ERROR(wait(POLLOUT));
    } else if (errno != EINTR) {
      return broken(net::errno_text(errno));
    }
  }
  return {};
}

Status Connection::receive(char* out, size_t size, size_t* got) {
  while (true) {
    if (tls_) {
      const auto result = tls_->read(out, size, got);
      if (result == net::TlsConnection::Result::OK) return {};
      if (result == net::TlsConnection::Result::CLOSED) return broken("the server closed the connection");
      if (result == net::TlsConnection::Result::FAILED) return broken("TLS: " + tls_->failure());
      JG_RETURN_IF_ERROR(wait(result == net::TlsConnection::Result::WANTS_READ ? POLLIN : POLLOUT));
      continue;
    }
    const ssize_t n = ::recv(fd_.get(), out, size, 0);
    if (n > 0) {
      *got = static_cast<size_t>(n);
      return {};
    }
    if (n == 0) return broken("the server closed the connection");
    if (errno == EAGAIN) {
      JG_RETURN_IF_ERROR(wait(POLLIN));
    } else if (errno != EINTR) {
      return broken(net::errno_text(errno));
    }
  }
}

Status Connection::ask(const std::string& request, Answer* answer) {
  rest_.clear();
  JG_RETURN_IF_ERROR(send(request));
  std::string head;
  size_t end;
  while ((end = head.find("\r\n\r\n")) == head.npos) {
    if (head.size() > kHeadBytesMax) return broken("an answer with endless headers");
    char piece[8 << 10];
    size_t got = 0;
    JG_RETURN_IF_ERROR(receive(piece, sizeof piece, &got));
    head.append(piece, got);
  }
  rest_ = head.substr(end + 4);
  *answer = {};
  if (!parse_head(head.substr(0, end + 2), answer) || !find_length(answer)) return broken("an answer that is no HTTP");
  const auto kept = answer->headers.find("connection");
  answer->closes = kept != answer->headers.end() && lower(kept->second) == "close";
  return {};
}

Status Connection::read(char* out, int64_t bytes, int64_t* got) {
  if (rest_.empty()) {
    char piece[4 << 10];
    const bool is_little = static_cast<size_t>(bytes) < sizeof piece;
    size_t n = 0;
    JG_RETURN_IF_ERROR(is_little ? receive(piece, sizeof piece, &n) : receive(out, static_cast<size_t>(bytes), &n));
    if (is_little) rest_.assign(piece, n);
    *got = static_cast<int64_t>(n);
    if (!is_little) return {};
  }
  const size_t n = std::min(rest_.size(), static_cast<size_t>(bytes));
  std::memcpy(out, rest_.data(), n);
  rest_.erase(0, n);
  *got = static_cast<int64_t>(n);
  return {};
}

Status Body::read(char* out, int64_t bytes, int64_t* got) {
  *got = 0;
  if (in_pieces_ && left_ == 0) JG_RETURN_IF_ERROR(begin_piece());
  if (left_ == 0 || bytes == 0) return {};
  JG_RETURN_IF_ERROR(connection_->read(out, std::min(bytes, left_), got));
  left_ -= *got;
  return {};
}

Status Body::read_text(size_t bytes, std::string* out) {
  char piece[8 << 10];
  for (int64_t got = 1; got > 0;) {
    JG_RETURN_IF_ERROR(read(piece, sizeof piece, &got));
    out->append(piece, static_cast<size_t>(got));
    if (out->size() > bytes) return broken("an endless answer");
  }
  return {};
}

// Reads the length of the next piece (RFC 9112, 7.1). The one of no bytes is the last, with trailers behind it.
Status Body::begin_piece() {
  std::string line;
  if (!is_first_) JG_RETURN_IF_ERROR(read_line(&line));  // the end of the piece before
  is_first_ = false;
  if (!line.empty()) return broken("an answer that is no HTTP");
  JG_RETURN_IF_ERROR(read_line(&line));
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), left_, 16);
  if (error != std::errc() || left_ < 0 || (end != line.data() + line.size() && *end != ';' && *end != ' '))
    return broken("an answer that is no HTTP");
  if (left_ > 0) return {};
  in_pieces_ = false;
  while (!line.empty()) JG_RETURN_IF_ERROR(read_line(&line));
  return {};
}

Status Body::read_line(std::string* line) {
  line->clear();
  while (!line->ends_with("\r\n")) {
    char byte;
    int64_t got = 0;
    JG_RETURN_IF_ERROR(connection_->read(&byte, 1, &got));
    line->push_back(byte);
    if (line->size() > kLineBytesMax) return broken("an answer that is no HTTP");
  }
  line->resize(line->size() - 2);
  return {};
}

}  // namespace jg::objects
