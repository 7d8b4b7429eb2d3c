// Numbers dictionaries of any type and format: a column may have another physical type in another file.
#pragma once
#include <atomic>
#include <cstdint>

namespace jg::columnar {

inline uint64_t next_dictionary_number() {
  static std::atomic<uint64_t> numbers{0};
  return ++numbers;
}

}  // namespace jg::columnar
