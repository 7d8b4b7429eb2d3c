// The leaf of a nested column, entry by entry: its levels (parquet-format, "Nested Encoding") and its values.
#pragma once
#include <parquet/column_reader.h>

#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

#include "common/nested.h"
#include "parquet/chunk_reader.h"
#include "parquet/page_reader.h"

namespace jg::columnar {

class LeafCursor {
 public:
  explicit LeafCursor(const parquet::ColumnDescriptor* found)
      : most_(found->max_definition_level()), repeats_(found->max_repetition_level() > 0) {}
  virtual ~LeafCursor() = default;
  // At the first entry of a chunk.
  void start(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place) {
    open(std::move(file), place);
    at_ = count_ = 0;
    refill();
    if (repetition() != 0) malformed("its first entry continues a list that has not begun");
  }
  // True at the end. The repetition level is 0 then.
  bool ended() const { return count_ == 0; }
  int16_t definition() const { return most_ ? definitions_[at_] : 0; }
  int16_t repetition() const { return repeats_ && !ended() ? repetitions_[at_] : 0; }
  bool present() const { return definition() == most_; }
  void advance() {
    if (ended()) malformed("its leaves disagree about the lengths of lists");
    value_ += present();
    if (++at_ == count_) refill();
  }
  // The value of an entry that is present.
  virtual void append(NestedBytes* out) const = 0;

 protected:
  static constexpr int64_t kEntries = 1024;
  virtual void open(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place) = 0;
  // Reads further entries of one page; 0: there are none.
  virtual int64_t read(int16_t* definitions, int16_t* repetitions) = 0;
  int64_t value_ = 0;  // of the entry, among those read

 private:
  void refill() {
    at_ = value_ = 0;
    count_ = read(definitions_.data(), repetitions_.data());
  }

  const int16_t most_;
  const bool repeats_;
  int64_t at_ = 0, count_ = 0;
  std::array<int16_t, kEntries> definitions_, repetitions_;
};

template <class Physical, class Out, class Convert>
class TypedLeaf final : public LeafCursor {
  using T = typename Physical::c_type;

 public:
  TypedLeaf(const parquet::ColumnDescriptor* found, RecyclingPool* pool, Convert convert)
      : LeafCursor(found), found_(found), pool_(pool), convert_(convert) {}

  void append(NestedBytes* out) const override {
    const Out value = convert_(values_[static_cast<size_t>(value_)]);
    if constexpr (std::is_same_v<Out, JgStr>) {
      out->append(value.data, value.size);
    } else {
      out->append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }

 protected:
  void open(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place) override {
    auto no_end = [](const parquet::DataPageStats& page) { return page.num_values == 0; };
    auto pages = open_pages(std::move(file), place, *found_, pool_, no_end);
    reader_ = parquet::ColumnReader::Make(found_, std::move(pages), pool_);
  }

  int64_t read(int16_t* definitions, int16_t* repetitions) override {
    auto& typed = static_cast<parquet::TypedColumnReader<Physical>&>(*reader_);
    while (typed.HasNext()) {
      int64_t values = 0;
      const int64_t levels = typed.ReadBatch(kEntries, definitions, repetitions, values_.data(), &values);
      if (levels > 0) return levels;
      if (levels == 0 && values == 0) malformed("a page with fewer values than its header says");
    }
    return 0;
  }

 private:
  const parquet::ColumnDescriptor* found_;
  RecyclingPool* pool_;
  Convert convert_;
  std::shared_ptr<parquet::ColumnReader> reader_;
  std::array<T, kEntries> values_;
};

// The leaf that gives values of the declared type; throws ReadError "schema" where the two do not agree.
std::unique_ptr<LeafCursor> make_leaf(const ColumnSpec& part, const parquet::ColumnDescriptor* found,
                                      RecyclingPool* pool);

}  // namespace jg::columnar
