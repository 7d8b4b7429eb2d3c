// The work of an instance's threads in a stage.
#pragma once
#include <cstdint>
#include <vector>

#include "jg/status.h"

namespace jg {

// Something that several threads can work on. The first one calls begin() before the others join it. run() returns when
// nothing is left for this thread; when every thread has left, finish() is called once.
struct Work {
  virtual ~Work() = default;
  virtual Status begin() = 0;
  virtual Status run(int thread) = 0;
  virtual Status finish() = 0;
  virtual bool again() { return false; }  // after finish(): another round follows
  virtual int64_t more() = 0;             // once it has begun: would another thread find something to do?
  std::vector<Work*> next;
  int stage = 1, waiting = 0, active = 0;
  bool exclusive = false, begun = false, exhausted = false, done = false;
};

}  // namespace jg
