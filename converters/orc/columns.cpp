#include "orc/columns.h"

#include <algorithm>
#include <array>

#include "common/dictionary_number.h"
#include "common/spread.h"
#include "orc/packed.h"
#include "orc/zone.h"

namespace jg::columnar {

void OrcColumn::start(InputFile* file, const OrcCompression* compression, const OrcStripeFooter* footer,
                      int64_t group_rows) {
  file_ = file;
  compression_ = compression;
  footer_ = footer;
  group_rows_ = group_rows;
  opened_ = indexed_ = false;
  row_ = 0;
}

bool OrcColumn::open(OrcStreamKind kind, OrcStream* stream) {
  const OrcStreamPlace* place = footer_->find(kind, id_);
  stream->reset(file_, compression_, place ? place->offset : 0, place ? place->bytes : 0);
  return place != nullptr;
}

void OrcColumn::open_streams() {
  if (id_ >= static_cast<int>(footer_->encodings.size())) malformed("a stripe without the encoding of a column");
  encoding_ = footer_->encodings[static_cast<size_t>(id_)];
  has_nulls_ = open(kPresent, &present_stream_);
  present_.reset(&present_stream_);
  open_values();
  opened_ = true;
}

void OrcColumn::advance(int64_t row) {
  if (group_rows_ > 0 && row / group_rows_ > row_ / group_rows_) {
    if (!indexed_) {
      const OrcStreamPlace* index = footer_->find(kRowIndex, id_);
      index_.clear();
      if (index) index_ = read_row_positions(*file_, *compression_, *index);
      if (static_cast<int64_t>(index_.size()) != (footer_->rows + group_rows_ - 1) / group_rows_) index_.clear();
      indexed_ = true;
    }
    size_t group = static_cast<size_t>(row / group_rows_), place = compression_->codec ? 2 : 1;
    size_t wanted = value_positions(place) + (has_nulls_ ? place + 2 : 0);
    if (group < index_.size() && index_[group].size() == wanted) {
      OrcPositions positions(index_[group]);
      if (has_nulls_) present_.seek(positions);
      seek_values(positions);
      row_ = static_cast<int64_t>(group) * group_rows_;
    }
  }
  if (row > row_) skip_values(has_nulls_ ? present_.skip(row - row_) : row - row_);
  row_ = row;
}

void OrcColumn::read(int64_t row, int32_t rows, ColumnRoom& room, JgCol* out) {
  if (!opened_) open_streams();
  if (row > row_) advance(row);
  row_ = row + rows;
  uint8_t* valid = room.valid.get();
  int32_t count = has_nulls_ ? static_cast<int32_t>(present_.decode(valid, rows)) : rows;
  if (count > 0) read_values(count, room.data);
  *out = {room.data, nullptr};
  if (count < rows) {
    if (!column_.nullable) throw unexpected_null(column_);
    spread_values(room.data, valid, rows, count);
    out->valid = valid;
  }
  describe(valid, rows, count, out);
}

void OrcColumn::describe(const uint8_t*, int32_t, int32_t, JgCol*) {}

namespace {

constexpr int64_t kSkipRows = JG_BATCH_ROWS;
// The most texts of a dictionary, and for each byte that it takes in the file: more means a damaged file.
constexpr int64_t kEntries = 1 << 20, kEntriesPerByte = 128;

template <class Out>
class Typed : public OrcColumn {
 public:
  using OrcColumn::OrcColumn;

 protected:
  void spread_values(void* out, const uint8_t* valid, int32_t rows, int32_t count) override {
    spread(static_cast<Out*>(out), valid, rows, count);
  }
};

template <class Out>
class Integers final : public Typed<Out> {
 public:
  Integers(const ColumnSpec& column, int id, bool version2 = false) : Typed<Out>(column, id), version2_(version2) {}

