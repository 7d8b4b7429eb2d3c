// What a worker must know of a CSV file before it reads a part of it: the header, and where records start.
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

  // The first place at or behind `offset` where a record starts; the same for everyone who asks. It may be wrong only
  // where the file breaks the rules of quoting (or where a quoted field holds pages that look like records): so whoever
  // reads up to it must make sure that a record ends there.
  //
  // Whether `offset` lies inside quotes is told by the first quote behind it that has a letter on one side and could
  // not be there otherwise; without quotes nearby, by records that have the right number of fields; else by counting
  // the quotes in front.
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

// Whether a line has blanks and control characters alone.
bool is_blank(std::string_view line);

// A field's text without its quotes: `text` itself, or `room`, where quotes inside it are unescaped.
std::string_view unquoted(std::string_view text, char quote, std::string* room);

}  // namespace jg::csv
