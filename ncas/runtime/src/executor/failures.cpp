#include "executor/failures.h"

#include <string>
#include <utility>
#include <vector>

namespace jg {

Status failure_status(const JgTask& task, Budget* budget, const Status& detail) {
  const std::vector<std::pair<std::string, std::string>> where = {{"site", std::to_string(task.site)}};
  switch (task.failure) {
    case JG_OVERFLOW:
      return {"overflow", "a value overflows its type", where};
    case JG_DIVISION_BY_ZERO:
      return {"division_by_zero", "division by zero", where};
    case JG_INVALID_CAST:
      return {"invalid_cast", "text that cannot be cast", where};
    case JG_COMPUTE:
      return {"compute", "a function is not defined for this value", where};
    case JG_TEXT:
      return {"compute",
              "an aggregate would make a text or a list of more than 256 MiB; group by more, or drop rows before it",
              where};
    case JG_MEMORY:
      return {"memory", budget->explain()};
    default:
      return detail;
  }
}

}  // namespace jg
