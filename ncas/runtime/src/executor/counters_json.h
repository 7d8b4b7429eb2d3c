// The counters of an instance, its pipelines, sources and sinks as `stats` answers them (docs/protocol.md, Counters).
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "base/memory.h"
#include "jg/json.h"
#include "jg/objects.h"
#include "jg/stream.h"

namespace jg {

// Counters of a pipeline that runs or has run; a thread adds its own when it leaves.
struct PipelineCounters {
  explicit PipelineCounters(int steps) : entered(steps + 1) {}
  std::atomic<int64_t> start_ns{0}, end_ns{0}, busy_ns{0}, wait_ns{0}, rows_in{0};
  std::vector<std::atomic<int64_t>> entered;  // rows that came to each step, and last to the sinks
};

struct StageSpan {
  int stage;
  int64_t start_ns, end_ns;
};

void write_process(JsonWriter* json, const std::string& instance, const Budget& budget);
void write_asked(JsonWriter* json, const objects::Counted& counted);
void write_stages(JsonWriter* json, const std::vector<StageSpan>& stages);
void write_pipeline(JsonWriter* json, size_t id, const std::string& name, int stage, const PipelineCounters& counters);
void write_source(JsonWriter* json, size_t id, const std::string& name, const Counters& counters);
void write_sink(JsonWriter* json, size_t id, const std::string& edge, const Emitter& emitter);

}  // namespace jg
