// Reads rows without an index of their text, from the known text between their values.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace jg::json {

struct Token {  // the raw text of a value; 8 bytes can be read, also of NULL
  const char* data;
  uint32_t size;  // 0: NULL
};
inline constexpr char kNullText[8] = "null";
inline constexpr Token kNull{kNullText, 0};

// The token of a scalar's raw text; *wrong is set where it begins as null does and is something else.
inline Token token_of(const char* p, uint32_t size, bool* wrong) {
  const bool null = size == 4 && std::memcmp(p, kNullText, 4) == 0;
  *wrong |= *p == 'n' && !null;
  return {p, null ? 0 : size};
}

class Block;

// Walks flat rows that have the same text between their values. The first bytes of a value show where it ends, and the
// expected text must follow (the prediction is that of Li et al., "Mison: a fast JSON parser for data analytics",
// 2017). That takes time for each value but few instructions, so several rows are walked at once.
class Walk {
 public:
#if defined(__AVX2__)
  static constexpr bool kIsFast = true;
#else
  static constexpr bool kIsFast = false;  // nothing is walked: an index of the text is faster
#endif
  static constexpr int kLanes = 8;  // rows that are walked at once

  struct Value {
    std::string_view before;  // the text in front of it, from the value before or the line's start on
    bool text;                // a string
    int wanted;               // its index of `tokens` below, or -1
  };
  // A row's values, the text behind the last one with the line's end, and the wanted names that such rows lack.
  Walk(const std::vector<Value>& values, std::string_view behind, std::vector<int> missing);

  // If the N lines at `start`, each within [start, end), are such rows, store their values in tokens[wanted][row] and
  // on, and return the end of the last one; otherwise return null. 64 bytes behind `end` must be readable, with a zero
  // in front of their end. exact: unread scalars must be JSON, too.
  template <int N>
  const char* take(const char* start, const char* end, Token* const* tokens, int row, bool exact);

 private:
  static constexpr int kBlockBytes = 32;
  struct Literal {  // masked blocks
    uint32_t first, bytes;
  };
  struct Masked {
    char text[kBlockBytes] = {}, mask[kBlockBytes] = {};
  };
  struct Field {
    Literal before;
    int wanted;
    bool text;  // strings have been seen
  };

  Literal add(std::string_view text);
  template <int N>
  bool pass(const Literal& literal, const char* (&p)[N]) const;
  template <int N>
  bool find_lines(const char* end, const char* (&p)[N]) const;
  template <int N>
  bool find_ends(Field& field, const char* const (&p)[N], const char* (&ends)[N], Block* seen) const;

  std::vector<Masked> blocks_;
  std::vector<Field> fields_;
  Literal behind_;
  std::vector<int> missing_;
  int64_t bytes_min_ = 0;  // of a row
};

}  // namespace jg::json
