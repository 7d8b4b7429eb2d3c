#include "parquet/row_groups.h"

#include <arrow/util/key_value_metadata.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "common/deleted_rows.h"
#include "common/early_days.h"
#include "common/input_file.h"
#include "common/read_error.h"
#include "parquet/column_range.h"
#include "parquet/kept_footers.h"
#include "parquet/nested_chunk.h"
#include "parquet/page_bounds.h"

namespace jg::columnar {

namespace {

const parquet::schema::Node* field_of(const parquet::schema::GroupNode& group, const std::string& name) {
  for (int i = 0; i < group.field_count(); ++i) {
    if (group.field(i)->name() == name) return group.field(i).get();
  }
  return nullptr;
}

// The column of that name, or the field on the path through structs.
FoundColumn find_column(const parquet::SchemaDescriptor& schema, const ColumnSpec& wanted) {
  const parquet::schema::Node* node = field_of(*schema.group_node(), wanted.column());
  for (size_t depth = 1; node && depth < wanted.path.size(); ++depth) {
    if (node->is_primitive() || node->is_repeated() || node->logical_type()->is_list() ||
        node->logical_type()->is_map()) {
      throw wrong_type(wanted, "no field of a struct");
    }
    const auto& group = static_cast<const parquet::schema::GroupNode&>(*node);
    node = field_of(group, wanted.path[depth]);
    if (node == nullptr) refuse_other_case(wanted, wanted.path[depth], field_names(group));
  }
  if (node == nullptr) return {};
  FoundColumn found{&schema, node, {}};
  if (wanted.nesting != Nesting::kNone) {
    found.leaves = nested_leaves(wanted, *node, schema);
  } else {
    if (!node->is_primitive() || node->is_repeated()) throw wrong_type(wanted, "a nested type");
    found.leaves = {schema.Column(schema.ColumnIndex(*node))};
  }
  return found;
}

// `flat`: no list is above the leaf.
ChunkPlace place_of(const parquet::ColumnChunkMetaData& chunk, int64_t rows, bool flat, int64_t file_bytes,
                    const parquet::ApplicationVersion& writer) {
  if (chunk.compression() == arrow::Compression::LZO)
    throw ReadError("io", "it is compressed with LZO; write it with another codec");
  ChunkPlace place;
  place.entries = chunk.num_values();
  place.codec = chunk.compression();
  place.offset = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0 &&
      chunk.dictionary_page_offset() < place.offset) {
    place.offset = chunk.dictionary_page_offset();
  }
  place.bytes = chunk.total_compressed_size();
  if (place.offset < 0 || place.bytes < 0 || place.offset > file_bytes || place.bytes > file_bytes - place.offset) {
    malformed("its footer places a column outside the file");
  }
  if (writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
    // Such writers left the dictionary page's header out of the size (PARQUET-816).
    constexpr int64_t kHeaderBytesMax = 100;
    place.bytes += std::min(kHeaderBytesMax, file_bytes - place.offset - place.bytes);
  }
  if (flat ? place.entries != rows : place.entries < rows)
    malformed("its footer gives a column another number of rows than its row group");
  return place;
}

// The chunk's metadata; those of an encrypted column cannot be read.
std::unique_ptr<parquet::ColumnChunkMetaData> open_chunk(parquet::RowGroupMetaData& group, int leaf, bool encryption) {
  std::unique_ptr<parquet::ColumnChunkMetaData> chunk;
  try {
    chunk = group.ColumnChunk(leaf);
  } catch (const parquet::ParquetException&) {
    if (!encryption) throw;
  }
  if (!chunk || chunk->crypto_metadata()) throw ReadError("io", "it is encrypted, and Jumpgate has no keys");
  return chunk;
}

// One row group of a file: its wanted columns, and the rows that may match.
class GroupReader {
 public:
  GroupReader(parquet::ParquetFileReader& reader, int64_t file_bytes, const std::vector<FoundColumn>& found,
              const FileSourceOptions& options, int number)
      : reader_(reader),
        file_bytes_(file_bytes),
        metadata_(*reader.metadata()),
        group_(metadata_.RowGroup(number)),
        found_(found),
        options_(options),
        number_(number),
        chunks_(found.size()),
        filters_(found.size()) {}

