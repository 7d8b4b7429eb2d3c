// Text that is read from front to back: the bytes of a file, unpacked, decoded and taken apart.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/input_file.h"

namespace jg::text {

class Stream {
 public:
  virtual ~Stream() = default;
  // Up to `size` (> 0) bytes; 0: the end. Throws columnar::ReadError.
  virtual int64_t read(char* out, int64_t size) = 0;
};

// Return the unpacked contents of a file of gzip, bzip2 or zstd, detected by its first bytes; the bytes themselves of
// any other file. Throws if the bytes are of another packer, or contradict the file's suffix.
std::unique_ptr<Stream> unpacked(const std::string& path, const std::shared_ptr<columnar::InputFile>& file);
// Return whether unpacked() would unpack or throw.
bool is_packed(const std::string& path, std::string_view head);

// UTF-8 from text in `encoding`: utf-16 (by its mark, else little-endian), utf-16le, utf-16be, latin-1; utf-8 is left
// alone. Throws where the text begins with the mark of an encoding that was not named.
std::unique_ptr<Stream> decoded(std::unique_ptr<Stream> from, const std::string& encoding);

// JSON lines from text that is one JSON array: each element becomes a line, every byte stays at its place. Other text
// is left alone.
std::unique_ptr<Stream> lines_of_array(std::unique_ptr<Stream> from);

// The same text, of which the next pieces are made by a thread of its own while the caller looks at one.
std::unique_ptr<Stream> ahead(std::unique_ptr<Stream> from);

// The first byte that is not a blank and no byte order mark, or 0.
char first_letter(std::string_view text);

}  // namespace jg::text
