// One door to the readers: the format's name chooses.
#include <dlfcn.h>

#include <algorithm>

#include "jg/stream.h"
#include "partitions.h"

namespace jg {

namespace {

Status make_plain_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  const MakeSource make = find_reader(options.format);
  if (make == nullptr) return {"schema", "there is no reader for format '" + options.format + "'"};
  return make(options, out);
}

}  // namespace

Status make_file_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  if (!options.reader.empty() && ::dlopen(options.reader.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return {"internal", "cannot load the reader of format '" + options.format + "': " + ::dlerror()};
  }
  const bool partitioned = std::any_of(options.options.begin(), options.options.end(),
                                       [](const auto& option) { return option.first == "partitions"; });
  return partitioned ? make_partitioned_source(options, make_plain_source, out) : make_plain_source(options, out);
}

}  // namespace jg