  int64_t rows() const { return group_->num_rows(); }

  // Places its chunks. Throws ReadError or a library's exception.
  void place(RowGroup* wanted) {
    wanted->rows = rows();
    wanted->chunks.resize(found_.size());
    for (size_t i = 0; i < found_.size(); ++i) {
      for (const parquet::ColumnDescriptor* found : found_[i].leaves) {
        of_column(options_.columns[i], [&] {
          chunks_[i] = open_chunk(*group_, number_of(*found), metadata_.is_encryption_algorithm_set());
          wanted->chunks[i].push_back(place_of(*chunks_[i], wanted->rows, found->max_repetition_level() == 0,
                                               file_bytes_, metadata_.writer_version()));
        });
        wanted->bytes += wanted->chunks[i].back().bytes;
      }
    }
  }

  std::optional<Summary> summary() const {
    return summarise(options_, rows(), [this](size_t i) { return is_flat(i) ? range(i) : ColumnRange(); });
  }

  // By statistics and Bloom filters.
  bool may_match(const Bounds& bounds) {
    return std::all_of(bounds.columns().begin(), bounds.columns().end(), [&](int column) {
      const size_t i = static_cast<size_t>(column);
      return bounds.may_match(column, range(i)) &&
             bounds.may_equal(column, [&](const BoundValue& value) { return filter_knows(i, value); });
    });
  }

  // Sets the rows that may match, by the pages' bounds. Where others are between them, it places the pages.
  void set_rows(const Bounds& bounds, const Bounds& partners, RowGroup* wanted) {
    wanted->matching = others(wanted->deleted, wanted->rows);
    narrow(bounds, &wanted->matching);
    wanted->joining = may_match(partners) ? wanted->matching : std::vector<RowRange>{};
    narrow(partners, &wanted->joining);
    if (wanted->joining.empty() || rows_of(wanted->joining) == wanted->rows) return;
    std::vector<int32_t> leaves;
    for (const FoundColumn& column : found_)
      for (const parquet::ColumnDescriptor* leaf : column.leaves) leaves.push_back(number_of(*leaf));
    PageIndex index(reader_, file_bytes_, number_, leaves);
    for (size_t i = 0; i < found_.size(); ++i) {
      for (size_t l = 0; l < found_[i].leaves.size(); ++l) {
        const parquet::ColumnDescriptor& leaf = *found_[i].leaves[l];
        if (leaf.max_repetition_level() == 0) wanted->chunks[i][l].pages = index.pages(number_of(leaf));
      }
    }
  }

 private:
  int number_of(const parquet::ColumnDescriptor& leaf) const {
    return metadata_.schema()->ColumnIndex(*leaf.schema_node());
  }
  // Nested columns have no bounds.
  bool is_flat(size_t i) const { return options_.columns[i].nesting == Nesting::kNone; }
  bool is_found(size_t i) const { return is_flat(i) && !found_[i].missing(); }

  ColumnRange range(size_t i) const {
    if (is_found(i)) return range_of(*chunks_[i], *found_[i].leaves[0], options_.columns[i].type);
    ColumnRange missing;
    missing.all_null = is_flat(i);
    return missing;
  }

  // Return whether the Bloom filter of a column may contain the value; true without a filter.
  bool filter_knows(size_t i, const BoundValue& value) {
    if (!is_found(i)) return true;
    const parquet::ColumnDescriptor& column = *found_[i].leaves[0];
    const parquet::LogicalType& logical = *column.logical_type();
    const bool is_text = column.physical_type() == parquet::Type::BYTE_ARRAY && !logical.is_decimal();
    const bool is_32 = column.physical_type() == parquet::Type::INT32;
    const bool is_integer = (is_32 || column.physical_type() == parquet::Type::INT64) && has_signed_integers(logical) &&
                            units(logical, options_.columns[i].type) == std::pair<jg_i128, jg_i128>{1, 1};
    if (!is_text && !is_integer) return true;
    const parquet::BloomFilter* filter = filter_of(i);
    if (filter == nullptr) return true;
    if (is_text) return filter->FindHash(filter->Hash(std::string_view(value.text)));
    if (is_32) {
      const auto number = static_cast<int32_t>(value.integer);
      return number == value.integer && filter->FindHash(filter->Hash(number));
    }
    const auto number = static_cast<int64_t>(value.integer);
    return number == value.integer && filter->FindHash(filter->Hash(number));
  }

