#include "tables/spill.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace jg {
namespace {

constexpr size_t kSpillBuffer = 1 << 20;
int64_t record_padded(uint64_t n) { return static_cast<int64_t>((n + 15) & ~uint64_t{15}); }

Status spill_failed(const char* what) {
  return {"io", std::string("cannot ") + what + " a file in " + spill_folder() +
                    ", where tables beyond memory_limit go: " + strerror(errno) +
                    "; free some space there, or set JUMPGATE_CACHE_DIR to a folder on another disk"};
}

}  // namespace

int64_t record_size(const JgRowLayout& layout, const JgRow* row) {
  uint64_t size = static_cast<uint64_t>(record_padded(layout.row_size));
  for (int i = 0; i < layout.text_count; i++) size += text_of(layout, row, i)->size;
  return record_padded(size);
}

JgRow* revived(const JgRowLayout& layout, char* at) {
  auto* row = reinterpret_cast<JgRow*>(at);
  at += record_padded(layout.row_size);
  for (int i = 0; i < layout.text_count; i++) {
    JgStr* s = text_of(layout, row, i);
    s->data = at;
    at += s->size;
  }
  return row;
}

SpillFile::~SpillFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status SpillFile::write(JgRow* const* rows, size_t n, Run* run) {
  if (fd_ < 0) fd_ = open_spill_file();
  if (fd_ < 0) return spill_failed("make");
  run->at = size_;
  run->rows = static_cast<int64_t>(n);
  std::string buffer;
  buffer.reserve(2 * kSpillBuffer);
  for (size_t r = 0; r < n; r++) {
    const size_t begin = buffer.size();
    buffer.append(reinterpret_cast<const char*>(rows[r]), layout_.row_size);
    buffer.resize(begin + static_cast<size_t>(record_padded(layout_.row_size)));
    for (int i = 0; i < layout_.text_count; i++) {
      const JgStr s = *text_of(layout_, rows[r], i);
      if (s.size) buffer.append(s.data, s.size);
    }
    buffer.resize(static_cast<size_t>(record_padded(buffer.size())));
    if (buffer.size() >= kSpillBuffer) JG_RETURN_IF_ERROR(flush(&buffer));
  }
  JG_RETURN_IF_ERROR(flush(&buffer));
  run->bytes = size_ - run->at;
  return {};
}

Status SpillFile::flush(std::string* buffer) {
  if (is_disk_short(fd_, buffer->size())) return {"memory", budget_->explain() + disk_is_short()};
  for (size_t done = 0; done < buffer->size();) {
    const ssize_t n = ::pwrite(fd_, buffer->data() + done, buffer->size() - done, size_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return spill_failed("write");
    done += static_cast<size_t>(n);
    size_ += n;
    budget_->spilled += n;
  }
  buffer->clear();
  return {};
}

Status SpillFile::read(int64_t at, int64_t bytes, char* to) const {
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, to, static_cast<size_t>(bytes), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return spill_failed("read");
    at += n, to += n, bytes -= n;
  }
  return {};
}

}  // namespace jg
