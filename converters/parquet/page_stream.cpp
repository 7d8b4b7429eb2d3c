#include "parquet/page_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "common/read_error.h"

namespace jg::columnar {

PageStream::PageStream(const parquet::ColumnDescriptor* column, RecyclingPool* pool, bool in_pieces)
    : column_(column), pool_(pool), in_pieces_(in_pieces) {}

void PageStream::start(std::shared_ptr<arrow::io::RandomAccessFile> file, const ChunkPlace& place) {
  page_.reset();
  reader_.reset();
  bytes_.reset();
  file_ = std::move(file);
  place_ = place;
  next_row_ = first_row_ = end_row_ = 0;
  jumped_end_ = -1;
}

void PageStream::open(const ChunkPlace& place) {
  auto skips = [this](const parquet::DataPageStats& page) {
    if (jumped_end_ >= 0 || page.num_values < 0 || next_row_ + page.num_values > wanted_row_) return false;
    next_row_ += page.num_values;
    return true;
  };
  reader_ = open_pages(file_, place, *column_, pool_, skips, in_pieces_ ? &bytes_ : nullptr);
}

const uint8_t* PageStream::values() {
  read_front(values_ - page_data_ + values_size_);
  return values_;
}

// Opens the page that holds `row` alone, but first the dictionary.
void PageStream::jump(int64_t row) {
  const std::vector<parquet::PageLocation>& pages = place_.pages->page_locations();
  ChunkPlace part = place_;
  if (!reader_ && pages.front().offset > place_.offset) {
    part.bytes = pages.front().offset - place_.offset;
  } else {
    auto after = std::upper_bound(pages.begin(), pages.end(), row, [](int64_t r, const parquet::PageLocation& page) {
      return r < page.first_row_index;
    });
    const parquet::PageLocation& page = *std::prev(after);
    next_row_ = page.first_row_index;
    jumped_end_ = after == pages.end() ? place_.entries : after->first_row_index;
    part.offset = page.offset;
    part.bytes = page.compressed_page_size;
    part.entries = jumped_end_ - next_row_;
  }
  if (part.offset < place_.offset || part.bytes < 0 || part.bytes > place_.offset + place_.bytes - part.offset)
    malformed("its index places a page outside of it");
  open(part);
}

const parquet::DictionaryPage* PageStream::next(int64_t row) {
  wanted_row_ = row;
  if (place_.pages)
    jump(row);
  else if (!reader_)
    open(place_);
  for (;;) {
    page_ = reader_->NextPage();
    if (!page_) {
      malformed("it ends after " + std::to_string(next_row_) + " of " + std::to_string(place_.entries) +
                " rows of its row group");
    }
    if (page_->type() == parquet::PageType::DICTIONARY_PAGE) {
      const auto* dictionary = static_cast<const parquet::DictionaryPage*>(page_.get());
      read_front(dictionary->size());
      return dictionary;
    }
    if (page_->type() != parquet::PageType::DATA_PAGE && page_->type() != parquet::PageType::DATA_PAGE_V2) continue;
    const auto& page = static_cast<const parquet::DataPage&>(*page_);
    if (page.num_values() < 0 || page.num_values() > place_.entries - next_row_)
      malformed("a page with more rows than its row group");
    first_row_ = next_row_;
    end_row_ = next_row_ += page.num_values();
    if (jumped_end_ >= 0 && jumped_end_ != end_row_) malformed("a page with other rows than its index says");
    jumped_end_ = -1;
    if (end_row_ <= row) continue;
    encoding_ = page.encoding();
    page_data_ = page.data();
    if (page_->type() == parquet::PageType::DATA_PAGE) {
      load_v1(static_cast<const parquet::DataPageV1&>(page));
    } else {
      load_v2(static_cast<const parquet::DataPageV2&>(page));
    }
    return nullptr;
  }
}

// A row holds a value where its level is the highest.
void PageStream::set_levels(const uint8_t* data, int64_t size, int64_t rows) {
  const int16_t most = column_->max_definition_level();
  if (most == 1) return validity_.set_levels(data, size, rows);
  HybridDecoder decoder;
  decoder.reset(data, size, std::bit_width(static_cast<uint16_t>(most)));
  std::vector<uint32_t> found(static_cast<size_t>(rows));
  decoder.decode(found.data(), static_cast<int32_t>(rows));
  std::vector<int16_t> levels(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] > static_cast<uint32_t>(most)) malformed("a definition level above the highest");
    levels[i] = static_cast<int16_t>(found[i]);
  }
  validity_.set_levels(levels.data(), rows, most);
}

void PageStream::load_v1(const parquet::DataPageV1& page) {
  values_ = page.data();
  values_size_ = page.size();
  int64_t rows = page.num_values();
  if (column_->max_definition_level() == 0) return validity_.set_all(rows);
  if (page.definition_level_encoding() == parquet::Encoding::RLE) {
    uint32_t bytes = 0;
    if (values_size_ < 4) malformed("a page without definition levels");
    read_front(4);
    std::memcpy(&bytes, values_, 4);
    if (bytes > values_size_ - 4) malformed("definition levels larger than their page");
    read_front(4 + int64_t{bytes});
    set_levels(values_ + 4, bytes, rows);
    values_ += 4 + static_cast<int64_t>(bytes);
    values_size_ -= 4 + static_cast<int64_t>(bytes);
  } else {
    read_front(values_size_);
    parquet::LevelDecoder decoder;
    const int16_t most = column_->max_definition_level();
    int bytes = decoder.SetData(page.definition_level_encoding(), most, page.num_values(), values_, page.size());
    std::vector<int16_t> levels(static_cast<size_t>(rows));
    if (decoder.Decode(page.num_values(), levels.data()) != page.num_values())
      malformed("a page without definition levels");
    validity_.set_levels(levels.data(), rows, most);
    values_ += bytes;
    values_size_ -= bytes;
  }
}

void PageStream::load_v2(const parquet::DataPageV2& page) {
  int64_t repetition = page.repetition_levels_byte_length(), definition = page.definition_levels_byte_length();
  if (repetition < 0 || definition < 0 || repetition + definition > page.size())
    malformed("levels larger than their page");
  read_front(repetition + definition);
  if (column_->max_definition_level() == 0) {
    validity_.set_all(page.num_values());
  } else {
    set_levels(page.data() + repetition, definition, page.num_values());
  }
  values_ = page.data() + repetition + definition;
  values_size_ = page.size() - repetition - definition;
}

}  // namespace jg::columnar
