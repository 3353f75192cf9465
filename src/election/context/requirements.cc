#include "election/context/requirements.h"

#include <set>

#include "election/context/bounded.h"

namespace bellwether::context_lead {
namespace {

// One figure of a claim beside the one that is required of it.
struct Measure {
  std::string_view what;
  double has = 0;
  double required = 0;
  std::string_view unit = {};
  double one_unit = 1;
  int decimals = 2;
};

// With as many decimals as it takes to see that the two differ.
std::string told(const Measure& measure, std::string_view at_least_or_most) {
  constexpr int kMostDecimals = 18;
  std::string has;
  std::string required;
  for (int decimals = measure.decimals; decimals <= kMostDecimals && has == required; ++decimals) {
    has = number_text(measure.has / measure.one_unit, decimals);
    required = number_text(measure.required / measure.one_unit, decimals);
  }
  const std::string unit(measure.unit);
  return std::string(measure.what) + " of " + has + unit + ", " + std::string(at_least_or_most) + " " + required +
         unit + " is required";
}

}  // namespace

Status Requirements::validate() const {
  const Bounded figures[] = {
      {"min_generation_quality", min_generation_quality},
      {"min_reliability", min_reliability},
      {"min_uptime_share", min_uptime_share},
      {"min_cpu", min_cpu, 0, kMostCores, "cores"},
      {"min_memory", double(min_memory), 0, double(kMostBytes), "bytes"},
      {"min_storage", double(min_storage), 0, double(kMostBytes), "bytes"},
      {"min_network_bandwidth", double(min_network_bandwidth), 0, double(kMostBitsPerSecond), "bit/s"},
      {"min_successful_operations", double(min_successful_operations), 0, double(kMostOperations)},
      {"max_failure_rate", max_failure_rate},
      {"max_response_time", max_response_time.seconds_f(), 0, kLongestResponseTime.seconds_f(), "s"},
  };
  if (Status status = within_bounds(figures); !status) return status;
  std::set<Capability> named;
  for (const auto* list : {&required, &preferred}) {
    for (const Capability one : *list) {
      if (named.insert(one).second) continue;
      return fail(Errc::kInvalid, "the capability '" + std::string(to_string(one)) +
                                      "' is named twice; it is either required or preferred, and once");
    }
  }
  return {};
}

std::vector<Capability> missing(const ContextClaim& claim, std::span<const Capability> capabilities) {
  std::vector<Capability> lacks;
  for (const Capability one : capabilities) {
    if (!claim.has(one)) lacks.push_back(one);
  }
  return lacks;
}

std::vector<std::string> disqualifications(const ContextClaim& claim, const Requirements& requirements) {
  std::vector<std::string> reasons;
  for (const Capability one : missing(claim, requirements.required)) {
    reasons.push_back("no capability '" + std::string(to_string(one)) + "', which is required");
  }
  // Both written so that what is no number falls short.
  const auto at_least = [&](const Measure& measure) {
    if (!(measure.has >= measure.required)) reasons.push_back(told(measure, "at least"));
  };
  const auto at_most = [&](const Measure& measure) {
    if (!(measure.has <= measure.required)) reasons.push_back(told(measure, "at most"));
  };
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  const Requirements& min = requirements;
  at_least({"a generation quality", claim.generation_quality, min.min_generation_quality});
  at_least({"a reliability", claim.reliability, min.min_reliability});
  at_least({"an uptime share", claim.uptime_share, min.min_uptime_share});
  at_least({"an available CPU", claim.available_cpu, min.min_cpu, " cores"});
  at_least({"an available memory", double(claim.available_memory), double(min.min_memory), " GB", kGiga});
  at_least({"an available storage", double(claim.available_storage), double(min.min_storage), " GB", kGiga});
  at_least(
      {"a network bandwidth", double(claim.network_bandwidth), double(min.min_network_bandwidth), " Mbit/s", kMega});
  at_least({"a count of successful operations", double(claim.successful_operations),
            double(min.min_successful_operations), "", 1, 0});
  if (claim.operations() == 0) return reasons;
  const double failure_rate = double(claim.failed_operations) / double(claim.operations());
  at_most({"a failure rate", failure_rate, requirements.max_failure_rate});
  at_most({"an average response time", claim.average_response_time.seconds_f(),
           requirements.max_response_time.seconds_f(), " s"});
  return reasons;
}

}  // namespace bellwether::context_lead
