// A voter does not trust a candidate's claim: it compares the claim with its own knowledge. It does not vote for a
// candidate that claims more than can be true, and reports the claim. The claimed score, once it has passed, orders the
// candidates: voters with slightly different measurements still agree on the best one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "election/vote/score.h"

namespace bellwether::vote {

// The tolerance of a claim: clocks, rounding, and measurements of different seconds.
inline constexpr Duration kClaimSlack = Duration::seconds(5);
inline constexpr double kScoreSlack = 1e-6;
inline constexpr double kQualitySlack = 0.25;

// This node's own knowledge of another one; unknown values are absent.
struct KnownOfNode {
  std::optional<Instant> earlier_life_heard;  // the last message of the life before the present one
  std::optional<double> network_quality;      // between the two, as measured here
  std::optional<Duration> experience;         // as it claimed at `experience_at`
  Instant experience_at;
  Duration forgiven;  // the tolerance of its times: this node may have received its data late
  std::optional<std::vector<std::string>> capabilities;  // that it may have at most
  std::string capabilities_why;                          // why no more than these; empty: no grant covers more
  std::string absent;                                    // why it cannot be a candidate at all, with any claim
  double reputation = 1;                                 // from 0 to 1, see ReputationBook
};

// The impossible part of `claim`, for any sender: no share, no possible time, more than the limits; or nothing.
std::optional<std::string> impossible_in(const Claim& claim);

// Why `claim` is not believed, or nothing. Clocks are within `drift` of true time, the one of the candidate and the one
// of this node.
std::optional<std::string> doubt_about(const Claim& claim, const KnownOfNode& known, const ScoreWeights& weights,
                                       double drift, Instant now);

}  // namespace bellwether::vote
