// The configuration of an instance (ARCHITECTURE.md), parsed from JSON.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jg/kernel.h"
#include "jg/stream.h"
#include "memory.h"

namespace jg {

struct SourceConfig {
  bool is_edge = false;
  std::string name;
  FileSourceOptions files;
  EdgeOptions edge;
};

struct TableConfig {
  std::string kind;  // join | groups | sort
  bool has_keys = true;
  int64_t limit = -1, offset = 0;
};

struct PipelineConfig {
  int stage = 1;
  std::string name, source_kind;  // files | edge | drain | unmatched
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
  std::vector<EdgeOptions> sinks;
  std::vector<TableConfig> tables;
  std::vector<PipelineConfig> pipelines;
  std::vector<LimitConfig> limits;
};

Status parse_config(const std::string& json, Config* out);
Status parse_allocate(const std::string& json, std::string* bind);

}  // namespace jg
