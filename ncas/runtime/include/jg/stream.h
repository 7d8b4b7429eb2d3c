// Where a pipeline's batches come from (Source) and where they leave the instance (Emitter). Readers of storage formats
// and NTF receivers implement the first, NTF senders the second. Both are configured from JSON (see docs/protocol.md)
// and used by the executor's threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "jg/batch.h"
#include "jg/status.h"

namespace jg {

namespace net {
class Tls;
}

// The structure of a column's bytes: a nested value (jumpgate/ntf/README.md) has type JG_BINARY, and its parts are
// fields of a struct, the element of a list, or key and value of a map.
enum class Nesting { kNone, kStruct, kList, kMap };

// Bytes of one value in memory (batch.h).
inline size_t memory_width(JgType type) {
  switch (type) {
    case JG_BOOL:
    case JG_I8:
      return 1;
    case JG_I16:
      return 2;
    case JG_I32:
    case JG_F32:
    case JG_DATE:
      return 4;
    case JG_I64:
    case JG_F64:
    case JG_DEC64:
    case JG_TIMESTAMP:
    case JG_TIME:
    case JG_TIMESTAMP_NS:
      return 8;
    default:
      return 16;
  }
}

struct ColumnSpec {
  std::string name;
  JgType type;
  int precision = 0, scale = 0;  // decimals
  bool nullable = true;
  Nesting nesting = Nesting::kNone;
  std::vector<ColumnSpec> parts;
  std::vector<std::string> path;  // of a field of a struct column: the column, then fields; else empty

  // The column of a file that holds it.
  const std::string& column() const { return path.empty() ? name : path[0]; }
};

// Counters of one source or one emitter, read by the control thread while workers add to them.
struct Counters {
  std::atomic<int64_t> rows{0}, bytes{0}, batches{0};  // bytes: of the file or on the wire
  std::atomic<int64_t> wait_ns{0};                     // blocked on a socket or on I/O
  std::atomic<int64_t> skipped_rows{0};                // malformed rows that an option said to skip
  std::atomic<int64_t> pruned_bytes{0};                // not read thanks to statistics
  std::atomic<int64_t> shares{0}, stolen_shares{0};    // parts of files that were read; those that siblings gave
  std::atomic<int64_t> repeated_packets{0};            // of datagrams: sent again
  std::atomic<int64_t> dropped_packets{0};             // of datagrams: malformed, or not from where they should be
};

// One thread's view of a source. Not thread-safe; lives as long as the pipeline runs.
class SourceWorker {
 public:
  virtual ~SourceWorker() = default;
  // The next batch (1 to JG_BATCH_ROWS rows), or *done. Only the early columns need be filled; data of others is null.
  // Pointers stay valid until the next call.
  virtual Status next(JgBatch* batch, bool* done) = 0;
  // Fills late column `column` of the current batch at least for the rows that `sel` lists (strictly ascending, n of
  // them), each at its own position in the batch. Called at most once a batch and column; not called where no row
  // survived.
  virtual Status load(int column, const int32_t* sel, int32_t n) = 0;
  // For a reader of files: the current batch's file, by its position in the options.
  virtual int file() const { return 0; }
};

// One per pipeline, shared by its threads. Work is handed out in morsels (a JSON or CSV range, a stripe, a row group, a
// frame).
class Source {
 public:
  virtual ~Source() = default;
  virtual Status open() = 0;                                                 // once, before any worker; cheap
  virtual void add_runtime_filter(int column, int64_t low, int64_t high) {}  // before open: other rows may be skipped
  virtual std::unique_ptr<SourceWorker> worker() = 0;                        // one for each thread
  virtual int64_t morsels_left() = 0;  // an estimate: how many more threads would find work
  virtual void cancel() {}             // makes blocked workers return "cancelled" soon; any thread
  Counters counters;
};

// The parts of a scan that this instance reads, of all that it shares with siblings. Any number of threads.
class Shares {
 public:
  virtual ~Shares() = default;
  virtual Status open(int64_t parts) = 0;                      // of the whole scan, as the siblings find them, too
  virtual Status next(int64_t* part, Counters* counters) = 0;  // -1: nothing is left
  virtual int64_t left() = 0;                                  // as far as this instance knows
  virtual void cancel() = 0;                                   // makes next return "cancelled" soon
};

// Identifies a file's version, to detect changes since planning (jumpgate/dataflow/file_state.py); negative: unknown.
struct FileState {
  int64_t size = -1, mtime_ns = -1, inode = -1, device = -1;
};

// Options of a file source. `early[i]` says whether column i is needed for every row; others are loaded on demand.
struct FileSourceOptions {
  std::string format;  // a reader's name
  std::string reader;  // the library that has it, if the runtime does not
  std::vector<std::string> files;
  std::vector<FileState> states;         // of files when the query was planned; the executor checks them
  std::vector<ColumnSpec> columns;       // wanted, in output order; the declared schema's types
  std::vector<int> positions;            // their positions in the file's declared schema
  std::vector<ColumnSpec> file_columns;  // the whole declared schema
  std::vector<bool> early;
  std::vector<std::pair<std::string, std::string>> options;  // as Read.options
  int share_index = 0, share_count = 1;  // this instance reads the share_index-th of share_count disjoint parts,
  std::shared_ptr<Shares> shares;        // or, if not null, those that this says,
  // By the path of a file, for each of its equal pieces: the sibling whose host has it, which begins with it; -1: any.
  std::unordered_map<std::string, std::vector<int>> owners;
  int64_t parts_wanted = 1;  // the desired number of parts, if there is enough to read
  int threads = 1;
  // Skipping hints on output columns, all ANDed: column op value; op: eq lt le gt ge is_null is_not_null; value as text
  // of the physical value (integers, scaled decimals, days, µs; raw bytes for strings). A column equals one of the
  // values of its bounds with op any.
  struct Bound {
    int column;
    std::string op;
    std::string value;
  };
  std::vector<Bound> bounds;
  // What alone is wanted of each column: how many values are not NULL, the least and the largest one. Then a reader may
  // give rows that have these in place of others, which it counts as JgBatch.unread.
  struct Wish {
    bool count, extremes;
  };
  bool summarised = false;
  std::vector<Wish> wishes;
};
Status make_file_source(const FileSourceOptions& options, std::unique_ptr<Source>* out);  // converters/factory.cpp

// A reader says with JG_READER(name, function), outside any namespace, how sources of the format of that name are made.
// What is in a library of its own is known once that is loaded.
using MakeSource = Status (*)(const FileSourceOptions& options, std::unique_ptr<Source>* out);
bool register_reader(const char* format, MakeSource make);  // converters/readers.cpp
MakeSource find_reader(const std::string& format);          // null: there is none
#define JG_READER(format, make) \
  [[maybe_unused]] static const bool jg_reader_##format = ::jg::register_reader(#format, make)

// One thread's way out of a pipeline. `hashes` (one a row) are given for hash partitioning, else null.
class EmitterWorker {
 public:
  virtual ~EmitterWorker() = default;
  virtual Status write(const JgBatch& batch, const uint64_t* hashes) = 0;  // dense; copies the rows that it keeps
  virtual Status flush() = 0;  // this thread is done: its buffered rows are sent
};

// One per sink. finish() follows the flush of every worker and sends the end frames with row totals.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual void approach() {}  // starts the work of open() without waiting for a peer; once, before it
  virtual Status open() = 0;  // connects and shakes hands
  virtual std::unique_ptr<EmitterWorker> worker() = 0;
  virtual Status finish() = 0;
  virtual void cancel() {}
  virtual std::vector<int64_t> peer_bytes() const { return {}; }  // that were sent to each consumer, if that is counted
  Counters counters;
};