 private:
  void open_values() override {
    this->open(kData, &stream_);
    values_.reset(&stream_, true, version2_ || this->encoding().version2);
  }
  size_t value_positions(size_t place) const override { return place + 1; }
  void seek_values(OrcPositions& positions) override { values_.seek(positions); }
  void skip_values(int64_t n) override { values_.skip(n); }
  void read_values(int32_t n, void* out) override {
    if constexpr (std::is_same_v<Out, int64_t>) {
      values_.decode(static_cast<int64_t*>(out), n);
    } else {
      values_.decode(wide_.data(), n);
      Out* to = static_cast<Out*>(out);
      for (int32_t i = 0; i < n; ++i) to[i] = static_cast<Out>(wide_[i]);
    }
  }

  bool version2_;  // whatever the stripe's footer says
  OrcStream stream_;
  IntRle values_;
  std::array<int64_t, JG_BATCH_ROWS> wide_;
};

template <class Out>
class Bytes final : public Typed<Out> {
 public:
  using Typed<Out>::Typed;

 private:
  void open_values() override {
    this->open(kData, &stream_);
    values_.reset(&stream_);
  }
  size_t value_positions(size_t place) const override { return place + 1; }
  void seek_values(OrcPositions& positions) override { values_.seek(positions); }
  void skip_values(int64_t n) override { values_.skip(n); }
  void read_values(int32_t n, void* out) override {
    values_.decode(bytes_.data(), n);
    Out* to = static_cast<Out*>(out);
    for (int32_t i = 0; i < n; ++i) to[i] = static_cast<Out>(static_cast<int8_t>(bytes_[i]));
  }

  OrcStream stream_;
  ByteRle values_;
  std::array<uint8_t, JG_BATCH_ROWS> bytes_;
};

class Bools final : public Typed<uint8_t> {
 public:
  using Typed::Typed;

 private:
  void open_values() override {
    open(kData, &stream_);
    values_.reset(&stream_);
  }
  size_t value_positions(size_t place) const override { return place + 2; }
  void seek_values(OrcPositions& positions) override { values_.seek(positions); }
  void skip_values(int64_t n) override { values_.skip(n); }
  void read_values(int32_t n, void* out) override { values_.decode(static_cast<uint8_t*>(out), n); }

  OrcStream stream_;
  BitRle values_;
};

template <class In, class Out>
class Floats final : public Typed<Out> {
 public:
  using Typed<Out>::Typed;

 private:
  void open_values() override { this->open(kData, &stream_); }
  size_t value_positions(size_t place) const override { return place; }
  void seek_values(OrcPositions& positions) override { stream_.seek(positions); }
  void skip_values(int64_t n) override { stream_.skip(n * static_cast<int64_t>(sizeof(In))); }
  void read_values(int32_t n, void* out) override {
    const uint8_t* bytes = stream_.read(n * static_cast<int64_t>(sizeof(In)), spare_.data());
    Out* to = static_cast<Out*>(out);
    for (int32_t i = 0; i < n; ++i) {
      In value;
      std::memcpy(&value, bytes + i * sizeof(In), sizeof(In));
      to[i] = value;
    }
  }

  OrcStream stream_;
  std::array<uint8_t, JG_BATCH_ROWS * sizeof(In)> spare_;
};

template <class Out>
class Decimals final : public Typed<Out> {
 public:
  using Typed<Out>::Typed;

 private:
  void open_values() override {
    this->open(kData, &digits_);
    this->open(kSecondary, &scale_stream_);
    scales_.reset(&scale_stream_, true, this->encoding().version2);
  }
  size_t value_positions(size_t place) const override { return 2 * place + 1; }
  void seek_values(OrcPositions& positions) override {
    digits_.seek(positions);
    scales_.seek(positions);
  }
  void skip_values(int64_t n) override {
    scales_.skip(n);
    skip_varints(digits_, n);
  }
  void read_values(int32_t n, void* out) override {
    Out* to = static_cast<Out*>(out);
    int32_t same = static_cast<int32_t>(scales_.skip_equal(this->column().scale, n));
    for (int32_t i = 0; i < same;) {
      int32_t got = read_short_varints(digits_, same - i, to + i);
      i += got;
      if (got == 0) to[i++] = narrowed(read_decimal(digits_));
    }
    scales_.decode(scale_.data(), n - same);
    for (int32_t i = same; i < n; ++i) to[i] = narrowed(rescaled(read_decimal(digits_), scale_[i - same]));
  }

