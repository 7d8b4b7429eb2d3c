// Reads blocks, each behind its size in 4 bytes, and writes what they hold likewise; -1 for what is no block.
#include <cstdio>
#include <memory>

#include "common/read_error.h"
#include "common/snappy.h"

int main() {
  for (int32_t bytes; std::fread(&bytes, sizeof bytes, 1, stdin) == 1;) {
    const size_t size = static_cast<size_t>(bytes);
    const auto block = std::make_unique<uint8_t[]>(size);
    if (std::fread(block.get(), 1, size, stdin) != size) return 1;
    int32_t held = -1;
    std::unique_ptr<uint8_t[]> out;
    try {
      const int64_t needed = jg::columnar::snappy_size(block.get(), bytes);
      out = std::make_unique<uint8_t[]>(static_cast<size_t>(needed));
      jg::columnar::snappy_decompress(block.get(), bytes, out.get());
      held = static_cast<int32_t>(needed);
    } catch (const jg::columnar::ReadError&) {
    }
    std::fwrite(&held, sizeof held, 1, stdout);
    if (held > 0) std::fwrite(out.get(), 1, static_cast<size_t>(held), stdout);
  }
  return 0;
}
