#include "core/runtime/timers.h"

#include <bit>

namespace bellwether::runtime {

TimerWheel::TimerWheel(Instant start) : tick_(tick_of(start)) {}

TimerWheel::~TimerWheel() { check(size_ == 0, "timers end before their wheel"); }

void TimerWheel::arm(Timer& timer, Instant deadline) {
  timer.disarm();
  timer.deadline_ = deadline;
  timer.wheel_ = this;
  ++size_;
  place(timer);
}

// The level is that of the highest group of six bits in which the deadline differs from the present tick, so a
// timer moves down at most once a level.
void TimerWheel::place(Timer& timer) {
  uint64_t tick = tick_of(timer.deadline_);
  if (timer.deadline_.ns() < 0 || tick < tick_) tick = tick_;
  const uint64_t differing = tick ^ tick_;
  const int level = differing < kSlots ? 0 : (63 - std::countl_zero(differing)) / kSlotBits;
  const int slot = static_cast<int>(tick >> (level * kSlotBits)) & (kSlots - 1);
  timer.level_ = static_cast<uint8_t>(level);
  timer.slot_ = static_cast<uint8_t>(slot);
  Timer*& head = slots_[static_cast<std::size_t>(level)][static_cast<std::size_t>(slot)];
  timer.prev_ = nullptr;
  timer.next_ = head;
  if (head != nullptr) head->prev_ = &timer;
  head = &timer;
  occupied_[static_cast<std::size_t>(level)] |= uint64_t{1} << slot;
}

void TimerWheel::remove(Timer& timer) {
  const bool due = timer.level_ == kLevels;
  Timer*& head = due ? due_ : slots_[timer.level_][timer.slot_];
  if (timer.prev_ != nullptr) timer.prev_->next_ = timer.next_;
  if (timer.next_ != nullptr) timer.next_->prev_ = timer.prev_;
  if (head == &timer) head = timer.next_;
  if (head == nullptr && !due) occupied_[timer.level_] &= ~(uint64_t{1} << timer.slot_);
  timer.wheel_ = nullptr;
  timer.prev_ = timer.next_ = nullptr;
  --size_;
}

// Takes the timers of the lowest level that are due out of slots [tick_, last_tick] and appends them to the due list.
void TimerWheel::collect(uint64_t last_tick, Instant now, Timer*& tail) {
  const uint64_t from = tick_ & (kSlots - 1);
  const uint64_t to = last_tick & (kSlots - 1);
  const uint64_t range = (~uint64_t{0} << from) & (~uint64_t{0} >> (kSlots - 1 - to));
  for (uint64_t slots = occupied_[0] & range; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(slots));
    for (Timer *timer = slots_[0][slot], *next = nullptr; timer != nullptr; timer = next) {
      next = timer->next_;
      if (timer->deadline_ > now) continue;
      remove(*timer);
      timer->wheel_ = this;
      ++size_;
      timer->level_ = kLevels;
      timer->prev_ = tail;
      (tail == nullptr ? due_ : tail->next_) = timer;
      tail = timer;
    }
  }
}

bool TimerWheel::next_slot(int& level, uint64_t& start_tick) const {
  for (level = 1; level < kLevels; ++level) {
    const uint64_t slots = occupied_[static_cast<std::size_t>(level)];
    if (slots == 0) continue;
    const int low_bits = level * kSlotBits;
    const int block_bits = low_bits + kSlotBits;
    const uint64_t block = block_bits >= 64 ? 0 : (tick_ >> block_bits) << block_bits;
    start_tick = block | (static_cast<uint64_t>(std::countr_zero(slots)) << low_bits);
    return true;
  }
  return false;
}

std::size_t TimerWheel::advance(Instant now) {
  const uint64_t now_tick = tick_of(now);
  check(now_tick >= tick_, "time never goes back");
  Timer* tail = nullptr;
  while (true) {
    const uint64_t block_end = tick_ | (kSlots - 1);
    collect(now_tick < block_end ? now_tick : block_end, now, tail);
    int level = 0;
    uint64_t start_tick = 0;
    if (now_tick <= block_end || !next_slot(level, start_tick) || start_tick > now_tick) break;
    // Move the timers of the next occupied slot down to where they now belong.
    tick_ = start_tick;
    Timer*& head = slots_[static_cast<std::size_t>(level)][(start_tick >> (level * kSlotBits)) & (kSlots - 1)];
    while (head != nullptr) {
      Timer& timer = *head;
      remove(timer);
      timer.wheel_ = this;
      ++size_;
      place(timer);
    }
  }
  tick_ = now_tick;

  std::size_t fired = 0;
  while (due_ != nullptr) {
    Timer& timer = *due_;
    remove(timer);
    ++fired;
    timer.fire_(timer.context_);
  }
  return fired;
}

Instant TimerWheel::next_deadline() const {
  if (occupied_[0] != 0) {
    Instant earliest = Instant::never();
    for (const Timer* timer = slots_[0][static_cast<std::size_t>(std::countr_zero(occupied_[0]))]; timer != nullptr;
         timer = timer->next_) {
      if (timer->deadline_ < earliest) earliest = timer->deadline_;
    }
    return earliest;
  }
  int level = 0;
  uint64_t start_tick = 0;
  if (!next_slot(level, start_tick)) return Instant::never();
  return Instant::from_ns(static_cast<int64_t>(start_tick << kTickBits));
}

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
