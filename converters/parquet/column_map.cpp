// Chooses the conversion from a Parquet column to a declared type; some pairs do not agree.
#include <arrow/util/float16.h>

#include <cstring>

#include "jg/kernel.h"
#include "parquet/leaf_cursor.h"
#include "parquet/nested_chunk.h"
#include "parquet/typed_chunk.h"

namespace jg::columnar {

namespace {

using parquet::LogicalType;

// An unsigned integer, stored as a signed one.
struct FromUnsigned {
  int64_t operator()(int32_t value) const { return static_cast<uint32_t>(value); }
  jg_i128 operator()(int64_t value) const { return static_cast<uint64_t>(value); }
};

struct Text {
  uint64_t fixed_size = 0;
  JgStr operator()(parquet::ByteArray value) const { return {reinterpret_cast<const char*>(value.ptr), value.len}; }
  JgStr operator()(parquet::FixedLenByteArray value) const {
    return {reinterpret_cast<const char*>(value.ptr), fixed_size};
  }
};

// Big-endian two's complement of any length.
template <class Out>
struct BigEndian {
  int64_t fixed_size = 0;
  bool narrows = false;  // the file's type has more digits than a decimal here
  Out operator()(parquet::FixedLenByteArray value) const { return decode(value.ptr, fixed_size); }
  Out operator()(parquet::ByteArray value) const { return decode(value.ptr, value.len); }

