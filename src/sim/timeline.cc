#include "sim/timeline.h"

namespace bellwether::sim {

void Timeline::advance(Instant to) {
  check(to >= now_, "time never goes back");
  now_ = to;
}

void Timeline::push(Instant at, Call call) {
  events_.push_back({at, sequence_++, std::move(call)});
  std::push_heap(events_.begin(), events_.end(), later);
}

void Timeline::run_one() {
  check(next() <= now_);
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = std::move(events_.back());
  events_.pop_back();
  record(static_cast<uint64_t>(event.at.ns()));
  record(event.sequence);
  event.call.run(event.call.held.get());
}

void Timeline::record(uint64_t value) { hash_ = Prng(hash_ ^ value).next(); }

uint64_t Timeline::fingerprint() const {
  Prng last = prng_;
  return hash_ ^ last.next();
}

}  // namespace bellwether::sim
