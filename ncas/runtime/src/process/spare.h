// Decides whether a process that was an instance may become another one, which saves a fork and its page faults.
#pragma once
#include <cstddef>

namespace jg {

// The state of this process before it became an instance.
class Birth {
 public:
  Birth();
  // Return whether nothing but a little memory is left of an instance that has been destroyed; takes the spare's name.
  bool is_as_new() const;

 private:
  size_t files_, threads_;
};

}  // namespace jg
