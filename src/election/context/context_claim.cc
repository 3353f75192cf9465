#include "election/context/context_claim.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "election/context/bounded.h"
#include "election/vote/claim_check.h"

namespace bellwether::context_lead {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kCapabilities> kCapabilityNames{
    "context_generation",   "context_curation", "context_distribution", "context_storage",
    "semantic_analysis",    "rag_integration",  "temporal_analysis",    "decision_tracking",
    "cluster_coordination", "load_balancing",   "health_monitoring",    "resource_management",
};

}  // namespace

std::string_view to_string(Capability capability) { return kCapabilityNames[static_cast<std::size_t>(capability)]; }

std::optional<Capability> parse_capability(std::string_view name) {
  const auto* const found = std::find(kCapabilityNames.begin(), kCapabilityNames.end(), name);
  if (found == kCapabilityNames.end()) return std::nullopt;
  return static_cast<Capability>(found - kCapabilityNames.begin());
}

bool ContextClaim::has(Capability capability) const {
  const auto& names = base.capabilities;
  return std::find(names.begin(), names.end(), to_string(capability)) != names.end();
}

Status ContextClaim::validate() const {
  if (const auto wrong = vote::impossible_in(base)) return fail(Errc::kInvalid, "the claim has " + *wrong);
  const Bounded figures[] = {
      {"generation_quality", generation_quality},
      {"processing_speed", processing_speed},
      {"accuracy", accuracy},
      {"specialization", specialization},
      {"reliability", reliability},
      {"uptime_share", uptime_share},
      {"successful_operations", double(successful_operations), 0, double(kMostOperations)},
      {"failed_operations", double(failed_operations), 0, double(kMostOperations)},
      {"average_response_time", average_response_time.seconds_f(), 0, kLongestResponseTime.seconds_f(), "s"},
      {"available_cpu", available_cpu, 0, kMostCores, "cores"},
      {"available_memory", double(available_memory), 0, double(kMostBytes), "bytes"},
      {"available_storage", double(available_storage), 0, double(kMostBytes), "bytes"},
      {"network_bandwidth", double(network_bandwidth), 0, double(kMostBitsPerSecond), "bit/s"},
      {"the number of domain_expertise", double(domain_expertise.size()), 0, double(kMostDomains)},
  };
  if (Status status = within_bounds(figures); !status) return status;
  for (const std::string& one : domain_expertise) {
    if (one.empty() || one.size() > kMostDomainBytes) {
      return fail(Errc::kInvalid, "domain_expertise has a name of " + format_count(one.size(), "byte") +
                                      "; it must have from 1 to " + std::to_string(kMostDomainBytes));
    }
  }
  if (operations() == 0 && average_response_time != Duration::zero()) {
    return fail(Errc::kInvalid, "average_response_time is " + format_duration(average_response_time) +
                                    " over no operations; without any it must be 0s");
  }
  return {};
}

}  // namespace bellwether::context_lead
