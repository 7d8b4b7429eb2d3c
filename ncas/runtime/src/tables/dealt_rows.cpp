#include "tables/dealt_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace jg {
namespace {

constexpr size_t kFirstRows = 8, kPieceBytes = 64 << 10;  // of a place: it doubles until then
constexpr size_t kFirstText = 256;                        // bytes
constexpr size_t kMergedAhead = 16;                       // rows whose slot is fetched before their turn
constexpr size_t kRadixKeys = 512;                        // fewer are sorted by comparison
constexpr int kDigitBits = 10;                            // of a pass at most

// Sort by bits [from, from + bits), the least significant digit first. `other` is scratch memory of the same length;
// the sorted keys are in either.
std::span<uint64_t> radix_sort_words(std::span<uint64_t> keys, std::span<uint64_t> other, int from, int bits) {
  const int passes = (bits + kDigitBits - 1) / kDigitBits, digit = passes ? (bits + passes - 1) / passes : 0;
  const uint64_t mask = (uint64_t{1} << digit) - 1;
  for (int pass = 0; pass < passes; pass++, from += digit) {
    std::array<uint64_t, 1 << kDigitBits> at{};
    for (const uint64_t key : keys) at[key >> from & mask]++;
    uint64_t sum = 0;
    for (uint64_t& n : at) sum += std::exchange(n, sum);
    for (const uint64_t key : keys) other[at[key >> from & mask]++] = key;
    std::swap(keys, other);
  }
  return keys;
}

// Calls `each` with the ends of every run of two or more elements for which `together`.
template <class Rows, class Together, class Each>
void each_run(Rows& all, Together together, Each each) {
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    for (end = begin + 1; end < all.size() && together(all[begin], all[end]);) end++;
    if (end - begin > 1) each(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end));
  }
}

}  // namespace

void DealtRows::extend(JgPlace* place, Arena* arena) {
  const auto deal = static_cast<size_t>(place - places_.data());
  const size_t rows = std::clamp<size_t>(rows_[deal], kFirstRows, std::max(kPieceBytes / row_size_, kFirstRows));
  const size_t bytes = rows * row_size_;
  place->at = arena->bytes(bytes);
  place->end = place->at + bytes;
  pieces_[deal].push_back({place->at, place->end});
  rows_[deal] += rows;
}

void DealtRows::append(size_t deal, Rows* rows) const {
  for (const Piece& piece : pieces_[deal]) {
    char* const end = piece.end == places_[deal].end ? places_[deal].at : piece.end;
    for (char* row = piece.begin; row < end; row += row_size_) rows->push_back(reinterpret_cast<JgRow*>(row));
  }
}

void DealtRows::clear() {
  std::fill(places_.begin(), places_.end(), JgPlace{});
  for (auto& pieces : pieces_) pieces.clear();
  std::fill(rows_.begin(), rows_.end(), 0);
}

void DealtRows::take(DealtRows* other) {
  std::copy(other->places_.begin(), other->places_.end(), places_.begin());
  pieces_.swap(other->pieces_);
  rows_.swap(other->rows_);
}

JgStr DealtTexts::keep(uint64_t hash, JgStr s, Arena* arena) {
  if (s.size == 0) return {"", 0};
  char* copy = bytes(hash, s.size, arena);
  std::memcpy(copy, s.data, s.size);
  return {copy, s.size};
}

char* DealtTexts::bytes(uint64_t hash, uint64_t n, Arena* arena) {
  const uint64_t deal = hash >> (64 - JG_DEAL_BITS);
  JgPlace* place = &places_[deal];
  if (static_cast<uint64_t>(place->end - place->at) < n) {
    const size_t size = std::max<size_t>(std::clamp(sizes_[deal], kFirstText, kPieceBytes), n);
    place->at = arena->bytes(size);
    place->end = place->at + size;
    sizes_[deal] += size;
  }
  return std::exchange(place->at, place->at + n);
}

