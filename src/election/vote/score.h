// The fitness of a node as an admin: one number, computed from its claim:
//
//   score = 0.30 uptime + 0.20 capability + 0.20 resources + 0.15 network + 0.15 experience
//
// with each part from 0 to 1. If the node also leads contexts, its fitness for that (election/context/fitness.h)
// counts: (1 - 0.30) x that + 0.30 x fitness. The score orders candidates in an election. It never replaces votes, and
// never takes an office from an admin.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::vote {

// From there on more of it is worth nothing more.
inline constexpr Duration kFullUptime = Duration::hours(24);
inline constexpr Duration kFullExperience = Duration::hours(168);
// Voters do not believe a node that claims more.
inline constexpr Duration kLongestExperience = Duration::hours(100 * 366 * 24);
inline constexpr std::size_t kMaxCapabilities = 32;
inline constexpr std::size_t kMaxCapabilityBytes = 64;
inline constexpr std::size_t kMaxAttestationBytes = 4096;

// Shares from 0 to 1.
struct Resources {
  double cpu_used = 0;
  double memory_used = 0;
  double disk_used = 0;
  double network_quality = 1;  // 1: no loss, and round trips as short as they get
  bool operator==(const Resources&) const = default;
};

// A node's report of itself.
struct Claim {
  std::vector<std::string> capabilities;
  Duration uptime;      // since its process was started
  Duration experience;  // over all its lives, this one included
  Resources resources;
  double score = 0;                    // as it computes it from the rest
  std::optional<double> fitness = {};  // for leading contexts, 0 to 1; nothing: it does not lead them
  std::string attestation = {};        // an operator's signed statement of its capabilities; empty: none
  bool operator==(const Claim&) const = default;
};

struct ScoreWeights {
  double uptime = 0.30;
  double capability = 0.20;
  double resources = 0.20;
  double network = 0.15;
  double experience = 0.15;
  // The weight of the fitness, if the node has one; the others share the rest.
  double fitness = 0.30;

  // Errors: kInvalid (outside of 0 to 1, or the sum of all but that of fitness is not 1).
  Status validate() const;
};

// Before they are weighed, each from 0 to 1.
struct ScoreParts {
  double uptime = 0;
  double capability = 0;
  double resources = 0;
  double network = 0;
  double experience = 0;
};
ScoreParts parts_of(const Claim& claim);
double score_of(const Claim& claim, const ScoreWeights& weights);

// The worth of a capability in its part of the score: 0 if it does not serve an admin's work.
double worth_of(std::string_view capability);
// Whether a node may stand: any of admin_election, context_curation, project_manager.
bool may_stand(std::span<const std::string> capabilities);

// A voter does not trust a candidate's claim: it compares the claim with its own knowledge. It does not vote for a
// candidate that claims more than can be true, and reports the claim. The claimed score, once it has passed, orders the
// candidates: voters with slightly different measurements still agree on the best one.

// The tolerance of a claim: clocks, rounding, and measurements of different seconds.
inline constexpr Duration kClaimSlack = Duration::seconds(5);
inline constexpr double kScoreSlack = 1e-6;
inline constexpr double kQualitySlack = 0.25;

// This node's own knowledge of another one; unknown values are absent.
struct KnownOfNode {
  std::optional<Instant> earlier_life_heard;  // the last message of the life before the present one
  std::optional<double> network_quality;      // between the two, as measured here
  std::size_t links = 1;                      // of it to other voters
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

struct Doubt {
  std::string why;
  bool proven = true;  // false: it may be nobody's fault, as that two measurements differ
};

// Why `claim` is not believed, or nothing. Clocks are within `drift` of true time, the one of the candidate and the one
// of this node.
std::optional<Doubt> doubt_about(const Claim& claim, const KnownOfNode& known, const ScoreWeights& weights,
                                 double drift, Instant now);

}  // namespace bellwether::vote
