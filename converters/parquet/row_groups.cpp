#include "parquet/row_groups.h"

#include <parquet/file_reader.h>
#include <parquet/statistics.h>

#include <cstring>

#include "common/input_file.h"
#include "common/read_error.h"
#include "parquet/nested_chunk.h"

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
    node = field_of(static_cast<const parquet::schema::GroupNode&>(*node), wanted.path[depth]);
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

template <class Physical>
auto min_max(const parquet::Statistics& statistics) {
  const auto& typed = static_cast<const parquet::TypedStatistics<Physical>&>(statistics);
  return std::pair(typed.min(), typed.max());
}

std::string bytes_of(parquet::ByteArray value) { return {reinterpret_cast<const char*>(value.ptr), value.len}; }

// Whether minimum and maximum are known to be in the order that this reader compares in: that of the column's type
// or, in files that name no order, that of signed numbers (parquet.thrift, ColumnOrder).
bool ordered(const parquet::ColumnDescriptor& column) {
  switch (column.column_order().get_order()) {
    case parquet::ColumnOrder::TYPE_DEFINED_ORDER:
      return column.sort_order() != parquet::SortOrder::UNKNOWN;
    case parquet::ColumnOrder::UNDEFINED:
      return column.sort_order() == parquet::SortOrder::SIGNED;
    case parquet::ColumnOrder::UNKNOWN:
      return false;
  }
  return false;
}

// How many of the wanted type's units are in one of the file's, as a fraction.
std::pair<jg_i128, jg_i128> units(const parquet::LogicalType& logical, JgType wanted) {
  using Unit = parquet::LogicalType::TimeUnit;
  Unit::unit unit = Unit::UNKNOWN;
  if (logical.is_timestamp()) unit = static_cast<const parquet::TimestampLogicalType&>(logical).time_unit();
  if (logical.is_time()) unit = static_cast<const parquet::TimeLogicalType&>(logical).time_unit();
  const bool nanos = wanted == JG_TIMESTAMP_NS;
  if (unit == Unit::MILLIS) return {nanos ? 1'000'000 : 1000, 1};
  if (unit == Unit::MICROS) return {nanos ? 1000 : 1, 1};
  return {1, unit == Unit::NANOS && !nanos ? 1000 : 1};
}

void set_min_max(const parquet::Statistics& statistics, const parquet::ColumnDescriptor& column, JgType wanted,
                 ColumnRange* range) {
  const parquet::LogicalType& logical = *column.logical_type();
  bool is_signed = !logical.is_int() || static_cast<const parquet::IntLogicalType&>(logical).is_signed();
  auto [times, divide] = units(logical, wanted);
  switch (column.physical_type()) {
    case parquet::Type::INT32: {
      auto [low, high] = min_max<parquet::Int32Type>(statistics);
      if (is_signed) range->integers = std::pair(low * times, high * times);
      break;
    }
    case parquet::Type::INT64: {
      auto [low, high] = min_max<parquet::Int64Type>(statistics);
      if (is_signed) range->integers = std::pair(low * times / divide, high * times / divide);
      break;
    }
    case parquet::Type::FLOAT:
      range->floats = min_max<parquet::FloatType>(statistics);
      break;
    case parquet::Type::DOUBLE:
      range->floats = min_max<parquet::DoubleType>(statistics);
      break;
    case parquet::Type::BYTE_ARRAY:
      if (!logical.is_decimal()) {
        auto [low, high] = min_max<parquet::ByteArrayType>(statistics);
        range->texts = std::pair(bytes_of(low), bytes_of(high));
      }
      break;
    default:
      break;
  }
}

// Bounds that are the wrong way round, or NaN, say nothing.
template <class T>
void drop_unless_ascending(std::optional<std::pair<T, T>>* bounds) {
  if (*bounds && !((*bounds)->first <= (*bounds)->second)) bounds->reset();
}

ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column,
                     JgType wanted) {
  ColumnRange range;
  try {
    std::shared_ptr<parquet::Statistics> statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
    if (!statistics) return range;
    range.all_null = statistics->HasNullCount() && statistics->null_count() == chunk.num_values();
    if (statistics->HasMinMax() && ordered(column)) set_min_max(*statistics, column, wanted, &range);
  } catch (const parquet::ParquetException&) {
    return {};  // bounds that are not values of the column's type
  }
  drop_unless_ascending(&range.integers);
  drop_unless_ascending(&range.floats);
  drop_unless_ascending(&range.texts);
  return range;
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

void refuse_encrypted_footer(InputFile& input, int64_t file_bytes) {
  char magic[4] = {};
  if (file_bytes < 4 || take(input.ReadAt(file_bytes - 4, 4, magic)) < 4) return;
  if (std::memcmp(magic, "PARE", 4) == 0) throw ReadError("io", "its footer is encrypted, and Jumpgate has no keys");
}

}  // namespace

ParquetFile read_footer(const std::string& path, const FileSourceOptions& options, const Bounds& bounds,
                        const Bounds& partners, RecyclingPool* pool) {
  ParquetFile file;
  file.path = path;
  auto input = InputFile::open(path, pool);
  int64_t file_bytes = take(input->GetSize());
  refuse_encrypted_footer(*input, file_bytes);
  file.metadata = parquet::ParquetFileReader::Open(input)->metadata();
  for (const ColumnSpec& column : options.columns)
    file.columns.push_back(find_column(*file.metadata->schema(), column));
  for (int g = 0; g < file.metadata->num_row_groups(); ++g) {
    auto group = file.metadata->RowGroup(g);
    RowGroup wanted;
    wanted.rows = group->num_rows();
    if (wanted.rows < 0) malformed("its footer gives a row group a negative number of rows");
    if (wanted.rows == 0) continue;
    std::vector<std::unique_ptr<parquet::ColumnChunkMetaData>> chunks(file.columns.size());
    wanted.chunks.resize(file.columns.size());
    for (size_t i = 0; i < file.columns.size(); ++i) {
      for (const parquet::ColumnDescriptor* found : file.columns[i].leaves) {
        int leaf = file.metadata->schema()->ColumnIndex(*found->schema_node());
        of_column(options.columns[i], [&] {
          chunks[i] = open_chunk(*group, leaf, file.metadata->is_encryption_algorithm_set());
          wanted.chunks[i].push_back(place_of(*chunks[i], wanted.rows, found->max_repetition_level() == 0, file_bytes,
                                              file.metadata->writer_version()));
        });
        wanted.bytes += wanted.chunks[i].back().bytes;
      }
    }
    auto range = [&](size_t i) {
      if (options.columns[i].nesting != Nesting::kNone) return ColumnRange{};
      if (!file.columns[i].missing()) return range_of(*chunks[i], *file.columns[i].leaves[0], options.columns[i].type);
      ColumnRange missing;
      missing.all_null = true;
      return missing;
    };
    auto may_match = [&](const Bounds& all) {
      return std::all_of(all.columns().begin(), all.columns().end(),
                         [&](int c) { return all.may_match(c, range(static_cast<size_t>(c))); });
    };
    wanted.joins = may_match(partners);
    if (may_match(bounds)) {
      file.row_groups.push_back(std::move(wanted));
    } else {
      file.pruned_bytes += wanted.bytes;
    }
  }
  return file;
}

}  // namespace jg::columnar
