// The control protocol of one instance: JSON lines on a socket, verbs on an Instance.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <string>
#include <thread>

#include "jg/host.h"
#include "jg/instance.h"
#include "jg/json.h"
#include "simdjson.h"

namespace jg {
namespace {

constexpr size_t kLineMax = 256 << 20;  // a configuration names files: many, but not endlessly many

class Control {
 public:
  explicit Control(int socket) : socket_(socket), instance_(make_instance()) {}

  [[noreturn]] void serve() {
    std::string buffer;
    char chunk[64 << 10];
    while (true) {
      const ssize_t n = ::read(socket_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || buffer.size() > kLineMax) ::_exit(0);  // the agent is gone
      size_t searched = buffer.size();
      buffer.append(chunk, n);
      for (size_t end; (end = buffer.find('\n', searched)) != std::string::npos; searched = 0) {
        handle(buffer.substr(0, end));
        buffer.erase(0, end + 1);
      }
    }
  }

 private:
  void handle(const std::string& line) {
    simdjson::dom::element request;
    std::string_view verb;
    int64_t id = 0;
    if (parser_.parse(line).get(request) || request["id"].get(id) || request["verb"].get(verb)) {
      answer(id, Status("internal", "a request on the control socket is malformed"), "");
      return;
    }
    simdjson::dom::element found;
    const std::string arguments = request["arguments"].get(found) ? "{}" : std::string(simdjson::to_string(found));
    std::string ok = "{}";
    if (verb == "allocate") {
      const Status status = instance_->allocate(arguments, &ok);
      answer(id, status, ok);
    } else if (verb == "configure") {
      answer(id, instance_->configure(arguments), ok);
    } else if (verb == "execute") {
      int64_t stage = 0;
      if (found["stage"].get(stage)) return answer(id, Status("internal", "execute names no stage"), "");
      if (running_.joinable()) running_.join();  // stages follow each other: this one has answered
      running_ = std::thread([this, id, stage] {
        const Status status = instance_->execute(static_cast<int>(stage));
        answer(id, status, status.ok() ? instance_->stats() : "");
      });
    } else if (verb == "cancel") {
      instance_->cancel();
      answer(id, {}, ok);
    } else if (verb == "stats") {
      answer(id, {}, instance_->stats());
    } else if (verb == "destroy") {
      answer(id, {}, ok);
      ::_exit(0);
    } else {
      answer(id, Status("internal", "unknown verb " + std::string(verb)), "");
    }
  }

  void answer(int64_t id, const Status& status, const std::string& ok) {
    JsonWriter json;
    json.begin_object();
    json.member("id", id);
    if (status.ok()) {
      json.raw_member("ok", ok);
    } else {
      json.begin_object("error");
      json.member("code", status.error().code);
      json.member("message", status.error().message);
      json.begin_object("fields");
      for (const auto& [name, value] : status.error().fields) json.member(name, value);
      json.end_object();
      json.end_object();
    }
    json.end_object();
    const std::string line = json.take() + "\n";
    std::lock_guard lock(mutex_);
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t n = ::write(socket_, line.data() + sent, line.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ::_exit(0);
      sent += n;
    }
  }

  const int socket_;
  std::unique_ptr<Instance> instance_;
  simdjson::dom::parser parser_;
  std::mutex mutex_;  // answers are whole lines
  std::thread running_;
};

}  // namespace

void run_instance(int control) {
  ::signal(SIGPIPE, SIG_IGN);
  static Control* server = new Control(control);  // never destroyed: the process ends by _exit
  server->serve();
}

}  // namespace jg
