// A plain C view of the file readers for tests: batches as they come, late columns on demand. Not thread-safe.
#include <memory>
#include <string>
#include <vector>

#include "common/column_room.h"
#include "jg/stream.h"

namespace {

struct Probe {
  std::unique_ptr<jg::Source> source;
  std::vector<std::unique_ptr<jg::SourceWorker>> workers;
  std::vector<JgBatch> batches;  // of each worker, the last one
  std::vector<jg::columnar::ColumnRoom> rooms;
  jg::Status status;

  void decode(int32_t worker, size_t column, const int32_t* rows, int32_t n) const {
    jg::columnar::decode_values(rooms[column].width, &batches[static_cast<size_t>(worker)].cols[column], rows, n);
  }
};

}  // namespace

extern "C" {

struct JgProbeColumn {
  const char* name;
  int32_t type, precision, scale, nullable, early;
};

struct JgProbeBound {
  int32_t column;
  const char* op;
  const char* value;
  int64_t value_bytes;
};

struct JgProbeOption {
  const char* name;
  const char* value;
};

// Never null; jg_probe_error tells whether opening went well.
Probe* jg_probe_open(const char* format, const char* const* files, int32_t file_count, const JgProbeColumn* columns,
                     int32_t column_count, const JgProbeBound* bounds, int32_t bound_count,
                     const JgProbeOption* settings, int32_t setting_count, int32_t share_index, int32_t share_count,
                     int32_t threads) {
  jg::FileSourceOptions options;
  options.format = format;
  options.files.assign(files, files + file_count);
  for (int32_t i = 0; i < column_count; ++i) {
    const JgProbeColumn& c = columns[i];
    options.columns.push_back({c.name, static_cast<JgType>(c.type), c.precision, c.scale, c.nullable != 0});
    options.positions.push_back(i);
    options.early.push_back(c.early != 0);
  }
  options.file_columns = options.columns;
  for (int32_t i = 0; i < bound_count; ++i) {
    const JgProbeBound& b = bounds[i];
    options.bounds.push_back({b.column, b.op, std::string(b.value, static_cast<size_t>(b.value_bytes))});
  }
  for (int32_t i = 0; i < setting_count; ++i) options.options.emplace_back(settings[i].name, settings[i].value);
  options.share_index = share_index;
  options.share_count = share_count;
  options.threads = threads;
  auto probe = std::make_unique<Probe>();
  probe->status = jg::make_file_source(options, &probe->source);
  if (probe->status.ok()) probe->status = probe->source->open();
  if (probe->status.ok()) {
    for (int32_t i = 0; i < threads; ++i) probe->workers.push_back(probe->source->worker());
    for (const jg::ColumnSpec& column : options.columns) probe->rooms.push_back(jg::columnar::make_room(column.type));
    probe->batches.resize(probe->workers.size());
  }
  return probe.release();
}

// 1: the worker's next batch is in *batch; 0: it has no more; -1: failed.
int32_t jg_probe_next(Probe* probe, int32_t worker, JgBatch* batch) {
  bool done = false;
  probe->status = probe->workers[static_cast<size_t>(worker)]->next(batch, &done);
  if (!probe->status.ok()) return -1;
  if (done) return 0;
  probe->batches[static_cast<size_t>(worker)] = *batch;
  for (size_t c = 0; c < probe->rooms.size(); ++c) probe->decode(worker, c, nullptr, batch->rows);
  return 1;
}

// 0, or -1: failed.
int32_t jg_probe_load(Probe* probe, int32_t worker, int32_t column, const int32_t* sel, int32_t n) {
  probe->status = probe->workers[static_cast<size_t>(worker)]->load(column, sel, n);
  if (!probe->status.ok()) return -1;
  probe->decode(worker, static_cast<size_t>(column), sel, n);
  return 0;
}

// The last call's failure: its code, or null; *message lives until the next call.
const char* jg_probe_error(Probe* probe, const char** message) {
  if (probe->status.ok()) return nullptr;
  *message = probe->status.error().message.c_str();
  return probe->status.error().code.c_str();
}

// Return whether that failure has an i-th field, which lives as long as the probe.
int32_t jg_probe_error_field(Probe* probe, int32_t i, const char** name, const char** value) {
  const auto& fields = probe->status.error().fields;
  if (i >= static_cast<int32_t>(fields.size())) return 0;
  *name = fields[i].first.c_str();
  *value = fields[i].second.c_str();
  return 1;
}

// rows, bytes, pruned_bytes, skipped_rows
void jg_probe_counters(Probe* probe, int64_t* out) {
  out[0] = probe->source->counters.rows;
  out[1] = probe->source->counters.bytes;
  out[2] = probe->source->counters.pruned_bytes;
  out[3] = probe->source->counters.skipped_rows;
}

void jg_probe_cancel(Probe* probe) { probe->source->cancel(); }

void jg_probe_close(Probe* probe) { delete probe; }
}
