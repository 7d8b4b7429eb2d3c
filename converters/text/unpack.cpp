#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>

#include <cstring>

#include "common/read_error.h"
#include "text/stream.h"

namespace jg::text {
namespace {

using columnar::ReadError;
using columnar::take;

struct Packer {
  const char* name;
  std::string_view magic;
  std::string_view suffixes[2];
  arrow::Compression::type codec;  // UNCOMPRESSED: not read
};

using namespace std::string_view_literals;
constexpr Packer kPackers[] = {
    {"gzip", "\x1f\x8b"sv, {".gz", ".gzip"}, arrow::Compression::GZIP},
    {"bzip2", "BZh"sv, {".bz2", ".bz2"}, arrow::Compression::BZ2},
    {"zstd", "\x28\xb5\x2f\xfd"sv, {".zst", ".zstd"}, arrow::Compression::ZSTD},
    {"xz",
     "\xfd"
     "7zXZ\0"sv,
     {".xz", ".lzma"},
     arrow::Compression::UNCOMPRESSED},
    {"lz4", "\x04\x22\x4d\x18"sv, {".lz4", ".lz4"}, arrow::Compression::UNCOMPRESSED},
    {"zip", "PK\x03\x04"sv, {".zip", ".zip"}, arrow::Compression::UNCOMPRESSED},
};

bool has_magic(const Packer& packer, std::string_view head) {
  if (!head.starts_with(packer.magic)) return false;
  // three letters are not enough: a block, or the end of an empty stream, follows
  return packer.codec != arrow::Compression::BZ2 ||
         (head.size() >= 10 && head[3] >= '1' && head[3] <= '9' &&
          (head.substr(4, 6) == "\x31\x41\x59\x26\x53\x59"sv || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv));
}

bool has_suffix(const Packer& packer, std::string_view path) {
  return path.ends_with(packer.suffixes[0]) || path.ends_with(packer.suffixes[1]);
}

const Packer* packer_of(std::string_view path, std::string_view head) {
  for (const Packer& packer : kPackers) {
    if (has_magic(packer, head)) return &packer;
  }
  for (const Packer& packer : kPackers) {
    if (has_suffix(packer, path)) return &packer;
  }
  return nullptr;
}

class Bytes final : public Stream {
 public:
  explicit Bytes(std::shared_ptr<arrow::io::InputStream> from) : from_(std::move(from)) {}
  int64_t read(char* out, int64_t size) override { return take(from_->Read(size, out)); }

 private:
  std::shared_ptr<arrow::io::InputStream> from_;
};

// Any number of members behind one another. What comes out is exact, or an error.
class Unpacked final : public Stream {
 public:
  Unpacked(const Packer& packer, const std::shared_ptr<columnar::InputFile>& file)
      : packer_(packer),
        codec_(take(arrow::util::Codec::Create(packer.codec))),
        from_(take(arrow::io::CompressedInputStream::Make(codec_.get(), file))) {}

  int64_t read(char* out, int64_t size) override {
    arrow::Result<int64_t> got = from_->Read(size, out);
    if (got.status().IsOutOfMemory()) columnar::check(got.status());
    if (!got.ok()) columnar::malformed(std::string("cut or damaged ") + packer_.name + ": " + got.status().message());
    return *got;
  }

 private:
  const Packer& packer_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::CompressedInputStream> from_;
};

}  // namespace

bool is_packed(const std::string& path, std::string_view head) { return packer_of(path, head) != nullptr; }

std::unique_ptr<Stream> unpacked(const std::string& path, const std::shared_ptr<columnar::InputFile>& file) {
  char head[16];
  const int64_t got = take(file->ReadAt(0, sizeof head, head));
  const Packer* packer = packer_of(path, {head, static_cast<size_t>(got)});
  columnar::check(file->Seek(0));
  if (packer == nullptr) return std::make_unique<Bytes>(file);
  if (packer->codec == arrow::Compression::UNCOMPRESSED)
    throw ReadError("schema", std::string("is packed with ") + packer->name +
                                  ", which is not read yet; gzip, bzip2 and zstd are: pack it with one of them");
  if (!has_magic(*packer, {head, static_cast<size_t>(got)}))
    columnar::malformed(std::string("its suffix says ") + packer->name + ", its bytes are something else");
  return std::make_unique<Unpacked>(*packer, file);
}

}  // namespace jg::text
