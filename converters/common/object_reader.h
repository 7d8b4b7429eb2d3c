// Reads an object of a store in few, concurrent requests: ranges that will be wanted are fetched ahead, in blocks, of
// which a bounded number of bytes is held.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <vector>

#include "jg/objects.h"

namespace jg::columnar {

struct ByteRange {
  int64_t begin = 0, end = 0;
};

class ObjectReader {
 public:
  explicit ObjectReader(const objects::Object& object) : object_(object) {}
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;

  int64_t size() const { return object_.size; }
  int64_t bytes_fetched() const { return bytes_fetched_; }
  // Says what is wanted next; each range is read from its front on.
  void expect(std::vector<ByteRange> ranges);
  // Drops what was expected and what is held.
  void forget();
  // Reads up to the object's end. Throws ReadError.
  int64_t read(int64_t position, int64_t bytes, char* out);

 private:
  struct Block {
    int64_t end = 0, read_to = 0;
    uint64_t used = 0;
    std::unique_ptr<char[]> bytes;
    std::future<Status> coming;  // invalid once it has come
  };
  using Blocks = std::map<int64_t, Block>;

  Blocks::iterator block_with(int64_t position);
  Blocks::iterator wanted(int64_t position, int64_t bytes);
  Blocks::iterator fetch(ByteRange range);
  Blocks::iterator hold(ByteRange range, objects::Coming part);
  void fetch_ahead();
  void make_room(int64_t bytes);
  void drop(Blocks::iterator block);

  const objects::Object& object_;
  Blocks blocks_;  // by where they begin; they do not overlap
  std::deque<ByteRange> expected_;
  int64_t held_ = 0;
  std::atomic<int64_t> bytes_fetched_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace jg::columnar
