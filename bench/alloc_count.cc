// Counts allocations of an unmodified program (LD_PRELOAD). Every call of the malloc family (operator new ends there
// too) is counted for its thread and the second it falls into. At exit, the file named by BW_ALLOC_OUT gets one JSON
// document: {"threads": [{"tid", "name", "per_second": [calls in second 0 since the program's start, …]}]}.
// `./dev bench allocations` reads it. Returns of memory are not counted.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

constexpr std::size_t kThreads = 256;   // threads beyond these share the last place
constexpr std::size_t kSeconds = 1024;  // allocations after that count into the last second
constexpr uint64_t kNameSettles = 256;  // a thread is named after its first allocations

struct Thread {
  std::atomic<int> tid{0};
  std::array<char, 16> name{};
  uint64_t calls = 0;
  std::size_t second = 0;
  std::array<std::atomic<uint64_t>, kSeconds> per_second{};
};

// Static storage only: what counts allocations must not allocate.
std::array<Thread, kThreads> threads;
std::atomic<std::size_t> thread_count{0};
std::atomic<int64_t> first_second{0};
// initial-exec: the default model allocates on a thread's first use, from inside malloc.
thread_local Thread* self __attribute__((tls_model("initial-exec"))) = nullptr;

void count() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int64_t start = 0;
  if (first_second.compare_exchange_strong(start, now.tv_sec)) start = now.tv_sec;
  auto second = static_cast<std::size_t>(now.tv_sec - start);
  if (second >= kSeconds) second = kSeconds - 1;

  if (self == nullptr) {
    const std::size_t place = thread_count.fetch_add(1);
    self = &threads[place < kThreads ? place : kThreads - 1];
    self->tid = gettid();
  }
  self->per_second[second].fetch_add(1, std::memory_order_relaxed);
  if (++self->calls <= kNameSettles || self->second != second) {
    self->second = second;
    prctl(PR_GET_NAME, self->name.data());
  }
}

// The C library's own function. Its dlsym does not allocate when it finds the name (glibc 2.34 and later).
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void write_thread(std::FILE* out, const Thread& thread, std::size_t seconds) {
  std::fprintf(out, "{\"tid\": %d, \"name\": \"%.15s\", \"per_second\": [", thread.tid.load(), thread.name.data());
  for (std::size_t i = 0; i < seconds; ++i) {
    std::fprintf(out, "%s%llu", i == 0 ? "" : ", ", static_cast<unsigned long long>(thread.per_second[i].load()));
  }
  std::fputs("]}", out);
}

__attribute__((destructor)) void report() {
  const char* path = std::getenv("BW_ALLOC_OUT");
  if (path == nullptr) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const auto passed = static_cast<std::size_t>(now.tv_sec - first_second.load()) + 1;
  std::FILE* out = std::fopen(path, "w");
  if (out == nullptr) return;
  std::fputs("{\"threads\": [", out);
  const std::size_t known = thread_count.load() < kThreads ? thread_count.load() : kThreads;
  for (std::size_t i = 0; i < known; ++i) {
    if (i > 0) std::fputs(", ", out);
    write_thread(out, threads[i], passed < kSeconds ? passed : kSeconds);
  }
  std::fputs("]}\n", out);
  std::fclose(out);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  static auto* const real = next<void*(std::size_t)>("malloc");
  count();
  return real(size);
}

void* calloc(std::size_t number, std::size_t size) {
  static auto* const real = next<void*(std::size_t, std::size_t)>("calloc");
  count();
  return real(number, size);
}

void* realloc(void* memory, std::size_t size) {
  static auto* const real = next<void*(void*, std::size_t)>("realloc");
  count();
  return real(memory, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  static auto* const real = next<int(void**, std::size_t, std::size_t)>("posix_memalign");
  count();
  return real(memory, alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* const real = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  count();
  return real(alignment, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  static auto* const real = next<void*(std::size_t, std::size_t)>("memalign");
  count();
  return real(alignment, size);
}

}  // extern "C"
