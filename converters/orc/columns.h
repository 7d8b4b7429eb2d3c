// Decodes one column of an ORC file, stripe by stripe, straight into JgCol values.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/column_room.h"
#include "jg/stream.h"
#include "orc/rle.h"
#include "orc/tail.h"

namespace jg::columnar {

class OrcReader {
 public:
  virtual ~OrcReader() = default;

  // The stripe that the next calls are about. Reads nothing. `group_rows`: rows of a row group, 0 without row indexes.
  virtual void start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer,
                     int64_t group_rows) = 0;
  // Fill `out` with rows [row, row + rows) of the stripe; `row` never decreases within a stripe. Throws ReadError.
  virtual void read(int64_t row, int32_t rows, ColumnRoom& room, JgCol* out) = 0;
};

// A column with streams of its own. Row groups before the requested rows are skipped if the file has a row index.
class OrcColumn : public OrcReader {
 public:
  OrcColumn(const ColumnSpec& column, int id) : column_(column), id_(id) {}

  void start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer,
             int64_t group_rows) override;
  void read(int64_t row, int32_t rows, ColumnRoom& room, JgCol* out) override;

 protected:
  // Sets `stream` to the column's stream of that kind; false where the stripe has none.
  bool open(OrcStreamKind kind, OrcStream* stream);
  const OrcEncoding& encoding() const { return encoding_; }
  const ColumnSpec& column() const { return column_; }

  virtual void open_values() = 0;
  // Return how many positions of a row index are about the values; `place` of them are positions in a stream.
  virtual size_t value_positions(size_t place) const = 0;
  virtual void seek_values(OrcPositions& positions) = 0;
  // Values, not rows: NULLs are not among them.
  virtual void skip_values(int64_t n) = 0;
  virtual void read_values(int32_t n, void* out) = 0;
  virtual void spread_values(void* out, const uint8_t* valid, int32_t rows, int32_t count) = 0;
  // Gives `out` the codes of the values read last, if they come from a dictionary and are not filled in yet.
  virtual void describe(const uint8_t* valid, int32_t rows, int32_t count, JgCol* out);
  const OrcStripeFooter* footer_ = nullptr;

 private:
  void open_streams();
  void advance(int64_t row);

  ColumnSpec column_;
  int id_;
  InputFile* file_ = nullptr;
  const OrcCompression* compression_ = nullptr;
  OrcEncoding encoding_;
  bool opened_ = false, has_nulls_ = false, indexed_ = false;
  int64_t group_rows_ = 0;
  std::vector<std::vector<int64_t>> index_;  // once indexed_: positions of each row group
  OrcStream present_stream_;
  BitRle present_;
  int64_t row_ = 0;
};

// The decoder that turns the file's column, which is flat, into the declared type; throws ReadError "schema" where the
// two do not agree.
std::unique_ptr<OrcColumn> make_orc_column(const ColumnSpec& column, const OrcTail& tail, int id);

}  // namespace jg::columnar
