// The fitness of a node to lead contexts: its claim, the requirements, and the score, a number from 0 to 1.
// docs/leadership/context.md has the formulas and the limits.
//
//   score = sum of weight x component / sum of the weights, + bonuses, - penalties, within 0 and 1
//
// with each of the 13 components from 0 to 1. Five are the parts of the score for admin. A node that misses a
// requirement has 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/vote/score.h"

namespace bellwether::context_lead {

// --- figures, and their limits ---------------------------------------------------------------------------------------

struct Bounded {
  std::string_view name;
  double value = 0;
  double least = 0;
  double most = 1;
  std::string_view unit = {};
};

// Errors: kInvalid for the first that is no number or lies outside.
Status within_bounds(std::span<const Bounded> figures);

// --- the claim of a node ---------------------------------------------------------------------------------------------

// Voters do not believe a node that claims more.
inline constexpr uint64_t kMaxOperations = 1'000'000'000'000;
inline constexpr Duration kLongestResponseTime = Duration::hours(24);
inline constexpr double kMaxCores = 65'536;
inline constexpr uint64_t kMaxBytes = 1'000'000'000'000'000;          // 1 PB
inline constexpr uint64_t kMaxBitsPerSecond = 1'000'000'000'000'000;  // 1 Pbit/s
inline constexpr std::size_t kMaxDomains = 64;
inline constexpr std::size_t kMaxDomainBytes = 64;

// The claim of a candidate for admin, with its fitness for context. Both share one list of capabilities, so that the
// claims cannot differ.
struct ContextClaim {
  vote::Claim base;
  // Shares from 0 to 1.
  double generation_quality = 0;
  double processing_speed = 0;
  double accuracy = 0;
  double specialization = 0;
  double reliability = 0;
  double uptime_ratio = 0;  // of the time, as against vote::Claim::uptime
  // Of context operations, over all lives of the node.
  uint64_t successful_operations = 0;
  uint64_t failed_operations = 0;
  Duration average_response_time;  // zero when there were no operations
  std::vector<std::string> domain_expertise;
  // The free resources for the work.
  double available_cpu = 0;        // cores
  uint64_t available_memory = 0;   // bytes
  uint64_t available_storage = 0;  // bytes
  uint64_t network_bandwidth = 0;  // bits per second
  bool operator==(const ContextClaim&) const = default;

  bool has(std::string_view capability) const;
  uint64_t operations() const { return successful_operations + failed_operations; }

  // Errors: kInvalid (no number, outside of the limits, or figures that contradict each other).
  Status validate() const;
};

// --- the requirements ------------------------------------------------------------------------------------------------

struct Requirements {
  std::vector<std::string> required{"context_generation", "context_curation"};  // capabilities
  // The report names nodes that lack them; that disqualifies none, and the score includes them already.
  std::vector<std::string> preferred{"semantic_analysis", "cluster_coordination", "rag_integration"};
  // Shares from 0 to 1.
  double min_generation_quality = 0.6;
  double min_reliability = 0.7;
  double min_uptime_ratio = 0.8;
  double min_cpu = 2;                            // cores
  uint64_t min_memory = 4'000'000'000;           // bytes
  uint64_t min_storage = 100'000'000'000;        // bytes
  uint64_t min_network_bandwidth = 100'000'000;  // bits per second
  uint64_t min_successful_operations = 10;
  double max_failure_rate = 0.1;                      // failed of all; not judged without operations
  Duration max_response_time = Duration::seconds(5);  // the average; not judged without operations
};

// Every reason for the disqualification of a candidate, in words; empty: none. A value equal to a limit meets it.
// REQUIRES a claim that validates.
std::vector<std::string> disqualifications(const ContextClaim& claim, const Requirements& requirements);

// Those of the capabilities that the candidate lacks, in their order.
std::vector<std::string> missing(const ContextClaim& claim, std::span<const std::string> capabilities);

// --- the score -------------------------------------------------------------------------------------------------------

inline constexpr std::size_t kComponents = 13;
// In the order of the table in docs/leadership/context.md, from "uptime" to "reliability".
using PerComponent = std::array<double, kComponents>;

inline constexpr double kMaxWeight = 1000;

// Only how they compare with each other matters.
struct ContextWeights {
  PerComponent of{0.08, 0.10, 0.08, 0.06, 0.08, 0.15, 0.12, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02};

  double sum() const;
  // Errors: kInvalid (outside of 0 to kMaxWeight, or all of them 0).
  Status validate() const;
};

// From there on more of it is worth nothing more.
inline constexpr double kFullCores = 8;
inline constexpr double kFullMemory = 16e9;    // bytes
inline constexpr double kFullStorage = 1e12;   // bytes
inline constexpr double kFullBandwidth = 1e9;  // bits per second
inline constexpr double kFullDomains = 10;
// The range of response times with different scores.
inline constexpr Duration kBestResponseTime = Duration::seconds(1);
inline constexpr Duration kWorstResponseTime = Duration::seconds(10);

// Above these a bonus applies, below them a penalty; equal values change nothing.
inline constexpr double kExceptionalQuality = 0.95;
inline constexpr double kExceptionalUptime = 0.99;
inline constexpr double kLowQuality = 0.5;

// 1 for the best time and less, 0 for the worst and more, linear in between.
double response_time_score(Duration average);
// Before they are weighed, each from 0 to 1. REQUIRES a claim that validates.
PerComponent components_of(const ContextClaim& claim);

// The sum of the bonuses and penalties. REQUIRES a claim that validates.
double adjustment_of(const ContextClaim& claim);

struct ContextScore {
  double sum = 0;                            // with the adjustment, within 0 and 1
  std::vector<std::string> disqualified;     // why; empty: the requirements are met
  std::vector<std::string> lacks_preferred;  // costs nothing

  double score() const { return disqualified.empty() ? sum : 0; }
};

// REQUIRES weights that validate. Errors: kInvalid for a claim that cannot be.
Result<ContextScore> score_of(const ContextClaim& claim, const ContextWeights& weights,
                              const Requirements& requirements);

}  // namespace bellwether::context_lead