 private:
  [[noreturn]] void too_long() const {
    if (narrows) throw ReadError("overflow", "a decimal has more than 38 digits");
    malformed("a decimal with more digits than its precision");
  }
  Out decode(const uint8_t* bytes, int64_t size) const {
    if (size == 0) malformed("an empty decimal");
    uint8_t fill = bytes[0] & 0x80 ? 0xFF : 0;
    int64_t excess = size - static_cast<int64_t>(sizeof(Out));
    using Bits = std::conditional_t<sizeof(Out) == 8, uint64_t, unsigned __int128>;
    Bits value = fill ? ~Bits{0} : Bits{0};
    for (int64_t i = 0; i < size; ++i) {
      if (i < excess && bytes[i] != fill) too_long();
      value = value << 8 | bytes[i];
    }
    Out result = static_cast<Out>(value);
    if (excess > 0 && (result < 0) != (fill != 0)) too_long();
    if (narrows && !jg_fits(result, 38)) too_long();
    return result;
  }
};

struct FromHalf {
  float operator()(parquet::FixedLenByteArray value) const {
    return arrow::util::Float16::FromLittleEndian(value.ptr).ToFloat();
  }
};

// A time, timestamp or moment in a finer unit.
struct Finer {
  int64_t units;  // of the finer in one of the file's
  int64_t operator()(int64_t value) const {
    int64_t finer;
    if (__builtin_mul_overflow(value, units, &finer)) {
      throw ReadError("overflow", std::string("a timestamp does not fit 64 bits in ") +
                                      (units == 1'000'000 ? "nanoseconds" : "its declared unit"));
    }
    return finer;
  }
};

// Nanoseconds as microseconds.
struct FromNanos {
  const char* way_out;
  int64_t operator()(int64_t value) const {
    if (value % 1000 != 0) throw ReadError("schema", std::string("a value has digits below a microsecond; ") + way_out);
    return value / 1000;
  }
};

// The nanoseconds of a Julian day and nanoseconds of that day.
struct NanosFromInt96 {
  int64_t operator()(parquet::Int96 value) const {
    int64_t nanos;
    std::memcpy(&nanos, &value.value[0], 8);
    const int64_t days = static_cast<int64_t>(value.value[2]) - 2440588;  // Julian day of 1970-01-01
    const jg_i128 exact = jg_i128{days} * 86'400'000'000'000 + nanos;
    if (exact != static_cast<int64_t>(exact)) {
      throw ReadError("overflow", "a timestamp does not fit 64 bits in nanoseconds; declare it timestamp");
    }
    return static_cast<int64_t>(exact);
  }
};

// A Julian day and nanoseconds of that day; digits below a microsecond are cut.
struct FromInt96 {
  int64_t operator()(parquet::Int96 value) const {
    int64_t nanos;
    std::memcpy(&nanos, &value.value[0], 8);
    int64_t days = static_cast<int64_t>(value.value[2]) - 2440588;  // Julian day of 1970-01-01
    int64_t micros;
    if (__builtin_mul_overflow(days, int64_t{86'400'000'000}, &micros) ||
        __builtin_add_overflow(micros, nanos / 1000, &micros)) {
      throw ReadError("overflow", "a timestamp does not fit 64 bits in microseconds");
    }
    return micros;
  }
};

// A column that the file does not have, or in which it has only NULLs, of no type.
class NullChunkReader final : public ChunkReader {
 public:
  void start(std::shared_ptr<arrow::io::RandomAccessFile>, const std::vector<ChunkPlace>&) override {}
  void read(int64_t, int32_t rows, const int32_t*, int32_t, ColumnRoom& room, JgCol* out) override {
    fill_with_nulls(room, rows, out);
  }
};

// Makes a reader of flat columns from the chosen conversion …
struct FlatReader {
  using Made = std::unique_ptr<ChunkReader>;
  static Made nulls() { return std::make_unique<NullChunkReader>(); }
  template <class Physical, class Out, class Convert>
  static Made make(const ColumnSpec& column, const parquet::ColumnDescriptor* found, RecyclingPool* pool,
                   Convert convert) {
    return std::make_unique<TypedChunkReader<Physical, Out, Convert>>(column, found, pool, convert);
  }
};

// … or a leaf of a nested one, whose entries are all NULL if it has no type.
struct NestedLeaf {
  using Made = std::unique_ptr<LeafCursor>;
  template <class Physical, class Out, class Convert>
  static Made make(const ColumnSpec&, const parquet::ColumnDescriptor* found, RecyclingPool* pool, Convert convert) {
    return std::make_unique<TypedLeaf<Physical, Out, Convert>>(found, pool, convert);
  }
};

template <class Maker>
class Choice {
  using Made = typename Maker::Made;

 public:
  Choice(const ColumnSpec& column, const parquet::ColumnDescriptor* found, RecyclingPool* pool)
      : column_(column), found_(found), pool_(pool), logical_(*found->logical_type()) {}

  Made make() {
    if constexpr (std::is_same_v<Maker, FlatReader>) {
      if (logical_.is_null() && column_.nullable) return Maker::nulls();
    }
    if (logical_.is_decimal()) return decimal();
    if (Made made = of_physical()) return made;
    throw mismatch();
  }

 private:
  // Each makes nothing of a column that is no such type.
  Made of_physical() {
    switch (found_->physical_type()) {
      case parquet::Type::BOOLEAN:
        return column_.type == JG_BOOL ? reader<parquet::BooleanType, uint8_t>(Cast<uint8_t>{}) : nullptr;
      case parquet::Type::INT32:
        return of_int32();
      case parquet::Type::INT64:
        return of_int64();
      case parquet::Type::INT96:
        if (column_.type == JG_TIMESTAMP) return reader<parquet::Int96Type, int64_t>(FromInt96{});
        if (column_.type == JG_TIMESTAMP_NS) return reader<parquet::Int96Type, int64_t>(NanosFromInt96{});
        return nullptr;
      case parquet::Type::FLOAT:
        if (column_.type == JG_F32) return reader<parquet::FloatType, float>(Cast<float>{});
        if (column_.type == JG_F64) return reader<parquet::FloatType, double>(Cast<double>{});
        return nullptr;
      case parquet::Type::DOUBLE:
        return column_.type == JG_F64 ? reader<parquet::DoubleType, double>(Cast<double>{}) : nullptr;
      case parquet::Type::BYTE_ARRAY:
        return of_bytes();
      case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return of_fixed_bytes();
      default:
        return nullptr;
    }
  }

  Made of_int32() {
    if (logical_.is_date()) {
      return column_.type == JG_DATE ? reader<parquet::Int32Type, int32_t>(Cast<int32_t>{}) : nullptr;
    }
    if (logical_.is_time()) {  // in milliseconds
      return column_.type == JG_TIME ? reader<parquet::Int32Type, int64_t>(Finer{1000}) : nullptr;
    }
    return plain() || logical_.is_int() ? integer<parquet::Int32Type>() : nullptr;
  }

  Made of_int64() {
    if (logical_.is_timestamp()) {
      return column_.type == JG_TIMESTAMP || column_.type == JG_TIMESTAMP_NS ? timestamp() : nullptr;
    }
    if (logical_.is_time()) return column_.type == JG_TIME ? time() : nullptr;
    return plain() || logical_.is_int() ? integer<parquet::Int64Type>() : nullptr;
  }

  Made of_bytes() {
    const bool text = logical_.is_string() || logical_.is_enum() || logical_.is_JSON();
    const bool bytes = plain() || logical_.is_BSON() || logical_.is_geometry() || logical_.is_geography();
    const bool fits = column_.type == (text ? JG_STRING : JG_BINARY) && (text || bytes);
    return fits ? reader<parquet::ByteArrayType, JgStr>(Text{}) : nullptr;
  }

  Made of_fixed_bytes() {
    if (column_.type == JG_F32 && logical_.is_float16()) return reader<parquet::FLBAType, float>(FromHalf{});
    if (column_.type == JG_F64 && logical_.is_float16()) return reader<parquet::FLBAType, double>(FromHalf{});
    if (column_.type == JG_BINARY && (plain() || logical_.is_UUID())) {
      return reader<parquet::FLBAType, JgStr>(Text{static_cast<uint64_t>(found_->type_length())});
    }
    return nullptr;
  }

  // A logical type of a later format is none.
  bool plain() const { return logical_.is_none() || logical_.type() == LogicalType::Type::UNDEFINED; }

  template <class Physical, class Out, class Convert>
  Made reader(Convert convert) {
    return Maker::template make<Physical, Out, Convert>(column_, found_, pool_, convert);
  }

  ReadError mismatch() const {
    std::string found = parquet::TypeToString(found_->physical_type());
    if (!logical_.is_none()) found += " " + logical_.ToString();
    return wrong_type(column_, found);
  }

  Made decimal() {
    const auto& type = static_cast<const parquet::DecimalLogicalType&>(logical_);
    if (column_.type != JG_DEC64 && column_.type != JG_DEC128) throw mismatch();
    narrows_ = type.precision() > 38 && column_.precision == 38;
    if (type.scale() != column_.scale || (type.precision() > column_.precision && !narrows_)) throw mismatch();
    return column_.type == JG_DEC64 ? decimal_as<int64_t>() : decimal_as<jg_i128>();
  }

  template <class Out>
  Made decimal_as() {
    switch (found_->physical_type()) {
      case parquet::Type::INT32:
        return reader<parquet::Int32Type, Out>(Cast<Out>{});
      case parquet::Type::INT64:
        return reader<parquet::Int64Type, Out>(Cast<Out>{});
      case parquet::Type::BYTE_ARRAY:
        return reader<parquet::ByteArrayType, Out>(BigEndian<Out>{0, narrows_});
      case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return reader<parquet::FLBAType, Out>(BigEndian<Out>{found_->type_length(), narrows_});
      default:
        throw mismatch();
    }
  }

  template <class Physical>
  Made integer() {
    int bits = std::is_same_v<Physical, parquet::Int32Type> ? 32 : 64;
    bool is_signed = true;
    if (logical_.is_int()) {
      const auto& type = static_cast<const parquet::IntLogicalType&>(logical_);
      bits = type.bit_width();
      is_signed = type.is_signed();
    }
    int needed = is_signed ? bits : bits * 2;
    if (column_.type == JG_DEC128 && needed == 128 && column_.scale == 0 && column_.precision >= 20)
      return reader<Physical, jg_i128>(FromUnsigned{});
    if (column_.type == JG_I8 && needed <= 8) return reader<Physical, int8_t>(Cast<int8_t>{});
    if (column_.type == JG_I16 && needed <= 16) return reader<Physical, int16_t>(Cast<int16_t>{});
    if (column_.type == JG_I32 && needed <= 32) return reader<Physical, int32_t>(Cast<int32_t>{});
    if (column_.type == JG_I64 && needed <= 64) {
      if constexpr (std::is_same_v<Physical, parquet::Int32Type>) {
        if (!is_signed) return reader<Physical, int64_t>(FromUnsigned{});
      }
      return reader<Physical, int64_t>(Cast<int64_t>{});
    }
    throw mismatch();
  }

  Made timestamp() {
    const bool nanos = column_.type == JG_TIMESTAMP_NS;
    switch (static_cast<const parquet::TimestampLogicalType&>(logical_).time_unit()) {
      case LogicalType::TimeUnit::MILLIS:
        return reader<parquet::Int64Type, int64_t>(Finer{nanos ? 1'000'000 : 1000});
      case LogicalType::TimeUnit::MICROS:
        if (nanos) return reader<parquet::Int64Type, int64_t>(Finer{1000});
        return reader<parquet::Int64Type, int64_t>(Cast<int64_t>{});
      case LogicalType::TimeUnit::NANOS:
        if (nanos) return reader<parquet::Int64Type, int64_t>(Cast<int64_t>{});
        return reader<parquet::Int64Type, int64_t>(FromNanos{"declare the column timestamp_ns"});
      default:
        throw mismatch();
    }
  }

  Made time() {
    switch (static_cast<const parquet::TimeLogicalType&>(logical_).time_unit()) {
      case LogicalType::TimeUnit::MICROS:
        return reader<parquet::Int64Type, int64_t>(Cast<int64_t>{});
      case LogicalType::TimeUnit::NANOS:
        return reader<parquet::Int64Type, int64_t>(FromNanos{"times have no more"});
      default:
        throw mismatch();
    }
  }

  const ColumnSpec& column_;
  const parquet::ColumnDescriptor* found_;
  RecyclingPool* pool_;
  const LogicalType& logical_;
  bool narrows_ = false;
};

}  // namespace

std::unique_ptr<ChunkReader> make_chunk_reader(const ColumnSpec& column, const FoundColumn& found,
                                               RecyclingPool* pool) {
  if (found.missing()) return std::make_unique<NullChunkReader>();
  if (column.nesting != Nesting::kNone) return make_nested_reader(column, *found.node, *found.schema, pool);
  return Choice<FlatReader>(column, found.leaves[0], pool).make();
}

std::unique_ptr<LeafCursor> make_leaf(const ColumnSpec& part, const parquet::ColumnDescriptor* found,
                                      RecyclingPool* pool) {
  return Choice<NestedLeaf>(part, found, pool).make();
}

}  // namespace jg::columnar
