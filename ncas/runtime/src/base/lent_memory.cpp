#include "base/lent_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/memory.h"

namespace jg {
namespace {

constexpr size_t kLentMost = size_t{4} << 30;  // or an eighth of the host's memory
constexpr int kCollapse = 25;                  // MADV_COLLAPSE, which older headers lack

struct LentBlock {
  std::atomic<pid_t> borrower;  // 0: nobody
  size_t run;                   // of the first of several: how many; kPieces: it is cut into pieces
  bool is_whole;                // its memory is one huge page
};

// Shared by the zygote and all of its instances. A block is mapped where it is borrowed, at a fixed address.
struct Lent {
  char* places = nullptr;
  LentBlock* blocks = nullptr;
  size_t count = 0;
  int file = -1;
};
Lent lent;

constexpr size_t kPieces = 0;

// What an instance cuts from blocks: powers of two, which are kept when they are given back.
class Pieces {
 public:
  // Null: there is no block left.
  void* cut(size_t size) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[class_of(size)];
    char* piece;
    if (!free.empty()) {
      piece = free.back();
      free.pop_back();
    } else {
      if (static_cast<size_t>(end_ - at_) < size && !begin_block()) return nullptr;
      piece = at_;
      at_ += size;
    }
    sizes_[piece] = size;
    return piece;
  }
  void put_back(char* piece) {
    const std::lock_guard lock(mutex_);
    free_[class_of(sizes_[piece])].push_back(piece);
  }

 private:
  static size_t class_of(size_t size) { return std::countr_zero(size) - std::countr_zero(kLentLeast); }
  bool begin_block();

  std::mutex mutex_;
  std::array<std::vector<char*>, 5> free_;  // up to half of a block
  std::unordered_map<char*, size_t> sizes_;
  char *at_ = nullptr, *end_ = nullptr;  // of a block, not yet cut
};

Pieces& pieces() {
  static Pieces& all = *new Pieces;  // threads may outlive static objects
  return all;
}

// Map n blocks, each as one huge page where the system can: that takes a tenth of the time of single pages, and a visit
// at random then misses no page table. A block is a huge page until its memory goes back to the system.
char* map_blocks(size_t first, size_t n) {
  char* const place = lent.places + first * kLentBlock;
  const size_t size = n * kLentBlock;
  const auto map = [&](int populate) {
    return ::mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | populate, lent.file,
                  static_cast<off_t>(first * kLentBlock)) != MAP_FAILED;
  };
  if (!map(0)) return nullptr;
  bool all_whole = true;
  for (size_t k = 0; k < n; k++) {
    __atomic_fetch_or(place + k * kLentBlock, 0, __ATOMIC_RELAXED);  // a block without any page becomes no huge one
    all_whole &= lent.blocks[first + k].is_whole;
  }
  if (all_whole) return place;
  if (::madvise(place, size, kCollapse) != 0) return map(MAP_POPULATE) ? place : nullptr;
  for (size_t k = 0; k < n; k++) lent.blocks[first + k].is_whole = true;
  return place;
}

}  // namespace

void begin_lending() {
#ifndef __SANITIZE_ADDRESS__
  const size_t count = std::min(kLentMost, static_cast<size_t>(available_memory()) / 8) / kLentBlock;
  const int file = ::memfd_create("jumpgate", MFD_CLOEXEC);
  if (file < 0 || count == 0 || ::ftruncate(file, static_cast<off_t>(count * kLentBlock)) != 0) return;
  void* blocks = ::mmap(nullptr, count * sizeof(LentBlock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* room = ::mmap(nullptr, (count + 1) * kLentBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (blocks == MAP_FAILED || room == MAP_FAILED) return;
  const uintptr_t places = (reinterpret_cast<uintptr_t>(room) + kLentBlock - 1) & ~(kLentBlock - 1);
  lent = {reinterpret_cast<char*>(places), static_cast<LentBlock*>(blocks), count, file};
#endif
}

void take_back(pid_t borrower) {
  for (size_t i = 0; i < lent.count; i++) {
    pid_t expected = borrower;
    lent.blocks[i].borrower.compare_exchange_strong(expected, 0);
  }
}

void end_lending() {
  for (size_t i = 0; i < lent.count; i++) {
    pid_t nobody = 0;
    if (!lent.blocks[i].borrower.compare_exchange_strong(nobody, ::getpid())) continue;
    ::fallocate(lent.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(i * kLentBlock), kLentBlock);
    lent.blocks[i].is_whole = false;
    lent.blocks[i].borrower = 0;
  }
}

// The rest of the last block is cut into smaller pieces.
bool Pieces::begin_block() {
  auto* block = static_cast<char*>(borrow(kLentBlock));
  if (!block) return false;
  for (size_t size = kLentBlock / 2; size >= kLentLeast; size /= 2) {
    if (static_cast<size_t>(end_ - at_) < size) continue;
    free_[class_of(size)].push_back(at_);
    at_ += size;
  }
  lent.blocks[static_cast<size_t>(block - lent.places) / kLentBlock].run = kPieces;
  at_ = block;
  end_ = block + kLentBlock;
  return true;
}

void* borrow(size_t size) {
  if (!lent.places) return nullptr;
  if (size < kLentBlock) return pieces().cut(size);
  const size_t n = size / kLentBlock;
  const pid_t self = ::getpid();
  for (size_t i = 0; i + n <= lent.count;) {
    size_t mine = 0;
    for (pid_t nobody = 0; mine < n; mine++, nobody = 0)
      if (!lent.blocks[i + mine].borrower.compare_exchange_strong(nobody, self)) break;
    if (mine == n) {
      lent.blocks[i].run = n;
      if (char* memory = map_blocks(i, n)) return memory;
    }
    for (size_t k = 0; k < mine; k++) lent.blocks[i + k].borrower = 0;
    if (mine == n) return nullptr;
    i += mine + 1;
  }
  return nullptr;
}

bool give_back(void* memory) {
  const auto offset = static_cast<size_t>(static_cast<char*>(memory) - lent.places);
  if (!lent.places || static_cast<char*>(memory) < lent.places || offset >= lent.count * kLentBlock) return false;
  const size_t i = offset / kLentBlock, n = lent.blocks[i].run;
  if (n == kPieces) return pieces().put_back(static_cast<char*>(memory)), true;
  ::mmap(memory, n * kLentBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  for (size_t k = 0; k < n; k++) lent.blocks[i + k].borrower = 0;
  return true;
}

}  // namespace jg
