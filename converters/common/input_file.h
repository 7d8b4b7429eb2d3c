// A file read by position, whose errors are the system's own words and whose reads are counted.
#pragma once
#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

#include "common/recycling_pool.h"

namespace jg::columnar {

class InputFile final : public arrow::io::RandomAccessFile {
 public:
  // Throws ReadError "io". Buffers that reads return come from `pool`.
  static std::shared_ptr<InputFile> open(const std::string& path, arrow::MemoryPool* pool);
  ~InputFile() override;

  // Bytes read so far.
  int64_t bytes_read() const { return bytes_read_; }

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
  InputFile(int fd, int64_t size, arrow::MemoryPool* pool) : fd_(fd), size_(size), pool_(pool) {}

  int fd_;
  int64_t size_, position_ = 0, bytes_read_ = 0;
  arrow::MemoryPool* pool_;
};

}  // namespace jg::columnar
