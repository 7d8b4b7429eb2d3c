#include "text/frames.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "common/read_error.h"

namespace jg::text {
namespace {

using columnar::take;
using Frame = Frames::Frame;

constexpr int64_t kPackedBytes = 128 << 10;  // read at once
constexpr uint32_t kZstd = 0xFD2FB528, kSkipped = 0x184D2A50, kSkippedMask = 0xFFFFFFF0;
constexpr uint32_t kSeekTable = 0x184D2A5E, kSeekable = 0x8F92EAB1;
constexpr int64_t kSeekFooter = 9, kSkippedHeader = 8;
constexpr int64_t kZstdHeaderMax = 18, kGzipHeader = 18, kGzipEnd = 8;
constexpr int64_t kTextBytesMax = int64_t{1} << 50;  // of a frame, and of all; sums stay far from overflow
constexpr int64_t kFrameTextBytes = 1 << 20;         // shorter ones count as one with those behind them

// A file's bytes at any place; too few at its end.
class FileBytes {
 public:
  explicit FileBytes(columnar::InputFile* file) : file_(file), size_(take(file->GetSize())) {}
  int64_t size() const { return size_; }
  bool read(int64_t at, int64_t bytes) { return at + bytes <= size_ && some(at, bytes) == bytes; }
  int64_t some(int64_t at, int64_t bytes) { return take(file_->ReadAt(at, bytes, bytes_)); }
  uint64_t number(int at, int width) const {
    uint64_t value = 0;
    for (int i = width - 1; i >= 0; i--) value = value << 8 | bytes_[at + i];
    return value;
  }
  uint8_t operator[](int at) const { return bytes_[at]; }

 private:
  columnar::InputFile* file_;
  int64_t size_;
  uint8_t bytes_[kGzipEnd + kGzipHeader] = {};
};

// What is known of a frame from its bytes: where the next one begins, and how long its text is.
struct Known {
  int64_t end, text;
};

// RFC 8878, section 3.1.1.
std::optional<Known> zstd_frame(FileBytes& file, int64_t at) {
  const int64_t got = file.some(at, std::min(kZstdHeaderMax, file.size() - at));
  if (got < 6 || file.number(0, 4) != kZstd) return std::nullopt;
  const uint8_t descriptor = file[4];
  const bool single = descriptor >> 5 & 1, summed = descriptor >> 2 & 1;
  if ((descriptor & 0b1011) != 0) return std::nullopt;  // a reserved bit, or a dictionary
  static constexpr int kSizeBytes[] = {0, 2, 4, 8};
  const int width = single && descriptor >> 6 == 0 ? 1 : kSizeBytes[descriptor >> 6];
  const int header = 5 + !single;
  if (width == 0 || got < header + width) return std::nullopt;
  const uint64_t text = file.number(header, width) + (width == 2 ? 256 : 0);
  if (text > static_cast<uint64_t>(kTextBytesMax)) return std::nullopt;
  at += header + width;
  for (bool last = false; !last;) {
    if (!file.read(at, 3)) return std::nullopt;
    const auto block = static_cast<int64_t>(file.number(0, 3));
    last = block & 1;
    const int64_t kind = block >> 1 & 3;
    if (kind == 3) return std::nullopt;
    at += 3 + (kind == 1 ? 1 : block >> 3);
  }
  if (summed) at += 4;
  if (at > file.size()) return std::nullopt;
  return Known{at, static_cast<int64_t>(text)};
}

// A member whose extra field BC has its length (SAM's specification, section 4.1).
std::optional<Known> gzip_member(FileBytes& file, int64_t at) {
  if (!file.read(at, kGzipHeader)) return std::nullopt;
  if (file.number(0, 4) != 0x04088B1F || file.number(10, 2) != 6 || file.number(12, 4) != 0x00024342)
    return std::nullopt;
  const int64_t end = at + static_cast<int64_t>(file.number(16, 2)) + 1;
  if (end < at + kGzipHeader + kGzipEnd || !file.read(end - 4, 4)) return std::nullopt;
  return Known{end, static_cast<int64_t>(file.number(0, 4))};
}

struct Place {
  int64_t begin, end, text;  // of the file; the length of the text
};

// Put a frame behind the others; false where there is too much text to be true.
bool append(Place place, Frames* out) {
  const int64_t before = out->text_size;
  if (place.text > kTextBytesMax - before) return false;
  out->text_size += place.text;
  std::vector<Frame>& frames = out->frames;
  if (!frames.empty() && frames.back().end == place.begin &&
      out->text_size - frames.back().text_begin <= kFrameTextBytes) {
    frames.back().end = place.end;
  } else {
    frames.push_back({place.begin, place.end, before});
  }
  return true;
}

// The frames that a seek table at the file's end lists (zstd's contrib/seekable_format); false where there is none, or
// it does not fit the file.
bool by_seek_table(FileBytes& file, Frames* out) {
  const int64_t size = file.size();
  if (size < kSeekFooter + kSkippedHeader || !file.read(size - kSeekFooter, kSeekFooter)) return false;
  if (file.number(5, 4) != kSeekable) return false;
  const int64_t entry = file[4] >> 7 ? 12 : 8, count = static_cast<int64_t>(file.number(0, 4));
  const int64_t table = size - kSeekFooter - count * entry;
  if (table < kSkippedHeader || !file.read(table - kSkippedHeader, kSkippedHeader)) return false;
  if (file.number(0, 4) != kSeekTable || static_cast<int64_t>(file.number(4, 4)) != size - table) return false;
  Frames found{out->codec, {}, 0};
  int64_t at = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!file.read(table + i * entry, kSkippedHeader)) return false;
    const int64_t end = at + static_cast<int64_t>(file.number(0, 4));
    if (!append({at, end, static_cast<int64_t>(file.number(4, 4))}, &found)) return false;
    at = end;
  }
  if (at != table - kSkippedHeader || found.frames.size() < 2) return false;
  *out = std::move(found);
  return true;
}

