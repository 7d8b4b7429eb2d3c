#include "csv/records.h"

#include <algorithm>
#include <cstring>

#include "text/line_chunks.h"

namespace jg::csv {
namespace {

constexpr int64_t kPieceBytes = 256 << 10, kPieceBytesMin = 4 << 10;  // with its index, fits a core's cache

}  // namespace

void Records::open(text::Input* input, const Dialect* dialect, int64_t begin, int64_t end, bool to_file_end) {
  input_ = input;
  dialect_ = dialect;
  base_ = begin;
  end_ = end;
  to_file_end_ = to_file_end;
  from_ = have_ = whole_ = 0;
  fault_ = false;
  limit_ = kPieceBytes;
  input->expect(begin, end);
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
      if (fault_) fault_letter_ = data()[index_.fault];
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

// Move the rest to the front and read behind it.
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
  const int64_t before = input_->bytes_read();
  JG_RETURN_IF_ERROR(input_->read(base_ + have_, wanted, buffer_.data() + have_, &got));
  have_ += got;
  bytes_read += input_->bytes_read() - before;
  if (got < wanted) {
    const std::string& path = input_->path();
    if (input_->in_parts()) return {"io", path + ": the file became shorter while it was read", {{"file", path}}};
    end_ = base_ + have_;
  }
  if (to_file_end_ && base_ + have_ == end_ && have_ > 0 && buffer_[have_ - 1] != dialect_->line_end) {
    buffer_[have_++] = dialect_->line_end;
    end_++;
  }
  return {};
}

Status Records::too_long() const {
  return input_->at_line(
      "malformed", offset(),
      "a record is longer than " + std::to_string(text::kLineBytesMax >> 20) + " MiB; is a quote missing?");
}

// A record that continues beyond the part's end.
Status Records::never_ends() {
  if (!to_file_end_) return input_->at_line("malformed", offset(), "quotes do not match");
  if (!dialect_->skip_errors)
    return input_->at_line("malformed", offset(), "a record's quote is not closed before the file's end");
  skipped++;
  from_ = have_;
  return {};
}

// Passes over the record at from_.
Status Records::pass_over_fault() {
  fault_ = false;
  if (!dialect_->skip_errors && fault_letter_ == '\n')
    return input_->at_line(
        "malformed", offset(),
        "an LF stands here outside quotes, but the file's first line ends in CR: quote it, or let all "
        "lines end alike");
  if (!dialect_->skip_errors)
    return input_->at_line("malformed", offset(),
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
