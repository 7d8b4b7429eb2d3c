// The control protocol of one instance: JSON lines on a socket, verbs on an Instance.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "jg/host.h"
#include "jg/instance.h"
#include "jg/json.h"
#include "process/spare.h"
#include "simdjson.h"

namespace jg {
namespace {

std::optional<clockid_t> control_clock;
int64_t earlier_cpu_ns = 0;  // of instances that this process was before

int64_t read_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

int64_t process_cpu_ns() {
  const int64_t control = control_clock ? read_ns(*control_clock) : 0;
  return read_ns(CLOCK_PROCESS_CPUTIME_ID) - control;
}

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
  struct Stage {
    int64_t id;
    int number;
  };

  void handle(const std::string& line) {
    simdjson::dom::object request, found;
    std::string_view verb;
    int64_t id = 0;
    if (parser_.parse(line).get(request) || request["id"].get(id) || request["verb"].get(verb)) {
      answer(id, Status("internal", "a request on the control socket is malformed"), "");
      return;
    }
    const bool has_arguments = !request["arguments"].get(found);
    const std::string arguments = has_arguments ? simdjson::to_string(found) : "{}";
    std::string ok = "{}";
    if (verb == "allocate") {
      const Status status = guarded([&] { return instance_->allocate(arguments, &ok); });
      answer(id, status, ok);
    } else if (verb == "configure") {
      answer(id, guarded([&] { return instance_->configure(arguments); }), ok);
    } else if (verb == "execute") {
      int64_t stage = 0;
      if (!has_arguments || found["stage"].get(stage)) {
        return answer(id, Status("internal", "execute names no stage"), "");
      }
      execute(id, static_cast<int>(stage));
    } else if (verb == "name") {
      std::string_view name;
      if (!has_arguments || found["name"].get(name)) {
        return answer(id, Status("internal", "name says no name"), "");
      }
      ::prctl(PR_SET_NAME, ("jg " + std::string(name)).substr(0, 15).c_str());  // what follows is answered
    } else if (verb == "cancel") {
      failed_ = true;
      instance_->cancel();
      answer(id, {}, ok);
    } else if (verb == "stats") {
      answer(id, {}, instance_->stats());
    } else if (verb == "destroy") {
      bool stay = false;
      if (has_arguments) (void)found["stay"].get(stay);
      stay = stay && become_spare();
      answer(id, {}, stay ? "{\"stays\": true}" : ok);
      if (!stay) ::_exit(0);
    } else {
      answer(id, Status("internal", "unknown verb " + std::string(verb)), "");
    }
  }

  // On a thread of its own, so that stats, cancel and destroy are answered meanwhile. A stage may be asked for while
  // the one before it runs, and follows it at once, unless that fails.
  void execute(int64_t id, int stage) {
    const std::lock_guard lock(stages_mutex_);
    if (busy_ && stage != stages_asked_ + 1) {
      return answer(id,
                    Status("internal", "execute of stage " + std::to_string(stage) + " after stage " +
                                           std::to_string(stages_asked_) + ": stages are executed once, in order"),
                    "");
    }
    stages_asked_ = stage;
    if (busy_) {
      stages_.push_back({id, stage});
      [[maybe_unused]] const Status ignored = guarded([&] {  // executing the stage does the rest
        instance_->expect(stage);
        return Status();
      });
      return;
    }
    busy_ = true;
    if (running_.joinable()) running_.join();  // it is about to end, and needs no lock for that
    const Status begun = guarded([&] {
      running_ = std::thread([this, id, stage] { run_stages({id, stage}); });
      return Status();
    });
    if (!begun.ok()) {
      busy_ = false;
      answer(id, begun, "");
    }
  }

  void run_stages(Stage stage) {
    for (bool more = true; more;) {
      const Status status = guarded([&] { return instance_->execute(stage.number); });
      const Stage done = stage;
      std::deque<Stage> dropped;
      {
        const std::lock_guard lock(stages_mutex_);
        if (!status.ok()) dropped.swap(stages_);
        more = busy_ = !stages_.empty();  // before the answer: its receiver may ask for a stage
        if (more) {
          stage = stages_.front();
          stages_.pop_front();
        }
      }
      const bool is_last = status.ok() && !more;  // the counters of a stage that another one follows are of no use
      answer(done.id, status, is_last ? instance_->stats() : "{}");
      for (const Stage& s : dropped) answer(s.id, Status("cancelled", "an earlier stage failed"), "");
    }
  }

  // Return whether this process waits for its next instance, as fit for it as one that was just forked.
  bool become_spare() {
    {
      const std::lock_guard lock(stages_mutex_);
      if (busy_ || failed_) return false;
    }
    if (running_.joinable()) running_.join();
    const Status status = guarded([&] {
      instance_.reset();
      instance_ = make_instance();
      return Status();
    });
    stages_asked_ = 0;
    earlier_cpu_ns = process_cpu_ns();
    return status.ok() && birth_.is_as_new();
  }

  // Exceptions (of the standard library: no memory, no more threads) end a verb, not the process.
  template <typename Verb>
  static Status guarded(Verb verb) {
    try {
      return verb();
    } catch (const std::bad_alloc&) {
      return {"memory", "the instance is out of memory"};
    } catch (const std::exception& e) {
      return {"internal", std::string("an instance failed: ") + e.what()};
    }
  }

  void answer(int64_t id, const Status& status, const std::string& ok) {
    if (!status.ok()) failed_ = true;
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
  std::mutex mutex_;         // answers are whole lines
  std::mutex stages_mutex_;  // guards the members below
  std::thread running_;
  std::deque<Stage> stages_;  // that wait
  int stages_asked_ = 0;
  bool busy_ = false;
  std::atomic<bool> failed_{false};
  const Birth birth_;
};

}  // namespace

int64_t work_cpu_ns() { return process_cpu_ns() - earlier_cpu_ns; }

void run_instance(int control) {
  ::signal(SIGPIPE, SIG_IGN);
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) control_clock = clock;
  static Control* server = new Control(control);  // never destroyed: the process ends by _exit
  server->serve();
}

}  // namespace jg