// The text of frames, one behind the other.
class Framed final : public Stream {
 public:
  Framed(std::shared_ptr<columnar::InputFile> file, std::shared_ptr<const Frames> frames, size_t first)
      : file_(std::move(file)),
        frames_(std::move(frames)),
        frame_(first),
        codec_(take(arrow::util::Codec::Create(frames_->codec))),
        unpacker_(take(codec_->MakeDecompressor())),
        packed_(kPackedBytes) {
    if (frame_ < frames_->frames.size()) at_ = frames_->frames[frame_].begin;
  }

  // A frame is unpacked to its end, where its checksum is, before the last of its text is given out.
  int64_t read(char* out, int64_t size) override {
    int64_t got = 0;
    while (frame_ < frames_->frames.size()) {
      const int64_t wanted = text_of_frame() - made_;
      uint8_t beyond;
      if (got == size && wanted > 0) break;
      got += step(wanted == 0 ? &beyond : reinterpret_cast<uint8_t*>(out + got), std::min(wanted, size - got));
    }
    return got;
  }

 private:
  int64_t text_of_frame() const { return frames_->text_end(frame_) - frames_->frames[frame_].text_begin; }

  // Unpack up to `size` bytes; where no text is left, the frame's end.
  int64_t step(uint8_t* out, int64_t size) {
    const Frame& frame = frames_->frames[frame_];
    if (at_ >= held_end_ || at_ < held_begin_) {
      held_begin_ = at_;
      held_end_ = at_ + take(file_->ReadAt(at_, kPackedBytes, packed_.data()));
    }
    const int64_t in = std::min(held_end_, frame.end) - at_;
    const auto* from = reinterpret_cast<const uint8_t*>(packed_.data() + (at_ - held_begin_));
    const auto done = unpacker_->Decompress(in, from, std::max<int64_t>(size, 1), out);
    if (done.status().IsOutOfMemory()) columnar::check(done.status());
    if (!done.ok()) damaged(done.status().message());
    if (done->bytes_written > size) damaged("it has more text than it says");
    at_ += done->bytes_read;
    made_ += done->bytes_written;
    if (unpacker_->IsFinished()) {
      columnar::check(unpacker_->Reset());
      if (at_ < frame.end) return done->bytes_written;  // several count as one
      if (made_ != text_of_frame()) damaged("it is not as long as it says");
      made_ = 0;
      if (++frame_ < frames_->frames.size()) at_ = frames_->frames[frame_].begin;
    } else if (done->bytes_read == 0 && done->bytes_written == 0) {
      damaged("it ends too early");
    }
    return done->bytes_written;
  }

  [[noreturn]] void damaged(const std::string& why) const {
    const char* name = frames_->codec == arrow::Compression::GZIP ? "gzip" : "zstd";
    columnar::malformed(std::string("cut or damaged ") + name + ": " + why);
  }

  std::shared_ptr<columnar::InputFile> file_;
  std::shared_ptr<const Frames> frames_;
  size_t frame_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> unpacker_;
  std::vector<char> packed_;               // the file's bytes
  int64_t held_begin_ = 0, held_end_ = 0;  // which those are
  int64_t at_ = 0;                         // of the file: what is unpacked next
  int64_t made_ = 0;                       // of the frame's text
};

}  // namespace

size_t Frames::at(int64_t offset) const {
  const auto behind = std::upper_bound(frames.begin(), frames.end(), offset,
                                       [](int64_t text, const Frame& frame) { return text < frame.text_begin; });
  return behind == frames.begin() ? 0 : static_cast<size_t>(behind - frames.begin()) - 1;
}

std::shared_ptr<const Frames> frames_of(columnar::InputFile* file) {
  FileBytes bytes(file);
  if (file->is_remote() || !bytes.read(0, 4)) return nullptr;
  auto out = std::make_shared<Frames>();
  const bool gzip = bytes.number(0, 2) == 0x8B1F;
  out->codec = gzip ? arrow::Compression::GZIP : arrow::Compression::ZSTD;
  if (!gzip && by_seek_table(bytes, out.get())) return out;
  for (int64_t at = 0; at < bytes.size();) {
    if (!gzip && bytes.read(at, kSkippedHeader) && (bytes.number(0, 4) & kSkippedMask) == kSkipped) {
      at += kSkippedHeader + static_cast<int64_t>(bytes.number(4, 4));
      if (at > bytes.size()) return nullptr;
      continue;
    }
    const std::optional<Known> known = gzip ? gzip_member(bytes, at) : zstd_frame(bytes, at);
    if (!known || !append({at, known->end, known->text}, out.get())) return nullptr;
    at = known->end;
  }
  return out->frames.size() > 1 ? out : nullptr;
}

std::unique_ptr<Stream> unpacked_from(std::shared_ptr<columnar::InputFile> file, std::shared_ptr<const Frames> frames,
                                      size_t first) {
  return std::make_unique<Framed>(std::move(file), std::move(frames), first);
}

}  // namespace jg::text
