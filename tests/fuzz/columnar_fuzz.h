// One input of the columnar readers' fuzz targets: a file of columns named after their types (tests/fuzz/seeds.py
// writes valid ones), read column by column, early and late. Any answer but a crash is right.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "jg/kernel.h"
#include "jg/stream.h"

// Only functions that make text need it; readers do not.
char* jg_temp(JgTask*, uint64_t) { std::abort(); }

namespace jg::fuzz {

inline uint64_t touch(const JgBatch& batch, int column, const ColumnSpec& spec, const std::vector<int32_t>& rows) {
  uint64_t sum = 0;
  const JgCol& col = batch.cols[column];
  for (int32_t row : rows) {
    if (col.valid && !col.valid[row]) continue;
    if (spec.type == JG_STRING || spec.type == JG_BINARY) {
      const JgStr& s = static_cast<const JgStr*>(col.data)[row];
      for (uint64_t i = 0; i < s.size; ++i) sum += static_cast<uint8_t>(s.data[i]);
    } else {
      static constexpr size_t kWidths[] = {1, 1, 2, 4, 8, 4, 8, 8, 16, 4, 8, 8, 8};
      const auto* bytes = static_cast<const uint8_t*>(col.data) + static_cast<size_t>(row) * kWidths[spec.type];
      for (size_t i = 0; i < kWidths[spec.type]; ++i) sum += bytes[i];
    }
  }
  return sum;
}

inline uint64_t scan(const std::string& path, const ColumnSpec& spec, bool late, bool bounded,
                     Status (*make)(const FileSourceOptions&, std::unique_ptr<Source>*)) {
  FileSourceOptions options;
  options.files = {path};
  options.columns = options.file_columns = {spec};
  options.positions = {0};
  options.early = {!late};
  if (bounded && late) options.bounds = {{0, "eq", "5"}};
  if (bounded && !late) options.bounds = {{0, "ge", "3"}, {0, "le", "70"}};
  std::unique_ptr<Source> source;
  if (!make(options, &source).ok() || !source->open().ok()) return 0;
  std::unique_ptr<SourceWorker> worker = source->worker();
  uint64_t sum = 0;
  JgBatch batch;
  bool done = false;
  constexpr int kBatchesMax = 64;
  for (int count = 0; count < kBatchesMax && worker->next(&batch, &done).ok() && !done; ++count) {
    std::vector<int32_t> rows;
    for (int32_t row = late ? count % 5 : 0; row < batch.rows; row += late ? 3 : 1) rows.push_back(row);
    if (late && (rows.empty() || count % 3 == 1)) continue;
    if (late && !worker->load(0, rows.data(), static_cast<int32_t>(rows.size())).ok()) break;
    sum += touch(batch, 0, spec, rows);
  }
  return sum;
}

// A nested column, a field of it, what is deeper in it, and whether it is there.
inline void add_nested(std::vector<ColumnSpec>* columns) {
  auto nested = [](const char* name, Nesting nesting, std::vector<ColumnSpec> parts,
                   std::vector<std::string> path = {}) {
    return ColumnSpec{name, JG_BINARY, 0, 0, true, nesting, std::move(parts), std::move(path)};
  };
  const ColumnSpec number{"n", JG_I32}, element{"element", JG_STRING}, key{"key", JG_STRING, 0, 0, false};
  const ColumnSpec texts = nested("l", Nesting::kList, {element});
  const ColumnSpec map = nested("m", Nesting::kMap, {key, nested("value", Nesting::kStruct, {number, texts})});
  columns->push_back(nested("nested", Nesting::kStruct, {number, texts, map}));
  columns->push_back({"nested.n", JG_I32, 0, 0, true, Nesting::kNone, {}, {"nested", "n"}});
  columns->push_back(nested("nested.m", Nesting::kMap, map.parts, {"nested", "m"}));
  columns->push_back(nested("present(nested)", Nesting::kStruct, {}, {"nested"}));
}

inline int run(const uint8_t* data, size_t size, Status (*make)(const FileSourceOptions&, std::unique_ptr<Source>*)) {
  static const std::vector<ColumnSpec> kFlat = {{"bool", JG_BOOL},
                                                {"int8", JG_I8},
                                                {"int16", JG_I16},
                                                {"int32", JG_I32},
                                                {"int64", JG_I64},
                                                {"float32", JG_F32},
                                                {"float64", JG_F64},
                                                {"decimal_small", JG_DEC64, 7, 2},
                                                {"decimal_large", JG_DEC128, 38, 10},
                                                {"date", JG_DATE},
                                                {"timestamp", JG_TIMESTAMP},
                                                {"string", JG_STRING},
                                                {"binary", JG_BINARY},
                                                {"uint64", JG_DEC128, 20, 0},
                                                {"float16", JG_F32}};
  static const std::vector<ColumnSpec> kColumns = [] {
    std::vector<ColumnSpec> columns = kFlat;
    add_nested(&columns);
    return columns;
  }();
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  volatile uint64_t sum = 0;
  for (size_t i = 0; i < kColumns.size(); ++i)
    sum = sum + scan(path, kColumns[i], (size + i) % 2 == 1, (size + i) % 3 == 1, make);
  close(fd);
  return 0;
}

}  // namespace jg::fuzz
