#include "core/runtime/boot_timers.h"

namespace bellwether::runtime {

void BootTimers::put(BootTimer* timer, std::size_t place) {
  heap_[place] = timer;
  timer->place_ = place;
}

void BootTimers::rise(BootTimer* timer, std::size_t place) {
  while (place > 0) {
    const std::size_t above = (place - 1) / 2;
    if (heap_[above]->deadline_ <= timer->deadline_) break;
    put(heap_[above], place);
    place = above;
  }
  put(timer, place);
}

void BootTimers::sink(BootTimer* timer, std::size_t place) {
  while (true) {
    std::size_t below = 2 * place + 1;
    if (below >= heap_.size()) break;
    if (below + 1 < heap_.size() && heap_[below + 1]->deadline_ < heap_[below]->deadline_) ++below;
    if (timer->deadline_ <= heap_[below]->deadline_) break;
    put(heap_[below], place);
    place = below;
  }
  put(timer, place);
}

void BootTimers::arm(BootTimer& timer, Instant deadline) {
  check(!timer.armed());
  timer.deadline_ = deadline;
  timer.timers_ = this;
  heap_.push_back(&timer);
  rise(&timer, heap_.size() - 1);
}

void BootTimers::remove(BootTimer& timer) {
  timer.timers_ = nullptr;
  BootTimer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  // The last one takes the place, and moves from there up or down.
  const std::size_t place = timer.place_;
  rise(last, place);
  sink(last, last->place_);
}

void BootTimers::advance(Instant now) {
  while (next_deadline() <= now && !heap_.empty()) {
    BootTimer& due = *heap_.front();
    remove(due);
    due.fire_(due.context_);
  }
}

}  // namespace bellwether::runtime
