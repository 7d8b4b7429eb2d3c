// Memory for one worker's decoders. Freed blocks are kept for the next row group or stripe, and large ones are borrowed
// from the zygote: fresh pages from the kernel cost more than decoding into them. Not thread-safe; must outlive its
// buffers.
#pragma once
#include <arrow/memory_pool.h>

#include <array>
#include <vector>

#include "common/read_error.h"

namespace jg::columnar {

class RecyclingPool final : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  RecyclingPool() = default;
  ~RecyclingPool() override;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  int64_t bytes_allocated() const override { return bytes_; }
  int64_t max_memory() const override { return bytes_max_; }
  int64_t total_bytes_allocated() const override { return bytes_total_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "recycling"; }

 private:
  static constexpr int kClasses = 28;  // powers of two: 64 bytes to 8 GiB
  static constexpr int64_t kBlockBytesMax = int64_t{1} << 33;
  static int size_class(int64_t size);

  std::array<std::vector<uint8_t*>, kClasses> free_;
  int64_t bytes_ = 0, bytes_max_ = 0, bytes_total_ = 0, allocations_ = 0;
};

// An array in a pool, whose content is not kept when it is resized.
template <class T>
class PoolArray {
 public:
  explicit PoolArray(RecyclingPool* pool) : pool_(pool) {}
  PoolArray(const PoolArray&) = delete;
  PoolArray& operator=(const PoolArray&) = delete;
  ~PoolArray() { free(); }

  void resize(int64_t size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
    if (bytes > bytes_) {
      free();
      check(pool_->Allocate(bytes, alignof(T), &memory_));
      bytes_ = bytes;
    }
    size_ = size;
  }
  T* data() { return reinterpret_cast<T*>(memory_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_); }
  int64_t size() const { return size_; }

 private:
  void free() {
    if (bytes_ > 0) pool_->Free(memory_, bytes_, alignof(T));
    bytes_ = 0;
  }

  RecyclingPool* pool_;
  uint8_t* memory_ = nullptr;
  int64_t bytes_ = 0, size_ = 0;
};

}  // namespace jg::columnar
