// The source of all columnar formats: it opens files, rules out parts (row groups, stripes) by bounds and runtime
// filters, splits the rest into morsels, and reads early columns of each batch and late ones on demand. A format tells
// which parts a file has, and decodes columns.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bounds.h"
#include "common/column_room.h"
#include "common/morsels.h"
#include "common/recycling_pool.h"
#include "common/row_ranges.h"

namespace jg::columnar {

// Decodes parts of one file for one thread. All of it throws ReadError or a library's exception.
class PartDecoder {
 public:
  virtual ~PartDecoder() = default;
  // The part, and the range of its rows, that the next calls are about.
  virtual void start(int part, RowRange rows) = 0;
  // Late columns of this part will be read: of an object, their bytes are fetched from now on.
  virtual void expect_late() {}
  // Fill positions 0 to rows - 1 of `out` with rows [row, row + rows) of the part: all, or with `sel` (ascending, n of
  // them) at least those positions. `row` never decreases within a range.
  virtual void read(size_t column, int64_t row, int32_t rows, const int32_t* sel, int32_t n, ColumnRoom& room,
                    JgCol* out) = 0;
  virtual int64_t bytes_read() const = 0;  // so far; those that were asked for count
};

// A file whose footer has been read.
class ColumnarFile {
 public:
  explicit ColumnarFile(std::string path) : path(std::move(path)) {}
  virtual ~ColumnarFile() = default;

  virtual int parts() const = 0;
  virtual const PartRows& part(int number) const = 0;
  virtual bool lacks(size_t column) const = 0;         // a wanted column
  virtual std::vector<std::string> names() const = 0;  // of the columns that it has
  virtual std::unique_ptr<PartDecoder> decoder(RecyclingPool* pool) const = 0;

  const std::string path;
  int64_t pruned_bytes = 0;  // of wanted columns in rows that cannot match, about
};

// What a file is opened for.
struct Wanted {
  const FileSourceOptions& options;
  const Bounds& bounds;                  // rows out of these are in no result
  const Bounds& partners;                // rows out of these have no partners in the joins to come
  const std::vector<RowRange>& deleted;  // rows of the file that are in no result
  RecyclingPool* pool;
};

struct ColumnarFormat {
  const char* name;         // as messages have it
  int64_t morsel_rows_min;  // that are worth to be split off
  bool fetches_ahead;       // `start` waits for nothing, and lets bytes of an object come
  bool numbers_columns;     // files of Hive's old writers have `_col` and a number in place of names
  // Read the footer and, of columns that are compared, statistics. Throws ReadError or a library's exception.
  std::unique_ptr<ColumnarFile> (*open)(const std::string& path, const Wanted& wanted);
};

std::unique_ptr<Source> make_columnar_source(const ColumnarFormat& format, const FileSourceOptions& options);

}  // namespace jg::columnar
