// Reads blocks, each behind its size in 4 bytes, and writes what they hold likewise; -1 for what is no block, and -2
// where it depends on the pieces in which a block comes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "common/read_error.h"
#include "common/snappy.h"

namespace {

using jg::columnar::snappy_decompress;
using jg::columnar::snappy_size;
using jg::columnar::SnappyBlock;

// In pieces of memory of their own, so that a read behind one is an error.
void decompress_in_pieces(const uint8_t* block, int64_t bytes, uint8_t* out, std::mt19937& chance) {
  std::unique_ptr<uint8_t[]> piece;
  auto input = [&](int64_t offset, int64_t n) {
    piece = std::make_unique<uint8_t[]>(static_cast<size_t>(n));
    std::memcpy(piece.get(), block + offset, static_cast<size_t>(n));
    return piece.get();
  };
  SnappyBlock parts(input, bytes, 128 + chance() % 400, out);
  const int64_t step = 1 + chance() % 3000;
  for (int64_t until = 0; !parts.is_done(); parts.advance(until)) until = std::min(until + step, parts.size());
}

int32_t whole_size(const uint8_t* block, int32_t bytes, std::unique_ptr<uint8_t[]>* out) {
  try {
    const int64_t size = snappy_size(block, bytes);
    *out = std::make_unique<uint8_t[]>(static_cast<size_t>(size));
    snappy_decompress(block, bytes, out->get());
    return static_cast<int32_t>(size);
  } catch (const jg::columnar::ReadError&) {
    return -1;
  }
}

bool is_same_in_pieces(const uint8_t* block, int32_t bytes, int32_t held, const uint8_t* whole, std::mt19937& chance) {
  try {
    const auto size = static_cast<size_t>(snappy_size(block, bytes));
    const auto out = std::make_unique<uint8_t[]>(size);
    decompress_in_pieces(block, bytes, out.get(), chance);
    return held == static_cast<int32_t>(size) && std::memcmp(out.get(), whole, size) == 0;
  } catch (const jg::columnar::ReadError&) {
    return held < 0;
  }
}

}  // namespace

int main() {
  std::mt19937 chance(7);
  for (int32_t bytes; std::fread(&bytes, sizeof bytes, 1, stdin) == 1;) {
    const size_t size = static_cast<size_t>(bytes);
    const auto block = std::make_unique<uint8_t[]>(size);
    if (std::fread(block.get(), 1, size, stdin) != size) return 1;
    std::unique_ptr<uint8_t[]> out;
    int32_t held = whole_size(block.get(), bytes, &out);
    if (!is_same_in_pieces(block.get(), bytes, held, out.get(), chance)) held = -2;
    std::fwrite(&held, sizeof held, 1, stdout);
    if (held > 0) std::fwrite(out.get(), 1, static_cast<size_t>(held), stdout);
  }
  return 0;
}
