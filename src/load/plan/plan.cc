#include "load/plan/plan.h"

#include <algorithm>

#include "core/base/encoding.h"
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

std::optional<std::string> derive(const Derived& from, std::string_view key, std::string_view value) {
  return from.how == Transform::kHmac ? hex(hmac_of(from.hash, key, value)) : transformed(from.how, value);
}

bool has_due_times(const Plan& plan, const StepInfo& step) {
  const Executor& executor = plan.workflows[step.workflow].executor;
  if (facts_of(executor).open_model) return true;
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.pacing; }) return one.pacing.has_value();
        return false;
      },
      executor);
}

std::string origin_of(const Template& url) {
  if (url.pieces.empty() || url.pieces[0].kind != Piece::Kind::kLiteral) return {};
  const std::string& text = url.pieces[0].literal;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return {};
  const std::size_t end = text.find_first_of("/?#", scheme + 3);
  if (end == std::string::npos && url.pieces.size() > 1) return {};  // the host continues with a value
  return text.substr(0, end);
}

std::vector<std::string> targets_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Workflow& workflow : plan.workflows) {
    for (const Step& step : workflow.steps) {
      const HttpCall* call = std::get_if<HttpCall>(&step.work);
      if (const auto* code = std::get_if<CodeCall>(&step.work)) call = &code->base;
      std::string origin = call != nullptr ? origin_of(call->url) : "";
      if (!origin.empty() && std::find(out.begin(), out.end(), origin) == out.end()) out.push_back(std::move(origin));
    }
  }
  return out;
}

}  // namespace bellwether::plan
