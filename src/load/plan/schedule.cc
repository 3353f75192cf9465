#include "load/plan/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/check.h"
#include "core/base/units.h"
#include "load/plan/sequence.h"

namespace bellwether::plan {
namespace {

long double seconds_of(Duration span) { return static_cast<long double>(span.ns()) / 1e9L; }

// In (0, 1], so that it has a logarithm.
double above_zero(Prng& prng) { return 1 - prng.unit(); }

// Standard normal: G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates" (1958). The second
// value of the pair is not kept, so that a draw depends on nothing but the generator.
double normal(Prng& prng) {
  const double radius = std::sqrt(-2 * std::log(above_zero(prng)));
  return radius * std::cos(2 * std::numbers::pi * prng.unit());
}

// With mean 1, by inversion: L. Devroye, "Non-Uniform Random Variate Generation" (1986), II.2.
double exponential(Prng& prng) { return -std::log(above_zero(prng)); }

double seconds(const Delay& delay, Prng& prng) {
  const double centre = delay.centre.seconds_f();
  switch (delay.law) {
    case Delay::Law::kNormal: return centre + delay.spread * normal(prng);
    case Delay::Law::kExponential: return centre * exponential(prng);
    // The logarithm is normal with mean ln(median): Devroye, XI.2.
    case Delay::Law::kLognormal: return centre * std::exp(delay.spread * normal(prng));
    case Delay::Law::kUniform: break;
  }
  return centre;
}

constexpr Duration kEndless = Duration::hours(24 * 366 * 5);

struct FactsOf {
  ExecutorFacts operator()(const ConstantVus& one) const {
    return {.name = "constant-vus", .length = one.duration, .vus = one.vus, .vus_most = one.vus};
  }
  ExecutorFacts operator()(const RampingVus& one) const {
    return {.name = "ramping-vus",
            .length = length_of(one.stages),
            .vus = one.start_vus,
            .vus_most = most_vus(one.start_vus, one.stages)};
  }
  ExecutorFacts operator()(const Iterations& one) const {
    return {.name = one.shared ? "shared-iterations" : "per-vu-iterations",
            .length = one.max_duration,
            .vus = one.vus,
            .vus_most = one.vus,
            .follows_clock = false};
  }
  ExecutorFacts operator()(const ArrivalRate& one) const {
    const bool level = one.stages.size() == 1 && one.stages[0].from_per_s == one.stages[0].to_per_s;
    return {.name = level ? "constant-arrival-rate" : "ramping-arrival-rate",
            .length = length_of(one.stages),
            .vus = one.users.preallocated,
            .vus_most = one.users.most,
            .open_model = true};
  }
  ExecutorFacts operator()(const ExternallyControlled& one) const {
    return {.name = "externally-controlled",
            .length = one.duration.value_or(kEndless),
            .vus = one.vus,
            .vus_most = one.vus_most,
            .endless = !one.duration};
  }
  ExecutorFacts operator()(const Once&) const { return {.follows_clock = false}; }
};

struct LoadText {
  std::string operator()(const ConstantVus& one) const {
    return fmt::format("{} for {}", format_count(one.vus, "VU"), format_duration(one.duration));
  }
  std::string operator()(const RampingVus& one) const {
    return fmt::format("up to {} in {}, {}", format_count(most_vus(one.start_vus, one.stages), "VU"),
                       format_count(one.stages.size(), "stage"), format_duration(length_of(one.stages)));
  }
  std::string operator()(const Iterations& one) const {
    return fmt::format("{}{}{} in at most {}", format_count(one.iterations, "iteration"),
                       one.shared ? " by " : " by each of ", format_count(one.vus, "VU"),
                       format_duration(one.max_duration));
  }
  std::string operator()(const ArrivalRate& one) const {
    const Duration length = length_of(one.stages);
    double most = 0;
    for (const RateStage& stage : one.stages) most = std::max({most, stage.from_per_s, stage.to_per_s});
    const bool level = facts_of(one).name == "constant-arrival-rate";
    if (level) return fmt::format("{:g}/s for {}", most, format_duration(length));
    return fmt::format("up to {:g}/s in {}, {}", most, format_count(one.stages.size(), "stage"),
                       format_duration(length));
  }
  std::string operator()(const ExternallyControlled& one) const {
    return fmt::format("{} at its begin and up to {}{}", format_count(one.vus, "VU"), one.vus_most,
                       one.duration ? " for " + format_duration(*one.duration) : " until it is stopped");
  }
  std::string operator()(const Once&) const { return "runs once"; }
};

}  // namespace

Share share_of(uint32_t total, uint32_t part, uint32_t parts) {
  check(part < parts, "a part is one of its parts");
  const uint32_t each = total / parts;
  const uint32_t larger = total % parts;  // the last `larger` parts take one more
  const uint32_t smaller = parts - larger;
  const uint32_t larger_before = part > smaller ? part - smaller : 0;
  return {.first = part * each + larger_before, .count = each + (part >= smaller ? 1 : 0)};
}

uint64_t iterations_of(uint64_t total, uint32_t vus, Share share) {
  check(vus > 0 && share.first + share.count <= vus, "the share is one of these users");
  const auto before = [&](uint32_t users) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(total) * users / vus);
  };
  return before(share.first + share.count) - before(share.first);
}

// --- arrivals --------------------------------------------------------------------------------------------------------

