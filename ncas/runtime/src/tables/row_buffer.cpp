#include "tables/row_buffer.h"

#include "tables/directory.h"
#include "tables/reader.h"

namespace jg {
namespace {

// Reads the rows of a partition together with those of a join's build on disk that may be their partners.
class PairReader final : public RunReader {
 public:
  PairReader(const RowBuffer& rows, const Reading& reading)
      : RunReader(rows, reading.claimed),
        build_(*reading.build),
        built_(budget_, Beyond::kMaps),
        linked_(budget_, Beyond::kMaps) {
    *reading.join = &join_;
  }

 private:
  Status begin(size_t deal) override {
    built_.reset();
    linked_.reset();
    const uint64_t slots = slots_for(2 * build_.rows_on_disk(deal));
    join_.directory =
        directory_of_deal({reinterpret_cast<uint64_t*>(linked_.zeroed(slots * sizeof(uint64_t))), slots}, deal);
    join_.deal = static_cast<uint64_t>(deal) << (64 - JG_DEAL_BITS);
    join_.deal_bits = ~(~uint64_t{0} >> JG_DEAL_BITS);
    JG_RETURN_IF_ERROR(build_.each_run_of(deal, [&](const SpillFile& file, const Run& run) {
      build_rows_.clear();
      JG_RETURN_IF_ERROR(read_run(file, run, build_.layout(), &built_, &build_rows_));
      for (JgRow* row : build_rows_) link(&join_.directory.slots[row->hash >> join_.directory.shift], row);
      return Status();
    }));
    return in_bounds();
  }

  const RowStore& build_;
  Arena built_, linked_;
  Rows build_rows_;  // of a run
  JgJoin join_{};
};

}  // namespace

int RowBuffer::begin_rounds() {
  deal_rows();
  leave_deals(deal_sizes());
  return 0;
}

std::unique_ptr<TableReader> RowBuffer::reader(const Reading& reading) const {
  if (reading.build && reading.build->is_spilled()) return std::make_unique<PairReader>(*this, reading);
  return std::make_unique<RunReader>(*this, reading.claimed);
}

}  // namespace jg

const JgTableClass jg_row_buffer = {jg::make_table<jg::RowBuffer, JgRowLayout>};
