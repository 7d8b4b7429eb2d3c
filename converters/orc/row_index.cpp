#include "orc/row_index.h"

#include <algorithm>
#include <string_view>

#include "common/read_error.h"
#include "orc/bloom_filter.h"
#include "orc/statistics.h"
#include "orc/stream.h"

namespace jg::columnar {

namespace {

constexpr int kRoot = 0;

std::string_view statistics_of(std::string_view entry) {
  std::string_view found;
  for (ProtoReader p(entry); p.next();) {
    if (p.field() == 2) found = p.bytes();
  }
  return found;
}

}  // namespace

void RowIndex::narrow(const Bounds& bounds, int column, int id, std::vector<RowRange>* rows) {
  const bool tells_more = stripe_.rows > tail_.row_index_stride || bounds.has_equality(column);
  if (tail_.row_index_stride == 0 || rows->empty() || !tells_more || !trusts_statistics(tail_)) return;
  try {
    *rows = intersection(*rows, matches(bounds, column, id));
  } catch (const ReadError& e) {
    if (e.code != "malformed") throw;
  }
}

std::vector<RowRange> RowIndex::matches(const Bounds& bounds, int column, int id) {
  const std::vector<RowRange> all = {{0, stripe_.rows}};
  if (!footer_) footer_ = read_stripe_footer(file_, tail_.compression, stripe_);
  const std::string index = read_stream(kRowIndex, id);
  const std::vector<std::string_view> entries = messages(index, 1);
  const auto groups = static_cast<size_t>((stripe_.rows + tail_.row_index_stride - 1) / tail_.row_index_stride);
  if (entries.size() != groups || !counts_rows()) return all;
  const OrcKind kind = tail_.types[static_cast<size_t>(id)].kind;
  std::string filter;
  if (bounds.has_equality(column) && has_filter_hash(kind)) filter = read_stream(kBloomFilterUtf8, id);
  std::vector<std::string_view> filters = messages(filter, 1);
  if (filters.size() != groups) filters.clear();
  std::vector<RowRange> found;
  for (size_t g = 0; g < groups; ++g) {
    const RowRange rows = group(g);
    if (!bounds.may_match(column, range_of(statistics_of(entries[g]), kind, rows.end - rows.first))) continue;
    auto holds = [&](const BoundValue& value) { return BloomFilter(filters[g]).may_hold(kind, value); };
    if (!filters.empty() && !bounds.may_equal(column, holds)) continue;
    append(&found, rows);
  }
  return found;
}

// Empty where there is none.
std::string RowIndex::read_stream(OrcStreamKind kind, int id) {
  const OrcStreamPlace* place = footer_->find(kind, id);
  return place ? read_section(file_, tail_.compression, place->offset, place->bytes) : std::string();
}

// Return whether the root's index, if there is one, has row groups of as many rows as the footer says.
bool RowIndex::counts_rows() {
  if (counts_rows_) return *counts_rows_;
  counts_rows_ = false;
  const std::string index = read_stream(kRowIndex, kRoot);
  const std::vector<std::string_view> entries = messages(index, 1);
  for (size_t g = 0; g < entries.size(); ++g) {
    const RowRange rows = group(g);
    if (count_values(statistics_of(entries[g])) != rows.end - rows.first) return false;
  }
  return *(counts_rows_ = true);
}

RowRange RowIndex::group(size_t number) const {
  const int64_t first = static_cast<int64_t>(number) * tail_.row_index_stride;
  return {first, std::min(first + tail_.row_index_stride, stripe_.rows)};
}

}  // namespace jg::columnar
