// One Elector and the store that it asks, at times picked by hand.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "election/elector.h"

namespace bellwether::election {

// A register in memory, and one Elector that uses it at hand-picked times.
struct Register {
  bool present = false;
  LeaseRecord record;
  uint64_t version = 0;
  Duration longest_kept = Duration::hours(1);  // a claim that stood in the store already keeps the lease that it had

  Observation look() const {
    Observation seen;
    seen.present = present;
    seen.record = record;
    seen.version = std::to_string(version);
    return seen;
  }
  WriteOutcome act(const WriteRequest& request) {
    WriteOutcome outcome;
    outcome.applied = request.expected == std::to_string(version);
    if (outcome.applied) {
      present = true;
      record = request.record;
      record.lease = std::min(record.lease, longest_kept);
      ++version;
    }
    outcome.after = look();
    return outcome;
  }
};

inline ElectorConfig config(std::string holder) {
  ElectorConfig c;
  c.key = "k";
  c.claim.holder = std::move(holder);
  c.timing = LeaseTiming::of(Duration::seconds(15));
  c.timing.jitter = 0;
  return c;
}

class Bench {
 public:
  Bench(Register& reg, ElectorConfig c, uint64_t seed = 1) : reg_(reg), elector(std::move(c), seed) {}

  Effects step(const Event& event) {
    Effects out;
    elector.step(now, event, out);
    for (const Effect& effect : out) all.push_back(effect);
    return out;
  }
  // Carries out questions and answers until nothing is asked any more.
  void settle(Effects effects) {
    std::deque<Effect> todo(effects.begin(), effects.end());
    while (!todo.empty()) {
      const Effect effect = todo.front();
      todo.pop_front();
      Effects more;
      if (std::holds_alternative<Look>(effect)) {
        more = step(Looked{store_is_down ? Result<Observation>(fail(Errc::kTimeout, "down")) : reg_.look()});
      } else if (const auto* act = std::get_if<Act>(&effect)) {
        const std::string why = store_is_down ? "down" : no_act;
        Result<WriteOutcome> done = fail(Errc::kTimeout, why);
        if (why.empty()) done = reg_.act(act->request);
        more = step(Acted{done});
      }
      todo.insert(todo.end(), more.begin(), more.end());
    }
  }
  void tell(const Event& event) { settle(step(event)); }
  // Lets time pass to `until`, ticking whenever the elector wants it.
  void pass_to(Duration until) {
    const Instant end = Instant::from_ns(0) + until;
    while (elector.wake() <= end) {
      now = std::max(now, elector.wake());
      tell(Tick{});
    }
    now = end;
  }
  template <class T>
  std::vector<T> of() const {
    std::vector<T> found;
    for (const Effect& effect : all) {
      if (const auto* one = std::get_if<T>(&effect)) found.push_back(*one);
    }
    return found;
  }

  Register& reg_;
  Elector elector;
  Instant now = Instant::from_ns(0);
  bool store_is_down = false;
  std::string no_act;  // why acts fail; empty: they do not
  Effects all;
};

}  // namespace bellwether::election