// An edge of the plan as one end sees it. `ntf` is the descriptor's canonical text (ntf/descriptor.py), `token` the
// job's.
struct EdgeOptions {
  std::string job, edge, token, ntf, fingerprint;  // ntf: the canonical text of the edge's format
  int index = 0;                                   // of this producer (sender) or consumer (receiver)
  std::vector<std::string> peers;                  // sender: host:port of each consumer, in partition order
  int producers = 1;                               // receiver: how many connections to expect
  std::string partitioning = "single";             // single | hash | round_robin | broadcast; hash: peer = hash % peers
  std::vector<uint64_t> heavy;                     // but rows with these hashes go to the peers in turn,
  bool copied = false;                             // or, if so, to all
  size_t frame_bytes_max = 0;                      // sender: frames grow to this size
  int timeout_ms = 30000;                          // to connect and shake hands
  std::shared_ptr<const net::Tls> tls;             // null: not encrypted
};
Status make_edge_emitter(const EdgeOptions& options, std::unique_ptr<Emitter>* out);

// Accepts the instance's incoming connections on one listening socket and hands each to the receiver of its edge,
// after the handshake (version, token, job, edge, producer index, fingerprint).
class EdgeListener {
 public:
  virtual ~EdgeListener() = default;
  virtual int port() const = 0;
  virtual Status add_receiver(const EdgeOptions& options, std::unique_ptr<Source>* out) = 0;  // before start
  virtual Status add_shares(const EdgeOptions& options, std::shared_ptr<Shares>* out) = 0;    // of a scan; before start
  virtual Status start() = 0;  // accepts on a thread of its own
  virtual void stop() = 0;     // closes the listener and every connection that it still holds
};
Status make_edge_listener(const std::string& bind_host,
                          std::unique_ptr<EdgeListener>* out);  // port 0: the kernel chooses

}  // namespace jg
