#include "orc/tail.h"

#include <algorithm>
#include <cstring>

#include "common/read_error.h"
#include "orc/stream.h"

namespace jg::columnar {

namespace {

constexpr int64_t kTailBytes = 16 << 10;
constexpr int64_t kBlockBytesMax = 1 << 23;  // a chunk's length has 23 bits
constexpr int64_t kBlockBytes = 256 << 10;   // where the postscript gives none
constexpr int64_t kRowsMax = int64_t{1} << 48;

// A length or count that the file gives, kept where sums of it cannot overflow.
int64_t size_of(uint64_t value, int64_t most) {
  if (value > static_cast<uint64_t>(most)) malformed("a size in its footer is out of range");
  return static_cast<int64_t>(value);
}

template <class Each>
void each_integer(const ProtoReader& field, Each each) {
  if (field.bytes().empty()) return each(field.integer());
  std::string_view packed = field.bytes();
  uint64_t value = 0;
  int shift = 0;
  for (char c : packed) {
    if (shift < 64) value |= static_cast<uint64_t>(c & 0x7F) << shift;
    shift += 7;
    if (c & 0x80) continue;
    each(value);
    value = 0;
    shift = 0;
  }
}

OrcType read_type(std::string_view bytes) {
  OrcType type;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) type.kind = static_cast<OrcKind>(size_of(p.integer(), 64));
    if (p.field() == 2)
      each_integer(p, [&](uint64_t id) { type.children.push_back(static_cast<int>(size_of(id, 1 << 30))); });
    if (p.field() == 3) type.names.emplace_back(p.bytes());
    if (p.field() == 5) type.precision = static_cast<int>(size_of(p.integer(), 1 << 30));
    if (p.field() == 6) type.scale = static_cast<int>(size_of(p.integer(), 1 << 30));
  }
  return type;
}

OrcStripe read_stripe(std::string_view bytes, int64_t file_bytes) {
  OrcStripe stripe;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) stripe.offset = size_of(p.integer(), file_bytes);
    if (p.field() == 2) stripe.index_bytes = size_of(p.integer(), file_bytes);
    if (p.field() == 3) stripe.data_bytes = size_of(p.integer(), file_bytes);
    if (p.field() == 4) stripe.footer_bytes = size_of(p.integer(), file_bytes);
    if (p.field() == 5) stripe.rows = size_of(p.integer(), kRowsMax);
  }
  if (stripe.offset + stripe.index_bytes + stripe.data_bytes + stripe.footer_bytes > file_bytes) {
    malformed("its footer places a stripe outside the file");
  }
  return stripe;
}

// Hive 0.11's first files have their magic bytes in front only.
bool starts_with_magic(InputFile& file) {
  char magic[3];
  return take(file.ReadAt(0, sizeof magic, magic)) == sizeof magic && std::memcmp(magic, "ORC", sizeof magic) == 0;
}

// Types come in preorder: nested ones follow.
void check_types(const std::vector<OrcType>& types) {
  if (types.empty()) malformed("its footer has no types");
  if (types[0].kind != OrcKind::kStruct)
    throw ReadError("schema", "it is not a table: its rows are single values, not a struct of columns");
  if (types[0].names.size() != types[0].children.size()) malformed("its columns and their names differ in number");
  for (size_t parent = 0; parent < types.size(); ++parent) {
    for (int id : types[parent].children) {
      if (id <= static_cast<int>(parent) || id >= static_cast<int>(types.size()))
        malformed("a column of an undeclared type");
    }
  }
}

}  // namespace

uint64_t ProtoReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = static_cast<uint8_t>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return value;
  }
  malformed("a number in its footer does not end");
}

std::string_view ProtoReader::take(uint64_t size) {
  if (size > at_.size()) malformed("its footer ends inside a field");
  std::string_view taken = at_.substr(0, size);
  at_.remove_prefix(size);
  return taken;
}

bool ProtoReader::next() {
  if (at_.empty()) return false;
  uint64_t key = varint();
  field_ = static_cast<int>(key >> 3 & 0x1FFFFFFF);
  integer_ = 0;
  bytes_ = {};
  switch (key & 7) {
    case 0:
      integer_ = varint();
      break;
    case 1:
      std::memcpy(&integer_, take(8).data(), 8);
      break;
    case 2:
      bytes_ = take(varint());
      break;
    case 5:
      std::memcpy(&integer_, take(4).data(), 4);
      break;
    default:
      malformed("its footer has a field of an unknown kind");
  }
  return true;
}

std::vector<std::string_view> messages(std::string_view bytes, int field) {
  std::vector<std::string_view> found;
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == field) found.push_back(p.bytes());
  }
  return found;
}

double ProtoReader::real() const {
  double value;
  std::memcpy(&value, &integer_, 8);
  return value;
}

std::shared_ptr<arrow::util::Codec> make_orc_codec(uint64_t kind) {
  switch (kind) {
    case 0:
      return nullptr;
    case 1: {  // ORC's ZLIB is bare deflate
      arrow::util::GZipCodecOptions options;
      options.gzip_format = arrow::util::GZipFormat::DEFLATE;
      return take(arrow::util::Codec::Create(arrow::Compression::GZIP, options));
    }
    case 2:
      return take(arrow::util::Codec::Create(arrow::Compression::SNAPPY));
    case 4:
      return take(arrow::util::Codec::Create(arrow::Compression::LZ4));
    case 5:
      return take(arrow::util::Codec::Create(arrow::Compression::ZSTD));
    case 6:
      return take(arrow::util::Codec::Create(arrow::Compression::BROTLI));
    default:
      throw ReadError("schema", "it is compressed with " + (kind == 3 ? "LZO" : "codec " + std::to_string(kind)) +
                                    ", which is not read. Write it with zstd, snappy, zlib or lz4.");
  }
}

