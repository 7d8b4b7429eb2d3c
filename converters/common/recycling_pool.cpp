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

// A block of a power of two; null: there is no memory.
uint8_t* fresh(size_t bytes) {
  void* lent = bytes >= kLentLeast ? borrow(bytes) : nullptr;
  return static_cast<uint8_t*>(lent ? lent : std::aligned_alloc(1 << kSmallestLog2, bytes));
}

}  // namespace

RecyclingPool::~RecyclingPool() {
  for (auto& blocks : free_) {
    for (uint8_t* block : blocks)
      if (!give_back(block)) std::free(block);
  }
}

int RecyclingPool::size_class(int64_t size) {
  uint64_t rounded = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1 << kSmallestLog2)));
  return std::countr_zero(rounded) - kSmallestLog2;
}

arrow::Status RecyclingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (size < 0 || size > kBlockBytesMax) return arrow::Status::OutOfMemory("a block of ", size, " bytes");
  if (alignment > (1 << kSmallestLog2)) return arrow::Status::Invalid("alignment of ", alignment, " bytes");
  auto& blocks = free_[size_class(size)];
  if (blocks.empty()) {
    *out = fresh(size_t{1} << (size_class(size) + kSmallestLog2));
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
