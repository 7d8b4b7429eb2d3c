// The Parquet reader: its parts are row groups.
#include <algorithm>

#include "common/columnar_source.h"
#include "common/input_file.h"
#include "parquet/row_groups.h"

namespace jg::columnar {

namespace {

class RowGroupDecoder final : public PartDecoder {
 public:
  RowGroupDecoder(const std::string& path, const ParquetFooter& footer, const FileSourceOptions& options,
                  RecyclingPool* pool)
      : footer_(footer), early_(options.early), input_(InputFile::open(path, pool)) {
    for (size_t i = 0; i < footer.columns.size(); ++i)
      readers_.push_back(make_chunk_reader(options.columns[i], footer.columns[i], pool));
  }

  void start(int part, RowRange rows) override {
    group_ = &footer_.row_groups[static_cast<size_t>(part)];
    rows_ = rows;
    for (size_t i = 0; i < readers_.size(); ++i) readers_[i]->start(input_, group_->chunks[i]);
    if (!input_->is_remote()) return;
    input_->forget();
    expect(true);
  }

  void expect_late() override {
    if (input_->is_remote()) expect(false);
  }

  void read(size_t column, int64_t row, int32_t rows, const int32_t* sel, int32_t n, ColumnRoom& room,
            JgCol* out) override {
    readers_[column]->read(row, rows, sel, n, room, out);
  }

  int64_t bytes_read() const override { return input_->bytes_read(); }

 private:
  void expect(bool early) {
    std::vector<ByteRange> ranges;
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (early_[i] != early) continue;
      for (const ChunkPlace& place : group_->chunks[i]) append_bytes(place, *group_, rows_, &ranges);
    }
    input_->expect(std::move(ranges));
  }

  const ParquetFooter& footer_;
  const std::vector<bool>& early_;  // by column
  std::shared_ptr<InputFile> input_;
  std::vector<std::unique_ptr<ChunkReader>> readers_;
  const RowGroup* group_ = nullptr;
  RowRange rows_;
};

class ParquetFile final : public ColumnarFile {
 public:
  ParquetFile(const std::string& path, const Wanted& wanted)
      : ColumnarFile(path), options_(wanted.options), footer_(read_footer(path, wanted)) {
    pruned_bytes = footer_.pruned_bytes;
    for (size_t i = 0; i < footer_.columns.size(); ++i)
      make_chunk_reader(options_.columns[i], footer_.columns[i], wanted.pool);  // refuses types that do not agree
  }

  int parts() const override { return static_cast<int>(footer_.row_groups.size()); }
  const PartRows& part(int number) const override { return footer_.row_groups[static_cast<size_t>(number)]; }
  bool lacks(size_t column) const override { return footer_.columns[column].missing(); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    const parquet::schema::GroupNode& root = *footer_.metadata->schema()->group_node();
    for (int f = 0; f < root.field_count(); ++f) names.push_back(root.field(f)->name());
    return names;
  }
  std::unique_ptr<PartDecoder> decoder(RecyclingPool* pool) const override {
    return std::make_unique<RowGroupDecoder>(path, footer_, options_, pool);
  }

 private:
  const FileSourceOptions& options_;
  ParquetFooter footer_;
};

constexpr ColumnarFormat kParquet = {
    "Parquet", 65536, true, false, [](const std::string& path, const Wanted& wanted) -> std::unique_ptr<ColumnarFile> {
      return std::make_unique<ParquetFile>(path, wanted);
    }};

}  // namespace

}  // namespace jg::columnar

namespace jg {

static Status make_parquet_source(const FileSourceOptions& options, std::unique_ptr<Source>* out) {
  *out = columnar::make_columnar_source(columnar::kParquet, options);
  return {};
}

}  // namespace jg

JG_READER(parquet, jg::make_parquet_source);
