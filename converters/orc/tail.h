// An ORC file's tail: types and stripes. Messages as in orc_proto.proto of the ORC specification, version 1.
#pragma once
#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/input_file.h"

namespace jg::columnar {

// Walks the fields of one protobuf message. Throws ReadError "malformed" where the bytes are not one.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : at_(bytes) {}

  // Moves on to the next field; false at the end.
  bool next();
  int field() const { return field_; }
  uint64_t integer() const { return integer_; }  // varint and fixed fields
  int64_t zigzag() const { return static_cast<int64_t>(integer_ >> 1) ^ -static_cast<int64_t>(integer_ & 1); }
  double real() const;
  std::string_view bytes() const { return bytes_; }  // length-delimited fields

 private:
  uint64_t varint();
  std::string_view take(uint64_t size);

  std::string_view at_;
  int field_ = 0;
  uint64_t integer_ = 0;
  std::string_view bytes_;
};

// The messages in the fields of that number.
std::vector<std::string_view> messages(std::string_view bytes, int field);

enum class OrcKind {
  kBool,
  kByte,
  kShort,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kString,
  kBinary,
  kTimestamp,
  kList,
  kMap,
  kStruct,
  kUnion,
  kDecimal,
  kDate,
  kVarchar,
  kChar,
  kTimestampInstant
};

struct OrcType {
  OrcKind kind = OrcKind::kStruct;
  std::vector<int> children;
  std::vector<std::string> names;
  int precision = 0, scale = 0;  // Hive 0.11's decimals have none: each value has its own scale
};

struct OrcStripe {
  int64_t offset = 0, index_bytes = 0, data_bytes = 0, footer_bytes = 0, rows = 0;
};

// The compression of the file's sections and streams: chunks of at most block_bytes, or none.
struct OrcCompression {
  std::shared_ptr<arrow::util::Codec> codec;  // null: none
  int64_t block_bytes = 0;
};

struct OrcTail {
  uint64_t codec = 0;  // as the postscript numbers them
  OrcCompression compression;
  uint64_t writer_version = 0;  // which mistakes of old writers to expect, as the postscript numbers them
  bool decimal64 = false;       // decimals of up to 18 digits are stored as integers (version 1.9999, later 2.0)
  std::vector<OrcType> types;   // the root struct first
  std::vector<OrcStripe> stripes;
  int64_t row_index_stride = 0;  // rows of a row group, which row indexes are about; 0: there are none
  int64_t metadata_offset = 0, metadata_bytes = 0;  // statistics of stripes, compressed
};
OrcTail read_orc_tail(InputFile& file);

// Streams as the specification numbers them; those of BLOOM_FILTER (7) are not read.
enum OrcStreamKind {
  kPresent = 0,
  kData = 1,
  kLength = 2,
  kDictionaryData = 3,
  kSecondary = 5,
  kRowIndex = 6,
  kBloomFilterUtf8 = 8
};

struct OrcStreamPlace {
  int kind = 0, column = 0;
  int64_t offset = 0, bytes = 0;
};

struct OrcEncoding {
  bool dictionary = false, version2 = false;
  int64_t dictionary_size = 0;
};

struct OrcStripeFooter {
  int64_t rows = 0;
  std::vector<OrcStreamPlace> streams;
  std::vector<OrcEncoding> encodings;  // by column
  std::string timezone;                // of the writer; empty where it was not noted

  // A column's stream of that kind; null where there is none.
  const OrcStreamPlace* find(OrcStreamKind kind, int column) const;
};
// `compression`: with the calling thread's codec.
OrcStripeFooter read_stripe_footer(InputFile& file, const OrcCompression& compression, const OrcStripe& stripe);

// A column's row index in a stripe: by row group, the positions in the column's streams.
std::vector<std::vector<int64_t>> read_row_positions(InputFile& file, const OrcCompression& compression,
                                                     const OrcStreamPlace& index);

// A new codec, for one thread: some keep state. Throws ReadError "schema" where the wheel has none.
std::shared_ptr<arrow::util::Codec> make_orc_codec(uint64_t kind);

}  // namespace jg::columnar
