#include "election/context/fitness.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "core/base/units.h"

namespace bellwether::context_lead {

// --- figures ---------------------------------------------------------------------------------------------------------

namespace {

// Of a double: a sign, 309 digits before the point, the point, and decimals.
using Buffer = std::array<char, 352>;

// Of which people like to see all digits.
bool is_everyday(double value) { return value == 0 || (std::abs(value) >= 1e-6 && std::abs(value) < 1e16); }

// The shortest text that means this number.
std::string number_text(double value) {
  Buffer buffer;
  const auto format = is_everyday(value) ? std::chars_format::fixed : std::chars_format::general;
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value, format).ptr};
}

// With so many decimals, at most 20.
std::string number_text(double value, int decimals) {
  Buffer buffer;
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed, decimals).ptr};
}

}  // namespace

Status within_bounds(std::span<const Bounded> figures) {
  for (const Bounded& one : figures) {
    // Written so that a NaN is refused.
    if (one.value >= one.least && one.value <= one.most) continue;
    const std::string unit = one.unit.empty() ? "" : " " + std::string(one.unit);
    return fail(Errc::kInvalid, "{} is {}{}; it must be from {} to {}{}", one.name, number_text(one.value), unit,
                number_text(one.least), number_text(one.most), unit);
  }
  return {};
}

// --- the claim of a node ---------------------------------------------------------------------------------------------

bool ContextClaim::has(std::string_view capability) const {
  const auto& names = base.capabilities;
  return std::find(names.begin(), names.end(), capability) != names.end();
}

Status ContextClaim::validate() const {
  if (const auto wrong = vote::impossible_in(base)) return fail(Errc::kInvalid, "the claim has " + *wrong);
  const Bounded figures[] = {
      {"generation_quality", generation_quality},
      {"processing_speed", processing_speed},
      {"accuracy", accuracy},
      {"specialization", specialization},
      {"reliability", reliability},
      {"uptime_ratio", uptime_ratio},
      {"successful_operations", double(successful_operations), 0, double(kMaxOperations)},
      {"failed_operations", double(failed_operations), 0, double(kMaxOperations)},
      {"average_response_time", average_response_time.seconds_f(), 0, kLongestResponseTime.seconds_f(), "s"},
      {"available_cpu", available_cpu, 0, kMaxCores, "cores"},
      {"available_memory", double(available_memory), 0, double(kMaxBytes), "bytes"},
      {"available_storage", double(available_storage), 0, double(kMaxBytes), "bytes"},
      {"network_bandwidth", double(network_bandwidth), 0, double(kMaxBitsPerSecond), "bit/s"},
      {"the number of domain_expertise", double(domain_expertise.size()), 0, double(kMaxDomains)},
  };
  BW_RETURN_IF_ERROR(within_bounds(figures));
  for (const std::string& one : domain_expertise) {
    if (one.empty() || one.size() > kMaxDomainBytes) {
      return fail(Errc::kInvalid, "domain_expertise has a name of {}; it must have from 1 to {}",
                  format_count(one.size(), "byte"), kMaxDomainBytes);
    }
  }
  if (operations() == 0 && average_response_time != Duration::zero()) {
    return fail(Errc::kInvalid, "average_response_time is {}, but there were no operations; then it must be 0s",
                format_duration(average_response_time));
  }
  return {};
}

// --- the requirements ------------------------------------------------------------------------------------------------

namespace {

// One figure of a claim, and its requirement.
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
  constexpr int kMaxDecimals = 18;
  std::string has;
  std::string required;
  for (int decimals = measure.decimals; decimals <= kMaxDecimals && has == required; ++decimals) {
    has = number_text(measure.has / measure.one_unit, decimals);
    required = number_text(measure.required / measure.one_unit, decimals);
  }
  const std::string unit(measure.unit);
  return fmt::format("{} of {}{}, {} {}{} is required", measure.what, has, unit, at_least_or_most, required, unit);
}

}  // namespace

std::vector<std::string> missing(const ContextClaim& claim, std::span<const std::string> capabilities) {
  std::vector<std::string> lacks;
  for (const std::string& one : capabilities) {
    if (!claim.has(one)) lacks.push_back(one);
  }
  return lacks;
}

std::vector<std::string> disqualifications(const ContextClaim& claim, const Requirements& requirements) {
  std::vector<std::string> reasons;
  for (const std::string& one : missing(claim, requirements.required)) {
    reasons.push_back(fmt::format("the capability '{}' is required", one));
  }
  // Both written so that a NaN falls short.
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
  at_least({"an uptime ratio", claim.uptime_ratio, min.min_uptime_ratio});
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

// --- the score -------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, kComponents> kComponentNames{
    "uptime",       "capability", "resources",   "network",        "experience",   "context_capability", "intelligence",
    "coordination", "quality",    "performance", "specialization", "availability", "reliability",
};

