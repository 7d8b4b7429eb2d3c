// Scans a file with one of Jumpgate's readers and sums three columns, all early.
// usage: reader_loop FORMAT FILE THREADS INT_COLUMN INT_COLUMN DECIMAL_COLUMN; prints seconds, rows and the sum.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "jg/stream.h"

namespace {

void fail(const jg::Status& status) {
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

void drain(jg::Source* source, int64_t* sum) {
  const std::unique_ptr<jg::SourceWorker> worker = source->worker();
  JgBatch batch;
  int64_t total = 0;
  for (bool done = false;;) {
    const jg::Status status = worker->next(&batch, &done);
    if (!status.ok()) fail(status);
    if (done) break;
    for (int c = 0; c < 3; c++) {
      jg_decode<int64_t>(&batch.cols[c], nullptr, batch.rows);
      const auto* values = static_cast<const int64_t*>(batch.cols[c].data);
      const uint8_t* valid = batch.cols[c].valid;
      for (int i = 0; i < batch.rows; i++) total += valid && !valid[i] ? 0 : values[i];
    }
  }
  *sum = total;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  jg::FileSourceOptions options;
  options.format = argv[1];
  options.files = {argv[2]};
  options.threads = std::atoi(argv[3]);
  options.columns = {{argv[4], JG_I64}, {argv[5], JG_I64}, {argv[6], JG_DEC64, 7, 2}};
  options.file_columns = options.columns;
  options.positions = {0, 1, 2};
  options.early = {true, true, true};
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<jg::Source> source;
  if (const jg::Status status = jg::make_file_source(options, &source); !status.ok()) fail(status);
  if (const jg::Status status = source->open(); !status.ok()) fail(status);
  std::vector<std::thread> running;
  std::vector<int64_t> sums(options.threads);
  for (int64_t& sum : sums) running.emplace_back(drain, source.get(), &sum);
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  int64_t sum = 0;
  for (const int64_t part : sums) sum += part;
  std::printf("%.6f %ld %ld\n", seconds.count(), static_cast<long>(source->counters.rows.load()),
              static_cast<long>(sum));
  return 0;
}
