#include "common/recycling_pool.h"

#include <arrow/status.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "jg/lent_memory.h"

namespace jg::columnar {

namespace {
constexpr int kSmallestLog2 = 6;
constexpr int kPieceLog2 = 16;  // smaller blocks are not worth a slab: few pages are touched
constexpr size_t bytes_of(int size_class) { return size_t{1} << (size_class + kSmallestLog2); }
}  // namespace

RecyclingPool::~RecyclingPool() {
  for (uint8_t* memory : owned_)
    if (!give_back(memory)) std::free(memory);
}

int RecyclingPool::size_class(int64_t size) {
  uint64_t rounded = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1 << kSmallestLog2)));
  return std::countr_zero(rounded) - kSmallestLog2;
}

// A block that was not used before; null: there is no memory.
uint8_t* RecyclingPool::fresh(int size_class) {
  const size_t bytes = bytes_of(size_class);
  uint8_t* block = nullptr;
  if (bytes >= kLentBlock) {
    block = static_cast<uint8_t*>(borrow(bytes));
  } else if (bytes >= size_t{1} << kPieceLog2) {
    if (uint8_t* cut = piece(size_class)) return cut;
  }
  if (!block) block = static_cast<uint8_t*>(std::aligned_alloc(1 << kSmallestLog2, bytes));
  if (block) owned_.push_back(block);
  return block;
}

// A piece of a borrowed slab; null: nothing is lent. The rest of a slab without room for it is cut into smaller pieces.
uint8_t* RecyclingPool::piece(int size_class) {
  const size_t bytes = bytes_of(size_class);
  if (static_cast<size_t>(slab_end_ - slab_at_) < bytes) {
    auto* slab = static_cast<uint8_t*>(borrow(kLentBlock));
    if (!slab) return nullptr;
    owned_.push_back(slab);
    for (int smaller = size_class; smaller-- > kPieceLog2 - kSmallestLog2;) {
      if (static_cast<size_t>(slab_end_ - slab_at_) < bytes_of(smaller)) continue;
      free_[smaller].push_back(slab_at_);
      slab_at_ += bytes_of(smaller);
    }
    slab_at_ = slab;
    slab_end_ = slab + kLentBlock;
  }
  slab_at_ += bytes;
  return slab_at_ - bytes;
}

arrow::Status RecyclingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (size < 0 || size > kBlockBytesMax) return arrow::Status::OutOfMemory("a block of ", size, " bytes");
  if (alignment > (1 << kSmallestLog2)) return arrow::Status::Invalid("alignment of ", alignment, " bytes");
  auto& blocks = free_[size_class(size)];
  if (blocks.empty()) {
    *out = fresh(size_class(size));
    if (*out == nullptr) return arrow::Status::OutOfMemory("a block of ", size, " bytes");
  } else {
    *out = blocks.back();
    blocks.pop_back();
  }
  bytes_ += size;
  bytes_total_ += size;
  allocations_ += 1;
  bytes_max_ = std::max(bytes_max_, bytes_);
  return arrow::Status::OK();
}

arrow::Status RecyclingPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) {
  if (new_size >= 0 && new_size <= kBlockBytesMax && size_class(old_size) == size_class(new_size)) {
    bytes_ += new_size - old_size;
    bytes_max_ = std::max(bytes_max_, bytes_);
    return arrow::Status::OK();
  }
  uint8_t* fresh = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &fresh));
  std::memcpy(fresh, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
  Free(*ptr, old_size, alignment);
  *ptr = fresh;
  return arrow::Status::OK();
}

void RecyclingPool::Free(uint8_t* buffer, int64_t size, int64_t) {
  free_[size_class(size)].push_back(buffer);
  bytes_ -= size;
}

}  // namespace jg::columnar
