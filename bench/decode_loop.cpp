// Decodes the only column of a Parquet file, and touches what was decoded.
// usage: decode_loop FILE THREADS TYPE PRECISION SCALE RUNS; TYPE: a JgType. A line for each run: seconds of CPU time, rows with a
// value, and for strings their bytes, else the sum of the values' words of 32 bits.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "jg/stream.h"

namespace {

struct Found {
  int64_t values = 0;
  uint64_t sum = 0;
};

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void fail(const jg::Status& status) {
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

template <class T, class Of>
void add(const JgBatch& batch, Found* found, Of of) {
  jg_decode<T>(&batch.cols[0], nullptr, batch.rows);
  const auto* values = static_cast<const T*>(batch.cols[0].data);
  const uint8_t* valid = batch.cols[0].valid;
  for (int i = 0; i < batch.rows; i++) {
    const bool has_value = !valid || valid[i];
    found->values += has_value;
    found->sum += has_value ? of(values[i]) : 0;
  }
}

void drain(jg::Source* source, JgType type, Found* found) {
  const std::unique_ptr<jg::SourceWorker> worker = source->worker();
  const auto word = [](auto v) { return static_cast<uint64_t>(static_cast<uint32_t>(v)); };
  const auto words = [](uint64_t v) { return (v & 0xFFFFFFFF) + (v >> 32); };
  JgBatch batch;
  for (bool done = false;;) {
    const jg::Status status = worker->next(&batch, &done);
    if (!status.ok()) fail(status);
    if (done) return;
    if (type == JG_STRING)
      add<JgStr>(batch, found, [](JgStr s) { return s.size; });
    else if (type == JG_I32 || type == JG_DATE)
      add<int32_t>(batch, found, word);
    else
      add<uint64_t>(batch, found, words);
  }
}

void run(const jg::FileSourceOptions& options) {
  const double start = cpu_seconds();
  std::unique_ptr<jg::Source> source;
  if (const jg::Status status = jg::make_file_source(options, &source); !status.ok()) fail(status);
  if (const jg::Status status = source->open(); !status.ok()) fail(status);
  std::vector<std::thread> running;
  std::vector<Found> parts(options.threads);
  for (Found& part : parts) running.emplace_back(drain, source.get(), options.columns[0].type, &part);
  for (std::thread& thread : running) thread.join();
  const double seconds = cpu_seconds() - start;
  Found all;
  for (const Found& part : parts) all.values += part.values, all.sum += part.sum;
  std::printf("%.6f %ld %lu\n", seconds, static_cast<long>(all.values), static_cast<unsigned long>(all.sum));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  jg::FileSourceOptions options;
  options.format = "parquet";
  options.files = {argv[1]};
  options.threads = std::atoi(argv[2]);
  options.columns = {{"v", static_cast<JgType>(std::atoi(argv[3])), std::atoi(argv[4]), std::atoi(argv[5])}};
  options.columns[0].nullable = true;
  options.file_columns = options.columns;
  options.positions = {0};
  options.early = {true};
  for (int i = 0; i < std::atoi(argv[6]); i++) run(options);
  return 0;
}
