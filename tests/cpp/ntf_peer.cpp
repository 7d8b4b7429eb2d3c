// One end of an edge as a process of its own, with data that either end can check.
//   ntf_peer send NTF FINGERPRINT EDGE TOKEN INDEX PARTITIONING THREADS ROWS[:repeat|:early] PEER…
//   ntf_peer receive NTF FINGERPRINT EDGE TOKEN INDEX PRODUCERS THREADS TIMEOUT_MS
// NTF is a file with the descriptor's canonical text, whose first column is an int64 `id`; the other values follow from
// it. The receiver prints its port, then what it counted. Both end with "ok …" or "error CODE MESSAGE".
// ":repeat" sends the same batch over and over, so that nothing but the edge is measured. ":early" approaches, and opens
// the edge once a line comes ("c": cancels it first). In the environment, NTF_PEER_TIMEOUT_MS is a sender's time to
// connect, NTF_PEER_FRAME_BYTES_MAX what its frames grow to, and NTF_PEER_TLS a file with the job's certificate and its key.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include "edges/tls.h"
#include "jg/ntf.h"
#include "on_threads.h"

namespace {

using jg::Status;

constexpr uint64_t HASH = 0x9E3779B97F4A7C15ull;

bool is_null(int64_t id, size_t c, const jg::ColumnSpec& spec) {
  return spec.nullable && (id + static_cast<int64_t>(c)) % 5 == 0;
}

// The values of one column for the given ids.
struct Column {
  std::vector<uint8_t> values, valid;
  std::deque<std::string> texts;

  template <class T>
  void put(size_t i, T v) {
    std::memcpy(values.data() + i * sizeof(T), &v, sizeof(T));
  }

  void fill(const jg::ColumnSpec& spec, size_t c, int64_t first, int32_t n) {
    values.assign(size_t{16} * n, 0);
    valid.assign(n, 1);
    texts.clear();
    for (int32_t i = 0; i < n; i++) {
      const int64_t id = first + i, v = id * 31 + static_cast<int64_t>(c);
      valid[i] = !is_null(id, c, spec);
      if (!valid[i]) {
        if (spec.type == JG_STRING || spec.type == JG_BINARY) put(i, JgStr{nullptr, 0});
        continue;
      }
      switch (spec.type) {
        case JG_BOOL: put(i, static_cast<uint8_t>(v & 1)); break;
        case JG_I8: put(i, static_cast<int8_t>(v)); break;
        case JG_I16: put(i, static_cast<int16_t>(v)); break;
        case JG_I32: put(i, static_cast<int32_t>(v)); break;
        case JG_I64: put(i, c == 0 ? id : v); break;
        case JG_F32: put(i, static_cast<float>(v % 1000) / 4); break;
        case JG_F64: put(i, static_cast<double>(v) / 4); break;
        case JG_DEC64: put(i, v % 100000); break;
        case JG_DEC128: put(i, static_cast<jg_i128>(v) << 40); break;
        case JG_DATE: put(i, static_cast<int32_t>(v % 20000)); break;
        case JG_TIMESTAMP: put(i, v * 1000); break;
        case JG_STRING:
        case JG_BINARY:
          texts.push_back(v % 11 ? "s" + std::to_string(v % 1000) : "");
          put(i, JgStr{texts.back().data(), texts.back().size()});
          break;
      }
    }
  }
};

struct Batch {
  std::vector<Column> columns;
  std::vector<JgCol> cols;
  std::vector<uint64_t> hashes;
  JgBatch batch{};