  static Out narrowed(jg_i128 value) {
    if (static_cast<Out>(value) != value) malformed("a decimal with more digits than its precision");
    return static_cast<Out>(value);
  }

  jg_i128 rescaled(jg_i128 value, int64_t scale) const {
    int64_t up = this->column().scale - scale;
    if (up > 38 || up < -38) malformed("a decimal of an impossible scale");
    for (; up > 0; --up) {
      if (__builtin_mul_overflow(value, jg_i128{10}, &value))
        malformed("a decimal with more digits than its precision");
    }
    for (; up < 0; ++up) {
      if (value % 10 != 0) {
        throw ReadError("schema",
                        "column '" + this->column().name + "' is declared " + type_name(this->column()) +
                            ", but holds a value of more digits after the point, " + std::to_string(scale) +
                            ". Declare a larger scale.",
                        {{"column", this->column().name}});
      }
      value /= 10;
    }
    return value;
  }

  OrcStream digits_, scale_stream_;
  IntRle scales_;
  std::array<int64_t, JG_BATCH_ROWS> scale_;
};

class Timestamps final : public Typed<int64_t> {
 public:
  Timestamps(const ColumnSpec& column, int id, bool instant)
      : Typed(column, id), instant_(instant), nanos_kept_(column.type == JG_TIMESTAMP_NS) {}

 private:
  void open_values() override {
    clock_.set_zone(instant_ ? "" : footer_->timezone);
    base_ = kEpoch - clock_.offset(kEpoch);
    open(kData, &second_stream_);
    open(kSecondary, &nano_stream_);
    seconds_.reset(&second_stream_, true, encoding().version2);
    nanos_.reset(&nano_stream_, false, encoding().version2);
  }
  size_t value_positions(size_t place) const override { return 2 * place + 2; }
  void seek_values(OrcPositions& positions) override {
    seconds_.seek(positions);
    nanos_.seek(positions);
  }
  void skip_values(int64_t n) override {
    seconds_.skip(n);
    nanos_.skip(n);
  }
  void read_values(int32_t n, void* out) override {
    constexpr int64_t kFar = int64_t{1} << 42;  // seconds: beyond, microseconds might not fit
    int64_t* to = static_cast<int64_t*>(out);
    seconds_.decode(to, n);
    nanos_.decode(nano_.data(), n);
    const Zone::Span span = clock_.span();
    const int64_t from = nanos_kept_ ? INT64_MAX : std::max(span.from, -kFar), past = std::min(span.to, kFar),
                  base = base_;
    for (int32_t i = 0; i < n; ++i) {
      uint64_t digits = static_cast<uint64_t>(nano_[i] >> 3), nanos = digits * kPowers[nano_[i] & 7];
      uint64_t sum = static_cast<uint64_t>(to[i]) + static_cast<uint64_t>(base);  // wraps if far away
      if (sum >> 63 && nanos > kRoundedNanos) --sum;
      int64_t seconds = static_cast<int64_t>(sum);
      if (digits >= kSecondNanos || nanos >= kSecondNanos || seconds < from || seconds >= past) {
        to[i] = any(to[i], nano_[i]);
      } else {
        uint32_t below = static_cast<uint32_t>(nanos);
        to[i] = exact((seconds + span.offset) * kSecondMicros + below / 1000, below);
      }
    }
    if (lost_ != 0) {
      throw ReadError("schema", "a timestamp has digits below a microsecond; declare the column timestamp_ns",
                      {{"column", column().name}});
    }
  }

