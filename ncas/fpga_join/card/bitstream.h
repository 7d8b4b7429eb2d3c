// The RTL of a card for values of one width, as a shared library of its own: what a bitstream is to a board.
#pragma once
#include <vector>

#include "frames.h"
#include "shape.h"

namespace jg::card {

class Bitstream {
 public:
  // Who has what the card leaves to its host.
  class Host {
   public:
    virtual ~Host() = default;
    // An entry without room in its bucket.
    virtual void overflowed(size_t table, uint64_t key, const uint8_t* value) = 0;
    // A row that asks for a bucket that has such, and the answers of all tables.
    virtual void rested(const uint8_t* row, const std::vector<Answer>& answers) = 0;
  };
  struct Counts {
    uint64_t built, probed, joined, cycles, added;
    __int128 sum;
  };

  virtual ~Bitstream() = default;
  // Rows of a table, or, behind all tables, those that probe.
  virtual void push(size_t flow, const uint8_t* rows, size_t size) = 0;
  // Frames of which the card has not taken all.
  virtual size_t arriving() const = 0;
  // Nothing is on its way.
  virtual bool idle() const = 0;
  virtual void step() = 0;
  // Frames that have left since the last call.
  virtual std::vector<Bytes> left() = 0;
  virtual Counts counts() const = 0;
};

inline constexpr const char* kBitstreamSymbol = "jg_bitstream";
// Throws std::bad_alloc.
using MakeBitstream = Bitstream*(const JoinShape&, Bitstream::Host*);

}  // namespace jg::card
