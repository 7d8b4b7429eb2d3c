// One job's join on the card: tables that are built from packets of rows, and probing rows that meet all of them at
// once. Rows are packed and big endian: a bit vector of NULLs, then the columns (jumpgate/ntf/README.md).
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "rest.h"

namespace jg::card {

enum class Kind { INNER, LEFT, SEMI, ANTI };

// A row's columns: keys of 8 bytes first, then all others, which the card does not read.
struct RowShape {
  size_t columns = 0, bytes = 0;  // of all columns; without the bits
  size_t null_bytes() const { return (columns + 7) / 8; }
  size_t stride() const { return null_bytes() + bytes; }
};

struct TableShape {
  Kind kind = Kind::INNER;
  RowShape row;            // the key, then what belongs to it
  size_t value_bytes = 8;  // the signature's
  int bucket_bits = 0;

  bool pairs() const { return kind == Kind::INNER || kind == Kind::LEFT; }
  size_t payload_columns() const { return row.columns - 1; }
  size_t payload_bytes() const { return row.bytes - KEY_BYTES; }
  // A value is the payload's bits of NULLs, then the payload.
  size_t value_nulls() const { return (payload_columns() + 7) / 8; }
};

// A column of joined rows that leaves: its number, and where its bytes are behind the bits.
struct Leaver {
  size_t column, offset, bytes;
};

struct JoinShape {
  RowShape probe;  // the keys of all tables in their order, then the rest
  std::vector<TableShape> tables;
  std::vector<Leaver> leaving;
  size_t rest_bytes = 0;

  // Of a row with all columns.
  RowShape joined() const;
};

struct Counts {
  uint64_t built = 0, rest = 0, probed = 0, joined = 0, cycles = 0;
};

class Join {
 public:
  explicit Join(const JoinShape& shape);
  // False: no memory for a table.
  bool open();
  // Rows of a build side; false, with what is wrong, if they are not rows or there is no room.
  bool build(size_t table, const uint8_t* rows, size_t size, std::string* why);
  // False if these are not rows; they wait for `produce`.
  bool probe(const uint8_t* rows, size_t size);
  int tables() const { return static_cast<int>(tables_.size()); }
  size_t waiting() const { return waiting_.size(); }
  // Writes the next row to `out`, which has room for out_stride() bytes; false when none is left.
  bool produce(uint8_t* out);
  size_t out_stride() const { return out_.stride(); }
  Counts counts() const;

 private:
  struct Table {
    TableShape shape;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Rest> rest;
    std::vector<Answer> answers;              // of the rows at hand
    std::vector<const uint8_t*> found;        // values of the row at hand; one null for a row without partner
    size_t next = 0;                          // in found
    size_t first_column = 0, first_byte = 0;  // of its columns in the output
  };

  void look_up();    // the oldest waiting packet, in all tables
  bool start_row();  // false: the row is not in the result
  void write();      // all columns of the row at hand
  void leave(uint8_t* out) const;
  bool is_null(const uint8_t* row, size_t column) const { return row[column / 8] >> (column % 8) & 1; }

  const JoinShape shape_;
  std::vector<Table> tables_;
  const RowShape joined_;
  RowShape out_;
  std::vector<uint8_t> whole_;  // the row at hand
  std::deque<std::vector<uint8_t>> waiting_;
  bool looked_up_ = false, in_row_ = false;
  size_t row_ = 0, rows_ = 0;  // of the oldest packet
  std::vector<uint64_t> keys_;
  std::vector<uint8_t> values_;
  std::vector<uint32_t> overflown_;
  Counts counts_;
};

}  // namespace jg::card
