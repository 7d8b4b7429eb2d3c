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

std::vector<Morsel> deal(std::vector<Morsel> parts, const FileSourceOptions& options, int64_t rows_min,
                         const std::function<int64_t(const Morsel&)>& useless, Counters* counters) {
  const bool shared = options.shares != nullptr;
  if (shared)
    parts = split_into(std::move(parts), options.parts_wanted, rows_min);
  else if (options.share_count > 1)
    parts = split_into(std::move(parts), options.share_count, rows_min);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool mine = static_cast<int>(i % static_cast<size_t>(options.share_count)) == options.share_index;
    const int64_t bytes = mine || shared ? useless(parts[i]) : 0;
    if (mine) counters->pruned_bytes += bytes;
    if (bytes > 0 || !(mine || shared)) parts[i].rows = 0;
  }
  if (shared) return parts;  // siblings know them by their numbers
  std::erase_if(parts, [](const Morsel& part) { return part.rows == 0; });
  return options.threads > 1 ? split_into(std::move(parts), 2 * options.threads, rows_min) : parts;
}

}  // namespace jg::columnar
