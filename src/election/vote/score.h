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

}  // namespace bellwether::vote