  // Any value: negative nanoseconds, as Arrow's writer makes before 1970, far years, other spans of the zone's clocks.
  int64_t any(int64_t stored, int64_t fraction) {
    int64_t nanos, seconds, micros;
    if (__builtin_mul_overflow(fraction >> 3, static_cast<int64_t>(kPowers[fraction & 7]), &nanos) ||
        nanos <= -kSecondNanos || nanos >= kSecondNanos) {
      malformed("a timestamp with more than a second of nanoseconds");
    }
    bool fits = !__builtin_add_overflow(stored, base_, &seconds);
    bool early = nanos < 0 || (nanos > kRoundedNanos && seconds < 0);
    if (nanos < 0) nanos += kSecondNanos;
    fits = fits && !__builtin_sub_overflow(seconds, int64_t{early}, &seconds);
    fits = fits && !__builtin_add_overflow(seconds, clock_.offset(seconds), &seconds);
    if (nanos_kept_) {
      const jg_i128 exact = static_cast<jg_i128>(seconds) * kSecondNanos + nanos;
      if (!fits || exact != static_cast<int64_t>(exact)) throw does_not_fit("nanoseconds");
      return static_cast<int64_t>(exact);
    }
    bool negative = seconds < 0;  // the earliest second fits in part
    fits = fits && !__builtin_mul_overflow(seconds + negative, kSecondMicros, &micros);
    if (!fits || __builtin_add_overflow(micros, nanos / 1000 - negative * kSecondMicros, &micros)) {
      throw does_not_fit("microseconds");
    }
    return exact(micros, static_cast<uint32_t>(nanos));
  }

  ReadError does_not_fit(const char* units) const {
    return ReadError("overflow", std::string("a timestamp does not fit 64 bits in ") + units,
                     {{"column", column().name}});
  }

  int64_t exact(int64_t micros, uint32_t nanos) {
    lost_ |= nanos % 1000;
    return micros;
  }

  static constexpr int64_t kSecondMicros = 1'000'000, kSecondNanos = 1'000'000'000;
  static constexpr int64_t kRoundedNanos = 999'999;  // with more, writers round seconds before 1970 up (ORC-763)
  // The low three bits of a fraction are the trailing decimal zeros left out, less one.
  static constexpr uint64_t kPowers[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  static constexpr int64_t kEpoch = 1420070400;  // values are relative to 2015-01-01, local time
  bool instant_, nanos_kept_;
  uint32_t lost_ = 0;  // digits below a microsecond
  LocalClock clock_;
  int64_t base_ = kEpoch;
  OrcStream second_stream_, nano_stream_;
  IntRle seconds_, nanos_;
  std::array<int64_t, JG_BATCH_ROWS> nano_;
};

class Texts final : public Typed<JgStr> {
 public:
  using Typed::Typed;

 private:
  void open_values() override {
    open(kData, &stream_);
    open(kLength, &length_stream_);
    lengths_.reset(&length_stream_, false, encoding().version2);
    if (encoding().dictionary) {
      load_dictionary();
      indices_.reset(&stream_, false, encoding().version2);
    }
  }

  void load_dictionary() {
    OrcStream stream;
    open(kDictionaryData, &stream);
    if (encoding().dictionary_size > kEntries + kEntriesPerByte * stream.stored_bytes())
      malformed("a dictionary of more texts than its bytes can hold");
    bytes_.clear();
    std::vector<int64_t> sizes;
    for (int64_t left = encoding().dictionary_size; left > 0;) {
      int64_t n = std::min<int64_t>(left, JG_BATCH_ROWS);
      int64_t total = next_lengths(n);
      sizes.insert(sizes.end(), number_.begin(), number_.begin() + n);
      stream.append(total, &bytes_);
      left -= n;
    }
    dictionary_.clear();
    dictionary_number_ = next_dictionary_number();
    const char* at = bytes_.data();
    for (int64_t size : sizes) {
      dictionary_.push_back({at, static_cast<uint64_t>(size)});
      at += size;
    }
  }

