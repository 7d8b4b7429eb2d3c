// The layout of a CSV file, which a worker needs before it reads a part of it: the header, and the starts of records.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "csv/dialect.h"
#include "jg/status.h"
#include "jg/stream.h"
#include "text/input.h"

namespace jg::csv {

struct Layout {
  Dialect dialect;                   // the read's, with this file's line ends
  int64_t size = 0, data_begin = 0;  // bytes; data_begin: behind a byte order mark and the header
  int fields = 0;                    // of each record
  std::vector<int> places;           // the field of each wanted column
};

// The layouts of a source's files, found when first asked for. Thread-safe.
class Layouts {
 public:
  Layouts(const FileSourceOptions* options, const Dialect* dialect)
      : options_(options), dialect_(dialect), files_(options->files.size()) {}

  // Wanted columns are found by name in the header; without one, by their position in the declared schema. "schema": a
  // column is not there.
  Status find(text::Input* input, int file, const Layout** out);

  // Find the first start of a record at or behind `offset`; the result is the same for every caller. It may be wrong
  // only if the file breaks the rules of quoting (or if a quoted field holds pages that look like records), so a reader
  // up to it must check that a record ends there. The first quote behind `offset` that has a letter on one side and
  // could not be there otherwise tells whether `offset` lies inside quotes; without quotes nearby, records with the
  // right number of fields do; otherwise the quotes in front are counted.
  Status record_start(text::Input* input, int file, int64_t offset, int64_t* out);

 private:
  struct File {
    std::optional<Layout> layout;
    std::map<int64_t, bool> inside;  // whether a place is inside quotes, by counting
  };
  Status read_header(text::Input* input, Layout* out);
  Status place_columns(const std::string& path, const std::vector<std::string>& names, Layout* out) const;
  Status count_to(text::Input* input, int file, int64_t offset, bool* inside);

  const FileSourceOptions* options_;
  const Dialect* dialect_;
  std::mutex mutex_;
  std::vector<File> files_;
};

// Return whether a line has only blanks and control characters.
bool is_blank(std::string_view line);

// A field's text without its quotes: `text` itself, or `room`, where quotes inside it are unescaped.
std::string_view unquoted(std::string_view text, char quote, std::string* room);

}  // namespace jg::csv
