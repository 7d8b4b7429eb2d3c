// An instance that does what its test says, in place of the executor: built against the runtime library, whose
// make_instance() it replaces, so that zygote and control protocol are those of every other instance.
//
//   allocate:  {"script": STEP}          configure: {"script": STEP, "stages": {"1": STEP, …}}
//   STEP = {"do": "nothing" | "wait" | "count" (rows) | "spin" (burns CPU time) | "send" (waits for the client of edge
//   e0),
//                each until cancelled | "hang" (deaf to cancel) | "fail" | "throw" | "exit" |
//                "confine" (to little more memory than it has: there is none for another thread) |
//                "leave file", "leave thread", "leave memory" (behind, when the instance ends),
//           "after_ms": 0, "code": …, "message": …, "status": 0}
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "jg/host.h"
#include "jg/instance.h"
#include "jg/json.h"
#include "simdjson.h"

namespace jg {
namespace {

struct Step {
  std::string act = "nothing", code = "internal", message = "as the test said";
  int64_t after_ms = 0, status = 0;
};

Step parse_step(simdjson::dom::element json) {
  Step step;
  std::string_view text;
  if (!json["do"].get(text)) step.act = text;
  if (!json["code"].get(text)) step.code = text;
  if (!json["message"].get(text)) step.message = text;
  if (json["after_ms"].get(step.after_ms)) step.after_ms = 0;
  if (json["status"].get(step.status)) step.status = 0;
  return step;
}

void sleep_ms(int64_t ms) {
  timespec t{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&t, nullptr);
}

class ScriptedInstance : public Instance {
 public:
  Status allocate(const std::string& json, std::string* answer) override {
    *answer = "{\"port\": 0}";
    return run_script(json);
  }

  Status configure(const std::string& json) override {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::object stages;
    if (parser.parse(json).get(root)) return {"internal", "not JSON"};
    if (!root["stages"].get(stages)) {
      for (const auto& [stage, step] : stages) stages_[std::stoi(std::string(stage))] = parse_step(step);
    }
    return run_script(json);
  }

  Status execute(int stage) override {
    const Status status = run(stages_[stage]);
    ended_ += status.ok();
    return status;
  }

  void cancel() override { cancelled_ = true; }

  std::string stats() override {
    JsonWriter json;
    json.begin_object();
    json.member("pid", static_cast<int64_t>(::getpid()));
    json.begin_array("sources");
    json.begin_object();
    json.member("rows", rows_.load());
    json.end_object();
    json.end_array();
    json.begin_array("sinks");
    json.begin_object();
    json.member("edge", "e0");
    json.member("wait_ns", sink_wait_ns_.load());
    json.end_object();
    json.end_array();
    json.member("cpu_ns", work_cpu_ns());
    json.member("stages_ended", ended_.load());
    json.end_object();
    return json.take();
  }

 private:
  static Status confine() {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (4 << 20));
    const rlimit limit{bytes, bytes};
    pthread_attr_t attributes;  // a stack that is not there yet: those of threads that ended are used again
    const bool done = ::pthread_attr_init(&attributes) == 0 &&
                      ::pthread_attr_setstacksize(&attributes, size_t{1} << 30) == 0 &&
                      ::pthread_setattr_default_np(&attributes) == 0 && ::setrlimit(RLIMIT_AS, &limit) == 0;
    return done ? Status() : Status("internal", "no limit was set");
  }

  Status run_script(const std::string& json) {
    simdjson::dom::parser parser;
    simdjson::dom::element root, step;
    if (parser.parse(json).get(root)) return {"internal", "not JSON"};
    return root["script"].get(step) ? Status() : run(parse_step(step));
  }

  Status run(const Step& step) {
    sleep_ms(step.after_ms);
    if (step.act == "fail") return {step.code, step.message, {{"file", "broken \xff.json"}}};
    if (step.act == "throw") throw std::runtime_error(step.message);
    if (step.act == "confine") return confine();
    if (step.act == "exit") ::_exit(static_cast<int>(step.status));
    if (step.act == "leave file") return ::dup(1) < 0 ? Status("internal", "no file") : Status();
    if (step.act == "leave thread") std::thread([] { sleep_ms(60'000); }).detach();
    if (step.act == "leave memory") std::fill_n(new char[128 << 20], 128 << 20, 'x');
    while (step.act == "hang") sleep_ms(1000);
    while (step.act == "wait" || step.act == "count" || step.act == "spin" || step.act == "send") {
      if (cancelled_) return {"cancelled", "the job was cancelled"};
      if (step.act == "count") rows_++;
      if (step.act == "send") sink_wait_ns_ += 1'000'000;
      if (step.act != "spin") sleep_ms(step.act == "wait" ? 20 : 1);  // who waits burns next to nothing
    }
    rows_++;
    return {};
  }

  std::map<int, Step> stages_;
  std::atomic<int64_t> rows_{0}, ended_{0}, sink_wait_ns_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace

std::unique_ptr<Instance> make_instance() { return std::make_unique<ScriptedInstance>(); }

}  // namespace jg
