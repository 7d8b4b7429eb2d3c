// The body of ChunkReader for one physical type, one physical JgType and the conversion between them.
#pragma once
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "common/dictionary_number.h"
#include "common/read_error.h"
#include "common/spread.h"
#include "parquet/chunk_reader.h"
#include "parquet/hybrid.h"
#include "parquet/page_stream.h"

namespace jg::columnar {

// The value itself, in a type that holds it.
template <class Out>
struct Cast {
  template <class T>
  Out operator()(T value) const {
    return static_cast<Out>(value);
  }
};

// Convert: Out operator()(T) const; throws ReadError where a value does not fit.
template <class Physical, class Out, class Convert>
class TypedChunkReader final : public ChunkReader {
  using T = typename Physical::c_type;
  static constexpr bool kBytes = std::is_same_v<T, parquet::ByteArray>;
  static constexpr bool kFixedBytes = std::is_same_v<T, parquet::FixedLenByteArray>;
  static constexpr bool kBool = std::is_same_v<T, bool>;
  static constexpr bool kText = std::is_same_v<Out, JgStr>;
  static constexpr bool kSame = std::is_same_v<T, Out> && std::is_same_v<Convert, Cast<Out>>;
  // Texts stay where they lie in a page, and booleans are decoded: their pages are read as a whole.
  static constexpr bool kTakesPieces = !kBytes && !kBool && !kText;
  // Sequential values that are read in the time of picking a single one.
  static constexpr int32_t kPickCost = 4;

 public:
  TypedChunkReader(const ColumnSpec& column, const parquet::ColumnDescriptor* found, RecyclingPool* pool,
                   Convert convert)
      : column_(column),
        found_(found),
        pool_(pool),
        pages_(found, pool, kTakesPieces),
        convert_(convert),
        dictionary_(pool),
        dictionary_page_(pool),
        decoded_(pool) {
    stride_ = kFixedBytes ? found->type_length() : static_cast<int64_t>(sizeof(T));
  }

  void start(std::shared_ptr<arrow::io::RandomAccessFile> file, const std::vector<ChunkPlace>& places) override {
    pages_.start(std::move(file), places[0]);
    dictionary_.resize(0);
    has_dictionary_ = false;
  }

  void read(int64_t row, int32_t rows, const int32_t* sel, int32_t n, ColumnRoom& room, JgCol* out) override {
    Out* values = reinterpret_cast<Out*>(room.data);
    uint8_t* valid = room.valid.get();
    bool nulls = false;
    coded_ = true;
    kept_.clear();
    out->codes = nullptr;
    out->entries = nullptr;
    out->valid = nullptr;
    if constexpr (kSame) {
      seek(row + (sel ? sel[0] : 0));
      if (const uint8_t* ready = ready_values(row, rows)) {
        out->data = const_cast<uint8_t*>(ready);
        return;
      }
    }
    if (sel == nullptr) {
      for (int32_t done = 0, begin = 0; done < rows;) {
        if (kText && done > begin && row + done >= pages_.end_row()) keep(values + begin, nullptr, done - begin);
        seek(row + done);
        if (ends_codes()) decode(valid, nullptr, done, values);
        begin = done;
        int64_t from = row + done - pages_.first_row();
        int32_t take = static_cast<int32_t>(std::min<int64_t>(rows - done, pages_.end_row() - row - done));
        nulls |= read_all(from, take, values + done, valid + done, codes_.data() + 1 + done);
        done += take;
      }
    } else {
      for (int32_t done = 0, begin = 0; done < n;) {
        if (kText && done > begin && row + sel[done] >= pages_.end_row()) keep(values, sel + begin, done - begin);
        seek(row + sel[done]);
        if (ends_codes()) decode(valid, sel, done, values);
        begin = done;
        int32_t end = done;
        while (end < n && row + sel[end] < pages_.end_row()) ++end;
        nulls |= read_selected(row - pages_.first_row(), sel + done, end - done, values, valid);
        done = end;
      }
    }
    if (nulls && !column_.nullable) throw unexpected_null(column_);
    out->data = values;
    if (nulls) out->valid = valid;
    if (coded_) {
      out->codes = codes_.data() + 1;
      out->entries = dictionary_.data();
    }
    out->dictionary = dictionary_number_;
    out->code_count = static_cast<uint32_t>(dictionary_.size());
  }

