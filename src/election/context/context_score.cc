#include "election/context/context_score.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "election/context/bounded.h"

namespace bellwether::context_lead {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kComponents> kComponentNames{
    "uptime",       "capability", "resources",   "network",        "experience",   "context_capability", "intelligence",
    "coordination", "quality",    "performance", "specialization", "availability", "reliability",
};

struct Worth {
  Capability capability;
  double worth;
};

constexpr Worth kContextWorth[] = {
    {Capability::kContextGeneration, 0.3},   {Capability::kContextCuration, 0.2},
    {Capability::kContextDistribution, 0.2}, {Capability::kContextStorage, 0.1},
    {Capability::kSemanticAnalysis, 0.1},    {Capability::kRagIntegration, 0.1},
};
constexpr Worth kIntelligenceWorth[] = {
    {Capability::kSemanticAnalysis, 0.25},
    {Capability::kRagIntegration, 0.25},
    {Capability::kTemporalAnalysis, 0.25},
    {Capability::kDecisionTracking, 0.25},
};
constexpr Worth kCoordinationWorth[] = {
    {Capability::kClusterCoordination, 0.3},
    {Capability::kLoadBalancing, 0.25},
    {Capability::kHealthMonitoring, 0.2},
    {Capability::kResourceManagement, 0.25},
};

double worth_of(const ContextClaim& claim, std::span<const Worth> worths) {
  double sum = 0;
  for (const Worth& one : worths) sum += claim.has(one.capability) ? one.worth : 0;
  return std::min(sum, 1.0);
}

double share_of(double value, double full) { return std::min(value / full, 1.0); }

// Nothing has been shown without operations, and so nothing is earned.
double performance_of(const ContextClaim& claim) {
  if (claim.operations() == 0) return 0;
  const double success_rate = double(claim.successful_operations) / double(claim.operations());
  return success_rate * 0.7 + response_time_score(claim.average_response_time) * 0.3;
}

double specialization_of(const ContextClaim& claim) {
  // What is said twice is worth no more.
  const std::set<std::string_view> domains(claim.domain_expertise.begin(), claim.domain_expertise.end());
  return claim.specialization * 0.6 + share_of(double(domains.size()), kFullDomains) * 0.4;
}

double availability_of(const ContextClaim& claim) {
  return share_of(claim.available_cpu, kFullCores) * 0.3 + share_of(double(claim.available_memory), kFullMemory) * 0.3 +
         share_of(double(claim.available_storage), kFullStorage) * 0.2 +
         share_of(double(claim.network_bandwidth), kFullBandwidth) * 0.2;
}

}  // namespace

std::string_view to_string(Component component) { return kComponentNames[static_cast<std::size_t>(component)]; }

double ContextWeights::sum() const { return std::accumulate(of.begin(), of.end(), 0.0); }

Status ContextWeights::validate() const {
  for (std::size_t i = 0; i < kComponents; ++i) {
    const std::string name = "the weight of " + std::string(kComponentNames[i]);
    const Bounded weight[] = {{name, of[i], 0, kMostWeight}};
    if (Status status = within_bounds(weight); !status) return status;
  }
  if (sum() > 0) return {};
  return fail(Errc::kInvalid, "all weights of the score are 0; one at least must be above it");
}

double response_time_score(Duration average) {
  const Duration span = kWorstResponseTime - kBestResponseTime;
  return std::clamp((kWorstResponseTime - average).seconds_f() / span.seconds_f(), 0.0, 1.0);
}

PerComponent<double> components_of(const ContextClaim& claim) {
  const vote::ScoreParts base = vote::parts_of(claim.base);
  return {{
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
      claim.reliability * 0.6 + claim.uptime_share * 0.4,
  }};
}

std::vector<Adjustment> adjustments_of(const ContextClaim& claim) {
  const bool covers_all = claim.has(Capability::kContextGeneration) && claim.has(Capability::kContextCuration) &&
                          claim.has(Capability::kSemanticAnalysis) && claim.has(Capability::kClusterCoordination);
  const struct {
    bool applies;
    Adjustment adjustment;
  } all[] = {
      {claim.generation_quality > kExceptionalQuality, {"exceptional quality", 0.05}},
      {claim.uptime_share > kExceptionalUptime, {"exceptional uptime", 0.03}},
      {covers_all, {"full capability coverage", 0.02}},
      {claim.generation_quality < kLowQuality, {"low quality", -0.10}},
      {claim.failed_operations > claim.successful_operations, {"more failures than successes", -0.15}},
  };
  std::vector<Adjustment> apply;
  for (const auto& one : all) {
    if (one.applies) apply.push_back(one.adjustment);
  }
  return apply;
}

Result<ContextScore> score_of(const ContextClaim& claim, const ContextWeights& weights,
                              const Requirements& requirements) {
  if (Status status = claim.validate(); !status) return tl::unexpected(status.error());
  ContextScore score;
  const PerComponent<double> components = components_of(claim);
  const double all_weights = weights.sum();
  for (std::size_t i = 0; i < kComponents; ++i) {
    const double weight = weights.of[i] / all_weights;
    score.parts[i] = {components[i], weight, components[i] * weight};
    score.weighted_sum += score.parts[i].weighted;
  }
  score.adjustments = adjustments_of(claim);
  score.sum = score.weighted_sum;
  for (const Adjustment& one : score.adjustments) score.sum += one.amount;
  score.sum = std::clamp(score.sum, 0.0, 1.0);
  score.disqualified = disqualifications(claim, requirements);
  score.lacks_preferred = missing(claim, requirements.preferred);
  return score;
}

}  // namespace bellwether::context_lead
