// The free users of an arrival rate, over all engines of a process. An arrival that finds none in its own engine is
// passed to an engine that has one. So several cores drop no arrival that one core would have served.
//
// Each part of a workflow has a seat. Thread-safe; a part whose own users suffice only writes its number of free users.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/runtime.h"

namespace bellwether::vuser {

class SpareUsers {
 public:
  SpareUsers(std::size_t workflows, uint32_t parts);

  // From now on the seat takes arrivals: `taker(context)` is called on `runtime` when some wait in take().
  void open(std::size_t workflow, uint32_t part, runtime::Runtime& runtime, void (*taker)(void*), void* context);
  // The number of users that this part has free.
  void tell(std::size_t workflow, uint32_t part, std::size_t free) {
    seat(workflow, part).free.store(static_cast<uint32_t>(free), std::memory_order_relaxed);
  }
  // Passes an arrival that is due so long after the begin of the workflow to another part. False: none has a free user.
  bool pass(std::size_t workflow, uint32_t from, Duration due);
  // Those that were passed to this part since the last call, which only the taker makes.
  std::vector<Duration> take(std::size_t workflow, uint32_t part);
  // The seat takes no further arrivals. False: the taker is still to be called.
  bool close(std::size_t workflow, uint32_t part);

 private:
  struct alignas(64) Seat {
    std::atomic<uint32_t> free{0};
    std::mutex mutex;  // of the rest
    bool open = false;
    bool called = false;  // the taker, which has not come yet
    std::vector<Duration> passed;
    runtime::Runtime* runtime = nullptr;
    void (*taker)(void*) = nullptr;
    void* context = nullptr;
  };
  Seat& seat(std::size_t workflow, uint32_t part) { return seats_[workflow * parts_ + part]; }
  static bool put(Seat& seat, Duration due);

  uint32_t parts_;
  std::unique_ptr<Seat[]> seats_;
};

}  // namespace bellwether::vuser
