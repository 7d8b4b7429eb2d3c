// Runs a generated program: pipelines and table completions of a stage are works that threads share, morsel by morsel.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "executor/config.h"
#include "executor/counters_json.h"
#include "executor/failures.h"
#include "executor/file_states.h"
#include "executor/instance_edges.h"
#include "executor/limit.h"
#include "executor/selection.h"
#include "executor/work.h"
#include "jg/instance.h"
#include "jg/json.h"
#include "jg/objects.h"
#include "tables/aggregate_table.h"
#include "tables/first_rows.h"
#include "tables/join_table.h"
#include "tables/reader.h"
#include "tables/sort_buffer.h"

namespace jg {
namespace {

constexpr int64_t kRuntimeFilterRowsMax = 1 << 20;  // of a join build whose range is worth to find: some milliseconds

int64_t now_ns(clockid_t clock = CLOCK_REALTIME) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

class Executor;

struct PipelineWork : Work {
  PipelineWork(Executor* executor, int id, int steps) : executor(executor), id(id), counters(steps) {}
  Status begin() override;
  Status run(int thread) override;
  Status finish() override;
  int64_t more() override;
  Status process(int thread);

  Executor* executor;
  const int id;
  FileStates files;                 // of its source, if that is files
  std::atomic<size_t> drained{0};   // claimed by readers of a table
  std::atomic<bool> enough{false};  // a limit is full
  PipelineCounters counters;
};

struct TableWork : Work {
  TableWork(Executor* executor, int id) : executor(executor), id(id) {}
  Status begin() override;
  Status run(int thread) override;
  Status finish() override;
  bool again() override;
  int64_t more() override { return table_tasks - claimed.load(); }

  Executor* executor;
  const int id;
  int table_tasks = 0;
  std::atomic<int> claimed{0};
};

class Executor : public Instance {
 public:
  ~Executor() override {
    cancel();
    edges_.stop();
  }
  Status allocate(const std::string& json, std::string* answer) override;
  Status configure(const std::string& json) override;
  Status execute(int stage) override;
  void expect(int stage) override;
  Status run(int stage);
  void cancel() override;
  std::string stats() override;
  void push_runtime_filters(PipelineWork* pipeline);

  // Needed by works.
  Config config;
  std::unique_ptr<void, int (*)(void*)> library{nullptr, ::dlclose};  // of the program; what uses its code goes first
  const JgProgramInfo* program = nullptr;
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::unique_ptr<Emitter>> emitters;
  std::vector<std::unique_ptr<RowStore>> tables;
  std::vector<std::unique_ptr<Limit>> limits;
  std::vector<std::unique_ptr<PipelineWork>> pipelines;
  std::vector<std::unique_ptr<TableWork>> completions;
  std::vector<JgJoin*> joins;
  std::vector<std::atomic<int>> open_sinks;  // pipelines that still write to a sink
  std::atomic<bool> cancelled{false};
  Budget budget;

 private:
  Status load_artifact();
  Status build();
  void connect_works();
  std::vector<int> sinks_of(int stage) const;
  void worker(int thread);
  Work* claim();
  void invite();

  InstanceEdges edges_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Work*> current_;        // works of the running stage
  std::vector<std::thread> threads_;  // that have begun with them, beside the one that executes the stage
  Status error_;
  size_t remaining_ = 0;
  std::vector<StageSpan> stages_;
  std::mutex stats_mutex_;
  bool configuring_ = false;
  std::atomic<bool> configured_{false};
  int last_stage_ = 0;
  bool broken_ = false;  // a stage failed
};

// The target of a JgTask's impl: the thread's streams and scratch memory.
struct Worker {
  explicit Worker(Executor* executor) : executor(executor), first(&executor->budget) {}

  Executor* executor;
  PipelineWork* work = nullptr;
  SourceWorker* source = nullptr;
  JgBatch batch{};
  std::vector<Part*> parts;  // by table
  std::vector<std::unique_ptr<EmitterWorker>> emitters;
  FirstRows first;
  Arena temp;
  Status status;

