// HTTP/1.1 as far as ranges of objects need it: requests without a body, answers with a length or in pieces.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "edges/socket.h"
#include "edges/tls.h"
#include "jg/status.h"

namespace jg::objects {

struct Url {
  bool is_encrypted = false;
  std::string host, address;  // address: host:port
  std::string authority;      // as the Host header has it
  std::string target;         // path and query
};
bool parse_url(const std::string& text, Url* out);

struct Answer {
  int status = 0;
  int64_t length = 0;                          // of the body; -1: it comes in pieces
  bool closes = false;                         // the connection, after it
  std::map<std::string, std::string> headers;  // by their names in lower case
};

// A connection to a server. Errors are "unreachable": the reason, without a place.
class Connection {
 public:
  static Status open(const Url& url, std::unique_ptr<Connection>* out);
  // Waits end as "unreachable" once this is so.
  void stop_when(std::function<bool()> stops) { stops_ = std::move(stops); }
  // Sends a request and reads the head of the answer.
  Status ask(const std::string& request, Answer* answer);
  // Reads a part of the body, at most `bytes` of it, at least one.
  Status read(char* out, int64_t bytes, int64_t* got);

 private:
  explicit Connection(net::Fd fd) : fd_(std::move(fd)) {}
  Status receive(char* out, size_t size, size_t* got);
  Status send(const std::string& bytes);
  Status shake_hands(const std::string& host);
  Status wait(short events);

  net::Fd fd_;
  std::function<bool()> stops_ = [] { return false; };
  std::unique_ptr<net::TlsConnection> tls_;
  std::string rest_;  // received behind the head
  std::atomic<int64_t> wait_ns_{0};
};

// The body of an answer, which ends where its length or its last piece says.
class Body {
 public:
  Body(Connection* connection, const Answer& answer)
      : connection_(connection), left_(std::max<int64_t>(0, answer.length)), in_pieces_(answer.length < 0) {}
  // Reads a part of what is left, at most `bytes` of it; none: it has ended.
  Status read(char* out, int64_t bytes, int64_t* got);
  // Reads all that is left, at most `bytes`.
  Status read_text(size_t bytes, std::string* out);

 private:
  Status begin_piece();
  Status read_line(std::string* line);

  Connection* connection_;
  int64_t left_;  // of the body, or of its piece
  bool in_pieces_, is_first_ = true;
};

}  // namespace jg::objects
