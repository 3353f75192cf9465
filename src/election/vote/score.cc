#include "election/vote/score.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/units.h"

namespace bellwether::vote {
namespace {

double ratio_of(Duration span, Duration full) { return std::clamp(span.seconds_f() / full.seconds_f(), 0.0, 1.0); }

// Written so that a NaN is no share.
bool is_part(double value) { return value >= 0 && value <= 1; }

// The fastest clock's measure of a time that the slowest measures as `span`.
Duration with_slack(Duration span, double drift) {
  return Duration::from_seconds_f(span.seconds_f() * (1 + drift) / (1 - drift)) + kClaimSlack;
}

std::string whole_percent(double ratio) { return fmt::format("{} %", std::lround(ratio * 100)); }

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
  return std::ranges::any_of(capabilities, [](const std::string& one) {
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

std::optional<std::string> impossible_in(const Claim& claim) {
  const Resources& has = claim.resources;
  if (!is_part(has.cpu_used) || !is_part(has.memory_used) || !is_part(has.disk_used) || !is_part(has.network_quality) ||
      !is_part(claim.score) || (claim.fitness && !is_part(*claim.fitness))) {
    return "a ratio outside 0 to 1";
  }
  if (claim.uptime < Duration::zero() || claim.experience < Duration::zero() || claim.experience > kLongestExperience) {
    return "an impossible time";
  }
  if (claim.attestation.size() > kMaxAttestationBytes) return "an attestation that is too large";
  if (claim.capabilities.size() > kMaxCapabilities) return "too many capabilities";
  for (const std::string& one : claim.capabilities) {
    if (one.empty() || one.size() > kMaxCapabilityBytes) {
      return fmt::format("a capability with a name of {}; expected 1 to {}", format_count(one.size(), "byte"),
                         kMaxCapabilityBytes);
    }
  }
  return std::nullopt;
}

std::optional<Doubt> doubt_about(const Claim& claim, const KnownOfNode& known, const ScoreWeights& weights,
                                 double drift, Instant now) {
  if (auto impossible = impossible_in(claim)) return Doubt{std::move(*impossible)};
  const double score = score_of(claim, weights);
  if (std::abs(score - claim.score) > kScoreSlack) {
    return Doubt{fmt::format(
        "it claims a score of {}, but its figures give {}: the weights of the score must be the same on all nodes",
        claim.score, score)};
  }
  if (claim.uptime > claim.experience + kClaimSlack) {
    return Doubt{fmt::format("it claims an uptime of {}, but a total uptime of only {}", format_duration(claim.uptime),
                             format_duration(claim.experience))};
  }
  if (known.earlier_life_heard) {
    const Duration most = now - *known.earlier_life_heard;
    if (claim.uptime > with_slack(most, drift) + known.forgiven) {
      return Doubt{fmt::format("it claims an uptime of {}, but its earlier start was heard {} ago",
                               format_duration(claim.uptime), format_duration(most))};
    }
  }
  if (known.experience) {
    const Duration most = *known.experience + (now - known.experience_at);
    const Duration grown = with_slack(now - known.experience_at, drift) + known.forgiven;
    if (claim.experience > *known.experience + grown) {
      return Doubt{fmt::format("it claims a total uptime of {}; since its last claim at most {} is possible",
                               format_duration(claim.experience), format_duration(most))};
    }
  }
  if (known.network_quality) {
    // A claim is the mean of the links that the candidate has measured. At most all but the one to this node are
    // perfect. Before it has measured that one, an honest candidate may claim more: it gets this vote a few heartbeats
    // later.
    const auto links = static_cast<double>(known.links);
    const double most = (*known.network_quality + links - 1) / links;
    if (claim.resources.network_quality > most + kQualitySlack / links) {
      return Doubt{
          .why = fmt::format("it claims a network quality of {}; this node measures {}, so at most {} is possible",
                             whole_percent(claim.resources.network_quality), whole_percent(*known.network_quality),
                             whole_percent(most)),
          .proven = false};
    }
  }
  if (known.capabilities) {
    for (const std::string& one : claim.capabilities) {
      if (std::find(known.capabilities->begin(), known.capabilities->end(), one) != known.capabilities->end()) continue;
      return Doubt{fmt::format(
          "the capability '{}', {}", one,
          known.capabilities_why.empty() ? "which its settings do not give it" : "and " + known.capabilities_why)};
    }
  }
  return std::nullopt;
}

}  // namespace bellwether::vote
