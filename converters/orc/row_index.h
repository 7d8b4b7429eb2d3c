// The row indexes and Bloom filters of a stripe, which describe its row groups.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/bounds.h"
#include "common/row_ranges.h"
#include "orc/tail.h"

namespace jg::columnar {

class RowIndex {
 public:
  // All of them outlive this. Reads nothing yet.
  RowIndex(InputFile& file, const OrcTail& tail, const OrcStripe& stripe) : file_(file), tail_(tail), stripe_(stripe) {}

  // Leaves out of `rows` the row groups in which the column, of type `id`, cannot match. What is damaged in the
  // stripe's indexes, or missing, rules nothing out.
  void narrow(const Bounds& bounds, int column, int id, std::vector<RowRange>* rows);

 private:
  std::vector<RowRange> matches(const Bounds& bounds, int column, int id);
  std::string read_stream(OrcStreamKind kind, int id);
  bool counts_rows();
  RowRange group(size_t number) const;

  InputFile& file_;
  const OrcTail& tail_;
  const OrcStripe& stripe_;
  std::optional<OrcStripeFooter> footer_;  // once read
  std::optional<bool> counts_rows_;        // once known
};

}  // namespace jg::columnar
