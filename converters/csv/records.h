// The records of a part of a CSV file, piece by piece. Memory depends on the longest record only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "csv/dialect.h"
#include "csv/index.h"
#include "jg/status.h"
#include "text/input.h"

namespace jg::csv {

class Records {
 public:
  // [begin, end) of `input`, both where records start; `to_file_end`: the last record may lack its line end. Where the
  // input is not read in parts, `end` may lie behind its end.
  void open(text::Input* input, const Dialect* dialect, int64_t begin, int64_t end, bool to_file_end);

  // The records of the next piece (at least one), or *done. What came before is no longer valid. Malformed quoting:
  // "malformed", or counted in `skipped` and passed over.
  Status next(bool* done);

  int count() const { return static_cast<int>(index_.records.size()); }
  // The position of a record's first field in ends(), and its number of fields.
  int first(int record) const { return record == 0 ? 0 : index_.records[record - 1]; }
  int fields(int record) const { return index_.records[record] - first(record); }

  // Field k lies in data() between ends()[k] and ends()[k + 1].
  const char* data() const { return buffer_.data() + from_; }
  const int32_t* ends() const { return index_.ends.data(); }
  int64_t offset() const { return base_ + from_; }  // of data() in the file

  int64_t skipped = 0, bytes_read = 0;

 private:
  Status read_more();
  Status pass_over_fault();
  Status never_ends();
  Status too_long() const;

  const Dialect* dialect_ = nullptr;
  text::Input* input_ = nullptr;
  bool to_file_end_ = false;
  std::vector<char> buffer_;
  int64_t base_ = 0, end_ = 0;   // file offsets of buffer_[0] and of the part's end
  int64_t from_ = 0, have_ = 0;  // the piece's start in the buffer, and how much is filled
  int64_t whole_ = 0;            // bytes of the piece that are whole records
  bool fault_ = false;           // the record behind those is malformed
  char fault_letter_ = 0;        // the letter that shows it
  int64_t limit_;                // bytes to index at once; few behind a fault
  Index index_;
};

}  // namespace jg::csv
