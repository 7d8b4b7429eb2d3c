// One door to the readers: the format's name chooses.
#include <algorithm>

#include "jg/stream.h"
#include "partitions.h"

namespace jg {

namespace {

Status make_plain_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  if (options.format == "json") return make_json_source(options, out);
  if (options.format == "csv") return make_csv_source(options, out);
  if (options.format == "parquet") return make_parquet_source(options, out);
  if (options.format == "orc") return make_orc_source(options, out);
  return {"schema", "no reader for format '" + options.format + "'; there are json, csv, parquet and orc"};
}

}  // namespace

Status make_file_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  const bool partitioned = std::any_of(options.options.begin(), options.options.end(),
                                       [](const auto& option) { return option.first == "partitions"; });
  return partitioned ? make_partitioned_source(options, make_plain_source, out) : make_plain_source(options, out);
}

}  // namespace jg