  // Return whether the tables that the thread fills have room for more, after spilling.
  bool has_room(JgTask* task);
};

Worker* worker_of(JgTask* task) { return static_cast<Worker*>(task->impl); }

// A table of the thread's program, and the thread's part of it; the program knows their classes.
template <class Table>
Table* table_of(JgTask* task, int table) {
  return static_cast<Table*>(worker_of(task)->executor->tables[table].get());
}
template <class P>
P* part_of(JgTask* task, int table) {
  return static_cast<P*>(worker_of(task)->parts[table]);
}

bool Worker::has_room(JgTask* task) {
  for (size_t t = 0; t < parts.size() && task->failure == JG_OK; t++) {
    if (!parts[t]) continue;
    status = executor->tables[t]->relieve(parts[t], task);
    if (!status.ok()) jg_fail(task, JG_STATUS, -1);
  }
  if (executor->budget.exceeded()) jg_fail(task, JG_MEMORY, -1);
  return task->failure == JG_OK;
}

// ---- pipelines ----

int64_t PipelineWork::more() {
  const auto& c = executor->config.pipelines[id];
  if (enough) return 0;
  if (c.source_kind == "files" || c.source_kind == "edge") return executor->sources[c.source]->morsels_left();
  return executor->tables[c.source]->unclaimed(drained);
}

Status PipelineWork::begin() {
  const auto& c = executor->config.pipelines[id];
  if (c.source_kind != "files" && c.source_kind != "edge") return {};
  executor->push_runtime_filters(this);
  JG_RETURN_IF_ERROR(files.begin());
  return executor->sources[c.source]->open();
}

Status PipelineWork::run(int thread) {
  int64_t expected = 0;
  counters.start_ns.compare_exchange_strong(expected, now_ns());
  const int64_t start = now_ns(CLOCK_MONOTONIC), cpu_start = now_ns(CLOCK_THREAD_CPUTIME_ID);
  Status status = process(thread);
  const int64_t busy = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
  counters.busy_ns += busy;
  counters.wait_ns += std::max<int64_t>(0, now_ns(CLOCK_MONOTONIC) - start - busy);
  return status;
}

Status PipelineWork::process(int thread) {
  const PipelineConfig& c = executor->config.pipelines[id];
  const JgPipelineInfo& info = executor->program->pipelines[id];
  Worker w(executor);
  w.work = this;
  JgTask task{};
  task.params = executor->config.params.data();
  std::vector<JgJoin*> joins = executor->joins;
  task.joins = joins.data();
  std::vector<JgGroups*> groups(executor->tables.size());
  std::vector<JgPlace*> places(executor->tables.size());
  w.parts.resize(executor->tables.size());
  for (int t : c.feeds) {
    w.parts[t] = executor->tables[t]->part(thread);
    groups[t] = executor->tables[t]->groups(w.parts[t]);
    if (w.parts[t]->dealt) places[t] = w.parts[t]->dealt->places();
  }
  task.groups = groups.data();
  task.places = places.data();
  task.first = &w.first;
  std::vector<int64_t> entered(counters.entered.size());
  task.entered = entered.data();
  task.impl = &w;
  const std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (info.scratch_size + 63) & ~uint64_t{63}), std::free);
  if (!scratch) return {"memory", "no memory for a pipeline's scratch space"};
  task.scratch = scratch.get();
  w.emitters.resize(executor->emitters.size());
  for (int s : c.sinks) w.emitters[s] = executor->emitters[s]->worker();

