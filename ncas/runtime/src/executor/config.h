// The configuration of an instance (docs/protocol.md), parsed from JSON.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/memory.h"
#include "jg/kernel.h"
#include "jg/stream.h"
#include "tables/row_store.h"

namespace jg {

struct Channel;

// How rows arrive or leave at one end of an edge; `options` is JSON in the channel's own form.
struct EdgeEnd {
  const Channel* channel = nullptr;
  std::string options = "{}";
};

struct SourceConfig {
  bool is_edge = false;
  std::string name;
  FileSourceOptions files;
  EdgeOptions edge;  // of files: how siblings reach each other, if they share them out while they read
  EdgeEnd end;
};

struct SinkConfig {
  EdgeOptions edge;
  EdgeEnd end;
};

struct PipelineConfig {
  int stage = 1;
  std::string name, source_kind;  // files | edge | drain | matched | unmatched | pairs
  int source = 0, build = -1;     // build: the join's that the rows of `pairs` wait for
  bool ordered = false;
  std::vector<int> feeds, needs, after, sinks;
};

struct LimitConfig {
  int64_t count = 0, offset = 0;
};

struct Config {
  std::string job, instance, artifact;
  std::string certificate, key;  // of the job, in PEM; empty: edges are not encrypted
  int threads = 1;
  int64_t memory_limit_bytes = 0;
  bool yields = false;  // threads that compute for long give way to those of other jobs
  std::vector<JgParam> params;
  std::vector<std::unique_ptr<Arena>> param_memory;
  std::vector<SourceConfig> sources;
  std::vector<SinkConfig> sinks;
  std::vector<TableConfig> tables;
  std::vector<PipelineConfig> pipelines;
  std::vector<LimitConfig> limits;
};

// The address to bind, and the edges whose ends here are opened before their peers are known.
struct AllocateConfig {
  std::string bind;
  std::vector<std::pair<std::string, const Channel*>> ends;
};

Status parse_config(const std::string& json, Config* out);
Status parse_allocate(const std::string& json, AllocateConfig* out);

}  // namespace jg
