// Packed text that is made of many frames, of which the lengths of their text are known without unpacking: members of
// gzip as BGZF has them, frames of zstd that name their size or are listed in a seek table.
#pragma once
#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/input_file.h"
#include "text/stream.h"

namespace jg::text {

struct Frames {
  struct Frame {
    int64_t begin, end;  // of the file
    int64_t text_begin;
  };
  arrow::Compression::type codec;
  std::vector<Frame> frames;  // one behind the other; between them may be what no text is in
  int64_t text_size = 0;

  int64_t text_end(size_t frame) const { return frame + 1 < frames.size() ? frames[frame + 1].text_begin : text_size; }
  // The last frame that begins at or before a place of the text.
  size_t at(int64_t offset) const;
  int64_t end_of_frame(int64_t offset) const { return text_end(at(offset)); }
};

// Return the frames of a file of gzip or zstd that is on this machine; null where it has one alone, or not all name
// their size, or the file is damaged: it is read from its front then. Reads some bytes for each frame or block.
std::shared_ptr<const Frames> frames_of(columnar::InputFile* file);

// The text from the beginning of a frame on. Every frame is what was said of it, or an error.
std::unique_ptr<Stream> unpacked_from(std::shared_ptr<columnar::InputFile> file, std::shared_ptr<const Frames> frames,
                                      size_t first);

}  // namespace jg::text
