// A file read by position, whose errors are the system's own words and whose reads are counted.
#pragma once
#include <arrow/io/interfaces.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/object_reader.h"
#include "common/recycling_pool.h"

namespace jg::columnar {

// A version of a file of this machine. `changed_ns` is when the system last saw a change (st_ctim), which no program
// can set; times are by the clock of files.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, changed_ns = 0, seen_ns = 0;

  bool operator==(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && size == other.size && changed_ns == other.changed_ns;
  }
  // Return whether it was changed so long before it was seen that a later change must show in its time. False of an
  // object of a store.
  bool is_settled() const { return inode != 0 && seen_ns - changed_ns > 2'000'000'000; }
};

class InputFile final : public arrow::io::RandomAccessFile {
 public:
  // A file, or an object of a store that this process knows by that name. Throws ReadError "io". Buffers that reads
  // return come from `pool`.
  static std::shared_ptr<InputFile> open(const std::string& path, arrow::MemoryPool* pool);
  ~InputFile() override;

  // Bytes read so far; of an object, those that were asked for. Any thread may ask.
  int64_t bytes_read() const { return object_ ? object_->bytes_fetched() : bytes_read_.load(); }
  // Of an object: what will be read next, so that it is fetched meanwhile, and that nothing is any more.
  void expect(std::vector<ByteRange> ranges) {
    if (object_) object_->expect(std::move(ranges));
  }
  void forget() {
    if (object_) object_->forget();
  }
  bool is_remote() const { return object_ != nullptr; }
  const FileIdentity& identity() const { return identity_; }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override;
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override;
  arrow::Result<int64_t> GetSize() override { return size_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  InputFile(int fd, const FileIdentity& identity, arrow::MemoryPool* pool)
      : fd_(fd), identity_(identity), size_(identity.size), pool_(pool) {}

  InputFile(std::unique_ptr<ObjectReader> object, arrow::MemoryPool* pool)
      : object_(std::move(object)), size_(object_->size()), pool_(pool) {}

  int fd_ = -1;
  std::unique_ptr<ObjectReader> object_;
  FileIdentity identity_;
  int64_t size_, position_ = 0;
  std::atomic<int64_t> bytes_read_ = 0;
  arrow::MemoryPool* pool_;
};

}  // namespace jg::columnar