 private:
  enum class Layout { kPlain, kText, kDictionary, kDecoded };

  // Makes the page that holds `row` the current one.
  void seek(int64_t row) {
    while (row >= pages_.end_row()) {
      if (const parquet::DictionaryPage* page = pages_.next(row)) {
        load_dictionary(*page);
      } else {
        load_page();
      }
    }
  }

  // The rows' values where they lie; null unless the current page holds all of them in the wanted layout.
  const uint8_t* ready_values(int64_t row, int32_t rows) {
    if (layout_ != Layout::kPlain || row < pages_.first_row() || row + rows > pages_.end_row() ||
        !pages_.validity().all())
      return nullptr;
    const uint8_t* values = plain(row - pages_.first_row(), rows);
    return reinterpret_cast<uintptr_t>(values) % alignof(T) == 0 ? values : nullptr;
  }

  // The page's values [first, first + count), which are plain. Valid until the next call.
  const uint8_t* plain(int64_t first, int64_t count) { return pages_.values(first * stride_, count * stride_); }

  // Return whether rows of the batch have no values yet, but the next ones, of the current page, will have. Codes of
  // numbers are not worth spreading between NULLs.
  bool ends_codes() const { return coded_ && (layout_ != Layout::kDictionary || (!kText && !pages_.validity().all())); }

  // Fill in values of rows that have codes: the first n, or those that `sel` lists.
  void decode(uint8_t* valid, const int32_t* sel, int32_t n, Out* values) {
    JgCol read{values, valid, codes_.data() + 1};
    read.entries = dictionary_.data();
    jg_decode<Out>(&read, sel, n);
    coded_ = false;
  }

  void load_dictionary(const parquet::DictionaryPage& page) {
    if (has_dictionary_) malformed("a second dictionary in one column chunk");
    if (page.num_values() < 0 || page.num_values() > page.size()) malformed("a dictionary larger than its page");
    if constexpr (kBool) malformed("a dictionary of booleans");
    data_ = page.data();
    size_ = page.size();
    if constexpr (kText) {  // which outlive the page
      dictionary_page_.resize(size_);
      if (size_ > 0) std::memcpy(dictionary_page_.data(), data_, static_cast<size_t>(size_));
      data_ = dictionary_page_.data();
    }
    const int64_t count = page.num_values();
    dictionary_.resize(count);
    Out* entries = dictionary_.data();
    if constexpr (kBytes) {
      for (int64_t i = 0; i < count; ++i) entries[i] = convert_(next_bytes());
    } else if constexpr (!kBool) {
      if (size_ / stride_ < count) malformed("a dictionary larger than its page");
      for (int64_t i = 0; i < count; ++i) entries[i] = convert_(plain_at(data_, i));
    }
    has_dictionary_ = true;
    dictionary_number_ = next_dictionary_number();
  }

  void load_page() {
    size_ = pages_.values_size();
    cursor_ = 0;
    int64_t count = pages_.validity().values();
    if (count == 0) return;
    data_ = kTakesPieces && pages_.encoding() == parquet::Encoding::PLAIN ? nullptr : pages_.values();
    switch (pages_.encoding()) {
      case parquet::Encoding::PLAIN_DICTIONARY:
      case parquet::Encoding::RLE_DICTIONARY:
        if (!has_dictionary_ || size_ < 1) malformed("a dictionary-encoded page without dictionary or data");
        layout_ = Layout::kDictionary;
        indices_.reset(data_ + 1, size_ - 1, data_[0]);
        return;
      case parquet::Encoding::PLAIN:
        if constexpr (kBytes) {
          layout_ = Layout::kText;
          return;
        } else if constexpr (!kBool) {
          if (size_ / stride_ < count) malformed("a page with fewer values than its header says");
          layout_ = Layout::kPlain;
          return;
        }
        [[fallthrough]];
      default: {
        auto& decoder = decoders_[pages_.encoding()];
        if (!decoder) decoder = parquet::MakeTypedDecoder<Physical>(pages_.encoding(), found_, pool_);
        decoder->SetData(static_cast<int>(count), data_, static_cast<int>(size_));
        decode_all(decoder.get(), static_cast<int32_t>(count));
        layout_ = Layout::kDecoded;
      }
    }
  }