  const bool columnar = c.source_kind == "files" || c.source_kind == "edge";
  std::unique_ptr<SourceWorker> source;
  std::unique_ptr<TableReader> reader;
  if (columnar) {
    source = executor->sources[c.source]->worker();
    w.source = source.get();
  } else {
    Reading reading{&drained};
    if (c.source_kind == "matched") reading.which = Which::kMatched;
    if (c.source_kind == "unmatched") reading.which = Which::kUnmatched;
    if (c.build >= 0) reading.build = executor->tables[c.build].get(), reading.join = &joins[c.build];
    reader = executor->tables[c.source]->reader(reading);
  }
  int64_t rows = 0;
  while (!executor->cancelled.load(std::memory_order_relaxed)) {
    int n = 0;
    if (enough && c.source_kind != "edge") break;
    if (columnar) {
      bool done = false;
      w.batch = {};
      JG_RETURN_IF_ERROR(w.source->next(&w.batch, &done));
      if (done) break;
      n = w.batch.rows;
      if (enough) continue;  // a producer is not cut off; its rows are dropped
      task.cols = w.batch.cols;
      task.unread = w.batch.unread;
      if (task.unread) rows += task.unread[0];
    } else {
      JG_RETURN_IF_ERROR(reader->next(&task, &n));
      if (n == 0 || task.failure != JG_OK) break;
    }
    rows += n;
    w.temp.reset();
    info.process(&task, n);
    if (executor->config.yields) yield_when_long();
    if (!w.has_room(&task)) break;
  }
  counters.rows_in += rows;
  for (size_t i = 0; i < entered.size(); i++) counters.entered[i] += entered[i];
  if (task.failure != JG_OK) return failure_status(task, &executor->budget, w.status);
  if (executor->cancelled) return {"cancelled", "the job was cancelled"};
  for (int s : c.sinks) JG_RETURN_IF_ERROR(w.emitters[s]->flush());
  return {};
}

Status PipelineWork::finish() {
  JG_RETURN_IF_ERROR(files.check());
  for (int s : executor->config.pipelines[id].sinks) {
    if (--executor->open_sinks[s] == 0) JG_RETURN_IF_ERROR(executor->emitters[s]->finish());
  }
  counters.end_ns = now_ns();
  return {};
}

// ---- completion of tables ----

Status TableWork::begin() {
  executor->tables[id]->prepare();
  table_tasks = executor->tables[id]->tasks();
  return {};
}

Status TableWork::run(int) {
  RowStore* table = executor->tables[id].get();
  JgTask task{};
  task.params = executor->config.params.data();
  for (int i; task.failure == JG_OK && (i = claimed.fetch_add(1)) < table_tasks;)
    JG_RETURN_IF_ERROR(table->task(i, &task));
  return task.failure == JG_OK ? Status() : failure_status(task, &executor->budget, {});
}

Status TableWork::finish() {
  JgTask task{};
  task.params = executor->config.params.data();
  executor->tables[id]->finish(&task);
  return task.failure == JG_OK ? Status() : failure_status(task, &executor->budget, {});
}

bool TableWork::again() {
  table_tasks = executor->tables[id]->tasks();
  claimed = 0;
  return table_tasks > 0;
}

// ---- verbs ----

Status Executor::allocate(const std::string& json, std::string* answer) { return edges_.allocate(json, answer); }

Status Executor::configure(const std::string& json) {
  if (configuring_) return {"internal", "configure was called twice"};
  configuring_ = true;  // also if it fails: half a configuration is not completed by another one
  JG_RETURN_IF_ERROR(parse_config(json, &config));
  budget.begin(config.memory_limit_bytes, config.threads);
  JG_RETURN_IF_ERROR(load_artifact());
  JG_RETURN_IF_ERROR(build());
  connect_works();
  JG_RETURN_IF_ERROR(edges_.start());
  configured_ = true;
  return {};
}

