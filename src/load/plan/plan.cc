#include "load/plan/plan.h"

#include "core/base/units.h"

namespace bellwether::plan {
namespace {

constexpr std::string_view kTimeoutOf = "its timeout of ";

}  // namespace

std::string timeout_text(Duration timeout) { return fmt::format("{}{} is over", kTimeoutOf, format_duration(timeout)); }
bool is_timeout_text(std::string_view why) { return why.starts_with(kTimeoutOf); }

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

}  // namespace

ExecutorFacts facts_of(const Executor& executor) { return std::visit(FactsOf{}, executor); }

}  // namespace bellwether::plan
