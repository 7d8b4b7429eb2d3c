#include "base/lent_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/memory.h"

namespace jg {
namespace {

constexpr size_t kLentMost = size_t{4} << 30;  // or an eighth of the host's memory

struct LentBlock {
  std::atomic<pid_t> borrower;  // 0: nobody
  size_t run;                   // of the first of several: how many
};

// Shared by the zygote and all of its instances. A block is mapped where it is borrowed, at a fixed address.
struct Lent {
  char* places = nullptr;
  LentBlock* blocks = nullptr;
  size_t count = 0;
  int file = -1;
};
Lent lent;

}  // namespace

void begin_lending() {
#ifndef __SANITIZE_ADDRESS__
  const size_t count = std::min(kLentMost, static_cast<size_t>(available_memory()) / 8) / kLentBlock;
  const int file = ::memfd_create("jumpgate", MFD_CLOEXEC);
  if (file < 0 || count == 0 || ::ftruncate(file, static_cast<off_t>(count * kLentBlock)) != 0) return;
  void* blocks = ::mmap(nullptr, count * sizeof(LentBlock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* places = ::mmap(nullptr, count * kLentBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (blocks == MAP_FAILED || places == MAP_FAILED) return;
  lent = {static_cast<char*>(places), static_cast<LentBlock*>(blocks), count, file};
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
    lent.blocks[i].borrower = 0;
  }
}

void* borrow(size_t size) {
  const size_t n = size / kLentBlock;
  const pid_t self = ::getpid();
  for (size_t i = 0; i + n <= lent.count;) {
    size_t mine = 0;
    for (pid_t nobody = 0; mine < n; mine++, nobody = 0)
      if (!lent.blocks[i + mine].borrower.compare_exchange_strong(nobody, self)) break;
    if (mine == n) {
      char* place = lent.places + i * kLentBlock;
      void* memory = ::mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, lent.file,
                            static_cast<off_t>(i * kLentBlock));
      lent.blocks[i].run = n;
      if (memory != MAP_FAILED) return memory;
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
  ::mmap(memory, n * kLentBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  for (size_t k = 0; k < n; k++) lent.blocks[i + k].borrower = 0;
  return true;
}

}  // namespace jg
