// A file of text: UTF-8 at any offset, whatever it is written in.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jg/status.h"
#include "text/frames.h"
#include "text/stream.h"

namespace jg::text {

inline constexpr int64_t kSizeUnknown = int64_t{1} << 62;

class Input {
 public:
  // Properties of a file that its bytes do not show: the read's option `encoding`, and whether it may be one JSON
  // array.
  struct How {
    std::string encoding = "utf-8";
    bool json = false;
    How(const std::vector<std::pair<std::string, std::string>>& options, bool json);
  };

  // "io", "malformed" and "schema" name the file. `frames`: of an earlier one of the same file, so that they are not
  // looked for again.
  static Status open(const std::string& path, const How& how, std::unique_ptr<Input>* out,
                     std::shared_ptr<const Frames> frames = nullptr);

  const std::string& path() const { return path_; }
  // Bytes of text; kSizeUnknown where it must be read from its front to know: then it is read as one part.
  int64_t size() const { return size_; }
  bool in_parts() const { return size_ != kSizeUnknown; }
  const std::shared_ptr<const Frames>& frames() const { return frames_; }  // null: the file has none
  int64_t bytes_read() const { return file_->bytes_read(); }               // of the file

  // Says what is read next, where that is worth a request ahead.
  void expect(int64_t begin, int64_t end);

  // Reads [offset, offset + size) or up to the end into `out`; *got bytes. Going back costs reading from the front
  // where the file is not read in parts.
  Status read(int64_t offset, int64_t size, char* out, int64_t* got);

  // "PATH: line N (byte B): WHAT", with fields file, line, offset (and column, where one is named). Lines are found by
  // counting.
  Status at_line(const std::string& code, int64_t offset, const std::string& what,
                 const std::string& column = "") const;

 private:
  Input(std::string path, How how) : path_(std::move(path)), how_(std::move(how)) {}
  int64_t line_at(int64_t offset) const;
  void start(int64_t offset);
  bool is_plain();
  bool begins_plain(const std::function<int64_t(char*, int64_t)>& read) const;
  void look_for_frames();
  Status failed(const std::string& code, const std::string& what) const;

  std::string path_;
  How how_;
  std::shared_ptr<columnar::InputFile> file_;
  std::shared_ptr<const Frames> frames_;
  std::unique_ptr<Stream> stream_;  // null: the file's bytes are read, or nothing was read yet
  int64_t size_ = kSizeUnknown;
  int64_t at_ = 0;  // of stream_
};

}  // namespace jg::text