  // A column's Bloom filter, read when it is first asked for; null where there is none, or one larger than the chunk,
  // which tells as much.
  const parquet::BloomFilter* filter_of(size_t i) {
    if (!filters_[i]) {
      filters_[i] = hint<std::unique_ptr<parquet::BloomFilter>>([&] { return read_filter(i); }, nullptr);
    }
    return filters_[i]->get();
  }

  std::unique_ptr<parquet::BloomFilter> read_filter(size_t i) {
    const parquet::ColumnChunkMetaData& chunk = *chunks_[i];
    if (!chunk.bloom_filter_offset() || chunk.bloom_filter_length().value_or(0) > chunk.total_compressed_size()) {
      return nullptr;
    }
    auto filters = reader_.GetBloomFilterReader().RowGroup(number_);
    return filters ? filters->GetColumnBloomFilter(number_of(*found_[i].leaves[0])) : nullptr;
  }

  // Leaves out of the rows those in pages that cannot match.
  void narrow(const Bounds& bounds, std::vector<RowRange>* rows) {
    std::vector<int> columns;
    std::vector<int32_t> leaves;
    for (int column : bounds.columns()) {
      const size_t i = static_cast<size_t>(column);
      if (!is_found(i) || !chunks_[i]->GetColumnIndexLocation()) continue;
      columns.push_back(column);
      leaves.push_back(number_of(*found_[i].leaves[0]));
    }
    if (columns.empty()) return;
    PageIndex index(reader_, file_bytes_, number_, leaves);
    for (size_t n = 0; n < columns.size(); ++n) {
      auto may_match = [&](const ColumnRange& range) { return bounds.may_match(columns[n], range); };
      *rows = intersection(*rows,
                           index.matches(leaves[n], options_.columns[static_cast<size_t>(columns[n])].type, may_match));
    }
  }

  parquet::ParquetFileReader& reader_;
  int64_t file_bytes_;
  const parquet::FileMetaData& metadata_;
  std::unique_ptr<parquet::RowGroupMetaData> group_;
  const std::vector<FoundColumn>& found_;
  const FileSourceOptions& options_;
  int number_;
  std::vector<std::unique_ptr<parquet::ColumnChunkMetaData>> chunks_;          // of each wanted column, its last leaf's
  std::vector<std::optional<std::unique_ptr<parquet::BloomFilter>>> filters_;  // of each, once asked for
};

// Whether Spark says in the footer that it has counted days by the Julian calendar: always before its version 3.
bool counts_julian_days(const parquet::FileMetaData& metadata) {
  const auto& said = metadata.key_value_metadata();
  if (!said) return false;
  const auto version = said->Get("org.apache.spark.version");
  return (version.ok() && *version < "3") || said->Contains("org.apache.spark.legacyDateTime") ||
         said->Contains("org.apache.spark.legacyINT96");
}

void require_late_days(const std::vector<ColumnSpec>& columns, const ParquetFooter& file) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (file.columns[i].missing()) continue;
    if (has_nested_days(columns[i])) throw early_days(columns[i]);
    if (!has_days(columns[i])) continue;
    const parquet::ColumnDescriptor* leaf = file.columns[i].leaves[0];
    for (int g = 0; g < file.metadata->num_row_groups(); ++g) {
      const auto group = file.metadata->RowGroup(g);
      const int number = file.metadata->schema()->ColumnIndex(*leaf->schema_node());
      if (group->num_rows() > 0)
        require_late(columns[i], range_of(*group->ColumnChunk(number), *leaf, columns[i].type));
    }
  }
}

}  // namespace

