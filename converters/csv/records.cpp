#include "csv/records.h"

#include <algorithm>
#include <cstring>

#include "csv/layout.h"
#include "text/line_chunks.h"

namespace jg::csv {
namespace {

constexpr int64_t kPieceBytes = 256 << 10, kPieceBytesMin = 4 << 10;  // with its index, fits a core's cache

}  // namespace

void Records::open(int fd, const std::string* path, int64_t begin, int64_t end, bool to_file_end) {
  fd_ = fd;
  path_ = path;
  base_ = begin;
  end_ = end;
  to_file_end_ = to_file_end;
  from_ = have_ = whole_ = 0;
  fault_ = false;
  limit_ = kPieceBytes;
}

Status Records::next(bool* done) {
  *done = false;
  while (true) {
    from_ += whole_;
    whole_ = 0;
    if (fault_) JG_RETURN_IF_ERROR(pass_over_fault());
    const int64_t rest = have_ - from_, piece = std::min(rest, limit_);
    if (piece > 0) {
      index(data(), piece, *dialect_, &index_);
      std::vector<int32_t>& records = index_.records;
      while (!records.empty() && index_.ends[records.back()] > index_.fault) records.pop_back();
      fault_ = index_.fault < piece;
      if (!records.empty()) {
        whole_ = index_.ends[records.back()] + 1;
        limit_ = std::min(limit_ * 4, kPieceBytes);
        return {};
      }
      if (fault_) continue;
      limit_ *= 4;
      if (piece < rest) continue;
    }
    if (rest > text::kLineBytesMax) {
      return too_long();
    } else if (base_ + have_ < end_) {
      JG_RETURN_IF_ERROR(read_more());
    } else if (rest == 0) {
      *done = true;
      return {};
    } else {
      JG_RETURN_IF_ERROR(never_ends());
    }
  }
}

// Moves what is left to the front and reads behind it.
Status Records::read_more() {
  const int64_t rest = have_ - from_;
  if (rest > 0) std::memmove(buffer_.data(), buffer_.data() + from_, rest);
  base_ += from_;
  from_ = 0;
  have_ = rest;
  const int64_t more =
      rest < kPieceBytes / 2 ? kPieceBytes - rest : std::min(rest, text::kLineBytesMax + kPieceBytes - rest);
  const int64_t wanted = std::min(more, end_ - base_ - have_);
  if (static_cast<int64_t>(buffer_.size()) < have_ + wanted + kPadding) buffer_.resize(have_ + wanted + kPadding);
  int64_t got;
  JG_RETURN_IF_ERROR(read_at(fd_, *path_, base_ + have_, wanted, buffer_.data() + have_, &got));
  have_ += got;
  bytes_read += got;
  if (got < wanted) return {"io", *path_ + ": the file became shorter while it was read", {{"file", *path_}}};
  if (to_file_end_ && base_ + have_ == end_ && buffer_[have_ - 1] != '\n') {
    buffer_[have_++] = '\n';
    end_++;
  }
  return {};
}

Status Records::too_long() const {
  return text::at_line(
      "malformed", *path_, offset(),
      "a record is longer than " + std::to_string(text::kLineBytesMax >> 20) + " MiB; is a quote missing?");
}

// A record that goes on behind the part's end.
Status Records::never_ends() {
  if (!to_file_end_) return text::at_line("malformed", *path_, offset(), "quotes do not match");
  if (!dialect_->skip_errors)
    return text::at_line("malformed", *path_, offset(), "a record's quote is not closed before the file's end");
  skipped++;
  from_ = have_;
  return {};
}

// Passes over the record at from_.
Status Records::pass_over_fault() {
  fault_ = false;
  if (!dialect_->skip_errors)
    return text::at_line("malformed", *path_, offset(),
                         std::string("a quote ") + dialect_->quote +
                             " stands inside an unquoted field, or text behind a " +
                             "closing one: quote the field and double the quotes in it, or choose another quote");
  while (true) {
    const int64_t end = lenient_end(buffer_.data(), from_, have_, *dialect_);
    if (end >= 0) {
      from_ = end;
      skipped++;
      limit_ = kPieceBytesMin;
      return {};
    }
    if (base_ + have_ == end_) return never_ends();
    if (have_ - from_ > text::kLineBytesMax) return too_long();
    JG_RETURN_IF_ERROR(read_more());
  }
}

}  // namespace jg::csv