ByDeal::ByDeal(const Rows& rows) : rows_(rows.size()), begin_(kDeals + 1) {
  const auto deal = [](const JgRow* row) { return row->hash >> (64 - JG_DEAL_BITS); };
  std::array<ptrdiff_t, kDeals> at{};
  for (const JgRow* row : rows) at[deal(row)]++;
  for (size_t d = 0; d < kDeals; d++) begin_[d + 1] = begin_[d] + std::exchange(at[d], begin_[d]);
  for (JgRow* row : rows) rows_[static_cast<size_t>(at[deal(row)]++)] = row;
}

void GroupMerger::begin(int64_t rows, int bits) {
  slots_.assign(slots_for(rows), 0);
  directory_ = directory_of(slots_);
  bits_ = bits;
}

void GroupMerger::merge(JgTask* task, JgRow* const* rows, size_t n, Rows* groups) {
  for (size_t i = 0; i < n; i++) {
    if (i + kMergedAhead < n) __builtin_prefetch(slot(rows[i + kMergedAhead]));
    JgRow* row = rows[i];
    uint64_t* at = slot(row);
    JgRow* same = *at & jg_tag(row->hash) ? reinterpret_cast<JgRow*>(*at & kPointer) : nullptr;
    while (same && !(same->hash == row->hash && info_.equal(same, row))) same = same->next;
    if (same) {
      info_.merge(task, 0, same, row);
    } else {
      link(at, row);
      groups->push_back(row);
    }
  }
}

std::span<uint64_t> DealMemory::words(size_t n) {
  if (n > words_.size()) {
    words_ = {};
    arena_.reset();
    words_ = {reinterpret_cast<uint64_t*>(arena_.bytes(n * sizeof(uint64_t))), n};
  }
  return words_.first(n);
}

// Sort by words of a key and the row's number; rows break ties of keys that do not fit.
void DealSorter::sort(Rows* rows) {
  WordBounds bounds;
  for (const JgRow* row : *rows) bounds.add(info_, row);
  const size_t n = rows->size();
  const int index_bits = static_cast<int>(std::bit_width(n));
  const Packing packing(info_, bounds, 64 - index_bits);
  const std::span<uint64_t> room = memory_.words(2 * n);
  std::span<uint64_t> keys = room.first(n);
  for (size_t i = 0; i < n; i++) keys[i] = packing.key<uint64_t>((*rows)[i]) << index_bits | i;
  if (n < kRadixKeys)
    std::sort(keys.begin(), keys.end());
  else
    keys = radix_sort_words(keys, room.last(n), index_bits, packing.bits());
  const auto row = [&](uint64_t key) { return (*rows)[key & ((uint64_t{1} << index_bits) - 1)]; };
  if (!packing.exact())
    each_run(
        keys, [&](uint64_t a, uint64_t b) { return a >> index_bits == b >> index_bits; },
        [&](auto begin, auto end) {
          std::sort(begin, end, [&](uint64_t a, uint64_t b) { return before(row(a), row(b)); });
        });
  for (uint64_t& key : keys) key = reinterpret_cast<uint64_t>(row(key));
  for (size_t i = 0; i < n; i++) (*rows)[i] = reinterpret_cast<JgRow*>(keys[i]);
  if (info_.hash_offset >= 0) part_equal_hashes(rows);
}

// Rows in order of a hash may have those of several partitions mixed up.
void DealSorter::part_equal_hashes(Rows* rows) const {
  each_run(
      *rows, [&](const JgRow* a, const JgRow* b) { return hash(a) == hash(b); },
      [&](auto begin, auto end) {
        const auto apart = [&](const JgRow* a, const JgRow* b) { return !info_.together(a, b); };
        if (std::adjacent_find(begin, end, apart) == end) return;
        std::sort(begin, end, [&](const JgRow* a, const JgRow* b) { return before(a, b); });
      });
}

void WholePartitions::compute(JgTask* task, const Rows& rows) {
  const size_t slots = std::bit_ceil(rows.size() + rows.size() / 2 + 1);
  const std::span<uint64_t> room = memory_.words(slots + rows.size());
  std::fill_n(room.begin(), slots, 0);
  auto* all = reinterpret_cast<JgRow**>(room.data());
  info_.whole(task, rows.data(), static_cast<int64_t>(rows.size()), all, 64 - std::countr_zero(slots), all + slots);
}

}  // namespace jg
