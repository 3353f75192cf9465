#include "load/plan/executor.h"

#include <algorithm>

#include "core/base/units.h"
#include "load/plan/stages.h"

namespace bellwether::plan {
namespace {

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

ExecutorFacts facts_of(const Executor& executor) { return std::visit(FactsOf{}, executor); }

std::string load_text(const Executor& executor) { return std::visit(LoadText{}, executor); }

}  // namespace bellwether::plan
