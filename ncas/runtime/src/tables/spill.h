// Rows of state tables on disk: runs of records, a row with its texts behind it, in files without names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/memory.h"
#include "jg/kernel.h"
#include "jg/status.h"

namespace jg {

struct Run {
  int64_t at = 0, bytes = 0, rows = 0;
};

class SpillFile {
 public:
  SpillFile(const JgRowLayout& layout, Budget* budget) : layout_(layout), budget_(budget) {}
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  Status write(JgRow* const* rows, size_t n, Run* run);
  Status read(int64_t at, int64_t bytes, char* to) const;

 private:
  Status flush(std::string* buffer);

  const JgRowLayout layout_;
  Budget* budget_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// A text of a row.
inline JgStr* text_of(const JgRowLayout& layout, const JgRow* row, int i) {
  return reinterpret_cast<JgStr*>(reinterpret_cast<char*>(const_cast<JgRow*>(row)) + layout.texts[i]);
}
// Bytes of the record whose row is here; its texts need not be.
int64_t record_size(const JgRowLayout& layout, const JgRow* row);
// The row of a record that was read to `at`, aligned to 16: its texts are those behind it.
JgRow* revived(const JgRowLayout& layout, char* at);

}  // namespace jg