struct Worth {
  std::string_view capability;
  double worth;
};

constexpr Worth kContextWorth[] = {
    {"context_generation", 0.3}, {"context_curation", 0.2},  {"context_distribution", 0.2},
    {"context_storage", 0.1},    {"semantic_analysis", 0.1}, {"rag_integration", 0.1},
};
constexpr Worth kIntelligenceWorth[] = {
    {"semantic_analysis", 0.25}, {"rag_integration", 0.25}, {"temporal_analysis", 0.25}, {"decision_tracking", 0.25}};
constexpr Worth kCoordinationWorth[] = {
    {"cluster_coordination", 0.3}, {"load_balancing", 0.25}, {"health_monitoring", 0.2}, {"resource_management", 0.25}};

double worth_of(const ContextClaim& claim, std::span<const Worth> worths) {
  double sum = 0;
  for (const Worth& one : worths) sum += claim.has(one.capability) ? one.worth : 0;
  return std::min(sum, 1.0);
}

double ratio_of(double value, double full) { return std::min(value / full, 1.0); }

// Nothing has been shown without operations, and so nothing is earned.
double performance_of(const ContextClaim& claim) {
  if (claim.operations() == 0) return 0;
  const double success_rate = double(claim.successful_operations) / double(claim.operations());
  return success_rate * 0.7 + response_time_score(claim.average_response_time) * 0.3;
}

double specialization_of(const ContextClaim& claim) {
  // A repeated domain adds nothing.
  const std::set<std::string_view> domains(claim.domain_expertise.begin(), claim.domain_expertise.end());
  return claim.specialization * 0.6 + ratio_of(double(domains.size()), kFullDomains) * 0.4;
}

double availability_of(const ContextClaim& claim) {
  return ratio_of(claim.available_cpu, kFullCores) * 0.3 + ratio_of(double(claim.available_memory), kFullMemory) * 0.3 +
         ratio_of(double(claim.available_storage), kFullStorage) * 0.2 +
         ratio_of(double(claim.network_bandwidth), kFullBandwidth) * 0.2;
}

}  // namespace

double ContextWeights::sum() const { return std::accumulate(of.begin(), of.end(), 0.0); }

Status ContextWeights::validate() const {
  for (std::size_t i = 0; i < kComponents; ++i) {
    const std::string name = "the weight of " + std::string(kComponentNames[i]);
    const Bounded weight[] = {{name, of[i], 0, kMaxWeight}};
    BW_RETURN_IF_ERROR(within_bounds(weight));
  }
  if (sum() > 0) return {};
  return fail(Errc::kInvalid, "all weights of the score are 0; at least one must be more");
}

double response_time_score(Duration average) {
  const Duration span = kWorstResponseTime - kBestResponseTime;
  return std::clamp((kWorstResponseTime - average).seconds_f() / span.seconds_f(), 0.0, 1.0);
}

PerComponent components_of(const ContextClaim& claim) {
  const vote::ScoreParts base = vote::parts_of(claim.base);
  return {
      base.uptime,
      base.capability,
      base.resources,
      base.network,
      base.experience,
      worth_of(claim, kContextWorth),
      worth_of(claim, kIntelligenceWorth) * claim.generation_quality,
      worth_of(claim, kCoordinationWorth),
      (claim.generation_quality + claim.processing_speed + claim.accuracy) / 3,
      performance_of(claim),
      specialization_of(claim),
      availability_of(claim),
      claim.reliability * 0.6 + claim.uptime_ratio * 0.4,
  };
}

double adjustment_of(const ContextClaim& claim) {
  double sum = 0;
  const auto add = [&](bool applies, double amount) { sum += applies ? amount : 0; };
  add(claim.generation_quality > kExceptionalQuality, 0.05);
  add(claim.uptime_ratio > kExceptionalUptime, 0.03);
  add(claim.has("context_generation") && claim.has("context_curation") && claim.has("semantic_analysis") &&
          claim.has("cluster_coordination"),
      0.02);
  add(claim.generation_quality < kLowQuality, -0.10);
  add(claim.failed_operations > claim.successful_operations, -0.15);
  return sum;
}

Result<ContextScore> score_of(const ContextClaim& claim, const ContextWeights& weights,
                              const Requirements& requirements) {
  BW_RETURN_IF_ERROR(claim.validate());
  const PerComponent components = components_of(claim);
  const double all_weights = weights.sum();
  double sum = adjustment_of(claim);
  for (std::size_t i = 0; i < kComponents; ++i) sum += weights.of[i] / all_weights * components[i];
  return ContextScore{std::clamp(sum, 0.0, 1.0), disqualifications(claim, requirements),
                      missing(claim, requirements.preferred)};
}

}  // namespace bellwether::context_lead
