// Who may be context leader at all: what a candidate must have, and by which figures it may fall short.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "election/context/context_claim.h"

namespace bellwether::context_lead {

struct Requirements {
  // A capability is in one of the two at most, and once.
  std::vector<Capability> required{Capability::kContextGeneration, Capability::kContextCuration};
  // Told of who lacks them; nobody is disqualified for it, and the score has them already.
  std::vector<Capability> preferred{Capability::kSemanticAnalysis, Capability::kClusterCoordination,
                                    Capability::kRagIntegration};
  // Shares from 0 to 1.
  double min_generation_quality = 0.6;
  double min_reliability = 0.7;
  double min_uptime_share = 0.8;
  double min_cpu = 2;                            // cores
  uint64_t min_memory = 4'000'000'000;           // bytes
  uint64_t min_storage = 100'000'000'000;        // bytes
  uint64_t min_network_bandwidth = 100'000'000;  // bits per second
  uint64_t min_successful_operations = 10;
  double max_failure_rate = 0.1;                      // failed of all; not judged without operations
  Duration max_response_time = Duration::seconds(5);  // the average; not judged without operations

  // Errors: kInvalid (a figure that no claim can have, a capability that is named twice).
  Status validate() const;
};

// Every reason for which a candidate is disqualified, in words; empty: none. What equals a limit meets it.
// REQUIRES a claim and requirements that validate.
std::vector<std::string> disqualifications(const ContextClaim& claim, const Requirements& requirements);

// Those of the capabilities that the candidate lacks, in their order.
std::vector<Capability> missing(const ContextClaim& claim, std::span<const Capability> capabilities);

}  // namespace bellwether::context_lead