OrcTail read_orc_tail(InputFile& file) {
  int64_t file_bytes = take(file.GetSize());
  std::string end(static_cast<size_t>(std::min(file_bytes, kTailBytes)), '\0');
  if (take(file.ReadAt(file_bytes - static_cast<int64_t>(end.size()), static_cast<int64_t>(end.size()), end.data())) <
      static_cast<int64_t>(end.size())) {
    malformed("it became shorter");
  }
  if (end.size() < 4) malformed("it is too short for an ORC file");
  int64_t script_bytes = static_cast<uint8_t>(end.back());
  if (script_bytes >= static_cast<int64_t>(end.size())) malformed("its postscript is longer than the file");
  OrcTail tail;
  tail.compression.block_bytes = kBlockBytes;
  int64_t footer_bytes = 0;
  std::vector<uint64_t> version;
  bool magic = false;
  for (ProtoReader p(std::string_view(end).substr(end.size() - 1 - static_cast<size_t>(script_bytes),
                                                  static_cast<size_t>(script_bytes)));
       p.next();) {
    if (p.field() == 1) footer_bytes = size_of(p.integer(), file_bytes);
    if (p.field() == 2) tail.codec = p.integer();
    if (p.field() == 3) tail.compression.block_bytes = size_of(p.integer(), kBlockBytesMax);
    if (p.field() == 4) each_integer(p, [&](uint64_t part) { version.push_back(part); });
    if (p.field() == 5) tail.metadata_bytes = size_of(p.integer(), file_bytes);
    if (p.field() == 6) tail.writer_version = p.integer();
    if (p.field() == 8000) magic = p.bytes() == "ORC";
  }
  if (!magic && !starts_with_magic(file)) malformed("it does not end with ORC's postscript");
  tail.decimal64 = version == std::vector<uint64_t>{1, 9999};
  tail.compression.codec = make_orc_codec(tail.codec);
  int64_t footer_offset = file_bytes - 1 - script_bytes - footer_bytes;
  tail.metadata_offset = footer_offset - tail.metadata_bytes;
  if (tail.metadata_offset < 0) malformed("its footer is longer than the file");
  std::string footer = read_section(file, tail.compression, footer_offset, footer_bytes);
  for (ProtoReader p(footer); p.next();) {
    if (p.field() == 3) tail.stripes.push_back(read_stripe(p.bytes(), file_bytes));
    if (p.field() == 4) tail.types.push_back(read_type(p.bytes()));
    if (p.field() == 8) tail.row_index_stride = size_of(p.integer(), kRowsMax);
    if (p.field() == 10) throw ReadError("schema", "it is encrypted");
  }
  check_types(tail.types);
  return tail;
}

OrcStripeFooter read_stripe_footer(InputFile& file, const OrcCompression& compression, const OrcStripe& stripe) {
  OrcStripeFooter footer;
  footer.rows = stripe.rows;
  int64_t content = stripe.index_bytes + stripe.data_bytes, at = 0;
  std::string bytes = read_section(file, compression, stripe.offset + content, stripe.footer_bytes);
  for (ProtoReader p(bytes); p.next();) {
    if (p.field() == 1) {
      OrcStreamPlace place;
      for (ProtoReader s(p.bytes()); s.next();) {
        if (s.field() == 1) place.kind = static_cast<int>(size_of(s.integer(), 1 << 20));
        if (s.field() == 2) place.column = static_cast<int>(size_of(s.integer(), 1 << 30));
        if (s.field() == 3) place.bytes = size_of(s.integer(), content - at);
      }
      place.offset = stripe.offset + at;
      at += place.bytes;
      footer.streams.push_back(place);
    } else if (p.field() == 2) {
      OrcEncoding encoding;
      for (ProtoReader e(p.bytes()); e.next();) {
        if (e.field() == 1) {
          if (e.integer() > 3) malformed("an unknown encoding in a stripe's footer");
          encoding.dictionary = e.integer() & 1;
          encoding.version2 = e.integer() >= 2;
        }
        if (e.field() == 2) encoding.dictionary_size = size_of(e.integer(), stripe.rows);
      }
      footer.encodings.push_back(encoding);
    } else if (p.field() == 3) {
      footer.timezone = p.bytes();
    }
  }
  return footer;
}

const OrcStreamPlace* OrcStripeFooter::find(OrcStreamKind kind, int column) const {
  auto wanted = [&](const OrcStreamPlace& place) { return place.column == column && place.kind == kind; };
  auto found = std::find_if(streams.begin(), streams.end(), wanted);
  return found == streams.end() ? nullptr : &*found;
}

std::vector<std::vector<int64_t>> read_row_positions(InputFile& file, const OrcCompression& compression,
                                                     const OrcStreamPlace& index) {
  std::vector<std::vector<int64_t>> groups;
  std::string bytes = read_section(file, compression, index.offset, index.bytes);
  for (std::string_view entry : messages(bytes, 1)) {
    auto& positions = groups.emplace_back();
    for (ProtoReader e(entry); e.next();) {
      if (e.field() == 1) each_integer(e, [&](uint64_t n) { positions.push_back(size_of(n, kRowsMax)); });
    }
  }
  return groups;
}

}  // namespace jg::columnar
