#include "executor/file_states.h"

#include <sys/stat.h>

namespace jg {
namespace {

// All unknown where the file cannot be looked at.
FileState state_of(const std::string& file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_size, int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
          static_cast<int64_t>(status.st_ino & INT64_MAX), static_cast<int64_t>(status.st_dev & INT64_MAX)};
}

bool differ(int64_t before, int64_t now) { return before >= 0 && before != now; }

// Describe the change as jumpgate/dataflow/file_state.py does; empty if there is none. Unknown parts of `before` are
// not compared.
std::string change(const FileState& before, const FileState& now) {
  if (before.size >= 0 && now.size < 0) return "was removed";
  if (differ(before.inode, now.inode) || differ(before.device, now.device)) return "was replaced";
  if (differ(before.size, now.size))
    return "changed from " + std::to_string(before.size) + " to " + std::to_string(now.size) + " bytes";
  return differ(before.mtime_ns, now.mtime_ns) ? "was written to" : "";
}

Status unchanged(const std::string& file, const FileState& before, const FileState& now) {
  const std::string what = change(before, now);
  if (what.empty()) return {};
  return {
      "file_changed", "file '" + file + "' " + what + " while a query read it: run the query again", {{"file", file}}};
}

}  // namespace

Status FileStates::begin() {
  begun_.clear();
  for (size_t i = 0; i < files_.size(); i++) {
    begun_.push_back(state_of(files_[i]));
    if (i < planned_.size()) JG_RETURN_IF_ERROR(unchanged(files_[i], planned_[i], begun_[i]));
  }
  return {};
}

Status FileStates::check() const {
  for (size_t i = 0; i < begun_.size(); i++) JG_RETURN_IF_ERROR(unchanged(files_[i], begun_[i], state_of(files_[i])));
  return {};
}

Status FileStates::blamed(Status failure) const {
  if (failure.error().code == "cancelled") return failure;
  Status changed = check();
  return changed.ok() ? failure : changed;
}

}  // namespace jg
