#include "text/line_chunks.h"

#include <algorithm>
#include <cstring>

namespace jg::text {
namespace {

constexpr int64_t kTailBytes = 16 << 10;  // to find the end of a range's last line in
// A range is this part of the rest of the scan (guided self-scheduling: Polychronopoulos and Kuck, 1987).
constexpr int64_t kPartsLeft = 16;

}  // namespace

Status Ranges::open(const FileSourceOptions& options, Counters* counters) {
  files_ = options.files;
  std::vector<int64_t> sizes;
  int64_t left = 0;  // bytes, of files that are read in parts
  for (size_t f = 0; f < files_.size(); f++) {
    std::unique_ptr<Input> input;
    JG_RETURN_IF_ERROR(Input::open(files_[f], how_, &input));
    sizes.push_back(input->size());
    frames_.push_back(input->frames());
    if (input->in_parts()) left += input->size();
  }
  int64_t number = 0;
  std::vector<Range> ranges;
  for (size_t f = 0; f < files_.size(); f++) {
    const int64_t size = sizes[f];
    for (int64_t at = 0, end; at < size; at = end) {
      end = size;
      if (size != kSizeUnknown) {
        end = at + std::clamp(left / kPartsLeft, bytes_min_, kMorselBytes);
        // the letter before a range decides whether that begins with a line: it is in the range's own frame
        if (frames_[f]) end = frames_[f]->end_of_frame(end - 1) + 1;
        end = std::min(end, size);
        left -= end - at;
      }
      if (!options.shares && number++ % options.share_count != options.share_index) continue;
      ranges.push_back({static_cast<int>(f), at, end});
    }
  }
  auto owner = [&](const Range& range) {
    const size_t file = static_cast<size_t>(range.file);
    return owner_of(options, files_[file], range.begin, sizes[file]);
  };
  return queue_.fill(std::move(ranges), options, owner, counters);
}

Status LineChunks::open_range(bool* done) {
  const Ranges::Range* range = nullptr;
  JG_RETURN_IF_ERROR(ranges_->next(&range));
  if (range == nullptr) {
    *done = true;
    return {};
  }
  range_ = *range;
  if (open_file_ != range_.file) {
    JG_RETURN_IF_ERROR(ranges_->open_file(range_.file, &input_));
    open_file_ = range_.file;
  }
  skip_first_ = range_.begin > 0;  // the line that the byte before belongs to is another range's
  base_ = skip_first_ ? range_.begin - 1 : 0;
  begin_ = end_ = have_ = 0;
  eof_ = false;
  active_ = true;
  input_->expect(base_, range_.end + kTailBytes);
  return {};
}

void LineChunks::grow(int64_t bytes) {
  if (static_cast<int64_t>(buffer_.size()) >= bytes + 2 * kPadding) return;
  buffer_.resize(bytes + 2 * kPadding);
  room_ = buffer_.data() + kPadding;
}

// Move the rest to the front and read behind it.
Status LineChunks::fill() {
  const int64_t rest = have_ - end_;
  if (end_ > 0 && rest > 0) std::memmove(room_, room_ + end_, rest);
  base_ += end_;
  begin_ = end_ = 0;
  have_ = rest;
  const int64_t left = range_.end - base_ - have_;
  const int64_t wanted = std::min(kChunkBytes, left > 0 ? left + kTailBytes : std::max(kTailBytes, have_));
  grow(have_ + wanted);
  const int64_t before = input_->bytes_read();
  int64_t got;
  JG_RETURN_IF_ERROR(input_->read(base_ + have_, wanted, room_ + have_, &got));
  bytes_read += input_->bytes_read() - before;
  have_ += got;
  eof_ = got < wanted;
  std::memset(room_ + have_, 0, kPadding);
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
    const char* start = room_;
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
          return input_->at_line("malformed", base_ + begin_,
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

}  // namespace jg::text
