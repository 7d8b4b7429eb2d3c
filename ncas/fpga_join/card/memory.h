// The memory behind a table's port: what is accepted in a cycle, and when it answers. Reads are answered in their
// order, and see all writes that were accepted before them.
#pragma once
#include <sys/mman.h>

#include <deque>
#include <new>

#include "bucket.h"

namespace jg::card {

class Memory {
 public:
  explicit Memory(size_t buckets) : bytes_(buckets * kBucketBytes) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    buckets_ = static_cast<Bucket*>(at);
  }
  virtual ~Memory() { munmap(buckets_, bytes_); }
  Memory(const Memory&) = delete;

  virtual bool can_read() const = 0;
  virtual bool can_write() const = 0;
  virtual bool has_answer() const = 0;
  // Of this cycle, after which `tick` comes.
  virtual void read(uint32_t address) {
    answers_.push_back(buckets_[address]);
    on_read(address);
  }
  virtual void write(uint32_t address, const Bucket& bucket) {
    if (keeps()) buckets_[address] = bucket;
    on_write(address);
  }
  virtual const Bucket& answer() const { return answers_.front(); }
  virtual void take() {
    answers_.pop_front();
    on_take();
  }
  virtual void tick() = 0;

  const Bucket& at(uint32_t address) const { return buckets_[address]; }
  // What reads on their way answer stays as it was.
  void clear() { std::memset(static_cast<void*>(buckets_), 0, bytes_); }

 protected:
  Bucket& at(uint32_t address) { return buckets_[address]; }
  virtual bool keeps() { return true; }
  virtual void on_read(uint32_t) {}
  virtual void on_write(uint32_t) {}
  virtual void on_take() {}

 private:
  const size_t bytes_;
  Bucket* buckets_;
  std::deque<Bucket> answers_;  // of reads that were accepted and not taken
};

// A read and a write a cycle, answers after a fixed time. A forgetful one loses every 50th write, to test benches.
class IdealMemory : public Memory {
 public:
  IdealMemory(size_t buckets, int latency, bool forgetful = false)
      : Memory(buckets), latency_(latency), forgetful_(forgetful) {}
  bool can_read() const override { return true; }
  bool can_write() const override { return true; }
  bool has_answer() const override { return !due_.empty() && due_.front() <= now_; }
  void tick() override { now_++; }

 private:
  bool keeps() override { return !forgetful_ || ++writes_ % 50 != 0; }
  void on_read(uint32_t) override { due_.push_back(now_ + static_cast<uint64_t>(latency_)); }
  void on_take() override { due_.pop_front(); }

  const int latency_;
  const bool forgetful_;
  uint64_t now_ = 0, writes_ = 0;
  std::deque<uint64_t> due_;
};

}  // namespace jg::card