  // Decodes n lengths to number_; returns their sum.
  int64_t next_lengths(int64_t n) {
    lengths_.decode(number_.data(), n);
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (number_[i] < 0 || __builtin_add_overflow(total, number_[i], &total)) malformed("a text of impossible length");
    }
    return total;
  }

  size_t value_positions(size_t place) const override { return encoding().dictionary ? place + 1 : 2 * place + 1; }
  void seek_values(OrcPositions& positions) override {
    if (encoding().dictionary) return indices_.seek(positions);
    stream_.seek(positions);
    lengths_.seek(positions);
  }
  void skip_values(int64_t n) override {
    if (encoding().dictionary) return indices_.skip(n);
    while (n > 0) {
      int64_t piece = std::min<int64_t>(n, kSkipRows);
      stream_.skip(next_lengths(piece));
      n -= piece;
    }
  }

  void read_values(int32_t n, void* out) override {
    JgStr* to = static_cast<JgStr*>(out);
    if (encoding().dictionary) {
      indices_.decode(number_.data(), n);
      uint64_t largest = 0;
      for (int32_t i = 0; i < n; ++i) {
        largest = std::max(largest, static_cast<uint64_t>(number_[i]));
        codes_[1 + i] = static_cast<uint32_t>(number_[i]);
      }
      if (largest >= dictionary_.size()) malformed("an index beyond the dictionary");
      return;
    }
    int64_t total = next_lengths(n);
    bytes_.clear();
    stream_.append(total, &bytes_);
    const char* at = bytes_.data();
    for (int32_t i = 0; i < n; ++i) {
      to[i] = {at, static_cast<uint64_t>(number_[i])};
      at += number_[i];
    }
  }

  // Without a text in the dictionary all rows are NULL.
  bool has_codes() const { return encoding().dictionary && !dictionary_.empty(); }

  void spread_values(void* out, const uint8_t* valid, int32_t rows, int32_t count) override {
    if (!has_codes()) Typed::spread_values(out, valid, rows, count);
  }

  void describe(const uint8_t* valid, int32_t rows, int32_t count, JgCol* out) override {
    if (!has_codes()) return;
    if (count < rows) spread(codes_.data() + 1, valid, rows, count);
    out->codes = codes_.data() + 1;
    out->dictionary = dictionary_number_;
    out->code_count = static_cast<uint32_t>(dictionary_.size());
    out->entries = dictionary_.data();
  }

