// The schedule of a part of a plan: its virtual users, its arrivals, its iterations. Each part computes its own without
// a message. All parts together do the work of one generator, for any number of parts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "load/scenario/model.h"

namespace bellwether::plan {

// The numbers [first, first + count).
struct Share {
  uint32_t first = 0;
  uint32_t count = 0;
};
// The numbers out of [0, total) that part `part` takes. The split is even; the last parts take the remainder, one each.
Share share_of(uint32_t total, uint32_t part, uint32_t parts);

// How many of `total` iterations the users of a share do, of `vus` that share them: in proportion, and each iteration
// by exactly one share. REQUIRES a share of `vus` users.
uint64_t iterations_of(uint64_t total, uint32_t vus, Share share);

// Deals out users, or other things, in turn: user n (from 1) to part (n - 1) mod parts. The number of a part's users
// among the first `total`, and the number of its user `index`.
template <class Number>
constexpr Number dealt_to(Number total, uint32_t part, uint32_t parts) {
  return static_cast<Number>(total / parts + (part < total % parts ? 1 : 0));
}
constexpr uint32_t number_dealt(uint32_t index, uint32_t part, uint32_t parts) { return index * parts + part + 1; }

// The most users that a part has of `total`, dealt out or split evenly.
constexpr uint64_t users_of_part(uint32_t total, uint32_t parts) { return (uint64_t{total} + parts - 1) / parts; }

// A straight line of a rate, in arrivals a second.
struct RateStage {
  double from_per_s = 0;
  double to_per_s = 0;
  Duration duration;
};

// The due times of one part of an arrival rate. Arrival i of the whole run (i from 0) is due when the integral of the
// rate reaches i; at a constant rate, i / rate after the start. Arrival 0 is due when the first stage with a rate above
// 0 begins. Arrival i belongs to part i mod parts. Times are rounded to the nearest nanosecond, and the error does not
// grow with i.
class ArrivalSchedule {
 public:
  // REQUIRES finite rates from 0 on.
  ArrivalSchedule(std::vector<RateStage> stages, uint32_t part, uint32_t parts);
  // Number of arrivals of this part.
  uint64_t count() const { return count_; }
  // Offset from the start at which this part's arrival `index` is due. REQUIRES index < count().
  Duration due(uint64_t index) const;
  // How many of this part's arrivals are due before `offset` from the start: the index of the first that is not.
  uint64_t due_before(Duration offset) const;

 private:
  struct Line {
    Duration start;
    Duration duration;
    long double from = 0;    // a second
    long double growth = 0;  // of that, a second
    long double before = 0;  // arrivals before this line, and with it
    long double after = 0;
  };
  Duration due_of_all(uint64_t number) const;
  uint64_t all_before(Duration offset) const;

  std::vector<Line> lines_;
  Duration length_;
  uint32_t part_;
  uint32_t parts_;
  uint64_t count_;
};

using scenario::VuStage;

// The times at which each user of one part is wanted, while the number of users of the whole run follows its course:
// user n (from 1) from the moment at which n are reached, until they are fewer. User n belongs to part (n - 1) mod
// parts, so that every part follows the course.
class VuRamp {
 public:
  VuRamp(uint32_t start_vus, std::vector<VuStage> stages, uint32_t part, uint32_t parts);

  Duration length() const { return length_; }
  // Of this part, that there ever are.
  uint32_t most() const { return most_; }
  // The number of this part's user `index`, from 1, unique over all parts.
  uint32_t number_of(uint32_t index) const { return number_dealt(index, part_, parts_); }

  struct Turn {
    Duration at;         // after the start
    uint32_t index = 0;  // of this part's user, below most()
    bool wanted = false;
    bool operator==(const Turn&) const = default;
  };
  // All changes one after the other, in the order of their times; those of one time from below upwards, or down.
  std::optional<Turn> next();

 private:
  std::vector<VuStage> stages_;  // the first one is the start
  uint32_t part_;
  uint32_t parts_;
  Duration length_;
  uint32_t most_ = 0;
  std::size_t stage_ = 0;
  Duration begins_;     // the stage
  uint32_t from_ = 0;   // users at its begin
  uint32_t level_ = 0;  // users now, after the turns given so far
};

// The highest number of users that the course reaches, over all parts.
uint32_t most_vus(uint32_t start_vus, const std::vector<VuStage>& stages);
template <class Stage>
Duration length_of(const std::vector<Stage>& stages) {
  Duration sum;
  for (const Stage& one : stages) sum += one.duration;
  return sum;
}

// Drawing the length of a pause. A function of the generator's state: one seed gives one sequence of pauses.
using scenario::Delay;

// In [delay.low, delay.high]. A delay that is always the same draws nothing.
Duration draw(const Delay& delay, Prng& prng);

// How a workflow makes its load: the executors of a plan. These are as in the scenario.
using scenario::ArrivalUsers;
using scenario::ConstantVus;
using scenario::ExternallyControlled;
using scenario::Once;
using scenario::RampingVus;

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

// Iterations begin when they are due, independent of the target. Their rate follows a course of straight lines; one
// level line is constant-arrival-rate.
struct ArrivalRate {
  std::vector<RateStage> stages;
  ArrivalUsers users;
};

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
