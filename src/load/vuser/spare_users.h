// The free users of an arrival rate, over all engines of a process. An arrival that finds none in its own engine begins
// in an engine that has one, at once or as soon as one becomes free. So several cores drop no arrival that one core
// would have served.
//
// A part is the share of one engine in a workflow; each part has a seat here. A user is claimed before it is used, so
// two arrivals never get the same one. Thread-safe. A part whose own users suffice touches only its own counter.
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

  // The seat begins with `free` free users, and accepts arrivals of other parts. `taker(context)` is called on the
  // thread of `runtime`, and both must outlive the seat's close(), when
  //   - take() has arrivals,
  //   - a user is free somewhere and this part waits longest,
  //   - no part waits any more and this part wants to leave.
  void open(std::size_t workflow, uint32_t part, std::size_t free, runtime::Runtime& runtime, void (*taker)(void*),
            void* context);
  // Claims a free user of this part. False: it has none.
  bool claim(std::size_t workflow, uint32_t part) { return claim(seat(workflow, part)); }
  // A claimed user of this part is free again.
  void release(std::size_t workflow, uint32_t part);
  // Claims a user of another part for an arrival, and passes the arrival to that part. `due`: after the begin of the
  // workflow. False: no other part has a free user.
  bool pass(std::size_t workflow, uint32_t from, Duration due);
  // The arrivals that were passed to this part since the last call, by their due times. Each has a claimed user. Only
  // the taker calls it.
  std::vector<Duration> take(std::size_t workflow, uint32_t part);
  bool any_free(std::size_t workflow) const;
  // The due time of the oldest arrival of this part that waits for a user; nullopt: none waits. Call it at each change,
  // and then try pass().
  void wait(std::size_t workflow, uint32_t part, std::optional<Duration> oldest);
  // Calls the taker of the part that waits longest, if a user is free. For a part whose taker was called and did not
  // need the user.
  void call_next(std::size_t workflow);
  // True: no part waits. False: the taker is called as soon as none does.
  bool may_leave(std::size_t workflow, uint32_t part);
  // The seat accepts no further arrivals. False: a call of the taker is still on its way.
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
