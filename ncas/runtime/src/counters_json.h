// The counters of sources and sinks as `stats` answers them (ARCHITECTURE.md, Counters).
#pragma once
#include <string>

#include "jg/json.h"
#include "jg/stream.h"

namespace jg {

void write_source(JsonWriter* json, size_t id, const std::string& name, const Counters& counters);
void write_sink(JsonWriter* json, size_t id, const std::string& edge, const Counters& counters);

}  // namespace jg
