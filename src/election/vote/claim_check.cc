#include "election/vote/claim_check.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"

namespace bellwether::vote {
namespace {

// Written so that a NaN is no share.
bool is_share(double value) { return value >= 0 && value <= 1; }

// The fastest clock's measure of a time that the slowest measures as `span`.
Duration with_slack(Duration span, double drift) {
  return Duration::from_seconds_f(span.seconds_f() * (1 + drift) / (1 - drift)) + kClaimSlack;
}

std::string whole_percent(double ratio) { return fmt::format("{} %", std::lround(ratio * 100)); }

}  // namespace

std::optional<std::string> impossible_in(const Claim& claim) {
  const Resources& has = claim.resources;
  if (!is_share(has.cpu_used) || !is_share(has.memory_used) || !is_share(has.disk_used) ||
      !is_share(has.network_quality) || !is_share(claim.score) || (claim.fitness && !is_share(*claim.fitness))) {
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

std::optional<std::string> doubt_about(const Claim& claim, const KnownOfNode& known, const ScoreWeights& weights,
                                       double drift, Instant now) {
  if (auto impossible = impossible_in(claim)) return impossible;
  const double score = score_of(claim, weights);
  if (std::abs(score - claim.score) > kScoreSlack) {
    return fmt::format(
        "it claims a score of {}, but its figures give {}: the weights of the score must be the same on all nodes",
        claim.score, score);
  }
  if (claim.uptime > claim.experience + kClaimSlack) {
    return fmt::format("it claims an uptime of {}, but a total uptime of only {}", format_duration(claim.uptime),
                       format_duration(claim.experience));
  }
  if (known.earlier_life_heard) {
    const Duration most = now - *known.earlier_life_heard;
    if (claim.uptime > with_slack(most, drift) + known.forgiven) {
      return fmt::format("it claims an uptime of {}, but its earlier start was heard {} ago",
                         format_duration(claim.uptime), format_duration(most));
    }
  }
  if (known.experience) {
    const Duration most = *known.experience + (now - known.experience_at);
    const Duration grown = with_slack(now - known.experience_at, drift) + known.forgiven;
    if (claim.experience > *known.experience + grown) {
      return fmt::format("it claims a total uptime of {}; since its last claim at most {} is possible",
                         format_duration(claim.experience), format_duration(most));
    }
  }
  if (known.network_quality && claim.resources.network_quality > *known.network_quality + kQualitySlack) {
    return fmt::format("it claims a network quality of {}; this node measures {}",
                       whole_percent(claim.resources.network_quality), whole_percent(*known.network_quality));
  }
  if (known.capabilities) {
    for (const std::string& one : claim.capabilities) {
      if (std::find(known.capabilities->begin(), known.capabilities->end(), one) != known.capabilities->end()) continue;
      return fmt::format(
          "the capability '{}', {}", one,
          known.capabilities_why.empty() ? "which its settings do not give it" : "and " + known.capabilities_why);
    }
  }
  return std::nullopt;
}

}  // namespace bellwether::vote
