#include "common/morsels.h"

#include <algorithm>

namespace jg::columnar {

namespace {

// Cuts each part into up to `pieces` ranges of at least rows_min rows.
std::vector<Morsel> split(const std::vector<Morsel>& parts, int64_t pieces, int64_t rows_min) {
  std::vector<Morsel> result;
  for (const Morsel& part : parts) {
    int64_t n = std::clamp<int64_t>(part.rows / rows_min, 1, std::max<int64_t>(pieces, 1));
    int64_t step = (part.rows + n - 1) / n;
    for (int64_t first = 0; first < part.rows; first += step) {
      result.push_back({part.file, part.part, part.first + first, std::min(step, part.rows - first)});
    }
  }
  return result;
}

}  // namespace

std::vector<Morsel> cut_morsels(std::vector<Morsel> parts, int share_index, int share_count, int threads,
                                int64_t rows_min) {
  auto per_part = [&](int64_t wanted) {
    int64_t n = static_cast<int64_t>(parts.size());
    return n == 0 || n >= wanted ? 1 : (wanted + n - 1) / n;
  };
  if (share_count > 1) {
    parts = split(parts, per_part(share_count), rows_min);
    std::vector<Morsel> mine;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (static_cast<int>(i % static_cast<size_t>(share_count)) == share_index) mine.push_back(parts[i]);
    }
    parts = std::move(mine);
  }
  return threads > 1 ? split(parts, per_part(2 * threads), rows_min) : parts;
}

}  // namespace jg::columnar
