// Snappy's block format (google/snappy, format_description.txt), as Parquet's pages have it.
#pragma once
#include <cstdint>

namespace jg::columnar {

// The size of what a block holds; throws "malformed" where it begins with none, or with one that it cannot hold.
int64_t snappy_size(const uint8_t* block, int64_t bytes);
// What it holds to out[0 … snappy_size). Throws "malformed"; writes nothing beyond.
void snappy_decompress(const uint8_t* block, int64_t bytes, uint8_t* out);

}  // namespace jg::columnar
