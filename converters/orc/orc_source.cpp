// The ORC reader: its parts are stripes. Decodes the format itself, with Arrow's codecs: Arrow's adapter takes twice
// the time, and damaged files crash it.
#include <algorithm>

#include "common/columnar_source.h"
#include "common/deleted_rows.h"
#include "common/early_days.h"
#include "orc/nested_column.h"
#include "orc/row_index.h"
#include "orc/statistics.h"

namespace jg::columnar {

namespace {

constexpr int kAbsent = -1;

struct OrcFooter {
  OrcTail tail;
  std::vector<int> ids;           // of each wanted column, or of the struct that it is in; kAbsent: the file lacks it
  std::vector<int> ranged;        // columns whose statistics are wanted; kAbsent: none
  std::vector<PartRows> stripes;  // the rows of each to read
};

void find_columns(const std::vector<ColumnSpec>& columns, OrcFooter* file) {
  const OrcType& root = file->tail.types[0];
  for (const ColumnSpec& column : columns) {
    auto found = std::find(root.names.begin(), root.names.end(), column.column());
    int id = found == root.names.end() ? kAbsent : root.children[static_cast<size_t>(found - root.names.begin())];
    int last = id;
    if (id != kAbsent) make_orc_reader(column, file->tail, id, &last);
    file->ids.push_back(last == kAbsent ? kAbsent : id);
    file->ranged.push_back(column.nesting == Nesting::kNone ? last : kAbsent);
  }
}

// The rows of a stripe with these statistics that may match, of those in `rows`.
std::vector<RowRange> narrowed(std::vector<RowRange> rows, const Bounds& bounds, const OrcFooter& file,
                               const std::vector<ColumnRange>& ranges, RowIndex* index) {
  auto range = [&](int column) -> const ColumnRange& { return ranges[static_cast<size_t>(column)]; };
  for (int column : bounds.columns()) {
    if (!bounds.may_match(column, range(column))) return {};
  }
  for (int column : bounds.columns()) {
    const int id = file.ranged[static_cast<size_t>(column)];
    if (id != kAbsent && !bounds.must_match(column, range(column))) index->narrow(bounds, column, id, &rows);
  }
  return rows;
}

void find_rows(InputFile& input, const Wanted& wanted, OrcFooter* file) {
  std::vector<std::vector<ColumnRange>> ranges;
  if (!wanted.bounds.columns().empty() || !wanted.partners.columns().empty() || wanted.options.summarised)
    ranges = read_stripe_ranges(input, file->tail, file->ranged);
  const std::vector<ColumnRange> unknown(file->ranged.size());
  int64_t first = 0;  // of a stripe's rows
  for (size_t s = 0; s < file->tail.stripes.size(); ++s) {
    const OrcStripe& stripe = file->tail.stripes[s];
    PartRows& rows = file->stripes.emplace_back(PartRows{stripe.rows, stripe.data_bytes, {}, {}, {}, {}});
    if (stripe.rows == 0) continue;
    rows.deleted = within(wanted.deleted, first, first + stripe.rows);
    first += stripe.rows;
    const std::vector<ColumnRange>& known = s < ranges.size() ? ranges[s] : unknown;
    RowIndex index(input, file->tail, stripe);
    rows.matching = narrowed(others(rows.deleted, stripe.rows), wanted.bounds, *file, known, &index);
    rows.joining = narrowed(rows.matching, wanted.partners, *file, known, &index);
    if (rows.deleted.empty()) rows.summary = summarise(wanted.options, stripe.rows, [&](size_t i) { return known[i]; });
  }
}

// Dates, of which no file says by which calendar its writer counted them.
void require_late_days(InputFile& input, const std::vector<ColumnSpec>& columns, const OrcFooter& file) {
  auto is_date = [&](size_t i) { return columns[i].type == JG_DATE && file.ids[i] != kAbsent; };
  bool any = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (has_nested_days(columns[i]) && file.ids[i] != kAbsent) throw early_days(columns[i]);
    any |= is_date(i);
  }
  if (!any) return;
  const std::vector<std::vector<ColumnRange>> ranges = read_stripe_ranges(input, file.tail, file.ranged);
  for (size_t s = 0; s < file.tail.stripes.size(); ++s) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (is_date(i) && file.tail.stripes[s].rows > 0)
        require_late(columns[i], s < ranges.size() ? ranges[s][i] : ColumnRange());
    }
  }
}

