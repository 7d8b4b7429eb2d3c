// Page indexes: which rows of a row group its pages' bounds rule out, and where the pages are.
#pragma once
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "common/bounds.h"
#include "common/row_ranges.h"

namespace jg::columnar {

// Return the result of `read`, or `otherwise` if the file is damaged. Siblings find the same damage, so only a lack of
// memory is an error: they would disagree on what is ruled out.
template <class T>
T hint(const std::function<T()>& read, T otherwise) {
  try {
    return read();
  } catch (const parquet::ParquetStatusException& e) {
    if (e.status().IsOutOfMemory()) throw std::bad_alloc();
  } catch (const parquet::ParquetException&) {
  }
  return otherwise;
}

// The index of some leaves of a row group. What is damaged there, or missing, rules nothing out.
class PageIndex {
 public:
  PageIndex(parquet::ParquetFileReader& file, int64_t file_bytes, int group, const std::vector<int32_t>& leaves);

  // The rows in pages of the leaf that may match; ascending.
  std::vector<RowRange> matches(int leaf, JgType wanted, const std::function<bool(const ColumnRange&)>& may_match);
  // Return the positions of the pages of the leaf, which has no lists above it; null if unknown.
  std::shared_ptr<const parquet::OffsetIndex> pages(int leaf);

 private:
  const parquet::SchemaDescriptor* schema_;
  int64_t rows_;
  std::shared_ptr<parquet::PageIndexReader> reader_;
  std::shared_ptr<parquet::RowGroupPageIndexReader> group_;  // null: there is none
};

}  // namespace jg::columnar
