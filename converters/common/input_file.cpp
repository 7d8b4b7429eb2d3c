#include "common/input_file.h"

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/read_error.h"

namespace jg::columnar {
namespace {

constexpr int kAttemptsMax = 100;  // the kernel asks to try again when folders are renamed meanwhile

// In ROOT//PATH, links of PATH lead nowhere but below ROOT (jumpgate/dataflow/beneath.py).
int open_beneath(const std::string& path) {
  const size_t at = path.find("//", 1);
  if (at == path.npos) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int root = ::open(path.substr(0, at).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return root;
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int64_t file = -1;
  for (int n = 0; n < kAttemptsMax && file < 0; n++) {
    file = ::syscall(SYS_openat2, root, path.c_str() + at + 2, &how, sizeof how);
    if (file < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  const int error = errno;
  ::close(root);
  errno = error;
  return static_cast<int>(file);
}

int64_t in_ns(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

std::shared_ptr<InputFile> InputFile::open(const std::string& path, arrow::MemoryPool* pool) {
  if (const objects::Object* object = objects::find(path))
    return std::shared_ptr<InputFile>(new InputFile(std::make_unique<ObjectReader>(*object), pool));
  int fd = open_beneath(path);
  if (fd < 0 && errno == EXDEV) throw ReadError("io", "a link leads out of " + path.substr(0, path.find("//", 1)));
  if (fd < 0) throw ReadError("io", std::strerror(errno));
  struct stat status;
  int failure = ::fstat(fd, &status) != 0 ? errno
                : S_ISREG(status.st_mode) ? 0
                : S_ISDIR(status.st_mode) ? EISDIR
                                          : ESPIPE;
  if (failure != 0) {
    ::close(fd);
    throw ReadError("io", std::strerror(failure));
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  const FileIdentity identity{status.st_dev, status.st_ino, status.st_size, in_ns(status.st_ctim), in_ns(now)};
  return std::shared_ptr<InputFile>(new InputFile(fd, identity, pool));
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

arrow::Result<int64_t> InputFile::ReadAt(int64_t position, int64_t bytes, void* out) {
  if (position < 0 || bytes < 0) return arrow::Status::Invalid("a read at ", position, " of ", bytes, " bytes");
  if (object_) return object_->read(position, bytes, static_cast<char*>(out));
  int64_t done = 0;
  while (done < bytes) {
    ssize_t got = ::pread(fd_, static_cast<char*>(out) + done, static_cast<size_t>(bytes - done), position + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ReadError("io", std::strerror(errno));
    if (got == 0) break;
    done += got;
  }
  bytes_read_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> InputFile::ReadAt(int64_t position, int64_t bytes) {
  if (position < 0 || bytes < 0) return arrow::Status::Invalid("a read at ", position, " of ", bytes, " bytes");
  bytes = std::min(bytes, std::max<int64_t>(0, size_ - position));
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(bytes, pool_));
  ARROW_ASSIGN_OR_RAISE(int64_t done, ReadAt(position, bytes, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(done, /*shrink_to_fit=*/false));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Result<int64_t> InputFile::Read(int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(int64_t done, ReadAt(position_, bytes, out));
  position_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> InputFile::Read(int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, bytes));
  position_ += buffer->size();
  return buffer;
}

arrow::Status InputFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::Invalid("a seek to ", position);
  position_ = position;
  return arrow::Status::OK();
}

}  // namespace jg::columnar
