// One instance: a generated program with its sources, states and sinks. The process around it (host.cpp) speaks the
// control protocol and calls these verbs; executor.cpp implements them.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "jg/status.h"

namespace jg {

class Instance {
 public:
  virtual ~Instance() = default;
  // Opens the listening socket of an instance that edges lead to (others are not asked); answers JSON {"port": N}.
  virtual Status allocate(const std::string& json, std::string* answer) = 0;
  // Loads the artifact, builds sources, states and sinks from the configuration (docs/protocol.md); connects nothing
  // yet.
  virtual Status configure(const std::string& json) = 0;
  // Runs every pipeline of the stage on the instance's threads; returns when all are done, or with the first error.
  virtual Status execute(int stage) = 0;
  // Execute that stage as soon as the running one has ended: its outgoing edges may be connected meanwhile.
  virtual void expect(int stage) {}
  // Any thread: makes a running execute return "cancelled" soon.
  virtual void cancel() = 0;
  // Any thread: the counters as JSON (docs/protocol.md, "Counters").
  virtual std::string stats() = 0;
};
std::unique_ptr<Instance> make_instance();

}  // namespace jg
