// Lines of text files in chunks that fit a core's cache: byte-range morsels over all files for instances and threads.
// Memory does not depend on the files' size.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/part_queue.h"
#include "jg/stream.h"
#include "text/input.h"

namespace jg::text {

inline constexpr int64_t kMorselBytes = 8 << 20, kChunkBytes = 512 << 10, kLineBytesMax = 64 << 20;
inline constexpr int64_t kPadding = 64;  // readable bytes behind a chunk, and in front of it

// The work of one source, shared by its threads: files cut into byte ranges, of which this instance has every
// share_count-th, or those that it gets of all. A file that is not read in parts is one range.
class Ranges {
 public:
  // Towards the end of a scan ranges become as short as bytes_min, so that all threads end at about the same time.
  explicit Ranges(Input::How how, int64_t bytes_min = kMorselBytes) : how_(std::move(how)), bytes_min_(bytes_min) {}
  // Looks at every file; the error names one that cannot be read.
  Status open(const FileSourceOptions& options, Counters* counters);
  Status open_file(int file, std::unique_ptr<Input>* out) const {
    return Input::open(files_[file], how_, out, frames_[file]);
  }
  struct Range {
    int file;
    int64_t begin, end;  // owns the lines that start in it
  };
  Status next(const Range** range) { return queue_.next(range); }  // null: nothing is left
  int64_t left() const { return queue_.left(); }
  void cancel() { queue_.cancel(); }
  bool cancelled() const { return queue_.cancelled(); }

 private:
  const Input::How how_;
  const int64_t bytes_min_;
  std::vector<std::string> files_;
  std::vector<std::shared_ptr<const Frames>> frames_;  // of each file; null: none
  PartQueue<Range> queue_;
};

// One thread's reader.
class LineChunks {
 public:
  explicit LineChunks(Ranges* ranges) : ranges_(ranges) {}
  LineChunks(const LineChunks&) = delete;
  // The next chunk of whole lines (the last may lack its newline), or *done. Valid until the next call; kPadding zero
  // bytes follow it.
  Status next(bool* done);
  const char* data() const { return room_ + begin_; }
  int64_t size() const { return end_ - begin_; }
  int file() const { return range_.file; }
  const Input& input() const { return *input_; }
  int64_t offset() const { return base_ + begin_; }  // of data() in the file
  bool at_file_start() const { return offset() == 0; }
  int64_t bytes_read = 0;

 private:
  Status open_range(bool* done);
  Status fill();
  void grow(int64_t bytes);

  Ranges* ranges_;
  Ranges::Range range_{-1, 0, 0};
  std::unique_ptr<Input> input_;
  int open_file_ = -1;
  std::vector<char> buffer_;
  char* room_ = nullptr;                    // buffer_ behind its padding
  int64_t base_ = 0;                        // file offset of room_[0]
  int64_t begin_ = 0, end_ = 0, have_ = 0;  // the chunk, and how much is filled
  bool eof_ = false, active_ = false, skip_first_ = false;
};

}  // namespace jg::text
