#include "common/object_reader.h"

#include <algorithm>
#include <cstring>

#include "common/read_error.h"

namespace jg::columnar {
namespace {

constexpr int64_t kHeldMax = 64 << 20;                         // bytes of blocks, of one reader
constexpr int64_t kBlockMax = 8 << 20, kBlockMin = 256 << 10;  // of what was expected
constexpr int64_t kGap = 16 << 10;                             // as much between two ranges is read with them
constexpr int64_t kUnexpected = 256 << 10;                     // is read where less is wanted

}  // namespace

ObjectReader::~ObjectReader() { forget(); }

void ObjectReader::forget() {
  expected_.clear();
  while (!blocks_.empty()) drop(blocks_.begin());
}

// Its memory is a thread's until the bytes have come.
void ObjectReader::drop(Blocks::iterator block) {
  if (block->second.coming.valid()) block->second.coming.wait();
  held_ -= block->second.end - block->first;
  blocks_.erase(block);
}

void ObjectReader::expect(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](ByteRange a, ByteRange b) { return a.begin < b.begin; });
  std::vector<ByteRange> merged;
  for (ByteRange range : ranges) {
    range = {std::max<int64_t>(0, range.begin), std::min(range.end, object_.size)};
    if (range.begin >= range.end) continue;
    if (!merged.empty() && range.begin <= merged.back().end + kGap) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  const int64_t share = kHeldMax / 2 / std::max<int64_t>(1, static_cast<int64_t>(merged.size()));
  const int64_t piece = std::clamp(share, kBlockMin, kBlockMax);
  for (bool more = true; more;) {  // the fronts of all first
    more = false;
    for (ByteRange& range : merged) {
      if (range.begin >= range.end) continue;
      const int64_t end = range.end - range.begin <= piece + piece / 2 ? range.end : range.begin + piece;
      expected_.push_back({range.begin, end});
      range.begin = end;
      more = true;
    }
  }
  fetch_ahead();
}

ObjectReader::Blocks::iterator ObjectReader::block_with(int64_t position) {
  auto after = blocks_.upper_bound(position);
  if (after == blocks_.begin() || std::prev(after)->second.end <= position) return blocks_.end();
  return std::prev(after);
}

// Leaves out what is there already.
ObjectReader::Blocks::iterator ObjectReader::fetch(ByteRange range) {
  if (auto there = block_with(range.begin); there != blocks_.end()) return there;
  const auto next = blocks_.upper_bound(range.begin);
  if (next != blocks_.end()) range.end = std::min(range.end, next->first);
  const int64_t bytes = range.end - range.begin;
  objects::Coming part;
  part.bytes.reset(new char[static_cast<size_t>(bytes)]);
  part.done = objects::read(object_, range.begin, bytes, part.bytes.get());
  return hold(range, std::move(part));
}

ObjectReader::Blocks::iterator ObjectReader::hold(ByteRange range, objects::Coming part) {
  Block block;
  block.end = range.end;
  block.read_to = range.begin;
  block.used = ++clock_;
  block.bytes = std::move(part.bytes);
  block.coming = std::move(part.done);
  held_ += range.end - range.begin;
  bytes_fetched_ += range.end - range.begin;
  return blocks_.emplace(range.begin, std::move(block)).first;
}

void ObjectReader::fetch_ahead() {
  while (!expected_.empty()) {
    const ByteRange next = expected_.front();
    const int64_t bytes = next.end - next.begin;
    if (held_ + bytes > kHeldMax) {
      auto read =
          std::find_if(blocks_.begin(), blocks_.end(), [](const auto& b) { return b.second.read_to >= b.second.end; });
      if (read == blocks_.end()) return;
      drop(read);
      continue;
    }
    expected_.pop_front();
    fetch(next);
  }
}

// Drops those that have been read, then those that were used the longest ago.
void ObjectReader::make_room(int64_t bytes) {
  while (!blocks_.empty() && held_ + bytes > kHeldMax) {
    drop(std::min_element(blocks_.begin(), blocks_.end(), [](const auto& a, const auto& b) {
      const bool a_left = a.second.read_to < a.second.end, b_left = b.second.read_to < b.second.end;
      return a_left != b_left ? b_left : a.second.used < b.second.used;
    }));
  }
}

// The block with a position, asked for now if it is not there.
ObjectReader::Blocks::iterator ObjectReader::wanted(int64_t position, int64_t bytes) {
  if (auto there = block_with(position); there != blocks_.end()) return there;
  auto holds = [position](ByteRange range) { return range.begin <= position && position < range.end; };
  if (auto soon = std::find_if(expected_.begin(), expected_.end(), holds); soon != expected_.end()) {
    const ByteRange range{position, soon->end};
    expected_.erase(soon);
    make_room(range.end - range.begin);
    return fetch(range);
  }
  ByteRange range{position, std::min(std::max(position + bytes, position + kUnexpected), object_.size)};
  const int64_t footer = std::max<int64_t>(0, object_.size - objects::kEndBytes);
  const auto after = blocks_.upper_bound(position);
  const bool is_end = position >= footer && (after == blocks_.begin() || std::prev(after)->second.end <= footer);
  if (is_end && after == blocks_.end()) {
    if (objects::Coming end = objects::take_end(object_); end.bytes)
      return hold({end.begin, object_.size}, std::move(end));
  }
  if (is_end) range.begin = footer;
  range.end = std::min(range.end, range.begin + kBlockMax);
  make_room(range.end - range.begin);
  return fetch(range);
}

int64_t ObjectReader::read(int64_t position, int64_t bytes, char* out) {
  bytes = std::max<int64_t>(0, std::min(bytes, object_.size - position));
  int64_t done = 0;
  while (done < bytes) {
    const int64_t at = position + done;
    const auto found = wanted(at, bytes - done);
    Block& block = found->second;
    if (block.coming.valid()) {
      const Status status = block.coming.get();
      if (!status.ok()) {
        drop(found);
        throw ReadError(status.error().code, status.error().message);
      }
    }
    const int64_t n = std::min(bytes - done, block.end - at);
    std::memcpy(out + done, block.bytes.get() + (at - found->first), static_cast<size_t>(n));
    done += n;
    block.used = ++clock_;
    block.read_to = std::max(block.read_to, at + n);
    if (block.read_to == block.end) fetch_ahead();
  }
  return done;
}

}  // namespace jg::columnar
