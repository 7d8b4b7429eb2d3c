#include "common/placed_parts.h"

#include <algorithm>

namespace jg {

int owner_of(const FileSourceOptions& options, const std::string& file, int64_t at, int64_t size) {
  const auto found = options.owners.find(file);
  if (found == options.owners.end() || found->second.empty() || size <= 0) return -1;
  const std::vector<int>& owners = found->second;
  const auto pieces = static_cast<int64_t>(owners.size());
  // as a product of doubles, as sizes are large: a piece off is nothing but slower
  const auto piece = static_cast<int64_t>(static_cast<double>(at) / static_cast<double>(size) * double(pieces));
  return owners[static_cast<size_t>(std::clamp<int64_t>(piece, 0, pieces - 1))];
}

std::vector<size_t> placed_parts(const std::vector<int>& owners, size_t siblings) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> order(owners.size(), kNone), next(siblings), others;
  for (size_t s = 0; s < siblings; s++) next[s] = s;
  for (size_t part = 0; part < owners.size(); part++) {
    const auto owner = static_cast<size_t>(owners[part]);  // that of any is beyond all
    if (owner < siblings && next[owner] < order.size()) {
      order[next[owner]] = part;
      next[owner] += siblings;
    } else {
      others.push_back(part);
    }
  }
  auto other = others.begin();
  for (size_t& place : order)
    if (place == kNone) place = *other++;
  return order;
}

}  // namespace jg
