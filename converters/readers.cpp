// The readers that are loaded, by the names of their formats.
#include <map>

#include "jg/stream.h"

namespace jg {

namespace {

std::map<std::string, MakeSource>& readers() {  // whatever the order in which static variables are made
  static std::map<std::string, MakeSource> all;
  return all;
}

}  // namespace

bool register_reader(const char* format, MakeSource make) { return readers().emplace(format, make).second; }

MakeSource find_reader(const std::string& format) {
  const auto found = readers().find(format);
  return found == readers().end() ? nullptr : found->second;
}

}  // namespace jg
