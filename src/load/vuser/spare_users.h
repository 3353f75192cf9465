// The free users of an arrival rate, over all engines of a process. An arrival that finds none in its own engine begins
// in an engine that has one, at once or as soon as one becomes free. So several cores drop no arrival that one core
// would have served.
//
// Each part of a workflow has a seat. Who takes a user claims it first, so nobody else counts on it. Thread-safe; a
// part whose own users suffice touches only its own number of free users.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/runtime.h"

namespace bellwether::vuser {

class SpareUsers {
 public:
  SpareUsers(std::size_t workflows, uint32_t parts);

  // From now on the seat has so many free users, and takes arrivals of others. `taker(context)` is called on `runtime`
  // when there are some to take(), when a part has a free user and this one waits longest, and when none waits and
  // this one wants to leave.
  void open(std::size_t workflow, uint32_t part, std::size_t free, runtime::Runtime& runtime, void (*taker)(void*),
            void* context);
  // A free user of this part is free no more. False: none is.
  bool claim(std::size_t workflow, uint32_t part) { return claim(seat(workflow, part)); }
  // It is free again.
  void release(std::size_t workflow, uint32_t part);
  // Claims a user of another part for an arrival that is due so long after the begin of the workflow. False: none is
  // free.
  bool pass(std::size_t workflow, uint32_t from, Duration due);
  // Those that were passed to this part since the last call, which only the taker makes. Each has a claimed user.
  std::vector<Duration> take(std::size_t workflow, uint32_t part);
  bool any_free(std::size_t workflow) const;
  // When the oldest arrival of this part was due that waits for a user; nothing: none waits. Call it when that changes,
  // and then try pass().
  void wait(std::size_t workflow, uint32_t part, std::optional<Duration> oldest);
  // Calls the part that waits longest if a user is free. For a part that was called and had no use for the user.
  void call_next(std::size_t workflow);
  // True: no part waits. Else the taker is called when that is so.
  bool may_leave(std::size_t workflow, uint32_t part);
  // The seat takes no further arrivals. False: the taker is still to be called.
  bool close(std::size_t workflow, uint32_t part);

 private:
  static constexpr int64_t kNone = INT64_MAX;
  struct alignas(64) Seat {
    std::atomic<uint32_t> free{0};
    std::atomic<int64_t> oldest{kNone};  // that waits, in nanoseconds
    std::atomic<bool> leaves{false};
    std::mutex mutex;  // of the rest
    bool open = false;
    bool called = false;  // the taker, which has not come yet
    std::vector<Duration> passed;
    runtime::Runtime* runtime = nullptr;
    void (*taker)(void*) = nullptr;
    void* context = nullptr;
  };
  Seat& seat(std::size_t workflow, uint32_t part) const { return seats_[workflow * parts_ + part]; }
  static bool claim(Seat& seat);
  static bool put(Seat& seat, Duration due);
  static bool call(Seat& seat);

  uint32_t parts_;
  std::unique_ptr<Seat[]> seats_;
  std::unique_ptr<std::atomic<uint32_t>[]> waiting_;  // by workflow: its parts that wait
};

}  // namespace bellwether::vuser
