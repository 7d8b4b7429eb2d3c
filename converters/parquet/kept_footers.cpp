#include "parquet/kept_footers.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "common/read_error.h"

namespace jg::columnar {
namespace {

constexpr size_t kFilesMost = 32;
constexpr uint32_t kBytesMost = 1 << 20;  // of a footer as it is encoded; parsed it takes some ten times as much

struct KeptFooter {
  FileIdentity file;
  std::shared_ptr<parquet::FileMetaData> metadata;
};

// The last ones that were parsed, the oldest first.
class KeptFooters {
 public:
  std::shared_ptr<parquet::FileMetaData> find(const FileIdentity& file) {
    const std::lock_guard lock(mutex_);
    for (const KeptFooter& kept : kept_)
      if (kept.file == file) return kept.metadata;
    return nullptr;
  }
  void keep(const FileIdentity& file, std::shared_ptr<parquet::FileMetaData> metadata) {
    const std::lock_guard lock(mutex_);
    bytes_ += metadata->size();
    kept_.push_back({file, std::move(metadata)});
    for (; bytes_ > kBytesMost || kept_.size() > kFilesMost; kept_.pop_front())
      bytes_ -= kept_.front().metadata->size();
  }

 private:
  std::mutex mutex_;
  std::deque<KeptFooter> kept_;
  uint64_t bytes_ = 0;
};

KeptFooters& kept_footers() {
  static KeptFooters& all = *new KeptFooters;  // threads may outlive static objects
  return all;
}

void refuse_encrypted_footer(InputFile& input) {
  char magic[4] = {};
  const int64_t file_bytes = take(input.GetSize());
  if (file_bytes < 4 || take(input.ReadAt(file_bytes - 4, 4, magic)) < 4) return;
  if (std::memcmp(magic, "PARE", 4) == 0) throw ReadError("io", "its footer is encrypted, and Jumpgate has no keys");
}

}  // namespace

std::unique_ptr<parquet::ParquetFileReader> open_parquet(std::shared_ptr<InputFile> input) {
  const FileIdentity file = input->identity();
  if (!file.is_settled()) {
    refuse_encrypted_footer(*input);
    return parquet::ParquetFileReader::Open(std::move(input));
  }
  if (auto metadata = kept_footers().find(file))
    return parquet::ParquetFileReader::Open(std::move(input), parquet::default_reader_properties(),
                                            std::move(metadata));
  refuse_encrypted_footer(*input);
  auto reader = parquet::ParquetFileReader::Open(std::move(input));
  if (reader->metadata()->size() <= kBytesMost) kept_footers().keep(file, reader->metadata());
  return reader;
}

}  // namespace jg::columnar
