// The one thread of events of a simulated world: virtual time, the coming events in order, the world's randomness, and
// a running hash of everything that happened.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::sim {

class Timeline {
 public:
  explicit Timeline(uint64_t seed) : prng_(seed), hash_(seed) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // World time, which no node can read: nodes have clocks of their own (node.h). Starts at 0.
  Instant now() const { return now_; }
  // REQUIRES that `to` is not before now().
  void advance(Instant to) {
    check(to >= now_, "time never goes back");
    now_ = to;
  }

  // Calls `action()` once, `delay` from now; of two for the same time, the one scheduled first goes first.
  template <class Action>
  void after(Duration delay, Action action) {
    const auto run = [](void* held) { (*static_cast<Action*>(held))(); };
    const auto drop = [](void* held) { delete static_cast<Action*>(held); };
    push(now_ + delay, {run, {new Action(std::move(action)), drop}});
  }
  // When the next event is due; never() when the timeline is empty.
  Instant next() const { return events_.empty() ? Instant::never() : events_.front().at; }
  // Runs the next event. REQUIRES next() <= now().
  void run_one() {
    check(next() <= now_);
    std::pop_heap(events_.begin(), events_.end(), later);
    const Event event = std::move(events_.back());
    events_.pop_back();
    record(static_cast<uint64_t>(event.at.ns()));
    record(event.sequence);
    event.call.run(event.call.held.get());
  }
  void clear() { events_.clear(); }

  Prng& prng() { return prng_; }
  // Makes `value` part of the fingerprint.
  void record(uint64_t value) { hash_ = Prng(hash_ ^ value).next(); }
  // Equal for two runs only when they drew the same random numbers and saw the same events in the same order.
  uint64_t fingerprint() const {
    Prng last = prng_;
    return hash_ ^ last.next();
  }

 private:
  struct Call {
    void (*run)(void* held);
    std::unique_ptr<void, void (*)(void*)> held;
  };
  struct Event {
    Instant at;
    uint64_t sequence;
    Call call;
  };
  static bool later(const Event& a, const Event& b) {
    return std::pair(a.at, a.sequence) > std::pair(b.at, b.sequence);
  }
  void push(Instant at, Call call) {
    events_.push_back({at, sequence_++, std::move(call)});
    std::push_heap(events_.begin(), events_.end(), later);
  }

  Instant now_;
  uint64_t sequence_ = 0;
  std::vector<Event> events_;  // a heap, the next event in front
  Prng prng_;
  uint64_t hash_;
};

}  // namespace bellwether::sim