  template <class Decoder>
  void decode_all(Decoder* decoder, int32_t count) {
    decoded_.resize(count);
    for (int32_t done = 0; done < count;) {
      int got = decoder->Decode(decoded_.data() + done, count - done);
      if (got <= 0) malformed("a page with fewer values than its header says");
      done += got;
    }
  }

  // All rows [from, from + rows) of the current page; says whether one is NULL.
  bool read_all(int64_t from, int32_t rows, Out* out, uint8_t* valid, uint32_t* codes) {
    const Validity& validity = pages_.validity();
    int64_t first = validity.rank(from);
    int32_t count = static_cast<int32_t>(validity.rank(from + rows) - first);
    if (count > 0) dense(first, count, out, codes);
    if (count == rows) {
      std::memset(valid, 1, static_cast<size_t>(rows));
      return false;
    }
    validity.expand(from, rows, valid);
    if (coded_)
      spread(codes, valid, rows, count);
    else
      spread(out, valid, rows, count);
    return true;
  }

  // The rows base + sel[0 … n) of the current page, each to its own position; says whether one is NULL.
  bool read_selected(int64_t base, const int32_t* sel, int32_t n, Out* out, uint8_t* valid) {
    const Validity& validity = pages_.validity();
    const int32_t begin = sel[0], rows = sel[n - 1] - begin + 1;
    if (is_sequence() && rows / kPickCost < n) {
      const bool nulls = read_all(base + begin, rows, out + begin, valid + begin, codes_.data() + 1 + begin);
      return nulls && !std::all_of(sel, sel + n, [valid](int32_t i) { return valid[i]; });
    }
    int64_t first = validity.rank(base + begin);
    if (validity.all()) {
      std::memset(valid + begin, 1, static_cast<size_t>(rows));
      for (int32_t i = 0; i < n; ++i) positions_[i] = sel[i] - begin;
      pick(first, sel, n, out);
      return false;
    }
    int32_t count = 0;
    for (int32_t i = 0; i < n; ++i) {
      bool present = validity.at(base + sel[i]);
      valid[sel[i]] = present;
      if (present) {
        positions_[count] = static_cast<int32_t>(validity.rank(base + sel[i]) - first);
        targets_[count++] = sel[i];
      } else {
        out[sel[i]] = Out{};
      }
    }
    if (count > 0) pick(first, targets_.data(), count, out);
    return count < n;
  }

  // Return whether values of the page are skipped one by one, and skipping cannot fail.
  bool is_sequence() const { return layout_ == Layout::kDictionary || (kText && layout_ == Layout::kText); }

