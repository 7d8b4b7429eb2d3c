// codes: indices of dictionaries that are unpacked, and rows that are judged by them, beside loops over bits and rows.
// Prints what went wrong.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "expect.h"
#include "jg/filters.h"
#include "parquet/hybrid.h"

namespace {

using jg::columnar::HybridDecoder;

std::mt19937_64 chance(7);

int below(int n) { return static_cast<int>(chance() % static_cast<uint64_t>(n)); }

// One bit-packed run, in memory of its own size: a read behind it is an error.
std::vector<uint8_t> packed(const std::vector<uint32_t>& values, int width) {
  std::vector<uint8_t> bytes;
  uint64_t header = values.size() / 8 * 2 + 1;
  for (; header >= 0x80; header >>= 7) bytes.push_back(static_cast<uint8_t>(header | 0x80));
  bytes.push_back(static_cast<uint8_t>(header));
  const size_t base = bytes.size();
  bytes.resize(base + values.size() / 8 * static_cast<size_t>(width));
  for (size_t i = 0; i < values.size(); i++)
    for (int b = 0; b < width; b++) {
      const size_t bit = i * static_cast<size_t>(width) + static_cast<size_t>(b);
      bytes[base + bit / 8] |= static_cast<uint8_t>((values[i] >> b & 1) << bit % 8);
    }
  bytes.shrink_to_fit();
  return bytes;
}

void unpack_all_widths() {
  for (int width = 1; width <= 32; width++)
    for (int round = 0; round < 20; round++) {
      std::vector<uint32_t> values(static_cast<size_t>(8 * (1 + below(300))));
      for (uint32_t& value : values) value = static_cast<uint32_t>(chance() & ((uint64_t{1} << width) - 1));
      const std::vector<uint8_t> bytes = packed(values, width);
      HybridDecoder decoder;
      decoder.reset(bytes.data(), static_cast<int64_t>(bytes.size()), width);
      std::vector<uint32_t> found(values.size());
      const int n = static_cast<int>(values.size());
      for (int at = 0; at < n;) {
        const int take = std::min(n - at, 1 + below(500));
        const uint32_t largest = decoder.decode(found.data() + at, take);
        EXPECT(largest == *std::max_element(found.begin() + at, found.begin() + at + take));
        at += take;
      }
      EXPECT(found == values);
    }
}

void judge_like_a_loop() {
  for (const uint32_t count : {1u, 2u, 64u, 127u, 128u, 129u, 1000u, 1024u, 1025u, 5000u, uint32_t{JG_VERDICTS}})
    for (int round = 0; round < 40; round++) {
      const int n = 1 + below(JG_BATCH_ROWS);
      std::vector<uint32_t> codes(static_cast<size_t>(n));
      for (uint32_t& code : codes) code = static_cast<uint32_t>(below(static_cast<int>(count)));
      std::vector<uint8_t> truth(count), verdicts(JG_VERDICTS);
      const int share = below(5);
      for (uint8_t& verdict : truth) verdict = below(4) < share ? 2 : 1;
      for (uint32_t code = 0; code < count; code++) verdicts[code] = below(3) ? truth[code] : 0;
      std::vector<int32_t> wanted, found(static_cast<size_t>(n));
      for (int i = 0; i < n; i++)
        if (truth[codes[static_cast<size_t>(i)]] == 2) wanted.push_back(i);
      int k = 0, unknown = 0;
      for (int at = 0; (at = jg_judge(codes.data(), at, n, verdicts.data(), count, found.data(), &k)) < n; unknown++) {
        const uint32_t code = codes[static_cast<size_t>(at)];
        EXPECT(verdicts[code] == 0);  // or it is asked for ever
        verdicts[code] = truth[code];
      }
      EXPECT(unknown <= n);
      found.resize(static_cast<size_t>(k));
      EXPECT(found == wanted);
    }
}

}  // namespace

int main() {
  unpack_all_widths();
  judge_like_a_loop();
  return 0;
}
