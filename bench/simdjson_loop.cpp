// The bare loop that the JSON reader is measured against: simdjson's iterate_many over On-Demand documents, three
// fields of each row in the order of the file, summed. Each thread reads a part of the file in chunks of whole lines.
// usage: simdjson_loop FILE THREADS INT_COLUMN INT_COLUMN DECIMAL_COLUMN; prints seconds, rows and the sum.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "simdjson.h"

namespace {

constexpr int64_t kChunkBytes = 1 << 20;

struct Part {
  int64_t begin, end, rows = 0, sum = 0;  // the lines that start in [begin, end)
};

void read_part(int fd, char* const* columns, Part* part) {
  simdjson::ondemand::parser parser;
  std::vector<char> buffer(kChunkBytes + simdjson::SIMDJSON_PADDING);
  const std::string_view first = columns[0], second = columns[1], third = columns[2];
  int64_t at = part->begin;
  while (at < part->end) {
    const ssize_t got = pread(fd, buffer.data(), kChunkBytes, at);
    if (got <= 0) std::abort();
    const void* newline = memrchr(buffer.data(), '\n', static_cast<size_t>(std::min<int64_t>(got, part->end - at)));
    if (!newline) std::abort();
    const int64_t size = static_cast<const char*>(newline) - buffer.data() + 1;
    simdjson::ondemand::document_stream stream;
    if (parser.iterate_many(buffer.data(), static_cast<size_t>(size), kChunkBytes).get(stream)) std::abort();
    for (auto document : stream) {
      simdjson::ondemand::object object;
      if (document.get_object().get(object)) std::abort();
      int64_t integer;
      double real;
      if (!object.find_field(first).get_int64().get(integer)) part->sum += integer;
      if (!object.find_field(second).get_int64().get(integer)) part->sum += integer;
      if (!object.find_field(third).get_double().get(real)) part->sum += std::llround(real * 100);
      part->rows++;
    }
    at += size;
  }
}

int64_t line_start(int fd, int64_t at) {
  char c = 0;
  while (at > 0 && pread(fd, &c, 1, at - 1) == 1 && c != '\n') at++;
  return at;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int fd = open(argv[1], O_RDONLY);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) return 1;
  const auto start = std::chrono::steady_clock::now();
  const int threads = std::atoi(argv[2]);
  std::vector<Part> parts;
  for (int t = 0; t < threads; t++) {
    const bool last = t + 1 == threads;
    const int64_t begin = t == 0 ? 0 : parts.back().end;
    parts.push_back({begin, last ? info.st_size : line_start(fd, info.st_size / threads * (t + 1))});
  }
  std::vector<std::thread> running;
  for (Part& part : parts) running.emplace_back(read_part, fd, argv + 3, &part);
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  int64_t rows = 0, sum = 0;
  for (const Part& part : parts) rows += part.rows, sum += part.sum;
  std::printf("%.6f %ld %ld\n", seconds.count(), static_cast<long>(rows), static_cast<long>(sum));
  return 0;
}
