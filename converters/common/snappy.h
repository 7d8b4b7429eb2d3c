// Snappy's block format (google/snappy, format_description.txt), as parts of columnar files have it.
#pragma once
#include <cstdint>

namespace jg::columnar {

// Return the size of a block's content. Throws "malformed" if it has no size, or one that it cannot hold.
int64_t snappy_size(const uint8_t* block, int64_t bytes);
// Write the content to out[0 … snappy_size). Throws "malformed"; writes nothing beyond.
void snappy_decompress(const uint8_t* block, int64_t bytes, uint8_t* out);

}  // namespace jg::columnar
