// Rows that are taken with the help of simdjson's first stage, which finds every token of a text.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/token.h"
#include "json/walk.h"

namespace jg::json {

// A field's key, raw and with both quotes, for comparing in place: words that may read past the key, under masks.
class Key {
 public:
  explicit Key(std::string_view quoted);
  bool equals(const char* p) const {  // at least 8 readable bytes follow the chunk
    uint64_t different = 0;
    for (const auto& [word, mask] : words_) {
      uint64_t here;
      std::memcpy(&here, p, 8);
      different |= (here ^ word) & mask;
      p += 8;
      if (different) return false;
    }
    return true;
  }
  std::string_view name() const { return std::string_view(text_).substr(1, text_.size() - 2); }

 private:
  std::string text_;
  std::vector<std::pair<uint64_t, uint64_t>> words_;
};

// The end of a key: up to 8 bytes in front of its colon, at most the key and what follows it.
struct KeyEnd {
  uint64_t word = 0, mask = 0;
  KeyEnd(const char* key, const char* colon) {
    const int64_t n = std::min<int64_t>(8, colon - key);
    mask = n == 8 ? ~uint64_t{0} : ~(~uint64_t{0} >> 8 * n);
    word = at(colon) & mask;
  }
  // 8 bytes are readable in front of a chunk.
  static uint64_t at(const char* colon) {
    uint64_t word;
    std::memcpy(&word, colon - 8, 8);
    return word;
  }
};

// The common parts of flat rows with the same keys in the same order.
struct Shape {
  struct Wanted {
    uint32_t place;  // of the field within the object
    int key_number;
    Key key;
  };
  uint32_t fields = 0;
  std::vector<KeyEnd> ends;  // of each key
  std::vector<Wanted> wanted;
  std::vector<int> missing;  // wanted keys that such rows do not have
  std::vector<Key> others;   // keys that end as a wanted one does, and must not be one
  std::vector<uint32_t> other_places;
};

class IndexedRows {
 public:
  using Keys = std::unordered_map<std::string_view, int>;  // wanted names, and their numbers
  IndexedRows(const Keys& keys, bool exact);

  // Finds the tokens of [data, data + size). A text with an unclosed string, or that is not UTF-8, has none: no row is
  // then taken. "memory": there is none for it.
  Status index(const char* data, int64_t size);

  // Takes the row of the line at `line`, behind all that were taken before it, if it is flat, its wanted names differ,
  // and not too many kinds of such rows came before: its values are in tokens[number][row], and the return value is
  // where the next line starts. Else it is null.
  const char* take(const char* line, Token* const* tokens, int row);

  size_t shape() const { return shape_; }  // the number of the last row's shape
  // Return how to walk rows like the last one, if that is faster and the row is on one line.
  std::optional<Walk> walk(const char* line) const;

 private:
  static constexpr size_t kShapesMax = 16;

  char byte(uint32_t token) const { return base_[index_[token]]; }
  const char* value_end(uint32_t token) const;  // of the value in front of a token
  const char* fits(size_t number, const char* line, Token* const* tokens, int row);
  bool is_plain_row(const Shape& shape, const uint32_t* p) const;
  bool learn();
  bool may_be_wanted(std::string_view raw, int64_t end_bytes) const;
  int key_of(std::string_view raw);

  const Keys& keys_;
  const bool exact_;
  bool escaped_names_ = false;  // wanted names that may be written in several ways
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stages_;
  Unescaper unescape_;
  std::vector<Shape> shapes_;
  size_t shape_ = 0;
  const char *base_ = nullptr, *end_ = nullptr;  // the text
  const uint32_t* index_ = nullptr;              // its tokens, counted from base_; consumed up to token_
  uint32_t token_ = 0, tokens_found_ = 0;
  uint32_t row_token_ = 0;  // the first of the last row
};

}  // namespace jg::json
