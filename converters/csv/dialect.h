// How a CSV file is written (RFC 4180; bytes; a line ends in LF or CRLF).
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace jg::csv {

struct Dialect {
  char delimiter = ',', quote = '"';
  bool header = true;        // the first record has the columns' names
  bool skip_errors = false;  // malformed rows are counted and left out
  std::string null;          // unquoted text that means NULL

  explicit Dialect(const std::vector<std::pair<std::string, std::string>>& options) {
    for (const auto& [name, value] : options) {
      if (name == "delimiter" && !value.empty()) delimiter = value[0];
      if (name == "quote" && !value.empty()) quote = value[0];
      if (name == "header") header = value == "true";
      if (name == "on_error") skip_errors = value == "skip";
      if (name == "null") null = value;
    }
  }
};

}  // namespace jg::csv