  T plain_at(const uint8_t* values, int64_t index) const {
    T value;
    if constexpr (kFixedBytes) {
      value = T(values + index * stride_);
    } else {
      std::memcpy(&value, values + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
    return value;
  }

  // The next length-prefixed value of a PLAIN page.
  parquet::ByteArray next_bytes() {
    uint32_t length = 0;
    if (size_ < 4) malformed("a page with fewer values than its header says");
    std::memcpy(&length, data_, 4);
    if (length > size_ - 4) malformed("a value longer than its page");
    parquet::ByteArray value(length, data_ + 4);
    data_ += 4 + static_cast<int64_t>(length);
    size_ -= 4 + static_cast<int64_t>(length);
    return value;
  }

  void check_index(uint32_t index) const {
    if (index >= dictionary_.size()) malformed("an index beyond the dictionary");
  }

  // The page's values [first, first + count) to out[0 … count). Of a dictionary, their indices to codes[0 … count),
  // and values only where not all of the batch have codes.
  void dense(int64_t first, int32_t count, Out* out, uint32_t* codes) {
    switch (layout_) {
      case Layout::kPlain: {
        const uint8_t* values = plain(first, count);
        if constexpr (kSame) {
          std::memcpy(out, values, static_cast<size_t>(count) * sizeof(Out));
        } else {
          for (int32_t i = 0; i < count; ++i) out[i] = convert_(plain_at(values, i));
        }
        return;
      }
      case Layout::kDecoded:
        for (int32_t i = 0; i < count; ++i) out[i] = convert_(decoded_.data()[first + i]);
        return;
      case Layout::kDictionary: {
        indices_.skip(first - cursor_);
        check_index(indices_.decode(codes, count));
        if (coded_) break;
        const Out* entries = dictionary_.data();
        for (int32_t i = 0; i < count; ++i) out[i] = entries[codes[i]];
        break;
      }
      case Layout::kText:
        if constexpr (kBytes) {
          for (; cursor_ < first; ++cursor_) next_bytes();
          for (int32_t i = 0; i < count; ++i) out[i] = convert_(next_bytes());
        }
        break;
    }
    cursor_ = first + count;
  }

  // The page's values first + positions_[0 … count) to out[targets[…]].
  void pick(int64_t first, const int32_t* targets, int32_t count, Out* out) {
    switch (layout_) {
      case Layout::kPlain: {
        const uint8_t* values = plain(first, positions_[count - 1] + 1);
        for (int32_t i = 0; i < count; ++i) out[targets[i]] = convert_(plain_at(values, positions_[i]));
        return;
      }
      case Layout::kDecoded:
        for (int32_t i = 0; i < count; ++i) out[targets[i]] = convert_(decoded_.data()[first + positions_[i]]);
        return;
      case Layout::kDictionary:
        indices_.skip(first - cursor_);
        indices_.pick(positions_.data(), count, positions_[count - 1] + 1, index_.data());
        check_index(largest_of(index_.data(), count));
        for (int32_t i = 0; i < count; ++i) codes_[1 + targets[i]] = index_[i];
        if (coded_) break;
        for (int32_t i = 0; i < count; ++i) out[targets[i]] = dictionary_.data()[index_[i]];
        break;
      case Layout::kText:
        if constexpr (kBytes) {
          for (int32_t i = 0; i < count; ++i, ++cursor_) {
            for (; cursor_ < first + positions_[i]; ++cursor_) next_bytes();
            out[targets[i]] = convert_(next_bytes());
          }
        }
        return;
    }
    cursor_ = first + positions_[count - 1] + 1;
  }

  // Copy texts of the current batch before their page is freed: values[0 … n), or those that `sel` lists.
  void keep(Out* values, const int32_t* sel, int32_t n) {
    if constexpr (kText) {
      if (layout_ == Layout::kDictionary) return;
      for (int32_t i = 0; i < n; ++i) {
        JgStr& s = values[sel ? sel[i] : i];
        if (s.size == 0) continue;
        kept_.push_back(std::make_unique<char[]>(s.size));
        std::memcpy(kept_.back().get(), s.data, s.size);
        s.data = kept_.back().get();
      }
    }
  }

  ColumnSpec column_;
  const parquet::ColumnDescriptor* found_;
  RecyclingPool* pool_;
  PageStream pages_;
  Convert convert_;
  int64_t stride_;

  Layout layout_ = Layout::kPlain;
  const uint8_t* data_ = nullptr;  // values of the page; of kText: those not yet passed
  int64_t size_ = 0;
  int64_t cursor_ = 0;  // values passed in layouts that are read in sequence
  HybridDecoder indices_;
  bool has_dictionary_ = false;
  PoolArray<Out> dictionary_;
  PoolArray<uint8_t> dictionary_page_;  // bytes of its texts
  uint64_t dictionary_number_ = 0;
  bool coded_ = false;  // all values of the batch so far are the dictionary's
  PoolArray<T> decoded_;
  std::map<parquet::Encoding::type, std::unique_ptr<typename parquet::EncodingTraits<Physical>::Decoder>> decoders_;
  std::vector<std::unique_ptr<char[]>> kept_;
  std::array<uint32_t, JG_BATCH_ROWS> index_;
  std::array<uint32_t, 1 + JG_BATCH_ROWS> codes_{};  // of rows; the first is read, but never used
  std::array<int32_t, JG_BATCH_ROWS> positions_, targets_;
};

}  // namespace jg::columnar
