#include "jg/objects.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "base/disk.h"
#include "objects/chunks.h"
#include "objects/http.h"
#include "objects/webhdfs.h"

namespace jg::objects {
namespace {

constexpr int kThreadsMax = 16;
constexpr int kFailuresMax = 8;  // of one range
constexpr int kPauseMs = 50, kPauseMsMax = 5000;
constexpr int kBusy[] = {429, 500, 502, 503, 504};
constexpr int kLedMax = 16;  // times that a namenode is asked for another datanode
constexpr std::chrono::seconds kLostFor{60};
constexpr size_t kTextBytesMax = 1 << 20;  // of an answer that is no content

// What all reads of this process have taken.
struct Tally {
  std::atomic<int64_t> requests{0}, bytes{0}, cached_reads{0}, cached_bytes{0};
  std::atomic<double> cost{0};
};
Tally tally;

// Null: none are kept.
std::atomic<Chunks*> kept{nullptr};

struct Request {
  const Object& object;
  int64_t offset, bytes;
  char* out;
  int64_t epoch;
  std::promise<Status> done;
};

Status failed(const std::string& why) { return {"io", why}; }

Status changed(const std::string& how) {
  return {"file_changed", "it " + how + " while a query read it: run the query again"};
}

std::string header(const Answer& answer, const char* name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

std::string text_of(const Url& url) {
  return "GET " + url.target + " HTTP/1.1\r\nHost: " + url.authority +
         "\r\nAccept-Encoding: identity\r\nUser-Agent: jumpgate\r\n";
}

std::string text_of(const Url& url, const Object& object, int64_t first, int64_t last) {
  std::string text = text_of(url) + "Range: bytes=" + std::to_string(first) + "-" + std::to_string(last) + "\r\n";
  if (!object.tag.empty() && !object.tag.starts_with("W/")) text += "If-Match: " + object.tag + "\r\n";
  if (!object.authorization.empty()) text += "Authorization: " + object.authorization + "\r\n";
  return text + "\r\n";
}

// The state of all reads. Never ends, as its threads do not.
class Store {
 public:
  std::future<Status> begin(Request request) {
    std::future<Status> done = request.done.get_future();
    const std::lock_guard lock(mutex_);
    request.epoch = epoch_.load();
    queue_.push_back(std::move(request));
    if (idle_ < static_cast<int>(queue_.size()) && threads_ < kThreadsMax) {
      threads_++;
      std::thread([this] { work(); }).detach();
    }
    changed_.notify_one();
    return done;
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    epoch_++;
    changed_.notify_all();
  }

 private:
  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      idle_++;
      changed_.wait(lock, [this] { return !queue_.empty(); });
      idle_--;
      Request request = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      Chunks* const chunks = kept.load();
      request.done.set_value(chunks != nullptr ? run_with(chunks, request) : run(request));
      lock.lock();
    }
  }

  bool is_cancelled(const Request& request) const { return request.epoch != epoch_.load(); }