ArrivalSchedule::ArrivalSchedule(std::vector<RateStage> stages, uint32_t part, uint32_t parts)
    : part_(part), parts_(parts) {
  check(part < parts, "a part is one of its parts");
  long double sum = 0;
  for (const RateStage& stage : stages) {
    check(stage.from_per_s >= 0 && stage.to_per_s >= 0 && std::isfinite(stage.from_per_s + stage.to_per_s),
          "rates were validated");
    const auto from = static_cast<long double>(stage.from_per_s);
    const auto to = static_cast<long double>(stage.to_per_s);
    const long double seconds = seconds_of(stage.duration);
    const long double before = sum;
    sum += (from + to) / 2 * seconds;
    // A line without arrivals makes none due.
    if (sum > before) lines_.push_back({length_, stage.duration, from, (to - from) / seconds, before, sum});
    length_ += stage.duration;
  }
  count_ = dealt_to(all_before(length_), part, parts);
}

// Rounded to the nearest nanosecond, so that a rate that divides a second gives whole intervals. The 64 bits of a long
// double keep the error below a nanosecond for a year at ten million a second.
Duration ArrivalSchedule::due_of_all(uint64_t number) const {
  const auto wanted = static_cast<long double>(number);
  const auto line = number == 0 ? lines_.begin()
                                : std::lower_bound(lines_.begin(), lines_.end(), wanted,
                                                   [](const Line& one, long double n) { return one.after < n; });
  if (line == lines_.end()) return Duration::nanos(INT64_MAX);
  const long double rest = wanted - line->before;
  if (rest <= 0) return line->start;
  // The root of growth/2 t² + from t = rest that does not lose digits where the line is nearly level.
  const long double under = std::max(line->from * line->from + 2 * line->growth * rest, 0.0L);
  const long double seconds = line->growth == 0 ? rest / line->from : 2 * rest / (line->from + std::sqrt(under));
  return line->start + Duration::nanos(static_cast<int64_t>(std::llround(seconds * 1e9L)));
}

uint64_t ArrivalSchedule::all_before(Duration offset) const {
  long double expected = 0;
  for (const Line& line : lines_) {
    if (line.start >= offset) break;
    const long double t = seconds_of(std::min(offset - line.start, line.duration));
    expected = line.before + t * (line.from + line.growth * t / 2);
  }
  auto count = static_cast<uint64_t>(std::ceil(expected));
  while (count > 0 && due_of_all(count - 1) >= offset) --count;
  while (due_of_all(count) < offset) ++count;
  return count;
}

Duration ArrivalSchedule::due(uint64_t index) const {
  check(index < count_, "there are only count() arrivals");
  return due_of_all(index * parts_ + part_);
}

uint64_t ArrivalSchedule::due_before(Duration offset) const {
  if (offset <= Duration::zero()) return 0;
  return std::min(count_, dealt_to(all_before(offset), part_, parts_));
}

// --- virtual users ---------------------------------------------------------------------------------------------------

uint32_t most_vus(uint32_t start_vus, const std::vector<VuStage>& stages) {
  uint32_t most = start_vus;
  for (const VuStage& one : stages) most = std::max(most, one.target);
  return most;
}

VuRamp::VuRamp(uint32_t start_vus, std::vector<VuStage> stages, uint32_t part, uint32_t parts)
    : part_(part), parts_(parts), length_(length_of(stages)) {
  check(part < parts, "a part is one of its parts");
  most_ = static_cast<uint32_t>(dealt_to(most_vus(start_vus, stages), part, parts));
  stages_.push_back({Duration(), start_vus});
  stages_.insert(stages_.end(), stages.begin(), stages.end());
}

std::optional<VuRamp::Turn> VuRamp::next() {
  while (stage_ < stages_.size()) {
    const VuStage& stage = stages_[stage_];
    const bool up = stage.target > from_;
    // The user that comes or goes next, from 1.
    uint64_t user = up ? uint64_t{level_} + 1 : level_;
    const auto mine = [&] { return (user - 1) % parts_ == part_; };
    while (up ? user <= stage.target && !mine() : user > stage.target && !mine()) user += up ? 1 : -1;
    if (up ? user > stage.target : user <= stage.target) {
      begins_ += stage.duration;
      from_ = level_ = stage.target;
      ++stage_;
      continue;
    }
    level_ = static_cast<uint32_t>(up ? user : user - 1);
    const uint64_t done = up ? user - from_ : from_ - user + 1;
    const uint64_t all = up ? stage.target - from_ : from_ - stage.target;
    const auto after = static_cast<int64_t>(static_cast<__int128>(stage.duration.ns()) * done / all);
    return Turn{begins_ + Duration::nanos(after), static_cast<uint32_t>((user - 1) / parts_), up};
  }
  return std::nullopt;
}

Duration draw(const Delay& delay, Prng& prng) {
  if (delay.low == delay.high) return delay.low;
  if (delay.law == Delay::Law::kUniform) return prng.between(delay.low, delay.high);
  const double drawn = seconds(delay, prng);
  if (drawn <= delay.low.seconds_f()) return delay.low;
  if (drawn >= delay.high.seconds_f()) return delay.high;
  return std::clamp(Duration::from_seconds_f(drawn), delay.low, delay.high);
}

ExecutorFacts facts_of(const Executor& executor) { return std::visit(FactsOf{}, executor); }

std::string load_text(const Executor& executor) { return std::visit(LoadText{}, executor); }

}  // namespace bellwether::plan
