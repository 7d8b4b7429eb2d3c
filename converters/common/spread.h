// From the values that are there to one slot a row.
#pragma once
#include <cstdint>
#include <type_traits>

#include "jg/batch.h"

namespace jg::columnar {

// Moves the `count` dense values at out[0] on to the positions that are valid, in place, from the back: out[k] is
// always at or below the position that it goes to. With no value left to move, k is -1: the slot in front is read.
template <class Out>
void spread(Out* out, const uint8_t* valid, int32_t rows, int32_t count) {
  int32_t k = count - 1;
  for (int32_t i = rows - 1; i >= 0; --i) {
    if constexpr (std::is_same_v<Out, JgStr>) {
      out[i] = valid[i] ? out[k] : JgStr{nullptr, 0};
    } else {
      out[i] = out[k];
    }
    k -= valid[i];
  }
}

}  // namespace jg::columnar
