#include "parquet/page_bounds.h"

#include <parquet/page_index.h>

#include <algorithm>
#include <optional>

#include "parquet/column_range.h"

namespace jg::columnar {

namespace {

// Return whether the first page begins with the first row, and each further one behind the previous one.
bool is_whole(const std::vector<parquet::PageLocation>& pages, int64_t rows) {
  if (pages.empty() || pages.front().first_row_index != 0 || pages.back().first_row_index >= rows) return false;
  auto out_of_order = [](const parquet::PageLocation& a, const parquet::PageLocation& b) {
    return a.first_row_index >= b.first_row_index || a.offset >= b.offset;
  };
  return std::adjacent_find(pages.begin(), pages.end(), out_of_order) == pages.end();
}

// Return whether the leaves' indexes lie within the file: Arrow parses the position in the footer unchecked.
bool lies_in(int64_t file_bytes, parquet::RowGroupMetaData& group, const std::vector<int32_t>& leaves) {
  auto fits = [file_bytes](const std::optional<parquet::IndexLocation>& place) {
    return !place || (place->offset >= 0 && place->length > 0 && place->offset <= file_bytes - place->length);
  };
  return std::all_of(leaves.begin(), leaves.end(), [&](int32_t leaf) {
    auto chunk = group.ColumnChunk(leaf);
    return fits(chunk->GetColumnIndexLocation()) && fits(chunk->GetOffsetIndexLocation());
  });
}

}  // namespace

PageIndex::PageIndex(parquet::ParquetFileReader& file, int64_t file_bytes, int group,
                     const std::vector<int32_t>& leaves)
    : schema_(file.metadata()->schema()), rows_(file.metadata()->RowGroup(group)->num_rows()) {
  using Group = std::shared_ptr<parquet::RowGroupPageIndexReader>;
  group_ = hint<Group>(
      [&]() -> Group {
        if (!lies_in(file_bytes, *file.metadata()->RowGroup(group), leaves)) return nullptr;
        reader_ = file.GetPageIndexReader();
        if (!reader_) return nullptr;
        reader_->WillNotNeed({group});  // or the hints for other leaves would stay in effect
        reader_->WillNeed({group}, leaves, {true, true});
        return reader_->RowGroup(group);
      },
      nullptr);
}

std::vector<RowRange> PageIndex::matches(int leaf, JgType wanted,
                                         const std::function<bool(const ColumnRange&)>& may_match) {
  const std::vector<RowRange> all = {{0, rows_}};
  std::shared_ptr<const parquet::OffsetIndex> offsets = pages(leaf);
  if (!offsets) return all;
  return hint<std::vector<RowRange>>(
      [&] {
        std::shared_ptr<parquet::ColumnIndex> index = group_->GetColumnIndex(leaf);
        const std::vector<parquet::PageLocation>& locations = offsets->page_locations();
        if (!index || index->null_pages().size() != locations.size()) return all;
        std::vector<RowRange> found;
        for (size_t page = 0; page < locations.size(); ++page) {
          if (!may_match(range_of(*index, page, *schema_->Column(leaf), wanted))) continue;
          const bool last = page + 1 == locations.size();
          append(&found, {locations[page].first_row_index, last ? rows_ : locations[page + 1].first_row_index});
        }
        return found;
      },
      all);
}

std::shared_ptr<const parquet::OffsetIndex> PageIndex::pages(int leaf) {
  using Pages = std::shared_ptr<const parquet::OffsetIndex>;
  return hint<Pages>(
      [&]() -> Pages {
        std::shared_ptr<parquet::OffsetIndex> found = group_ ? group_->GetOffsetIndex(leaf) : nullptr;
        return found && is_whole(found->page_locations(), rows_) ? found : nullptr;
      },
      nullptr);
}

}  // namespace jg::columnar
