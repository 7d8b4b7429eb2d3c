// One input of the text readers' fuzz targets: the first byte chooses how the rest, a file, is read. Any answer but a
// crash is right.
#pragma once
#include "columnar_fuzz.h"

namespace jg::fuzz {

inline void read_text(uint8_t how, const uint8_t* data, size_t size,
                      Status (*make)(const FileSourceOptions&, std::unique_ptr<Source>*), bool nested = false) {
  const bool skip = how & 1, late = how & 2, header = how & 4, ragged = how & 8;
  static constexpr const char* kEncodings[] = {"utf-8", "utf-16", "latin-1", "utf-16be"};
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  FileSourceOptions options;
  options.files = {"/proc/self/fd/" + std::to_string(fd)};
  options.columns = {
      {"a", JG_I64}, {"b", JG_STRING},    {"c", JG_DEC64, 7, 2}, {"d", JG_DATE}, {"e", JG_DEC128, 38, 10},
      {"f", JG_F64}, {"g", JG_TIMESTAMP}, {"h", JG_BOOL}};
  if (nested) add_nested(&options.columns);
  options.file_columns = options.columns;
  for (int i = 0; i < static_cast<int>(options.columns.size()); i++) {
    options.positions.push_back(i);
    options.early.push_back(!late);
  }
  options.options = {{"header", header ? "true" : "false"},
                     {"on_error", skip ? "skip" : "fail"},
                     {"ragged", ragged ? "null" : "error"},
                     {"encoding", kEncodings[how >> 4 & 3]}};
  std::unique_ptr<Source> source;
  if (!make(options, &source).ok()) std::abort();
  if (!source->open().ok()) {  // of what is packed, the beginning is looked at
    close(fd);
    return;
  }
  const std::unique_ptr<SourceWorker> worker = source->worker();
  volatile uint64_t sum = 0;
  JgBatch batch;
  bool done = false;
  for (int count = 0; worker->next(&batch, &done).ok() && !done; count++) {
    std::vector<int32_t> rows;
    for (int32_t row = late ? count % 2 : 0; row < batch.rows; row += late ? 2 : 1) rows.push_back(row);
    for (int c = 0; c < static_cast<int>(options.columns.size()); c++) {
      if (late && (rows.empty() || !worker->load(c, rows.data(), static_cast<int32_t>(rows.size())).ok())) continue;
      sum = sum + touch(batch, c, options.columns[c], rows);
    }
  }
  close(fd);
}

}  // namespace jg::fuzz
