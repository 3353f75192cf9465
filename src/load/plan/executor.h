// How a workflow makes its load: the executors of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "load/plan/schedule.h"

namespace bellwether::plan {

struct ConstantVus {
  uint32_t vus = 1;
  Duration duration;
  std::optional<Delay> pacing;  // an iteration starts at the earliest this long after the previous one started
};

// The number of virtual users follows a course of straight lines.
struct RampingVus {
  uint32_t start_vus = 0;
  std::vector<VuStage> stages;
  // The time that an iteration of a surplus user may still run.
  Duration graceful_ramp_down = Duration::seconds(30);
  std::optional<Delay> pacing;
};

// A fixed number of iterations of any length, in at most `max_duration`: iterations that have not begun by then are
// dropped.
struct Iterations {
  uint32_t vus = 1;
  uint64_t iterations = 1;  // of each user, or of all together
  bool shared = true;       // of all together: a free user on its core takes the next one
  Duration max_duration = Duration::minutes(10);

  // Of one part of it.
  uint64_t planned(uint32_t part, uint32_t parts) const {
    const Share users = share_of(vus, part, parts);
    return shared ? iterations_of(iterations, vus, users) : iterations * users.count;
  }
};

// The users that serve the arrivals of an open executor.
struct ArrivalUsers {
  uint32_t preallocated = 1;
  uint32_t most = 1;
  // The time that an arrival waits for a free virtual user before it is dropped. 0: dropped at once.
  Duration wait_max;
  bool rebalance = false;  // on a cluster: parts move to workers that join during the run
};

// Iterations begin when they are due, independent of the target. Their rate follows a course of straight lines; one
// level line is constant-arrival-rate.
struct ArrivalRate {
  std::vector<RateStage> stages;
  ArrivalUsers users;
};

// A command sets the number of virtual users during the run, from `vus` at its begin to at most `vus_most`.
struct ExternallyControlled {
  uint32_t vus = 1;
  uint32_t vus_most = 1;
  std::optional<Duration> duration;  // none: until it is stopped
  Duration graceful_ramp_down = Duration::seconds(30);
  std::optional<Delay> pacing;
};

// Runs every step once, on one core: a workflow that has no test step.
struct Once {};

using Executor = std::variant<ConstantVus, RampingVus, Iterations, ArrivalRate, ExternallyControlled, Once>;

// The facts about an executor before it runs.
struct ExecutorFacts {
  std::string_view name;      // its name in a scenario: "ramping-vus"; empty of one that runs once
  Duration length;            // from its start time on, without a graceful stop; at most, for Iterations
  uint32_t vus = 1;           // that are there from the beginning
  uint32_t vus_most = 1;      // that there ever are
  bool open_model = false;    // arrivals, measured from their due time
  bool follows_clock = true;  // the clock alone gives its remaining work
  bool endless = false;       // it runs until a stop; `length` is then longer than any wait
};
ExecutorFacts facts_of(const Executor& executor);
// The load that it makes, for people: "20 VUs for 10s", "up to 500/s in 3 stages, 1m40s".
std::string load_text(const Executor& executor);

}  // namespace bellwether::plan
