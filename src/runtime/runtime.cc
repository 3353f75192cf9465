#include "runtime/runtime.h"

#include <ctime>

namespace bellwether::runtime {

Instant Runtime::read_monotonic() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

}  // namespace bellwether::runtime
