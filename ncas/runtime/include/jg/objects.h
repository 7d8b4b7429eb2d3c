// Objects of stores that this process reads by range over HTTP, each by a URL that is itself a secret: no
// message contains it.
#pragma once
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "jg/status.h"

namespace jg::objects {

// One version of an object: `tag` is its ETag, or that of a file of HDFS (objects/webhdfs.h), or else `modified` its
// Last-Modified.
struct Object {
  std::string url, tag, modified;
  int64_t size = 0;
  std::string chunks;                // what its chunks on this machine's disk are kept under; empty: none are
  bool is_proven = false;            // its store has said, a moment ago, that this is its version and may be read
  double request_s = 0, byte_s = 0;  // what a request and a byte of an answer take, for what is kept
  double request_price = 0;
  std::string authorization;  // the header of that name, a secret, too; empty: none is sent
  bool insecure = false;      // a namenode may lead to another machine over http
};

// What this process has asked stores for, and what chunks on the disk have spared it.
struct Counted {
  int64_t requests = 0, bytes = 0, cached_reads = 0, cached_bytes = 0;
  double cost = 0;
};

// What this process may read under the name of a file.
void add(const std::string& file, Object object);
// Null: the file is this machine's. Lives as long as the process.
const Object* find(const std::string& file);
// Return whether this process may read any.
bool knows_any();
// Keeps ranges that are read on this machine's disk, for later reads of all processes: so many bytes at most.
void keep_chunks(int64_t bytes_max);
Counted counted();

// Reads exactly these bytes into `out`, on a thread of its own; `object` as `find` knows it. Tries again, a bounded
// number of times, where a server is busy or breaks off. "io", "file_changed" (another version is there now), or
// "cancelled"; messages are what follows a file's name.
std::future<Status> read(const Object& object, int64_t offset, int64_t bytes, char* out);
// Bytes from `begin` on that are being read.
struct Coming {
  int64_t begin = 0;
  std::unique_ptr<char[]> bytes;
  std::future<Status> done;
};
// Bytes at the end of an object, where a reader of its footer looks first.
constexpr int64_t kEndBytes = 64 << 10;
// Begins to read the ends of those of the files [first, first + count) that are objects.
void fetch_ends(const std::vector<std::string>& files, size_t first, size_t count);
// The end of an object if it is being read, else no bytes: for one reader, who waits for it before it goes.
Coming take_end(const Object& object);
// Ends the reads that have begun.
void cancel();

}  // namespace jg::objects
