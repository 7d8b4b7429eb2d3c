// Counts cache lines that move between threads, where the machine's counters cannot (`perf c2c` needs memory events,
// which virtual machines lack). Programs that are compiled with -fsanitize=thread call these functions at each access,
// in place of the sanitizer's. A line moves when a thread reads or writes it that had no valid copy, as MESI has it;
// caches are without end. Copies by memcpy and calls into the kernel are not seen. Every 0.2 s a file in
// $LINE_COUNTS says what was seen:
//   `moves N` and `lines N` that moved; then for those that moved most: moves, threads, the module and offset of the
//   last access.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t kSlots = size_t{1} << 22, kProbes = 8, kShown = 40;
constexpr int kThreadsMax = 63;

struct Slot {
  std::atomic<uint32_t> busy{0};
  uint32_t moves = 0;
  uint64_t line = 0;
  uint64_t holders = 0;  // threads with a valid copy
  uint64_t ever = 0;     // threads that touched it
  const void* last = nullptr;
};

constinit Slot slots[kSlots];  // there before any constructor runs
std::atomic<int> threads{0};
std::atomic<uint64_t> moves{0};

struct Thread {
  const uint64_t bit = uint64_t{1} << std::min(threads.fetch_add(1), kThreadsMax);
  uintptr_t low = 0, high = 0;  // of its stack
  Thread() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* at;
    size_t size;
    pthread_attr_getstack(&attributes, &at, &size);
    pthread_attr_destroy(&attributes);
    low = reinterpret_cast<uintptr_t>(at), high = low + size;
  }
};

thread_local bool is_inside = false;

void touch(const volatile void* address, bool writes, const void* from) {
  if (is_inside) return;
  is_inside = true;
  static thread_local Thread self;
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  if (at < self.low || at >= self.high) {
    const uint64_t line = at >> 6;
    const size_t home = (line * 0x9E3779B97F4A7C15u) >> 42;
    Slot* slot = &slots[home];
    for (size_t i = 0; i < kProbes; i++) {
      Slot* next = &slots[(home + i) % kSlots];
      if (next->line == line || next->line == 0) {
        slot = next;
        break;
      }
    }
    while (slot->busy.exchange(1, std::memory_order_acquire)) {
    }
    if (slot->line != line) slot->line = line, slot->moves = 0, slot->holders = slot->ever = 0;
    const bool has = slot->holders & self.bit, alone = slot->holders == self.bit;
    if (slot->ever && (writes ? !alone : !has) && (slot->ever | self.bit) != self.bit) {
      slot->moves++;
      slot->last = from;
      moves.fetch_add(1, std::memory_order_relaxed);
    }
    slot->holders = writes ? self.bit : slot->holders | self.bit;
    slot->ever |= self.bit;
    slot->busy.store(0, std::memory_order_release);
  }
  is_inside = false;
}

void dump(const char* folder) {
  std::vector<const Slot*> found;
  for (size_t i = 0; i < kSlots; i++)
    if (slots[i].moves > 0) found.push_back(&slots[i]);
  const size_t shown = std::min(kShown, found.size());
  std::partial_sort(found.begin(), found.begin() + shown, found.end(),
                    [](const Slot* a, const Slot* b) { return a->moves > b->moves; });
  char name[512], part[520];
  snprintf(name, sizeof name, "%s/%s.%d", folder, program_invocation_short_name, getpid());
  snprintf(part, sizeof part, "%s.part", name);
  FILE* out = fopen(part, "w");
  if (!out) return;
  fprintf(out, "moves %lu\nlines %zu\n", moves.load(), found.size());
  for (size_t i = 0; i < shown; i++) {
    Dl_info where{};
    const bool known = dladdr(found[i]->last, &where);
    fprintf(out, "%u %d %s %#zx\n", found[i]->moves, __builtin_popcountll(found[i]->ever),
            known ? where.dli_fname : "?",
            known ? static_cast<size_t>(static_cast<const char*>(found[i]->last) - static_cast<char*>(where.dli_fbase))
                  : 0);
  }
  fclose(out);
  rename(part, name);
}

void* watch(void* folder) {
  is_inside = true;
  for (uint64_t last = 0;; usleep(200'000))
    if (const uint64_t now = moves.load(); now != last) dump(static_cast<char*>(folder)), last = now;
}

void begin() {
  pthread_t thread;
  if (char* folder = getenv("LINE_COUNTS")) pthread_create(&thread, nullptr, watch, folder);
}

__attribute__((constructor)) void start() {
  pthread_atfork(nullptr, nullptr, begin);
  begin();
}

}  // namespace

#define FROM __builtin_return_address(0)
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void** at) { touch(at, false, FROM); }
void __tsan_vptr_update(void** at, void*) { touch(at, true, FROM); }
void __tsan_read_range(void* at, unsigned long size) {
  for (unsigned long i = 0; i < size; i += 64) touch(static_cast<char*>(at) + i, false, FROM);
}
void __tsan_write_range(void* at, unsigned long size) {
  for (unsigned long i = 0; i < size; i += 64) touch(static_cast<char*>(at) + i, true, FROM);
}
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_atomic_signal_fence(int) {}

#define PLAIN(n)                                                      \
  void __tsan_read##n(void* at) { touch(at, false, FROM); }           \
  void __tsan_write##n(void* at) { touch(at, true, FROM); }           \
  void __tsan_unaligned_read##n(void* at) { touch(at, false, FROM); } \
  void __tsan_unaligned_write##n(void* at) { touch(at, true, FROM); } \
  void __tsan_volatile_read##n(void* at) { touch(at, false, FROM); }  \
  void __tsan_volatile_write##n(void* at) { touch(at, true, FROM); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define CHANGE(bits, T, name)                                    \
  T __tsan_atomic##bits##_##name(volatile T* at, T value, int) { \
    touch(at, true, FROM);                                       \
    return __atomic_##name(at, value, __ATOMIC_SEQ_CST);         \
  }
#define ATOMIC(bits, T)                                                                                 \
  T __tsan_atomic##bits##_load(const volatile T* at, int) {                                             \
    touch(at, false, FROM);                                                                             \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                     \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                                      \
    touch(at, true, FROM);                                                                              \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                     \
  T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                                      \
    touch(at, true, FROM);                                                                              \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                     \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, int, int) {   \
    touch(at, true, FROM);                                                                              \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                     \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T value, int, int) {     \
    touch(at, true, FROM);                                                                              \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                     \
  CHANGE(bits, T, fetch_add)                                                                            \
  CHANGE(bits, T, fetch_sub)                                                                            \
  CHANGE(bits, T, fetch_and)                                                                            \
  CHANGE(bits, T, fetch_or)                                                                             \
  CHANGE(bits, T, fetch_xor)                                                                            \
  CHANGE(bits, T, fetch_nand)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto lock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  touch(mutex, true, FROM);
  return lock(mutex);
}
}