  void fill(const jg::ntf::Descriptor& d, int64_t first, int32_t n) {
    columns.resize(d.columns.size());
    cols.resize(d.columns.size());
    for (size_t c = 0; c < cols.size(); c++) {
      columns[c].fill(d.columns[c], c, first, n);
      cols[c] = {columns[c].values.data(), d.columns[c].nullable ? columns[c].valid.data() : nullptr};
    }
    hashes.resize(n);
    for (int32_t i = 0; i < n; i++) hashes[i] = static_cast<uint64_t>(first + i) * HASH;
    batch = {n, cols.data()};
  }
};

size_t width(JgType type) {
  switch (type) {
    case JG_BOOL:
    case JG_I8: return 1;
    case JG_I16: return 2;
    case JG_I32:
    case JG_F32:
    case JG_DATE: return 4;
    case JG_DEC128: return 16;
    default: return 8;
  }
}

// Whether row `i` of the batch is what its id says.
bool matches(const jg::ntf::Descriptor& d, const JgBatch& batch, int32_t i, Column* scratch) {
  const int64_t id = static_cast<const int64_t*>(batch.cols[0].data)[i];
  for (size_t c = 0; c < d.columns.size(); c++) {
    const JgCol& col = batch.cols[c];
    if ((col.valid && !col.valid[i]) != is_null(id, c, d.columns[c])) return false;
    if (col.valid && !col.valid[i]) continue;
    scratch->fill(d.columns[c], c, id, 1);
    if (d.columns[c].type == JG_STRING || d.columns[c].type == JG_BINARY) {
      const JgStr& s = static_cast<const JgStr*>(col.data)[i];
      if (std::string_view(s.data, s.size) != scratch->texts.front()) return false;
    } else {
      const size_t w = width(d.columns[c].type);
      if (std::memcmp(static_cast<const uint8_t*>(col.data) + i * w, scratch->values.data(), w) != 0) return false;
    }
  }
  return true;
}

int finish(const Status& status, const std::string& ok) {
  if (status.ok())
    std::printf("ok %s\n", ok.c_str());
  else
    std::printf("error %s %s\n", status.error().code.c_str(), status.error().message.c_str());
  return status.ok() ? 0 : 1;
}

int send(jg::EdgeOptions options, int argc, char** argv) {
  options.partitioning = argv[7];
  const int threads = std::atoi(argv[8]);
  const std::string rows_text = argv[9];
  const int64_t rows = std::stoll(rows_text);
  const bool repeat = rows_text.ends_with(":repeat");
  options.peers.assign(argv + 10, argv + argc);
  jg::ntf::Descriptor descriptor;
  Status status = jg::ntf::parse_descriptor(options.ntf, &descriptor);
  std::unique_ptr<jg::Emitter> emitter;
  if (status.ok()) status = jg::make_edge_emitter(options, &emitter);
  if (status.ok() && rows_text.ends_with(":early")) {
    emitter->approach();
    if (std::getchar() == 'c') emitter->cancel();
  }
  if (status.ok()) status = emitter->open();
  if (!status.ok()) return finish(status, "");
  // Each producer has ids of its own: producer i of the edge sends from i << 32 on.
  const int64_t base = static_cast<int64_t>(options.index) << 32;
  status = on_threads(threads, [&](int t) -> Status {
    const auto worker = emitter->worker();
    Batch batch;
    for (int64_t at = t * int64_t{JG_BATCH_ROWS}; at < rows; at += threads * int64_t{JG_BATCH_ROWS}) {
      const auto n = static_cast<int32_t>(std::min<int64_t>(JG_BATCH_ROWS, rows - at));
      if (!repeat || batch.batch.rows != n) batch.fill(descriptor, base + at, n);
      JG_RETURN_IF_ERROR(worker->write(batch.batch, options.partitioning == "hash" ? batch.hashes.data() : nullptr));
    }
    return worker->flush();
  });
  if (status.ok()) status = emitter->finish();
  return finish(status,
                "rows " + std::to_string(emitter->counters.rows) + " bytes " + std::to_string(emitter->counters.bytes));
}

int receive(jg::EdgeOptions options, char** argv) {
  options.producers = std::atoi(argv[7]);
  const int threads = std::atoi(argv[8]);
  options.timeout_ms = std::atoi(argv[9]);
  jg::ntf::Descriptor descriptor;
  std::unique_ptr<jg::EdgeListener> listener;
  std::unique_ptr<jg::Source> source;
  Status status = jg::ntf::parse_descriptor(options.ntf, &descriptor);
  if (status.ok()) status = jg::make_edge_listener("127.0.0.1", &listener);
  if (status.ok()) status = listener->add_receiver(options, &source);
  if (status.ok()) status = listener->start();
  if (!status.ok()) return finish(status, "");
  std::printf("port %d\n", listener->port());
  std::fflush(stdout);
  std::thread control([&] {  // a line on stdin cancels
    if (std::getchar() == 'c') source->cancel();
  });
  control.detach();
  std::atomic<int64_t> rows{0}, ids{0}, wrong{0};
  status = source->open();
  if (status.ok()) {
    status = on_threads(threads, [&](int) -> Status {
      const auto worker = source->worker();
      Column scratch;
      while (true) {
        JgBatch batch{};
        bool done = false;
        JG_RETURN_IF_ERROR(worker->next(&batch, &done));
        if (done) return {};
        rows += batch.rows;
        for (int32_t i = 0; i < batch.rows; i++) {
          ids += static_cast<const int64_t*>(batch.cols[0].data)[i];
          wrong += !matches(descriptor, batch, i, &scratch);
        }
      }
    });
  }
  const int result = finish(
      status, "rows " + std::to_string(rows) + " ids " + std::to_string(ids) + " wrong " + std::to_string(wrong));
  std::fflush(stdout);
  listener->stop();
  std::_Exit(result);  // the control thread still reads stdin
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // as instances do: OpenSSL writes to connections that are gone
  if (argc < 10) return 2;
  std::ifstream file(argv[2], std::ios::binary);
  jg::EdgeOptions options;
  options.ntf.assign(std::istreambuf_iterator<char>(file), {});
  options.fingerprint = argv[3];
  options.job = "job";
  options.edge = argv[4];
  options.token = argv[5];
  options.index = std::atoi(argv[6]);
  if (const char* timeout_ms = std::getenv("NTF_PEER_TIMEOUT_MS")) options.timeout_ms = std::atoi(timeout_ms);
  if (const char* most = std::getenv("NTF_PEER_FRAME_BYTES_MAX")) options.frame_bytes_max = std::stoul(most);
  if (const char* path = std::getenv("NTF_PEER_TLS")) {
    std::ifstream pem(path);
    const std::string text(std::istreambuf_iterator<char>(pem), {});
    if (const Status status = jg::net::make_tls(text, text, &options.tls); !status.ok()) return finish(status, "");
  }
  return std::strcmp(argv[1], "send") == 0 ? send(options, argc, argv) : receive(options, argv);
}
