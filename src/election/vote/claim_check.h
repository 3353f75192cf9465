// A voter does not take a candidate's word for it: whatever it knows by itself is compared with what the candidate
// says. Who says more than can be true is not voted for, and what it said is told. The score that orders candidates
// stays the one that was said, once it has passed: voters that measured a little differently still agree about who is
// the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "election/vote/score.h"

namespace bellwether::vote {

// By what a claim may differ: clocks, rounding, and measurements of different seconds.
inline constexpr Duration kClaimSlack = Duration::seconds(5);
inline constexpr double kScoreSlack = 1e-6;
inline constexpr double kQualitySlack = 0.25;

// What this node knows of another one by itself; what it does not know is left out.
struct KnownOfNode {
  std::optional<Instant> earlier_life_heard;  // the last time that the life before the present one said something
  std::optional<double> network_quality;      // between the two, as measured here
  std::optional<Duration> experience;         // as it said at `experience_at`
  Instant experience_at;
  Duration forgiven;  // how much more its times may be: what this node knows may have been heard late
  std::optional<std::vector<std::string>> capabilities;  // that it may have at most
  std::string capabilities_why;                          // why no more than these; empty: nobody has given it more
  std::string absent;                                    // why it can be no candidate at all, whatever it says
  double standing = 1;                                   // from 0 to 1, see ReputationBook
};

// What in `claim` cannot be, whoever says it: no share, no possible time, more than the limits; or nothing.
std::optional<std::string> impossible_in(const Claim& claim);

// Why `claim` is not believed, or nothing. Clocks are within `drift` of true time, the one of the candidate and the one
// of this node.
std::optional<std::string> doubt_about(const Claim& claim, const KnownOfNode& known, const ScoreWeights& weights,
                                       double drift, Instant now);

}  // namespace bellwether::vote
