// What the card's host joins: it has the entries without room in their buckets, and makes the rows that ask for such
// from what the tables answered and these.
#pragma once
#include <vector>

#include "rest.h"
#include "shape.h"

namespace jg::card {

class Combiner {
 public:
  explicit Combiner(const JoinShape& shape);

  // An entry without room; false if there is none here, either.
  bool keep(size_t table, uint64_t key, const uint8_t* value);
  // A probing row, with the answer of each table; they stay until `next` is false.
  void start(const uint8_t* row, const std::vector<const Answer*>& answers);
  bool has_row() const { return has_row_; }
  // Writes the next row that leaves of the one at hand; false when none is left.
  bool next(uint8_t* out);

  uint64_t kept() const { return kept_; }
  uint64_t joined() const { return joined_rows_; }

 private:
  struct Table {
    TableShape shape;
    Rest rest;
    size_t first_column, first_byte;      // of its columns in joined rows
    std::vector<const uint8_t*> found{};  // values for the row at hand; one null for a row without partner
    size_t next = 0;                      // in found
  };

  bool find(size_t table, const Answer& answer);  // false: the row is not in the result
  bool turn();                                    // to the next combination; false: there is none
  void write();                                   // all columns of the row at hand
  void leave(uint8_t* out) const;

  const JoinShape shape_;
  const RowShape joined_, out_;
  std::vector<Table> tables_;
  std::vector<uint8_t> whole_;  // the joined row at hand
  const uint8_t* row_ = nullptr;
  bool has_row_ = false, begun_ = false;
  uint64_t kept_ = 0, joined_rows_ = 0;
};

uint64_t key_at(const uint8_t* row, const RowShape& shape, size_t column);

}  // namespace jg::card
