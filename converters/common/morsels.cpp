#include "common/morsels.h"

#include <algorithm>

namespace jg::columnar {

namespace {

// Cuts parts into ranges of at least rows_min rows, so that there are about `wanted` in all.
std::vector<Morsel> split_into(std::vector<Morsel> parts, int64_t wanted, int64_t rows_min) {
  int64_t count = static_cast<int64_t>(parts.size());
  if (count == 0 || count >= wanted) return parts;
  int64_t pieces = (wanted + count - 1) / count;
  std::vector<Morsel> result;
  for (const Morsel& part : parts) {
    int64_t n = std::clamp<int64_t>(part.rows / rows_min, 1, pieces);
    int64_t step = (part.rows + n - 1) / n;
    for (int64_t first = 0; first < part.rows; first += step) {
      result.push_back({part.file, part.part, part.first + first, std::min(step, part.rows - first)});
    }
  }
  return result;
}

}  // namespace

std::vector<Morsel> take_share(std::vector<Morsel> parts, int share_index, int share_count, int64_t rows_min) {
  if (share_count == 1) return parts;
  parts = split_into(std::move(parts), share_count, rows_min);
  std::vector<Morsel> mine;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (static_cast<int>(i % static_cast<size_t>(share_count)) == share_index) mine.push_back(parts[i]);
  }
  return mine;
}

std::vector<Morsel> cut_morsels(std::vector<Morsel> parts, int threads, int64_t rows_min) {
  return threads > 1 ? split_into(std::move(parts), 2 * threads, rows_min) : parts;
}

}  // namespace jg::columnar