  void pause(const Request& request, int failures) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const int most = std::min(kPauseMs << (failures - 1), kPauseMsMax);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(std::uniform_int_distribution(most / 2, most)(random)),
                      [&] { return is_cancelled(request); });
  }

  std::unique_ptr<Connection> idle(const Url& url) {
    const std::lock_guard lock(mutex_);
    auto& kept = connections_[(url.is_encrypted ? "s " : "p ") + url.address];
    if (kept.empty()) return nullptr;
    auto found = std::move(kept.back());
    kept.pop_back();
    return found;
  }

  void keep(const Url& url, std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    connections_[(url.is_encrypted ? "s " : "p ") + url.address].push_back(std::move(connection));
  }

  // Takes what is on the disk, and keeps the rest there. Nothing from the disk is an answer until the store has given a
  // byte of this version to whoever may read by this URL.
  Status run_with(Chunks* chunks, const Request& request) {
    const Object& object = request.object;
    const Saved saved{object.request_s, object.byte_s};
    const Range wanted{request.offset, request.offset + request.bytes};
    const Range gap = chunks->fill(object.chunks, wanted, saved, request.out);
    char* const missing = request.out + (gap.begin - wanted.begin);
    if (gap.empty()) {
      JG_RETURN_IF_ERROR(prove(request));
      tally.cached_reads++;
    } else {
      JG_RETURN_IF_ERROR(run({object, gap.begin, gap.end - gap.begin, missing, request.epoch, {}}));
      chunks->keep(object.chunks, gap, saved, missing);
    }
    tally.cached_bytes += request.bytes - std::max<int64_t>(0, gap.end - gap.begin);
    return {};
  }

  // Asks for one byte of an object, unless that has been done, or the planner has just asked.
  Status prove(const Request& request) {
    if (request.object.is_proven || request.object.size == 0) return {};
    std::promise<Status> done;
    std::shared_future<Status> proof;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      auto [found, is_new] = proofs_.try_emplace(&request.object);
      if (is_new) found->second = done.get_future().share();
      proof = found->second;
      is_first = is_new;
    }
    if (is_first) {
      char byte;
      done.set_value(run({request.object, 0, 1, &byte, request.epoch, {}}));
    }
    return proof.get();
  }

  Status run(const Request& request) {
    const bool is_hdfs = webhdfs::is_file(request.object);
    Url url;
    if (!is_hdfs && !parse_url(request.object.url, &url)) return failed("its URL is none");
    int64_t done = 0;
    std::string last;
    for (int failures = 0; failures < kFailuresMax;) {
      if (is_cancelled(request)) return {"cancelled", "the job was cancelled"};
      bool is_stale = false;
      Status status = is_hdfs ? attempt_hdfs(request, &done, &is_stale) : attempt(request, url, &done, &is_stale);
      if (status.ok() || (status.error().code != "unreachable" && status.error().code != "cancelled")) return status;
      if (is_stale) continue;
      last = status.error().message;
      if (++failures < kFailuresMax) pause(request, failures);
    }
    return failed("its server failed " + std::to_string(kFailuresMax) + " times (last: " + last + ")");
  }

  // Sends a request and reads the head of the answer. "unreachable": it may be tried again. is_stale: a kept connection
  // had been closed by the server, which no other need be.
  Status ask(const Request& request, const Url& url, const std::string& text, std::unique_ptr<Connection>* connection,
             Answer* answer, bool* is_stale) {
    *connection = idle(url);
    const bool is_kept = *connection != nullptr;
    if (!is_kept) {
      Status opened = Connection::open(url, connection);
      if (!opened.ok()) return opened.error().code == "unreachable" ? opened : failed(opened.error().message);
    }
    (*connection)->stop_when([this, &request] { return is_cancelled(request); });
    tally.requests++;
    tally.cost += request.object.request_price;
    Status status = (*connection)->ask(text, answer);
    if (!status.ok()) *is_stale = is_kept;
    return status;
  }

  // Reads on behind the bytes that are done, as `ask` says.
  Status attempt(const Request& request, const Url& url, int64_t* done, bool* is_stale) {
    const int64_t first = request.offset + *done, last = request.offset + request.bytes - 1;
    std::unique_ptr<Connection> connection;
    Answer answer;
    JG_RETURN_IF_ERROR(ask(request, url, text_of(url, request.object, first, last), &connection, &answer, is_stale));
    JG_RETURN_IF_ERROR(check(request, answer, first, last));
    while (*done < request.bytes) {
      int64_t got = 0;
      JG_RETURN_IF_ERROR(connection->read(request.out + *done, request.bytes - *done, &got));
      *done += got;
      tally.bytes += got;
    }
    if (!answer.closes) keep(url, std::move(connection));
    return {};
  }

  // What an attempt to read from HDFS met, besides its status.
  struct Met {
    bool is_stale = false;     // as `ask` says
    bool is_unsure = false;    // the file may be in another version
    bool is_inactive = false;  // another namenode may answer
  };

  // Reads on behind the bytes that are done, from a datanode or HttpFS, and asks a namenode then whether the file is
  // still in its version: answers to OPEN do not say so.
  Status attempt_hdfs(const Request& request, int64_t* done, bool* is_stale) {
    const std::vector<std::string> namenodes = webhdfs::namenodes(request.object);
    if (namenodes.empty()) return failed("its URL is none");
    size_t turn = turn_.load();
    const std::string& namenode = namenodes[turn % namenodes.size()];
    Met met;
    Status status;
    if (*done < request.bytes) status = read_hdfs(request, namenode, done, &met);
    if (status.ok() || met.is_unsure) {
      Status version = check_hdfs(request, namenode, &met);
      if (status.ok() || (!version.ok() && version.error().code == "file_changed")) status = std::move(version);
    }
    if (met.is_inactive) turn_.compare_exchange_strong(turn, turn + 1);
    *is_stale = met.is_stale;
    return status;
  }

  Status read_hdfs(const Request& request, const std::string& namenode, int64_t* done, Met* met) {
    Url url;
    std::unique_ptr<Connection> connection;
    Answer answer;
    const std::string opening = webhdfs::opening(namenode, request.offset + *done, request.bytes - *done);
    JG_RETURN_IF_ERROR(open_hdfs(request, opening, &url, &connection, &answer, met));
    if (answer.status != 200) return refused(url, std::move(connection), answer, met);
    Body body(connection.get(), answer);
    if (answer.length >= 0 && answer.length != request.bytes - *done) {
      met->is_unsure = true;
      return {"unreachable", "another number of bytes than was asked for"};
    }
    for (int64_t got = 1; *done < request.bytes; *done += got, tally.bytes += got) {
      JG_RETURN_IF_ERROR(body.read(request.out + *done, request.bytes - *done, &got));
      if (got == 0) {
        met->is_unsure = true;
        return {"unreachable", "fewer bytes than were asked for"};
      }
    }
    char more;
    int64_t got = 0;
    JG_RETURN_IF_ERROR(body.read(&more, 1, &got));
    if (got > 0) return failed("its server sends more bytes than were asked for");
    if (!answer.closes) keep(url, std::move(connection));
    return {};
  }

  // Asks a namenode for bytes and goes where it leads: to a datanode that was lost a moment ago only if no other one
  // has them, as namenodes take minutes to notice.
  Status open_hdfs(const Request& request, const std::string& opening, Url* url,
                   std::unique_ptr<Connection>* connection, Answer* answer, Met* met) {
    JG_RETURN_IF_ERROR(ask_namenode(request, opening, url, connection, answer, met));
    if (answer->status != 307) return {};
    Url namenode = *url;
    for (int asked = 0; answer->status == 307; asked++) {
      Url datanode;
      if (!parse_url(header(*answer, "location"), &datanode) ||
          !webhdfs::may_follow(namenode, datanode, request.object.insecure))
        return failed("its namenode leads to what may not be followed (docs/hdfs.md)");
      JG_RETURN_IF_ERROR(finish(namenode, std::move(*connection), *answer));
      *url = datanode;
      if (asked == kLedMax || !is_lost(datanode)) break;
      JG_RETURN_IF_ERROR(
          ask_namenode(request, webhdfs::without(opening, datanode), &namenode, connection, answer, met));
      if (answer->status != 307) JG_RETURN_IF_ERROR(finish(namenode, std::move(*connection), *answer));
    }
    Status status = ask(request, *url, text_of(*url) + "\r\n", connection, answer, &met->is_stale);
    if (!status.ok()) note_lost(*url);
    return status;
  }

  bool is_lost(const Url& datanode) {
    const std::lock_guard lock(mutex_);
    const auto found = lost_.find(datanode.address);
    return found != lost_.end() && std::chrono::steady_clock::now() - found->second < kLostFor;
  }

  void note_lost(const Url& datanode) {
    const std::lock_guard lock(mutex_);
    lost_[datanode.address] = std::chrono::steady_clock::now();
  }

  Status check_hdfs(const Request& request, const std::string& namenode, Met* met) {
    Url url;
    std::unique_ptr<Connection> connection;
    Answer answer;
    JG_RETURN_IF_ERROR(ask_namenode(request, webhdfs::asking_status(namenode), &url, &connection, &answer, met));
    if (answer.status != 200) return refused(url, std::move(connection), answer, met);
    std::string body;
    JG_RETURN_IF_ERROR(finish(url, std::move(connection), answer, &body));
    return webhdfs::check_version(body, request.object);
  }

  Status ask_namenode(const Request& request, const std::string& text, Url* url,
                      std::unique_ptr<Connection>* connection, Answer* answer, Met* met) {
    if (!parse_url(text, url)) return failed("its URL is none");
    Status status = ask(request, *url, text_of(*url) + "\r\n", connection, answer, &met->is_stale);
    met->is_inactive = !status.ok() && !met->is_stale;
    return status;
  }

  Status refused(const Url& url, std::unique_ptr<Connection> connection, const Answer& answer, Met* met) {
    std::string body;
    JG_RETURN_IF_ERROR(finish(url, std::move(connection), answer, &body));
    return webhdfs::refusal(answer, body, &met->is_unsure, &met->is_inactive);
  }

  // Reads the rest of an answer, and keeps the connection.
  Status finish(const Url& url, std::unique_ptr<Connection> connection, const Answer& answer,
                std::string* text = nullptr) {
    std::string body;
    JG_RETURN_IF_ERROR(Body(connection.get(), answer).read_text(kTextBytesMax, text == nullptr ? &body : text));
    if (!answer.closes) keep(url, std::move(connection));
    return {};
  }

  // What a status says about the object, or about whoever asks.
  static Status refused(int status) {
    if (std::find(std::begin(kBusy), std::end(kBusy), status) != std::end(kBusy))
      return {"unreachable", "answer " + std::to_string(status)};
    if (status == 412) return changed("was replaced");
    if (status == 404) return changed("was removed");
    if (status == 400 || status == 401 || status == 403)  // 400: S3, of keys that have expired
      return failed("the store refuses it (" + std::to_string(status) + "), or the right to it expired");
    return {};
  }

  // Whether the answer has exactly these bytes of that version.
  static Status check(const Request& request, const Answer& answer, int64_t first, int64_t last) {
    const Object& object = request.object;
    JG_RETURN_IF_ERROR(refused(answer.status));
    const bool is_whole = answer.status == 200 && first == 0 && last + 1 == object.size;
    if (answer.status == 200 || answer.status == 206) {
      const bool is_same = object.tag.empty() ? header(answer, "last-modified") == object.modified
                                              : header(answer, "etag") == object.tag;
      if (!is_same) return changed("was replaced");
    }
    if (answer.status == 416) return changed("was cut");
    if (answer.status == 200 && !is_whole) return failed("its server does not serve ranges of bytes");
    if (answer.status != 206 && !is_whole) return failed("answer " + std::to_string(answer.status));
    const std::string range = "bytes " + std::to_string(first) + "-" + std::to_string(last);
    const std::string size = "/" + std::to_string(object.size), sent = header(answer, "content-range");
    if (!is_whole && sent.starts_with(range + "/") && sent != range + size) return changed("was replaced");
    if (!is_whole && sent != range + size) return failed("its server sends another range than was asked for");
    if (!header(answer, "content-encoding").empty() && header(answer, "content-encoding") != "identity")
      return failed("its server sends it packed");
    if (answer.length != last - first + 1) return failed("its server sends another number of bytes");
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> queue_;
  std::unordered_map<std::string, std::vector<std::unique_ptr<Connection>>> connections_;
  std::unordered_map<const Object*, std::shared_future<Status>> proofs_;
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> lost_;  // datanodes, and when
  int threads_ = 0, idle_ = 0;
  std::atomic<size_t> turn_{0};    // of the namenodes of a file, which of them is asked
  std::atomic<int64_t> epoch_{0};  // of requests; it grows where all that have begun end
};

