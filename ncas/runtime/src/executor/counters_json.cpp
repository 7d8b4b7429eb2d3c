#include "executor/counters_json.h"

#include <sys/resource.h>
#include <unistd.h>

#include "jg/host.h"

namespace jg {
namespace {

constexpr size_t kPeersShownMax = 64;  // beyond, their bytes would be most of all counters

}  // namespace

void write_process(JsonWriter* json, const std::string& instance, const Budget& budget) {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  json->member("instance", instance);
  json->member("pid", static_cast<int64_t>(getpid()));
  json->member("rss_peak_bytes", static_cast<int64_t>(usage.ru_maxrss) * 1024);
  json->member("held_bytes", budget.held.load());
  json->member("spilled_bytes", budget.spilled.load());
  json->member("cpu_ns", work_cpu_ns());
}

// Of stores; nothing if none was asked.
void write_asked(JsonWriter* json, const objects::Counted& counted) {
  if (counted.requests == 0 && counted.cached_reads == 0) return;
  json->begin_object("asked");
  json->member("requests", counted.requests);
  json->member("scanned_bytes", int64_t{0});
  json->member("returned_bytes", counted.bytes);
  json->member("cached_reads", counted.cached_reads);
  json->member("cached_bytes", counted.cached_bytes);
  char digits[32];
  json->raw_member("cost", {digits, std::to_chars(digits, digits + sizeof digits, counted.cost).ptr});
  json->end_object();
}

void write_stages(JsonWriter* json, const std::vector<StageSpan>& stages) {
  json->begin_array("stages");
  for (const StageSpan& s : stages) {
    json->begin_object();
    json->member("stage", static_cast<int64_t>(s.stage));
    json->member("start_ns", s.start_ns);
    json->member("end_ns", s.end_ns);
    json->end_object();
  }
  json->end_array();
}

void write_pipeline(JsonWriter* json, size_t id, const std::string& name, int stage, const PipelineCounters& counters) {
  json->begin_object();
  json->member("id", static_cast<int64_t>(id));
  json->member("name", name);
  json->member("stage", static_cast<int64_t>(stage));
  json->member("start_ns", counters.start_ns.load());
  json->member("end_ns", counters.end_ns.load());
  json->member("busy_ns", counters.busy_ns.load());
  json->member("wait_ns", counters.wait_ns.load());
  json->member("rows_in", counters.rows_in.load());
  json->member("rows_out", counters.entered.back().load());
  json->begin_array("entered");
  for (const auto& rows : counters.entered) json->number(rows.load());
  json->end_array();
  json->end_object();
}

void write_source(JsonWriter* json, size_t id, const std::string& name, const Counters& counters) {
  json->begin_object();
  json->member("id", static_cast<int64_t>(id));
  json->member("name", name);
  json->member("rows", counters.rows.load());
  json->member("bytes", counters.bytes.load());
  json->member("wait_ns", counters.wait_ns.load());
  json->member("skipped_rows", counters.skipped_rows.load());
  json->member("pruned_bytes", counters.pruned_bytes.load());
  json->member("shares", counters.shares.load());
  json->member("stolen_shares", counters.stolen_shares.load());
  json->member("dropped_packets", counters.dropped_packets.load());
  json->end_object();
}

void write_sink(JsonWriter* json, size_t id, const std::string& edge, const Emitter& emitter) {
  const Counters& counters = emitter.counters;
  json->begin_object();
  json->member("id", static_cast<int64_t>(id));
  json->member("edge", edge);
  json->member("rows", counters.rows.load());
  json->member("bytes", counters.bytes.load());
  json->member("batches", counters.batches.load());
  json->member("wait_ns", counters.wait_ns.load());
  json->member("repeated_packets", counters.repeated_packets.load());
  json->member("dropped_packets", counters.dropped_packets.load());
  const std::vector<int64_t> peers = emitter.peer_bytes();
  if (peers.size() > 1 && peers.size() <= kPeersShownMax) {
    json->begin_array("peer_bytes");
    for (const int64_t bytes : peers) json->number(bytes);
    json->end_array();
  }
  json->end_object();
}

}  // namespace jg
