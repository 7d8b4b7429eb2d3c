// Finds the ends of fields and records in a piece of CSV text: 64 bytes a step, as bit masks (after Langdale and
// Lemire, "Parsing gigabytes of JSON per second", 2019, and Ge et al., "Speculative distributed CSV data parsing",
// 2019).
#pragma once
#include <cstdint>
#include <vector>

#include "csv/dialect.h"

namespace jg::csv {

inline constexpr int64_t kPadding = 64;  // readable bytes behind a text

struct Index {
  // Positions of the delimiters and line ends outside quotes, ascending, behind one more entry, -1: field k lies
  // between ends[k] and ends[k + 1]. Only the first `count` are set.
  std::vector<int32_t> ends;
  std::vector<int32_t> records;  // of each whole record, the place of its line end in `ends`
  int32_t count = 0;
  int64_t fault =
      0;  // the first place that breaks the rules of quoting (or an LF where CR ends lines), or the text's size
};

// Indexes `size` bytes that start at a record's start; less than 2^31.
void index(const char* data, int64_t size, const Dialect& dialect, Index* out);

// Quotes in a text: quotes come in pairs, so an odd number in front of a place means that it lies inside quotes.
int64_t count_quotes(const char* data, int64_t size, char quote);

// The position behind the line end of the record at `at`, taking malformed quoting as lightly as possible: a
// quote inside an unquoted field is a letter. -1: it does not end here.
int64_t lenient_end(const char* data, int64_t at, int64_t size, const Dialect& dialect);

}  // namespace jg::csv