class StripeDecoder final : public PartDecoder {
 public:
  StripeDecoder(const std::string& path, const OrcFooter& file, const std::vector<ColumnSpec>& columns)
      : file_(file),
        input_(InputFile::open(path, arrow::default_memory_pool())),
        compression_{make_orc_codec(file.tail.codec), file.tail.compression.block_bytes} {
    for (size_t i = 0; i < columns.size(); ++i) {
      int last = 0;
      const bool absent = file.ids[i] == kAbsent;
      readers_.push_back(absent ? nullptr : make_orc_reader(columns[i], file.tail, file.ids[i], &last));
    }
  }

  void start(int part, RowRange rows) override {
    if (part_ == part && rows.first >= end_) return;
    footer_ = read_stripe_footer(*input_, compression_, file_.tail.stripes[static_cast<size_t>(part)]);
    for (auto& reader : readers_) {
      if (reader) reader->start(input_.get(), &compression_, &footer_, file_.tail.row_index_stride);
    }
    part_ = part;
    end_ = 0;
  }

  void read(size_t column, int64_t row, int32_t rows, const int32_t*, int32_t, ColumnRoom& room, JgCol* out) override {
    if (!readers_[column]) return fill_with_nulls(room, rows, out);
    end_ = std::max(end_, row + rows);
    readers_[column]->read(row, rows, room, out);
  }

  int64_t bytes_read() const override { return input_->bytes_read(); }

 private:
  const OrcFooter& file_;
  std::shared_ptr<InputFile> input_;
  OrcCompression compression_;
  OrcStripeFooter footer_;
  std::vector<std::unique_ptr<OrcReader>> readers_;  // null: absent
  int part_ = -1;
  int64_t end_ = 0;  // of the rows read of the part
};

class OrcFile final : public ColumnarFile {
 public:
  OrcFile(const std::string& path, const Wanted& wanted) : ColumnarFile(path), options_(wanted.options) {
    const auto input = InputFile::open(path, arrow::default_memory_pool());
    footer_.tail = read_orc_tail(*input);
    find_columns(options_.columns, &footer_);
    if (refuses_early_days(options_)) require_late_days(*input, options_.columns, footer_);
    find_rows(*input, wanted, &footer_);
    for (const PartRows& stripe : footer_.stripes) pruned_bytes += stripe.pruned_bytes();
  }

  int parts() const override { return static_cast<int>(footer_.stripes.size()); }
  const PartRows& part(int number) const override { return footer_.stripes[static_cast<size_t>(number)]; }
  bool lacks(size_t column) const override { return footer_.ids[column] == kAbsent; }
  std::vector<std::string> names() const override { return footer_.tail.types[0].names; }
  std::unique_ptr<PartDecoder> decoder(RecyclingPool*) const override {
    return std::make_unique<StripeDecoder>(path, footer_, options_.columns);
  }

 private:
  const FileSourceOptions& options_;
  OrcFooter footer_;
};

constexpr ColumnarFormat kOrc = {"ORC", 32768, false, true,
                                 [](const std::string& path, const Wanted& wanted) -> std::unique_ptr<ColumnarFile> {
                                   return std::make_unique<OrcFile>(path, wanted);
                                 }};

}  // namespace

}  // namespace jg::columnar

namespace jg {

static Status make_orc_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = columnar::make_columnar_source(columnar::kOrc, options);
  return {};
}

}  // namespace jg

JG_READER(orc, jg::make_orc_source);
