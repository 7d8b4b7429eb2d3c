// Turns failures of generated code into errors for the job's client.
#pragma once
#include "base/memory.h"
#include "jg/kernel.h"
#include "jg/status.h"

namespace jg {

// The task's failure as an error; `detail` where the failure is JG_STATUS.
Status failure_status(const JgTask& task, Budget* budget, const Status& detail);

}  // namespace jg
