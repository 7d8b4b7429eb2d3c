#include "text/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/read_error.h"

namespace jg::text {
namespace {

using columnar::ReadError;

constexpr int64_t kLookBytes = 64 << 10;  // for the first letter of JSON

}  // namespace

Input::How::How(const std::vector<std::pair<std::string, std::string>>& options, bool json) : json(json) {
  for (const auto& [name, value] : options) {
    if (name == "encoding") encoding = value;
    if (name == "values" && value == "exact") this->json = false;
  }
}

Status Input::failed(const std::string& code, const std::string& what) const {
  return {code, code == "io" ? "cannot read " + path_ + ": " + what : path_ + ": " + what, {{"file", path_}}};
}

Status Input::open(const std::string& path, const How& how, std::unique_ptr<Input>* out,
                   std::shared_ptr<const Frames> frames) {
  std::unique_ptr<Input> input(new Input(path, how));
  struct stat info;
  const bool is_here = objects::find(path) == nullptr;
  if (is_here && ::stat(path.c_str(), &info) != 0) return input->failed("io", std::strerror(errno));
  if (is_here && !S_ISREG(info.st_mode)) return input->failed("io", "it is not a file");  // opening a pipe would wait
  try {
    input->file_ = columnar::InputFile::open(path, arrow::default_memory_pool());
    if (frames) {
      input->frames_ = std::move(frames);
    } else if (input->is_plain()) {
      input->size_ = columnar::take(input->file_->GetSize());
    } else {
      input->look_for_frames();
      if (!input->frames_) input->start(0);
    }
  } catch (const ReadError& e) {
    return input->failed(e.code, e.what());
  }
  if (input->frames_) input->size_ = input->frames_->text_size;
  *out = std::move(input);
  return {};
}

// Return whether the file's bytes are the text.
bool Input::is_plain() {
  if (how_.encoding != "utf-8") return false;
  char head[16];
  const int64_t got = columnar::take(file_->ReadAt(0, sizeof head, head));
  if (is_packed(path_, {head, static_cast<size_t>(got)})) return false;
  return begins_plain([&](char* out, int64_t size) { return columnar::take(file_->ReadAt(0, size, out)); });
}

// Return whether text is UTF-8, and no JSON array; `read` gives its first bytes.
bool Input::begins_plain(const std::function<int64_t(char*, int64_t)>& read) const {
  std::string head;
  for (int64_t size : {int64_t{16}, kLookBytes}) {
    head.resize(static_cast<size_t>(size));
    head.resize(static_cast<size_t>(read(head.data(), size)));
    if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return false;
    const char first = first_letter(head);
    if (!how_.json || first != 0) return !how_.json || first != '[';
  }
  return true;
}

void Input::look_for_frames() {
  if (how_.encoding != "utf-8") return;
  std::shared_ptr<const Frames> found = frames_of(file_.get());
  const auto read = [&](char* out, int64_t size) {
    const std::unique_ptr<Stream> from = unpacked_from(file_, found, 0);
    int64_t have = 0;
    for (int64_t got = 1; got > 0 && have < size; have += got) got = from->read(out + have, size - have);
    return have;
  };
  if (found && begins_plain(read)) frames_ = std::move(found);
}

// Read from `offset` on, or from somewhat before it.
void Input::start(int64_t offset) {
  stream_ = nullptr;  // before what it reads is elsewhere
  if (frames_) {
    const size_t frame = frames_->at(offset);
    stream_ = unpacked_from(file_, frames_, frame);
    at_ = frames_->frames[frame].text_begin;
    return;
  }
  file_->expect({{0, columnar::take(file_->GetSize())}});
  std::unique_ptr<Stream> text = decoded(unpacked(path_, file_), how_.encoding);
  stream_ = ahead(how_.json ? lines_of_array(std::move(text)) : std::move(text));
  at_ = 0;
}

void Input::expect(int64_t begin, int64_t end) {
  if (stream_ || frames_) return;  // all of it is on its way, or it is here
  file_->forget();
  file_->expect({{begin, end}});
}

Status Input::read(int64_t offset, int64_t size, char* out, int64_t* got) {
  *got = 0;
  try {
    if (!stream_ && !frames_) {
      *got = columnar::take(file_->ReadAt(offset, size, out));
      return {};
    }
    const bool in_later_frame = frames_ && stream_ && frames_->at(offset) > frames_->at(at_);
    if (!stream_ || offset < at_ || in_later_frame) start(offset);
    while (at_ < offset) {
      char passed[4096];
      const int64_t n = stream_->read(passed, std::min<int64_t>(sizeof passed, offset - at_));
      if (n == 0) return {};
      at_ += n;
    }
    while (*got < size) {
      const int64_t n = stream_->read(out + *got, size - *got);
      if (n == 0) break;
      *got += n;
      at_ += n;
    }
    return {};
  } catch (const ReadError& e) {
    return failed(e.code, e.what());
  }
}

int64_t Input::line_at(int64_t offset) const {
  How how = how_;
  how.json = false;  // an array's lines are those of its file
  std::unique_ptr<Input> again;
  if (!open(path_, how, &again).ok()) return 0;
  std::vector<char> buffer(1 << 20);
  int64_t feeds = 0, returns = 0;
  for (int64_t at = 0, got; at < offset; at += got) {
    const int64_t size = std::min(static_cast<int64_t>(buffer.size()), offset - at);
    if (!again->read(at, size, buffer.data(), &got).ok() || got == 0) break;
    feeds += std::count(buffer.data(), buffer.data() + got, '\n');
    if (feeds == 0) returns += std::count(buffer.data(), buffer.data() + got, '\r');
  }
  return 1 + (feeds > 0 ? feeds : returns);
}

Status Input::at_line(const std::string& code, int64_t offset, const std::string& what,
                      const std::string& column) const {
  const std::string line = std::to_string(line_at(offset)), byte = std::to_string(offset);
  std::vector<std::pair<std::string, std::string>> fields = {{"file", path_}, {"line", line}, {"offset", byte}};
  if (!column.empty()) fields.emplace_back("column", column);
  return {code, path_ + ": line " + line + " (byte " + byte + "): " + what, fields};
}

}  // namespace jg::text