Store& store() {
  static Store* const the = new Store;
  return *the;
}

struct Known {
  std::shared_mutex mutex;
  std::unordered_map<std::string, Object> objects;
};

Known& known() {
  static Known* const the = new Known;
  return *the;
}

struct Ends {
  std::mutex mutex;
  std::unordered_map<const Object*, Coming> begun;
};

Ends& ends() {
  static Ends* const the = new Ends;  // threads write into it
  return *the;
}

}  // namespace

void add(const std::string& file, Object object) {
  const std::unique_lock lock(known().mutex);
  known().objects.try_emplace(file, std::move(object));
}

const Object* find(const std::string& file) {
  const std::shared_lock lock(known().mutex);
  const auto found = known().objects.find(file);
  return found == known().objects.end() ? nullptr : &found->second;
}

bool knows_any() {
  const std::shared_lock lock(known().mutex);
  return !known().objects.empty();
}

void keep_chunks(int64_t bytes_max) {
  Chunks* none = nullptr;
  if (kept.load() != nullptr) return;
  auto made = std::make_unique<Chunks>(cache_folder("chunks"), bytes_max);
  if (kept.compare_exchange_strong(none, made.get())) made.release();  // as threads that read do not end
}

Counted counted() {
  return {tally.requests.load(), tally.bytes.load(), tally.cached_reads.load(), tally.cached_bytes.load(),
          tally.cost.load()};
}

std::future<Status> read(const Object& object, int64_t offset, int64_t bytes, char* out) {
  return store().begin({object, offset, bytes, out, 0, {}});
}

void fetch_ends(const std::vector<std::string>& files, size_t first, size_t count) {
  for (size_t f = first; f < std::min(files.size(), first + count); f++) {
    const Object* const object = find(files[f]);
    if (object == nullptr || object->size == 0) continue;
    const std::lock_guard lock(ends().mutex);
    const auto [found, is_new] = ends().begun.try_emplace(object);
    if (!is_new) continue;
    Coming& end = found->second;
    end.begin = std::max<int64_t>(0, object->size - kEndBytes);
    end.bytes.reset(new char[static_cast<size_t>(object->size - end.begin)]);
    end.done = read(*object, end.begin, object->size - end.begin, end.bytes.get());
  }
}

Coming take_end(const Object& object) {
  const std::lock_guard lock(ends().mutex);
  const auto found = ends().begun.find(&object);
  if (found == ends().begun.end()) return {};
  Coming end = std::move(found->second);
  ends().begun.erase(found);
  return end;
}

void cancel() { store().cancel(); }

}  // namespace jg::objects
