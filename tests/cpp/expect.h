// Ends a test's program where a condition does not hold.
#pragma once
#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                        \
  do {                                           \
    if (!(condition)) {                          \
      std::printf("not true: %s\n", #condition); \
      std::exit(1);                              \
    }                                            \
  } while (0)
