// Memory that a zygote lends to the instances that it forks: pages that one of them has used are not cleared, or
// fetched from below a virtual machine, for the next one.
#pragma once
#include <sys/types.h>

#include <cstddef>

namespace jg {

inline constexpr size_t kLentBlock = 2 << 20;

// In the zygote, before it forks; where it fails, nothing is lent.
void begin_lending();
// Take back the memory of an instance that has ended.
void take_back(pid_t borrower);
// Return unborrowed memory to the system until it is borrowed again.
void end_lending();

// In an instance: a multiple of kLentBlock, of any content. Null: there is none left.
void* borrow(size_t size);
// False: it was not borrowed.
bool give_back(void* memory);

}  // namespace jg