  OrcStream stream_, length_stream_;
  IntRle lengths_, indices_;
  std::vector<JgStr> dictionary_;
  uint64_t dictionary_number_ = 0;
  std::vector<char> bytes_;  // of the dictionary, or of the current batch
  std::array<int64_t, JG_BATCH_ROWS> number_;
  std::array<uint32_t, 1 + JG_BATCH_ROWS> codes_{};  // of rows; the first is read, but never used
};

const char* kind_name(OrcKind kind) {
  static constexpr const char* kNames[] = {"boolean",
                                           "tinyint",
                                           "smallint",
                                           "int",
                                           "bigint",
                                           "float",
                                           "double",
                                           "string",
                                           "binary",
                                           "timestamp",
                                           "a nested type (list)",
                                           "a nested type (map)",
                                           "a nested type (struct)",
                                           "a nested type (union)",
                                           "decimal",
                                           "date",
                                           "varchar",
                                           "char",
                                           "timestamp with local time zone"};
  return static_cast<size_t>(kind) < std::size(kNames) ? kNames[static_cast<size_t>(kind)] : "an unknown type";
}

// The least width that holds the file's integers; 0 if it has none.
size_t integer_bytes(OrcKind kind) {
  switch (kind) {
    case OrcKind::kByte:
      return 1;
    case OrcKind::kShort:
      return 2;
    case OrcKind::kInt:
      return 4;
    case OrcKind::kLong:
      return 8;
    default:
      return 0;
  }
}

template <class Out>
std::unique_ptr<OrcColumn> integers(const ColumnSpec& column, int id, OrcKind kind) {
  const size_t bytes = integer_bytes(kind);
  if (bytes == 0 || bytes > sizeof(Out)) return nullptr;
  if (kind == OrcKind::kByte) return std::make_unique<Bytes<Out>>(column, id);
  return std::make_unique<Integers<Out>>(column, id);
}

template <class Out>
std::unique_ptr<OrcColumn> decimals(const ColumnSpec& column, const OrcTail& tail, int id) {
  const OrcType& type = tail.types[static_cast<size_t>(id)];
  if (type.kind != OrcKind::kDecimal || type.precision > column.precision) return nullptr;
  if (type.precision != 0 && type.scale != column.scale) return nullptr;
  if (tail.decimal64 && type.precision >= 1 && type.precision <= 18) {
    return std::make_unique<Integers<Out>>(column, id, true);
  }
  return std::make_unique<Decimals<Out>>(column, id);
}

std::unique_ptr<OrcColumn> doubles(const ColumnSpec& column, int id, OrcKind kind) {
  if (kind == OrcKind::kFloat) return std::make_unique<Floats<float, double>>(column, id);
  if (kind == OrcKind::kDouble) return std::make_unique<Floats<double, double>>(column, id);
  return nullptr;
}

std::unique_ptr<OrcColumn> timestamps(const ColumnSpec& column, int id, OrcKind kind) {
  if (kind != OrcKind::kTimestamp && kind != OrcKind::kTimestampInstant) return nullptr;
  return std::make_unique<Timestamps>(column, id, kind == OrcKind::kTimestampInstant);
}

template <class Column>
std::unique_ptr<OrcColumn> if_one_of(const ColumnSpec& column, int id, OrcKind kind,
                                     std::initializer_list<OrcKind> kinds) {
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return nullptr;
  return std::make_unique<Column>(column, id);
}

// The column of that type out of the file's, or none.
std::unique_ptr<OrcColumn> converted(const ColumnSpec& column, const OrcTail& tail, int id) {
  const OrcKind kind = tail.types[static_cast<size_t>(id)].kind;
  switch (column.type) {
    case JG_BOOL:
      return if_one_of<Bools>(column, id, kind, {OrcKind::kBool});
    case JG_I8:
      return integers<int8_t>(column, id, kind);
    case JG_I16:
      return integers<int16_t>(column, id, kind);
    case JG_I32:
      return integers<int32_t>(column, id, kind);
    case JG_I64:
      return integers<int64_t>(column, id, kind);
    case JG_F32:
      return if_one_of<Floats<float, float>>(column, id, kind, {OrcKind::kFloat});
    case JG_F64:
      return doubles(column, id, kind);
    case JG_DEC64:
      return decimals<int64_t>(column, tail, id);
    case JG_DEC128:
      return decimals<jg_i128>(column, tail, id);
    case JG_DATE:
      return if_one_of<Integers<int32_t>>(column, id, kind, {OrcKind::kDate});
    case JG_TIMESTAMP:
    case JG_TIMESTAMP_NS:
      return timestamps(column, id, kind);
    case JG_STRING:
      return if_one_of<Texts>(column, id, kind, {OrcKind::kString, OrcKind::kVarchar, OrcKind::kChar});
    case JG_BINARY:
      return if_one_of<Texts>(column, id, kind, {OrcKind::kBinary});
    case JG_TIME:
      break;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<OrcColumn> make_orc_column(const ColumnSpec& column, const OrcTail& tail, int id) {
  if (std::unique_ptr<OrcColumn> made = converted(column, tail, id)) return made;
  const OrcType& type = tail.types[static_cast<size_t>(id)];
  std::string found = kind_name(type.kind);
  if (type.kind == OrcKind::kDecimal)
    found += "(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
  throw wrong_type(column, found);
}

}  // namespace jg::columnar
