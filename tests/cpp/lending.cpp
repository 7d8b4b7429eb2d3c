// lending: what a zygote lends to instances, of which one dies with it. Prints what went wrong.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/memory.h"
#include "expect.h"

using namespace jg;

// What a child makes of `work`; 0: all is well.
template <class Work>
pid_t child(Work work) {
  const pid_t pid = fork();
  if (pid == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  return pid;
}

int main() {
  EXPECT(borrow(kLentBlock) == nullptr);  // nobody lends yet
  begin_lending();
  const pid_t killed = child([] {
    auto* memory = static_cast<char*>(borrow(3 * kLentBlock));
    EXPECT(memory);
    std::memset(memory, 7, 3 * kLentBlock);
    raise(SIGKILL);
  });
  EXPECT(waitpid(killed, nullptr, 0) == killed);
  int status = 0;
  const pid_t other = child([] {  // the dead one has it still
    auto* memory = static_cast<char*>(borrow(kLentBlock));
    EXPECT(memory);
    std::memset(memory, 9, kLentBlock);
    EXPECT(give_back(memory));
    char own;
    EXPECT(!give_back(&own));
  });
  EXPECT(waitpid(other, &status, 0) == other && status == 0);
  take_back(killed);
  const pid_t third = child([] {
    auto* memory = static_cast<char*>(borrow(3 * kLentBlock));
    EXPECT(memory && memory[0] == 7 && memory[3 * kLentBlock - 1] == 7);  // pages that were not cleared
    auto* next = static_cast<char*>(borrow(kLentBlock));
    EXPECT(next == memory + 3 * kLentBlock && next[0] == 9);
    EXPECT(give_back(memory));
    EXPECT(borrow(2 * kLentBlock) == memory);
    EXPECT(borrow(kLentBlock) == memory + 2 * kLentBlock);
    EXPECT(borrow(size_t{1} << 50) == nullptr);
    auto* small = static_cast<char*>(borrow(kLentLeast));  // pieces of one block, which are used again
    auto* half = static_cast<char*>(borrow(kLentBlock / 2));
    EXPECT(half == small + kLentLeast);
    std::memset(small, 1, kLentLeast);
    std::memset(half, 2, kLentBlock / 2);
    EXPECT(small[kLentLeast - 1] == 1 && give_back(half));
    EXPECT(borrow(kLentBlock / 2) == half);
    EXPECT(borrow(kLentBlock / 2) > half + kLentBlock / 2);  // of another block
    auto* rest = static_cast<char*>(borrow(kLentBlock / 4));
    EXPECT(rest == half + kLentBlock / 2 && give_back(rest) && give_back(small));
    Budget budget;
    Arena arena(&budget);  // beyond what is lent: as if nothing were
    for (int i = 0; i < 64; i++) std::memset(arena.bytes(1 << 20), i, 1 << 20);
    EXPECT(budget.held >= 64 << 20);
  });
  EXPECT(waitpid(third, &status, 0) == third && status == 0);
  take_back(third);
  const pid_t fourth = child([] {  // one of blocks that were huge pages and of some that were not
    auto* memory = static_cast<char*>(borrow(40 * kLentBlock));
    EXPECT(memory && reinterpret_cast<uintptr_t>(memory) % kLentBlock == 0);
    EXPECT(memory[0] == 7 && memory[3 * kLentBlock] == 9);
    std::memset(memory, 5, 40 * kLentBlock);
    EXPECT(memory[40 * kLentBlock - 1] == 5);
  });
  EXPECT(waitpid(fourth, &status, 0) == fourth && status == 0);
  take_back(fourth);
  end_lending();
  auto* memory = static_cast<char*>(borrow(4 * kLentBlock));
  EXPECT(memory && memory[0] == 0 && memory[4 * kLentBlock - 1] == 0);  // other pages
  return 0;
}
