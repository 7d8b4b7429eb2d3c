// The zygote's side of the memory that instances borrow.
#pragma once
#include <sys/types.h>

#include "jg/lent_memory.h"

namespace jg {

// In the zygote, before it forks; where it fails, nothing is lent.
void begin_lending();
// Take back the memory of an instance that has ended.
void take_back(pid_t borrower);
// Return unborrowed memory to the system until it is borrowed again.
void end_lending();

}  // namespace jg
