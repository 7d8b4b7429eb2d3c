// Memory that a zygote lends to the instances that it forks: pages that one of them has used are not cleared, or
// fetched from below a virtual machine, for the next one.
#pragma once
#include <cstddef>

namespace jg {

inline constexpr size_t kLentBlock = 2 << 20, kLentLeast = 64 << 10;

// A multiple of kLentBlock, or less: a power of two from kLentLeast on. Of any content. Null: there is none left, or
// this process is no zygote's.
void* borrow(size_t size);
// False: it was not borrowed.
bool give_back(void* memory);

}  // namespace jg
