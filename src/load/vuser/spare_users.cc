#include "load/vuser/spare_users.h"

#include <utility>

namespace bellwether::vuser {

SpareUsers::SpareUsers(std::size_t workflows, uint32_t parts)
    : parts_(parts),
      seats_(std::make_unique<Seat[]>(workflows * parts)),
      waiting_(std::make_unique<std::atomic<uint32_t>[]>(workflows)) {}

void SpareUsers::open(std::size_t workflow, uint32_t part, std::size_t free, runtime::Runtime& runtime,
                      void (*taker)(void*), void* context) {
  Seat& mine = seat(workflow, part);
  {
    const std::lock_guard lock(mine.mutex);
    mine.open = true;
    mine.runtime = &runtime;
    mine.taker = taker;
    mine.context = context;
    mine.free = static_cast<uint32_t>(free);
  }
  if (waiting_[workflow] > 0) call_next(workflow);
}

bool SpareUsers::claim(Seat& seat) {
  uint32_t free = seat.free.load(std::memory_order_relaxed);
  while (free > 0 && !seat.free.compare_exchange_weak(free, free - 1)) continue;
  return free > 0;
}

// Either this sees that another part waits, or that one, which says so first, sees the free user.
void SpareUsers::release(std::size_t workflow, uint32_t part) {
  ++seat(workflow, part).free;
  if (waiting_[workflow] > 0) call_next(workflow);
}

bool SpareUsers::pass(std::size_t workflow, uint32_t from, Duration due) {
  for (uint32_t next = 1; next < parts_; ++next) {
    Seat& other = seat(workflow, (from + next) % parts_);
    if (other.free > 0 && put(other, due)) return true;
  }
  return false;
}

bool SpareUsers::put(Seat& seat, Duration due) {
  const std::lock_guard lock(seat.mutex);
  if (!seat.open || !claim(seat)) return false;
  if (!call(seat)) {
    ++seat.free;
    return false;
  }
  seat.passed.push_back(due);
  return true;
}

// REQUIRES the lock.
bool SpareUsers::call(Seat& seat) {
  if (seat.open && !seat.called) seat.called = seat.runtime->post(seat.taker, seat.context);
  return seat.called;
}

void SpareUsers::call_next(std::size_t workflow) {
  if (!any_free(workflow)) return;
  Seat* next = nullptr;
  int64_t longest = kNone;
  for (uint32_t part = 0; part < parts_; ++part) {
    Seat& one = seat(workflow, part);
    const int64_t oldest = one.oldest;
    if (oldest >= longest) continue;
    longest = oldest;
    next = &one;
  }
  if (next == nullptr) return;
  const std::lock_guard lock(next->mutex);
  call(*next);
}

std::vector<Duration> SpareUsers::take(std::size_t workflow, uint32_t part) {
  Seat& mine = seat(workflow, part);
  const std::lock_guard lock(mine.mutex);
  mine.called = false;
  return std::exchange(mine.passed, {});
}

bool SpareUsers::any_free(std::size_t workflow) const {
  for (uint32_t part = 0; part < parts_; ++part) {
    if (seat(workflow, part).free > 0) return true;
  }
  return false;
}

void SpareUsers::wait(std::size_t workflow, uint32_t part, std::optional<Duration> oldest) {
  const bool waited = seat(workflow, part).oldest.exchange(oldest ? oldest->ns() : kNone) != kNone;
  if (!waited && oldest) ++waiting_[workflow];
  if (!waited || oldest || --waiting_[workflow] > 0) return;
  for (uint32_t other = 0; other < parts_; ++other) {
    Seat& one = seat(workflow, other);
    if (!one.leaves) continue;
    const std::lock_guard lock(one.mutex);
    call(one);
  }
}

bool SpareUsers::may_leave(std::size_t workflow, uint32_t part) {
  seat(workflow, part).leaves = true;
  return waiting_[workflow] == 0;
}

bool SpareUsers::close(std::size_t workflow, uint32_t part) {
  Seat& mine = seat(workflow, part);
  const std::lock_guard lock(mine.mutex);
  mine.open = false;
  return !mine.called;
}

}  // namespace bellwether::vuser
