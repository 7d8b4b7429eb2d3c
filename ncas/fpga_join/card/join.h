// One job's join on the card: tables that are built from packets of rows, and probing rows that meet all of them at
// once. Which back end answers is decided when the card is built.
#pragma once
#include <memory>
#include <string>

#include "shape.h"

namespace jg::card {

struct Counts {
  uint64_t built = 0, rest = 0, probed = 0, joined = 0, cycles = 0;
};

// Of joined rows; a column's values that are not NULL.
struct Totals {
  uint64_t rows = 0, values = 0;
  __int128 sum = 0;
};

class Join {
 public:
  virtual ~Join() = default;
  // Rows of a build side; false, with what is wrong, if they are not rows or there is no room.
  virtual bool build(size_t table, const uint8_t* rows, size_t size, std::string* why) = 0;
  // False if these are not rows; they wait for `produce`.
  virtual bool probe(const uint8_t* rows, size_t size) = 0;
  // Packets of probing rows, at most, whose joined rows are not all there.
  virtual size_t waiting() const = 0;
  // Writes the next row to `out`, which has room for one that leaves; false when none is left.
  virtual bool produce(uint8_t* out) = 0;
  // Of those that `produce` has not written, where the card's logic adds them up (JoinShape::totals).
  virtual Totals totals() const { return {}; }
  virtual Counts counts() const = 0;
};

// The back end's name.
extern const char* const kBackend;
// Null, with what is wrong, if there cannot be one. `bitstream`: the file of the RTL's model, where there is one.
std::unique_ptr<Join> make_join(const JoinShape& shape, const std::string& bitstream, std::string* why);

}  // namespace jg::card
