// Parts of a scan in an order in which siblings begin with their own.
#include "common/placed_parts.h"

#include <algorithm>

#include "expect.h"

namespace {

using Order = std::vector<size_t>;

void check_order() {
  EXPECT(jg::placed_parts({}, 3).empty());
  EXPECT((jg::placed_parts({-1, -1, -1, -1}, 2) == Order{0, 1, 2, 3}));
  EXPECT((jg::placed_parts({1, 0, 1, 0}, 2) == Order{1, 0, 3, 2}));
  // two of one sibling's take places that are others', and those of siblings that are not there are anyone's
  EXPECT((jg::placed_parts({1, 1, 1, 7}, 2) == Order{2, 0, 3, 1}));
}

// Each part has one place, whoever owns it, and no sibling has another's part in place of one of its own.
void check_all_owners() {
  for (size_t siblings = 1; siblings <= 4; siblings++) {
    for (size_t parts = 0; parts < 40; parts++) {
      std::vector<int> owners(parts);
      for (size_t i = 0; i < parts; i++) owners[i] = static_cast<int>(i * i * 7 % (siblings + 2)) - 1;
      const Order order = jg::placed_parts(owners, siblings);
      Order sorted = order;
      std::sort(sorted.begin(), sorted.end());
      for (size_t i = 0; i < parts; i++) EXPECT(sorted[i] == i);
      for (size_t s = 0; s < siblings; s++) {
        const auto own = static_cast<size_t>(std::count(owners.begin(), owners.end(), static_cast<int>(s)));
        size_t places = 0, kept = 0;
        for (size_t place = s; place < parts; place += siblings, places++)
          kept += owners[order[place]] == static_cast<int>(s);
        EXPECT(kept == std::min(own, places));
      }
    }
  }
}

void check_owner() {
  jg::FileSourceOptions options;
  EXPECT(jg::owner_of(options, "f", 0, 10) == -1);
  options.owners["f"] = {2, -1, 0};
  EXPECT(jg::owner_of(options, "f", 0, 9) == 2 && jg::owner_of(options, "f", 2, 9) == 2);
  EXPECT(jg::owner_of(options, "f", 3, 9) == -1 && jg::owner_of(options, "f", 8, 9) == 0);
  EXPECT(jg::owner_of(options, "f", int64_t{1} << 60, int64_t{1} << 60) == 0);
  EXPECT(jg::owner_of(options, "f", 5, 0) == -1 && jg::owner_of(options, "g", 0, 9) == -1);
}

}  // namespace

int main() {
  check_order();
  check_all_owners();
  check_owner();
}
