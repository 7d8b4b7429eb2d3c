// The pruning algorithms of p4/programs over whole columns; bench/pruning.py checks them against those references.
// Each writes pruned[i] for tuple i. `row` is a hash (or a random number) below d; cells are d x w.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

extern "C" {

void distinct_lru(size_t n, const uint32_t* row, const uint64_t* key, uint32_t d, uint32_t w, uint8_t* pruned) {
  std::vector<uint64_t> cells(size_t{d} * w);
  for (size_t i = 0; i < n; ++i) {
    uint64_t carried = key[i];
    pruned[i] = 0;
    for (uint32_t c = 0; c < w && !pruned[i]; ++c) {
      std::swap(carried, cells[size_t{row[i]} * w + c]);
      pruned[i] = carried == key[i];
    }
  }
}

void distinct_fifo(size_t n, const uint32_t* row, const uint64_t* key, uint32_t d, uint32_t w, uint8_t* pruned) {
  std::vector<uint64_t> cells(size_t{d} * w);
  std::vector<uint32_t> turns(d);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t turn = turns[row[i]];
    turns[row[i]] = turn == w - 1 ? 0 : turn + 1;
    pruned[i] = 0;
    for (uint32_t c = 0; c < w && !pruned[i]; ++c) {
      uint64_t& cell = cells[size_t{row[i]} * w + c];
      pruned[i] = cell == key[i];
      if (c == turn) cell = key[i];
    }
  }
}

void topn_rand(size_t n, const uint32_t* row, const uint32_t* value, uint32_t d, uint32_t w, uint8_t* pruned) {
  std::vector<uint32_t> cells(size_t{d} * w);
  for (size_t i = 0; i < n; ++i) {
    uint32_t* cell = &cells[size_t{row[i]} * w];
    uint32_t carried = value[i];
    for (uint32_t c = 0; c + 1 < w; ++c)
      if (carried > cell[c]) std::swap(carried, cell[c]);
    pruned[i] = carried < cell[w - 1];
    if (!pruned[i]) cell[w - 1] = carried;
  }
}

void topn_det(size_t n, const uint32_t* value, uint32_t wanted, uint32_t w, uint8_t* pruned) {
  std::vector<uint32_t> counts(w);
  uint32_t least = ~0u;
  for (size_t i = 0; i < n; ++i) {
    pruned[i] = 0;
    if (i < wanted) {
      least = std::min(least, value[i]);
      continue;
    }
    pruned[i] = value[i] < least;
    for (uint32_t k = 0; k < w; ++k) {
      if (value[i] >= least << (k + 1))
        counts[k] += counts[k] != ~0u;
      else if (counts[k] >= wanted)
        pruned[i] = 1;
    }
  }
}

void groupby(size_t n, const uint32_t* row, const uint32_t* key, const uint32_t* value, uint32_t d, uint32_t w,
             uint8_t* pruned) {
  std::vector<std::pair<uint32_t, uint32_t>> cells(size_t{d} * w);
  std::vector<uint32_t> turns(d);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t turn = turns[row[i]];
    turns[row[i]] = turn == w - 1 ? 0 : turn + 1;
    pruned[i] = 0;
    for (uint32_t c = 0; c < w; ++c) {
      auto& cell = cells[size_t{row[i]} * w + c];
      if (cell.first == key[i]) {
        pruned[i] = value[i] <= cell.second;
        cell.second = std::max(cell.second, value[i]);
        break;
      }
      if (c == turn) cell = {key[i], value[i]};
    }
  }
}

void having(size_t n, const uint32_t* rows, const uint32_t* value, uint32_t width, uint32_t depth, uint32_t threshold,
            uint8_t* pruned) {
  std::vector<uint32_t> counters(size_t{width} * depth);
  for (size_t i = 0; i < n; ++i) {
    uint32_t estimate = ~0u;
    for (uint32_t h = 0; h < depth; ++h) {
      uint32_t& counter = counters[size_t{h} * width + rows[h * n + i]];
      counter = static_cast<uint32_t>(std::min<uint64_t>(~0u, uint64_t{counter} + value[i]));
      estimate = std::min(estimate, counter);
    }
    pruned[i] = estimate <= threshold;
  }
}

void skyline(size_t n, const uint32_t* score, const uint32_t* x, const uint32_t* y, uint32_t w, uint8_t* pruned) {
  struct Point {
    uint32_t h, x, y;
  };
  std::vector<Point> points(w);
  for (size_t i = 0; i < n; ++i) {
    Point carried{score[i], x[i], y[i]};
    bool own = true;
    pruned[i] = 0;
    for (Point& stored : points) {
      if (carried.h == stored.h) continue;
      const bool below = carried.h < stored.h;
      if (!below) std::swap(carried, stored);
      if (carried.x <= stored.x && carried.y <= stored.y) {
        pruned[i] = below && own;
        break;
      }
      own = own && below;
    }
  }
}
}
