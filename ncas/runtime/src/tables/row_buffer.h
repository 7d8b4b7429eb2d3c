// Rows that wait for a join whose build may be on disk: they are read partition by partition, each with the part of the
// build that has its partners.
#pragma once
#include "tables/row_store.h"

namespace jg {

class RowBuffer final : public RowStore {
 public:
  RowBuffer(const JgRowLayout& layout, const TableConfig& config, Budget* budget)
      : RowStore(layout, config, budget, true) {}
  std::unique_ptr<TableReader> reader(const Reading& reading) const override;

 private:
  std::unique_ptr<Part> make_part() const override { return std::make_unique<Part>(layout_, budget_, beyond()); }
  int begin_rounds() override;
};

}  // namespace jg
