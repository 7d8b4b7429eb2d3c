// What the rows of a job's join are. Rows are packed and big endian: a bit vector of NULLs, unless no column may be
// NULL, then the columns (jumpgate/ntf/README.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bucket.h"

namespace jg::card {

enum class Kind { INNER, LEFT, SEMI, ANTI };

// A row's columns: keys of 8 bytes first, then all others, which the card does not read.
struct RowShape {
  size_t columns = 0, null_bytes = 0, bytes = 0;  // bytes of the NULL bits, and of all columns

  size_t stride() const { return null_bytes + bytes; }
  bool is_null(const uint8_t* row, size_t column) const {
    return null_bytes > 0 && row[column / 8] >> (column % 8) & 1;
  }
};

struct TableShape {
  Kind kind = Kind::INNER;
  RowShape row;            // the key, then what belongs to it
  size_t value_bytes = 8;  // the signature's
  int bucket_bits = 0;

  bool pairs() const { return kind == Kind::INNER || kind == Kind::LEFT; }
  // A value is the row without its key: the bits of NULLs, then the payload.
  size_t payload_bytes() const { return row.bytes - kKeyBytes; }
};

// A column of joined rows that leaves: its number, and where its bytes are behind the bits.
struct Leaver {
  size_t column, offset, bytes;
};

struct JoinShape {
  RowShape probe;  // the keys of all tables in their order, then the rest
  std::vector<TableShape> tables;
  std::vector<Leaver> leaving;  // in the order of their numbers
  size_t out_null_bytes = 0;    // that these have in front
  // Columns that leave in one row in place of joined rows: their number, then of those whose first column (an integer
  // of 64 bits) is not NULL, and its sum in 128 bits, which is NULL if there are none. 0: joined rows leave.
  size_t totals = 0;
  size_t rest_bytes = 0;
  uint64_t secret = 0;  // in every packet of its flows, both ways

  // Of a row with all columns, and NULL bits.
  RowShape joined() const {
    RowShape row = probe;
    for (const TableShape& table : tables) {
      if (!table.pairs()) continue;
      row.columns += table.row.columns;
      row.bytes += table.row.bytes;
    }
    row.null_bytes = (row.columns + 7) / 8;
    return row;
  }
  // Of a row that leaves.
  RowShape out() const {
    RowShape row{leaving.size(), out_null_bytes, 0};
    for (const Leaver& column : leaving) row.bytes += column.bytes;
    return row;
  }
};

}  // namespace jg::card
