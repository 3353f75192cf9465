#include "load/vuser/spare_users.h"

#include <utility>

namespace bellwether::vuser {

SpareUsers::SpareUsers(std::size_t workflows, uint32_t parts)
    : parts_(parts), seats_(std::make_unique<Seat[]>(workflows * parts)) {}

void SpareUsers::open(std::size_t workflow, uint32_t part, runtime::Runtime& runtime, void (*taker)(void*),
                      void* context) {
  Seat& mine = seat(workflow, part);
  const std::lock_guard lock(mine.mutex);
  mine.open = true;
  mine.runtime = &runtime;
  mine.taker = taker;
  mine.context = context;
}

bool SpareUsers::pass(std::size_t workflow, uint32_t from, Duration due) {
  for (uint32_t next = 1; next < parts_; ++next) {
    Seat& other = seat(workflow, (from + next) % parts_);
    if (other.free.load(std::memory_order_relaxed) > 0 && put(other, due)) return true;
  }
  return false;
}

bool SpareUsers::put(Seat& seat, Duration due) {
  const std::lock_guard lock(seat.mutex);
  // The number of free users still counts those that the arrivals before this one will take.
  if (!seat.open || seat.passed.size() >= seat.free.load(std::memory_order_relaxed)) return false;
  if (!seat.called) seat.called = seat.runtime->post(seat.taker, seat.context);
  if (!seat.called) return false;
  seat.passed.push_back(due);
  return true;
}

std::vector<Duration> SpareUsers::take(std::size_t workflow, uint32_t part) {
  Seat& mine = seat(workflow, part);
  const std::lock_guard lock(mine.mutex);
  mine.called = false;
  return std::exchange(mine.passed, {});
}

bool SpareUsers::close(std::size_t workflow, uint32_t part) {
  Seat& mine = seat(workflow, part);
  const std::lock_guard lock(mine.mutex);
  mine.open = false;
  return !mine.called;
}

}  // namespace bellwether::vuser
