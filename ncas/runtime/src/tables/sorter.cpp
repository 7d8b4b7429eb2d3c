#include "tables/sorter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace jg {
namespace {

constexpr size_t kRadixRows = 4096;    // fewer are sorted by comparison
constexpr int kRadixBytes = 8;         // more bytes that differ, too
constexpr int64_t kRangeRows = 32768;  // that are worth a task
constexpr size_t kSamples = 32;        // of a part for each range

uint8_t byte_of(const SortEntry& e, int byte) {
  return static_cast<uint8_t>(e.prefix[byte / 8] >> (56 - byte % 8 * 8));
}

// By prefixes alone, byte by byte from the last; false if too many bytes differ.
bool radix_sort(std::vector<SortEntry>& entries) {
  uint64_t differ[2] = {0, 0};
  for (const SortEntry& e : entries) {
    for (int i = 0; i < 2; i++) differ[i] |= e.prefix[i] ^ entries[0].prefix[i];
  }
  std::vector<int> bytes;
  for (int byte = 15; byte >= 0; byte--) {
    if (differ[byte / 8] >> (56 - byte % 8 * 8) & 0xFF) bytes.push_back(byte);
  }
  if (bytes.size() > kRadixBytes) return false;
  std::vector<SortEntry> other(entries.size());
  for (int byte : bytes) {
    std::array<size_t, 256> at{};
    for (const SortEntry& e : entries) at[byte_of(e, byte)]++;
    size_t sum = 0;
    for (size_t& n : at) sum += std::exchange(n, sum);
    for (const SortEntry& e : entries) other[at[byte_of(e, byte)]++] = e;
    entries.swap(other);
  }
  return true;
}

int64_t bytes(const std::vector<SortEntry>& entries) {
  return static_cast<int64_t>(entries.size() * sizeof(SortEntry));
}

bool same_prefix(const SortEntry& a, const SortEntry& b) { return !std::memcmp(a.prefix, b.prefix, sizeof a.prefix); }

}  // namespace

bool Sorter::less(const SortEntry& a, const SortEntry& b) const {
  if (a.prefix[0] != b.prefix[0]) return a.prefix[0] < b.prefix[0];
  if (a.prefix[1] != b.prefix[1]) return a.prefix[1] < b.prefix[1];
  return info_.compare(a.row, b.row) < 0;
}

void Sorter::start(size_t parts) { parts_.resize(parts); }

void Sorter::sort(size_t part, const std::vector<JgRow*>& rows) {
  Entries entries(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    entries[i].row = rows[i];
    info_.prefix(rows[i], entries[i].prefix);
  }
  const auto less = [this](const SortEntry& a, const SortEntry& b) { return this->less(a, b); };
  if (entries.size() < kRadixRows || !radix_sort(entries)) {
    std::sort(entries.begin(), entries.end(), less);
  } else {
    for (auto begin = entries.begin(), end = begin; begin != entries.end(); begin = end) {
      while (end != entries.end() && same_prefix(*begin, *end)) ++end;
      if (end - begin > 1) std::sort(begin, end, less);
    }
  }
  budget_->held += bytes(entries);
  parts_[part] = std::move(entries);
}

int64_t Sorter::size() const {
  int64_t rows = 0;
  for (const Entries& part : parts_) rows += static_cast<int64_t>(part.size());
  return rows;
}

int Sorter::split(int most) {
  const int ranges = static_cast<int>(std::clamp<int64_t>(size() / kRangeRows, 1, most));
  const auto less = [this](const SortEntry& a, const SortEntry& b) { return this->less(a, b); };
  Entries samples;
  for (const Entries& part : parts_) {
    const size_t count = std::min(part.size(), kSamples * ranges);
    for (size_t i = 0; i < count; i++) samples.push_back(part[part.size() * i / count]);
  }
  std::sort(samples.begin(), samples.end(), less);
  bounds_.assign(1, std::vector<size_t>(parts_.size(), 0));
  for (int r = 1; r < ranges; r++) {
    const SortEntry& splitter = samples[samples.size() * r / ranges];
    std::vector<size_t>& bounds = bounds_.emplace_back();
    for (const Entries& part : parts_) {
      bounds.push_back(std::lower_bound(part.begin(), part.end(), splitter, less) - part.begin());
    }
  }
  std::vector<size_t>& ends = bounds_.emplace_back();
  for (const Entries& part : parts_) ends.push_back(part.size());
  return ranges;
}

void Sorter::merge(int range, JgRow** all) {
  const auto less = [this](const SortEntry& a, const SortEntry& b) { return this->less(a, b); };
  Entries merged, other;
  std::vector<size_t> ends;  // of sorted runs in `merged`
  for (size_t p = 0; p < parts_.size(); p++) {
    const size_t from = bounds_[range][p], to = bounds_[range + 1][p];
    all += from;
    if (from == to) continue;
    merged.insert(merged.end(), parts_[p].begin() + from, parts_[p].begin() + to);
    ends.push_back(merged.size());
  }
  while (ends.size() > 1) {  // neighbours in pairs
    other.resize(merged.size());
    std::vector<size_t> fewer;
    for (size_t i = 0, begin = 0; i < ends.size(); i += 2) {
      const size_t middle = ends[i], end = i + 1 < ends.size() ? ends[i + 1] : middle;
      std::merge(merged.begin() + begin, merged.begin() + middle, merged.begin() + middle, merged.begin() + end,
                 other.begin() + begin, less);
      fewer.push_back(begin = end);
    }
    merged.swap(other);
    ends.swap(fewer);
  }
  for (const SortEntry& e : merged) *all++ = e.row;
}

void Sorter::clear() {
  for (const Entries& part : parts_) budget_->held -= bytes(part);
  parts_.clear();
  bounds_.clear();
}

}  // namespace jg