void append_bytes(const ChunkPlace& place, const RowGroup& group, RowRange rows, std::vector<ByteRange>* out) {
  if (!place.pages) {
    out->push_back({place.offset, place.offset + place.bytes});
    return;
  }
  const std::vector<parquet::PageLocation>& pages = place.pages->page_locations();
  out->push_back({place.offset, pages.front().offset});  // the dictionary
  for (size_t n = 0; n < pages.size(); ++n) {
    const RowRange page = {pages[n].first_row_index, n + 1 < pages.size() ? pages[n + 1].first_row_index : group.rows};
    const auto is_wanted = [&](RowRange wanted) {
      return std::max({page.first, rows.first, wanted.first}) < std::min({page.end, rows.end, wanted.end});
    };
    if (std::any_of(group.joining.begin(), group.joining.end(), is_wanted))
      out->push_back({pages[n].offset, pages[n].offset + pages[n].compressed_page_size});
  }
}

// Fetches, of an object, the Bloom filters of columns that are compared with single values.
static void expect_filters(InputFile* input, const ParquetFooter& file, const FileSourceOptions& options,
                           const Bounds& bounds) {
  const int64_t size = take(input->GetSize());
  std::vector<ByteRange> ranges;
  for (int column : bounds.columns()) {
    const auto i = static_cast<size_t>(column);
    if (options.columns[i].nesting != Nesting::kNone || file.columns[i].missing()) continue;
    if (!bounds.has_equality(column)) continue;
    const int leaf = file.metadata->schema()->ColumnIndex(*file.columns[i].leaves[0]->schema_node());
    for (int g = 0; g < file.metadata->num_row_groups(); ++g) {
      const auto chunk = file.metadata->RowGroup(g)->ColumnChunk(leaf);
      const int64_t begin = chunk->bloom_filter_offset().value_or(0), bytes = chunk->bloom_filter_length().value_or(0);
      const bool is_read = begin > 0 && bytes > 0 && bytes <= chunk->total_compressed_size();
      if (is_read && begin < size && bytes <= size - begin) ranges.push_back({begin, begin + bytes});
    }
  }
  input->expect(std::move(ranges));
}

ParquetFooter read_footer(const std::string& path, const Wanted& wanted) {
  const FileSourceOptions& options = wanted.options;
  const std::vector<RowRange>& deleted = wanted.deleted;
  ParquetFooter file;
  auto input = InputFile::open(path, wanted.pool);
  int64_t file_bytes = take(input->GetSize());
  auto reader = open_parquet(input);
  file.metadata = reader->metadata();
  for (const ColumnSpec& column : options.columns)
    file.columns.push_back(find_column(*file.metadata->schema(), column));
  if (refuses_early_days(options) && counts_julian_days(*file.metadata)) require_late_days(options.columns, file);
  if (input->is_remote()) {
    expect_filters(input.get(), file, options, wanted.bounds);
    expect_filters(input.get(), file, options, wanted.partners);
  }
  int64_t first = 0, end = 0;  // of a row group's rows
  for (int g = 0; g < file.metadata->num_row_groups(); ++g, first = end) {
    GroupReader group(*reader, file_bytes, file.columns, options, g);
    if (group.rows() < 0) malformed("its footer gives a row group a negative number of rows");
    if (__builtin_add_overflow(first, group.rows(), &end)) malformed("its footer counts more rows than there can be");
    if (group.rows() == 0) continue;
    RowGroup rows;
    rows.deleted = within(deleted, first, end);
    group.place(&rows);
    if (group.may_match(wanted.bounds)) group.set_rows(wanted.bounds, wanted.partners, &rows);
    if (rows.deleted.empty()) rows.summary = group.summary();
    file.pruned_bytes += rows.pruned_bytes();
    if (!rows.matching.empty()) file.row_groups.push_back(std::move(rows));
  }
  if (!deleted.empty() && deleted.back().end > first)
    malformed("its table deletes row " + std::to_string(deleted.back().end - 1) + ", and it has " +
              std::to_string(first) + " rows");
  return file;
}

}  // namespace jg::columnar
