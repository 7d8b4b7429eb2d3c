// How a CSV file is written (RFC 4180; bytes). Lines end in LF or CRLF or, in a file whose first line does, in CR.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace jg::csv {

struct Dialect {
  char delimiter = ',', quote = '"';
  bool header = true;        // the first record has the columns' names
  bool named = true;         // and columns are found by these
  bool skip_errors = false;  // malformed rows are counted and left out
  bool ragged = false;       // fields that a record lacks at its end are NULL
  bool exact = false;        // text that other readers take for other fields or values is an error
  std::string null;          // unquoted text that means NULL
  char line_end = '\n';      // of one file: '\r' where no LF follows them

  explicit Dialect(const std::vector<std::pair<std::string, std::string>>& options) {
    for (const auto& [name, value] : options) {
      if (name == "delimiter" && !value.empty()) delimiter = value[0];
      if (name == "quote" && !value.empty()) quote = value[0];
      if (name == "header") header = value != "false", named = value == "true";
      if (name == "on_error") skip_errors = value == "skip";
      if (name == "ragged") ragged = value == "null";
      if (name == "values") exact = value == "exact";
      if (name == "null") null = value;
    }
  }
};

}  // namespace jg::csv
