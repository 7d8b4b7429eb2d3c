// Checks before and after reading that a source's files are the ones that the query was planned for. Costs two system
// calls for each file.
#pragma once
#include <string>
#include <vector>

#include "jg/status.h"
#include "jg/stream.h"

namespace jg {

class FileStates {
 public:
  FileStates() = default;  // of no files
  explicit FileStates(const FileSourceOptions& options) : files_(options.files), planned_(options.states) {}

  // Notes how the files are; "file_changed" unless that is as planned. A file that cannot be looked at is its reader's
  // to report, unless it was there when the query was planned.
  Status begin();

  // "file_changed" unless the files are as they were when it began.
  Status check() const;

  // Return the reason for a failed read: a changed file takes precedence.
  Status blamed(Status failure) const;

 private:
  std::vector<std::string> files_;
  std::vector<FileState> planned_, begun_;
};

}  // namespace jg
