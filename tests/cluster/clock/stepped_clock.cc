// A wall clock that a test may step at any moment, for one process: preloaded (LD_PRELOAD), it adds the seconds that
// the file named by STEPPED_CLOCK holds, an int64_t, to what the system says. The other clocks go on as they are, as
// they do when somebody sets the clock of a machine; the kernel has namespaces for those, and none for this one.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

const volatile int64_t* map_step() {
  static constexpr int64_t kNone = 0;
  const char* path = std::getenv("STEPPED_CLOCK");  // NOLINT(concurrency-mt-unsafe): before there are threads
  const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &kNone;
  void* mapped = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return mapped == MAP_FAILED ? &kNone : static_cast<const int64_t*>(mapped);
}

int64_t step() {
  static const volatile int64_t* const mapped = map_step();
  return *mapped;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) {
  static const auto asked = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = asked(clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += step();
  return result;
}

int gettimeofday(timeval* out, void* zone) {
  static const auto asked = real<int (*)(timeval*, void*)>("gettimeofday");
  const int result = asked(out, zone);
  if (result == 0) out->tv_sec += step();
  return result;
}

time_t time(time_t* out) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
