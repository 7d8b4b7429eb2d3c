// The configuration of an instance (ARCHITECTURE.md), parsed from JSON.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datagram_edge.h"
#include "jg/kernel.h"
#include "jg/stream.h"
#include "memory.h"

namespace jg {

struct SourceConfig {
  bool is_edge = false;
  std::string name;
  FileSourceOptions files;
  EdgeOptions edge;
  std::optional<DatagramOptions> datagrams;  // of an edge that is not a TCP stream
};

struct SinkConfig {
  EdgeOptions edge;
  std::optional<DatagramOptions> datagrams;
};

struct TableConfig {
  std::string kind;  // join | groups | sort
  bool has_keys = true;
  bool is_expanded = false;
  int64_t limit = -1, offset = 0;
};

struct PipelineConfig {
  int stage = 1;
  std::string name, source_kind;  // files | edge | drain | matched | unmatched
  int source = 0;
  bool ordered = false;
  std::vector<int> feeds, needs, after, sinks;
};

struct LimitConfig {
  int64_t count = 0, offset = 0;
};

struct Config {
  std::string job, instance, artifact;
  int threads = 1;
  int64_t memory_limit_bytes = 0;
  std::vector<JgParam> params;
  std::vector<std::unique_ptr<Arena>> param_memory;
  std::vector<SourceConfig> sources;
  std::vector<SinkConfig> sinks;
  std::vector<TableConfig> tables;
  std::vector<PipelineConfig> pipelines;
  std::vector<LimitConfig> limits;
};

Status parse_config(const std::string& json, Config* out);
// Where to bind, and the edges over datagrams whose ends are here.
Status parse_allocate(const std::string& json, std::string* bind, std::vector<std::string>* datagrams);

}  // namespace jg
