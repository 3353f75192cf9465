// What a node says of itself when it stands for context leadership: what it says when it stands for admin, and how good
// it is at making context. Its capabilities are one list of names for both, so that it cannot say two things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "election/vote/score.h"

namespace bellwether::context_lead {

// Those that matter here. A node may have others.
enum class Capability : uint8_t {
  kContextGeneration,
  kContextCuration,
  kContextDistribution,
  kContextStorage,
  kSemanticAnalysis,
  kRagIntegration,
  kTemporalAnalysis,
  kDecisionTracking,
  kClusterCoordination,
  kLoadBalancing,
  kHealthMonitoring,
  kResourceManagement,
};
inline constexpr std::size_t kCapabilities = 12;
// "context_generation", "rag_integration", ...
std::string_view to_string(Capability capability);
std::optional<Capability> parse_capability(std::string_view name);

// A node that says more of itself is not believed.
inline constexpr uint64_t kMostOperations = 1'000'000'000'000;
inline constexpr Duration kLongestResponseTime = Duration::hours(24);
inline constexpr double kMostCores = 65'536;
inline constexpr uint64_t kMostBytes = 1'000'000'000'000'000;          // 1 PB
inline constexpr uint64_t kMostBitsPerSecond = 1'000'000'000'000'000;  // 1 Pbit/s
inline constexpr std::size_t kMostDomains = 64;
inline constexpr std::size_t kMostDomainBytes = 64;

struct ContextClaim {
  vote::Claim base;
  // Shares from 0 to 1.
  double generation_quality = 0;
  double processing_speed = 0;
  double accuracy = 0;
  double specialization = 0;
  double reliability = 0;
  double uptime_share = 0;  // of the time, as against vote::Claim::uptime
  // Of context operations, over all lives of the node.
  uint64_t successful_operations = 0;
  uint64_t failed_operations = 0;
  Duration average_response_time;  // zero when there were no operations
  std::vector<std::string> domain_expertise;
  // What is free for the work.
  double available_cpu = 0;        // cores
  uint64_t available_memory = 0;   // bytes
  uint64_t available_storage = 0;  // bytes
  uint64_t network_bandwidth = 0;  // bits per second
  bool operator==(const ContextClaim&) const = default;

  bool has(Capability capability) const;
  uint64_t operations() const { return successful_operations + failed_operations; }

  // Errors: kInvalid (no number, outside of the limits, or figures that contradict each other).
  Status validate() const;
};

}  // namespace bellwether::context_lead
