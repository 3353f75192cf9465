#include "election/vote/score.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace bellwether::vote {
namespace {

double ratio_of(Duration span, Duration full) { return std::clamp(span.seconds_f() / full.seconds_f(), 0.0, 1.0); }

}  // namespace

Status ScoreWeights::validate() const {
  const double all[] = {uptime, capability, resources, network, experience};
  double sum = 0;
  for (const double one : all) {
    // Written so that a NaN is refused.
    if (!(one >= 0 && one <= 1)) return fail(Errc::kInvalid, "a weight of the score must be between 0 and 1");
    sum += one;
  }
  if (!(fitness >= 0 && fitness <= 1)) return fail(Errc::kInvalid, "the weight of fitness must be between 0 and 1");
  if (std::abs(sum - 1) > 1e-6) {
    return fail(Errc::kInvalid, "the weights of the score add up to {}; they must add up to 1", sum);
  }
  return {};
}

double worth_of(std::string_view capability) {
  if (capability == "context_curation" || capability == "project_manager") return 0.35;
  if (capability == "admin_election" || capability == "key_reconstruction" || capability == "semantic_analysis") {
    return 0.25;
  }
  return 0;
}

bool may_stand(std::span<const std::string> capabilities) {
  return std::any_of(capabilities.begin(), capabilities.end(), [](const std::string& one) {
    return one == "admin_election" || one == "context_curation" || one == "project_manager";
  });
}

ScoreParts parts_of(const Claim& claim) {
  ScoreParts parts;
  parts.uptime = ratio_of(claim.uptime, kFullUptime);
  parts.experience = ratio_of(claim.experience, kFullExperience);
  // A repeated capability adds nothing.
  const std::set<std::string_view> capabilities(claim.capabilities.begin(), claim.capabilities.end());
  for (const std::string_view one : capabilities) parts.capability += worth_of(one);
  parts.capability = std::min(parts.capability, 1.0);
  const Resources& has = claim.resources;
  parts.resources =
      (1 - has.cpu_used) * 0.3 + (1 - has.memory_used) * 0.3 + (1 - has.disk_used) * 0.2 + has.network_quality * 0.2;
  parts.network = has.network_quality;
  return parts;
}

double score_of(const Claim& claim, const ScoreWeights& weights) {
  const ScoreParts parts = parts_of(claim);
  const double base = parts.uptime * weights.uptime + parts.capability * weights.capability +
                      parts.resources * weights.resources + parts.network * weights.network +
                      parts.experience * weights.experience;
  return claim.fitness ? base * (1 - weights.fitness) + *claim.fitness * weights.fitness : base;
}

}  // namespace bellwether::vote
