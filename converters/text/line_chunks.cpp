#include "text/line_chunks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace jg::text {
namespace {

constexpr int64_t kTailBytes = 16 << 10;  // to find the end of a range's last line in

Status unreadable(const std::string& path, int error) {
  return {"io", "cannot read " + path + ": " + strerror(error), {{"file", path}}};
}

}  // namespace

Status Ranges::open(const std::vector<std::string>& files, int share_index, int share_count) {
  files_ = files;
  int64_t number = 0;
  for (size_t f = 0; f < files.size(); f++) {
    struct stat info;
    if (::stat(files[f].c_str(), &info) != 0) return unreadable(files[f], errno);
    if (!S_ISREG(info.st_mode)) return {"io", "cannot read " + files[f] + ": it is not a file", {{"file", files[f]}}};
    for (int64_t at = 0; at < info.st_size; at += kMorselBytes) {
      if (number++ % share_count != share_index) continue;
      ranges_.push_back({static_cast<int>(f), at, std::min<int64_t>(at + kMorselBytes, info.st_size)});
    }
  }
  return {};
}

bool Ranges::next(Range* range) {
  const int64_t i = next_.fetch_add(1);
  if (i >= static_cast<int64_t>(ranges_.size())) return false;
  *range = ranges_[i];
  return true;
}

int64_t Ranges::left() const { return std::max<int64_t>(0, static_cast<int64_t>(ranges_.size()) - next_.load()); }

LineChunks::~LineChunks() {
  if (fd_ >= 0) ::close(fd_);
}

Status LineChunks::open_range(bool* done) {
  if (!ranges_->next(&range_)) {
    *done = true;
    return {};
  }
  if (open_file_ != range_.file) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::open(ranges_->path(range_.file).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return unreadable(ranges_->path(range_.file), errno);
    open_file_ = range_.file;
  }
  skip_first_ = range_.begin > 0;  // the line that the byte before belongs to is another range's
  base_ = skip_first_ ? range_.begin - 1 : 0;
  begin_ = end_ = have_ = 0;
  eof_ = false;
  active_ = true;
  return {};
}

// Moves what is left to the front and reads behind it.
Status LineChunks::fill() {
  const int64_t rest = have_ - end_;
  if (end_ > 0 && rest > 0) std::memmove(buffer_.data(), buffer_.data() + end_, rest);
  base_ += end_;
  begin_ = end_ = 0;
  have_ = rest;
  const int64_t left = range_.end - base_ - have_;
  int64_t wanted = std::min(kChunkBytes, left > 0 ? left + kTailBytes : std::max(kTailBytes, have_));
  if (static_cast<int64_t>(buffer_.size()) < have_ + wanted + kPadding) buffer_.resize(have_ + wanted + kPadding);
  while (wanted > 0) {
    const ssize_t n = ::pread(fd_, buffer_.data() + have_, wanted, base_ + have_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(ranges_->path(range_.file), errno);
    if (n == 0) {
      eof_ = true;
      break;
    }
    have_ += n;
    bytes_read += n;
    wanted -= n;
    if (base_ + have_ > range_.end) break;  // the last line may end here
  }
  std::memset(buffer_.data() + have_, 0, kPadding);
  return {};
}

Status LineChunks::next(bool* done) {
  while (!ranges_->cancelled()) {
    if (!active_) {
      *done = false;
      JG_RETURN_IF_ERROR(open_range(done));
      if (*done) return {};
    }
    JG_RETURN_IF_ERROR(fill());
    const char* start = buffer_.data();
    if (skip_first_) {
      const void* newline = std::memchr(start, '\n', have_);
      if (!newline) {
        end_ = have_;
        if (eof_ || base_ + have_ >= range_.end) active_ = false;
        continue;
      }
      begin_ = static_cast<const char*>(newline) - start + 1;
      skip_first_ = false;
      if (base_ + begin_ >= range_.end) {
        active_ = false;
        continue;
      }
    }
    // Lines that start at or after range_.end are the next range's.
    int64_t stop = have_;
    if (base_ + have_ >= range_.end) {
      const int64_t from = std::max<int64_t>(begin_, range_.end - 1 - base_);
      const void* newline = from < have_ ? std::memchr(start + from, '\n', have_ - from) : nullptr;
      if (newline) {
        stop = static_cast<const char*>(newline) - start + 1;
        active_ = false;
      }
    }
    if (active_ && !eof_) {
      const void* newline = memrchr(start + begin_, '\n', stop - begin_);
      if (!newline) {
        if (have_ - begin_ > kLineBytesMax)
          return at_line("malformed", ranges_->path(range_.file), base_ + begin_,
                         "a line is longer than " + std::to_string(kLineBytesMax >> 20) + " MiB");
        end_ = begin_;  // not even one line: read more
        continue;
      }
      stop = static_cast<const char*>(newline) - start + 1;
    } else {
      active_ = false;
    }
    end_ = stop;
    if (begin_ == end_) continue;
    *done = false;
    return {};
  }
  return {"cancelled", "the job was cancelled"};
}

int64_t line_at(const std::string& path, int64_t offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::vector<char> buffer(1 << 20);
  int64_t line = 1;
  for (int64_t at = 0; at < offset;) {
    const ssize_t n = ::pread(fd, buffer.data(), std::min<int64_t>(buffer.size(), offset - at), at);
    if (n <= 0) break;
    line += std::count(buffer.data(), buffer.data() + n, '\n');
    at += n;
  }
  ::close(fd);
  return line;
}

Status at_line(const std::string& code, const std::string& path, int64_t offset, const std::string& what,
               const std::string& column) {
  const std::string line = std::to_string(line_at(path, offset));
  std::vector<std::pair<std::string, std::string>> fields = {
      {"file", path}, {"line", line}, {"offset", std::to_string(offset)}};
  if (!column.empty()) fields.emplace_back("column", column);
  return {code, path + ": line " + line + " (byte " + std::to_string(offset) + "): " + what, fields};
}

}  // namespace jg::text