Status Executor::load_artifact() {
  library.reset(dlopen(config.artifact.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) return {"internal", std::string("cannot load the generated program: ") + dlerror()};
  program = static_cast<const JgProgramInfo*>(dlsym(library.get(), "jg_program"));
  if (!program || program->abi != JG_ABI) return {"internal", "the generated program is of another version"};
  if (program->pipeline_count != static_cast<int>(config.pipelines.size()) ||
      program->table_count != static_cast<int>(config.tables.size()))
    return {"internal", "the generated program does not belong to this configuration"};
  return {};
}

Status Executor::build() {
  for (const SourceConfig& s : config.sources) {
    std::unique_ptr<Source> source;
    JG_RETURN_IF_ERROR(edges_.make_source(s, &source));
    sources.push_back(std::move(source));
  }
  open_sinks = std::vector<std::atomic<int>>(config.sinks.size());
  for (const SinkConfig& s : config.sinks) {
    std::unique_ptr<Emitter> emitter;
    JG_RETURN_IF_ERROR(edges_.make_emitter(s, &emitter));
    emitters.push_back(std::move(emitter));
  }
  for (size_t i = 0; i < config.tables.size(); i++) {
    const JgTableInfo& table = program->tables[i];
    tables.push_back(table.of->make(table.info, config.tables[i], &budget));
    joins.push_back(tables.back()->join());
    completions.push_back(std::make_unique<TableWork>(this, static_cast<int>(i)));
  }
  for (const LimitConfig& l : config.limits) limits.push_back(std::make_unique<Limit>(l));
  return {};
}

void Executor::connect_works() {
  auto depends = [](Work* later, Work* earlier) {
    earlier->next.push_back(later);
    later->waiting++;
  };
  for (size_t i = 0; i < config.pipelines.size(); i++) {
    pipelines.push_back(std::make_unique<PipelineWork>(this, static_cast<int>(i), program->pipelines[i].step_count));
    pipelines[i]->stage = config.pipelines[i].stage;
    if (config.pipelines[i].source_kind == "files")
      pipelines[i]->files = FileStates(config.sources[config.pipelines[i].source].files);
    pipelines[i]->exclusive = config.pipelines[i].ordered;
    for (int s : config.pipelines[i].sinks) open_sinks[s]++;
  }
  for (size_t i = 0; i < config.pipelines.size(); i++) {
    for (int t : config.pipelines[i].feeds) {
      depends(completions[t].get(), pipelines[i].get());
      completions[t]->stage = std::max(completions[t]->stage, pipelines[i]->stage);
    }
    for (int t : config.pipelines[i].needs) depends(pipelines[i].get(), completions[t].get());
    for (int p : config.pipelines[i].after) depends(pipelines[i].get(), pipelines[p].get());
  }
}

Work* Executor::claim() {
  for (Work* w : current_) {
    if (w->done || w->waiting > 0 || w->exhausted) continue;
    if (w->active == 0 || (w->begun && !w->exclusive && w->more() > 0)) return w;
  }
  return nullptr;
}

// Tells the source which values have partners in the joins to come.
void Executor::push_runtime_filters(PipelineWork* pipeline) {
  const JgPipelineInfo& info = program->pipelines[pipeline->id];
  for (int i = 0; i < info.filter_count; i++) {
    const JgJoinFilter& f = info.filters[i];
    if (joins[f.table]->count > kRuntimeFilterRowsMax) continue;
    int64_t low, high;
    f.range(joins[f.table]->rows, joins[f.table]->count, &low, &high);
    if (low > high)
      pipeline->enough = true;
    else
      sources[config.pipelines[pipeline->id].source]->add_runtime_filter(f.column, low, high);
  }
}

// Has another thread begin, as long as there is something to do for it; with the lock held. Each that has begun does
// the same, so that a stage of little work is done by few.
void Executor::invite() {
  const auto thread = static_cast<int>(threads_.size()) + 1;
  if (thread >= config.threads || remaining_ == 0 || !error_.ok() || !claim()) return;
  try {
    threads_.emplace_back([this, thread] { worker(thread); });
  } catch (const std::exception&) {  // no memory, or no more threads: the others do it
  }
}

void Executor::worker(int thread) {
  std::unique_lock lock(mutex_);
  while (remaining_ > 0 && error_.ok()) {
    Work* w = claim();
    if (!w) {
      ready_.wait(lock);
      continue;
    }
    w->active++;
    invite();
    Status status;
    lock.unlock();
    try {
      if (!w->begun) {  // nobody else is here
        status = w->begin();
        lock.lock();
        w->begun = true;
        ready_.notify_all();
        invite();
        lock.unlock();
      }
      if (status.ok()) status = w->run(thread);
    } catch (const std::bad_alloc&) {
      status = {"memory", "the instance is out of memory"};
    } catch (const std::exception& e) {
      status = {"internal", std::string("an instance failed: ") + e.what()};
    }
    const auto* pipeline = dynamic_cast<PipelineWork*>(w);
    if (!status.ok() && pipeline) status = pipeline->files.blamed(std::move(status));
    lock.lock();
    w->active--;
    w->exhausted = true;
    if (status.ok() && error_.ok() && w->active == 0 && !w->done) {
      w->done = true;
      lock.unlock();
      try {
        status = w->finish();
      } catch (const std::bad_alloc&) {
        status = {"memory", "the instance is out of memory"};
      }
      lock.lock();
      if (status.ok() && w->again()) {
        w->done = w->exhausted = false;
      } else {
        remaining_--;
        for (Work* n : w->next) n->waiting--;
      }
    }
    if (!status.ok() && (error_.ok() || error_.error().code == "cancelled")) {
      error_ = status;
      lock.unlock();
      cancel();
      lock.lock();
    }
    ready_.notify_all();
  }
}

void Executor::expect(int stage) {
  if (!configured_) return;
  for (int s : sinks_of(stage)) emitters[s]->approach();
}

// Return the sinks that pipelines of the stage write to.
std::vector<int> Executor::sinks_of(int stage) const {
  std::vector<int> found;
  for (auto& w : pipelines) {
    if (w->stage != stage) continue;
    for (int s : config.pipelines[w->id].sinks)
      if (std::find(found.begin(), found.end(), s) == found.end()) found.push_back(s);
  }
  return found;
}

Status Executor::execute(int stage) {
  if (broken_) return {"cancelled", "an earlier stage failed"};
  if (!configured_) return {"internal", "execute was called before configure"};
  if (stage != last_stage_ + 1) {
    return {"internal", "stage " + std::to_string(stage) + " cannot follow stage " + std::to_string(last_stage_) +
                            ": stages are executed once, in order"};
  }
  last_stage_ = stage;
  broken_ = true;  // if it throws, too
  const Status status = run(stage);
  broken_ = !status.ok();
  return status;
}

Status Executor::run(int stage) {
  const int64_t start = now_ns();
  {
    std::lock_guard lock(mutex_);
    current_.clear();
    for (auto& w : pipelines)
      if (w->stage == stage) current_.push_back(w.get());
    for (size_t t = 0; t < completions.size(); t++)
      if (completions[t]->stage == stage) current_.push_back(completions[t].get());
    remaining_ = current_.size();
    error_ = cancelled ? Status("cancelled", "the job was cancelled") : Status();
    threads_.clear();
    threads_.reserve(config.threads);  // so that threads do not move while others join them
  }
  for (int s : sinks_of(stage)) JG_RETURN_IF_ERROR(emitters[s]->open());
  worker(0);
  for (auto& t : threads_) t.join();
  std::lock_guard lock(stats_mutex_);
  stages_.push_back({stage, start, now_ns()});
  if (!error_.ok()) return error_;
  if (cancelled) return {"cancelled", "the job was cancelled"};
  return {};
}

void Executor::cancel() {
  cancelled = true;
  for (auto& s : sources) s->cancel();
  objects::cancel();
  for (auto& e : emitters) e->cancel();
  ready_.notify_all();
}

std::string Executor::stats() {
  JsonWriter json;
  json.begin_object();
  write_process(&json, config.instance, budget);
  write_asked(&json, objects::counted());
  {
    std::lock_guard lock(stats_mutex_);
    write_stages(&json, stages_);
  }
  const bool built = configured_;
  json.begin_array("pipelines");
  for (size_t i = 0; built && i < pipelines.size(); i++) {
    write_pipeline(&json, i, config.pipelines[i].name, pipelines[i]->stage, pipelines[i]->counters);
  }
  json.end_array();
  json.begin_array("sources");
  for (size_t i = 0; built && i < sources.size(); i++)
    write_source(&json, i, config.sources[i].is_edge ? config.sources[i].edge.edge : config.sources[i].name,
                 sources[i]->counters);
  json.end_array();
  json.begin_array("sinks");
  for (size_t i = 0; built && i < emitters.size(); i++) write_sink(&json, i, config.sinks[i].edge.edge, *emitters[i]);
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace

std::unique_ptr<Instance> make_instance() { return std::make_unique<Executor>(); }

}  // namespace jg

// ---- called by generated programs ----

using jg::part_of;
using jg::table_of;
using jg::worker_of;

extern "C" {

int jg_load(JgTask* task, int column, const int32_t* sel, int n) {
  auto* w = worker_of(task);
  int32_t room[JG_BATCH_ROWS];
  sel = jg::distinct_rows(sel, &n, room);
  jg::Status status = w->source->load(column, sel, n);
  if (status.ok()) return 0;
  jg_fail(task, JG_STATUS, -1);
  w->status = status;
  return 1;
}

JgRow* jg_append(JgTask* task, int table, uint64_t hash, int null_key) {
  return part_of<jg::JoinPart>(task, table)->append_keyed(hash, null_key);
}

JgRow* jg_append_row(JgTask* task, int table, uint64_t hash) { return part_of<jg::Part>(task, table)->append(hash); }

void jg_key_range(JgTask* task, int table, int number, int64_t low, int64_t high) {
  part_of<jg::JoinPart>(task, table)->note_keys(number, low, high);
}

void jg_offer(JgTask* task, int table, const JgRow* row) {
  table_of<jg::SortBuffer>(task, table)->offer(part_of<jg::SortPart>(task, table), row);
}

void jg_extend(JgTask* task, int table, JgPlace* place) {
  auto* part = part_of<jg::Part>(task, table);
  part->dealt->extend(place, &part->arena);
}

JgRow* jg_new_group(JgTask* task, int table, uint64_t hash) {
  return table_of<jg::AggregateTable>(task, table)->new_group(part_of<jg::AggregatePart>(task, table), hash);
}

JgRow** jg_coded_groups(JgTask* task, int table, const int* columns, int n, uint32_t* counts) {
  auto* part = part_of<jg::AggregatePart>(task, table);
  return part->groups.memos ? part->coded.slots(task->cols, columns, n, counts) : nullptr;
}

JgChunk* jg_grow_values(JgTask* task, int table, JgValues* values, int size) {
  return jg::new_chunk(&part_of<jg::Part>(task, table)->arena, values, size);
}

JgStr jg_keep(JgTask* task, int table, uint64_t hash, JgStr s) { return part_of<jg::Part>(task, table)->keep(hash, s); }

JgStr jg_keep_instead(JgTask* task, int table, JgStr held, JgStr s) {
  return part_of<jg::Part>(task, table)->keep_instead(held, s);
}

char* jg_temp(JgTask* task, uint64_t n) { return worker_of(task)->temp.bytes(n); }

int jg_emit(JgTask* task, int sink, JgCol* cols, int n, const uint64_t* hashes) {
  auto* w = worker_of(task);
  jg::Status status = w->emitters[sink]->write({n, cols}, hashes);
  if (status.ok()) return 0;
  jg_fail(task, JG_STATUS, -1);
  w->status = status;
  return 1;
}

int jg_stop(JgTask* task) {
  auto* w = worker_of(task);
  return !w->has_room(task) || w->work->enough || w->executor->cancelled.load(std::memory_order_relaxed);
}

int jg_limit(JgTask* task, int limit, int n, int* skip) {
  auto* w = worker_of(task);
  bool is_full;
  const int passed = w->executor->limits[limit]->claim(n, skip, &is_full);
  if (is_full) w->work->enough = true;
  return passed;
}

}  // extern "C"
