// A candidate for the tests of context leadership: it meets the requirements, and is middling in everything.
#pragma once

#include <limits>

#include "election/context/fitness.h"

namespace bellwether::context_lead {

inline constexpr double kNoNumbers[] = {std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity()};

// The places of the components.
struct Component {
  enum : std::size_t {
    kUptime,
    kCapability,
    kResources,
    kNetwork,
    kExperience,
    kContextCapability,
    kIntelligence,
    kCoordination,
    kQuality,
    kPerformance,
    kSpecialization,
    kAvailability,
    kReliability,
  };
};

inline ContextClaim middling() {
  ContextClaim claim;
  claim.base.capabilities = {"context_generation", "context_curation"};
  claim.base.uptime = Duration::hours(12);
  claim.base.experience = Duration::hours(42);
  claim.base.resources = {0.5, 0.5, 0.5, 0.8};
  claim.generation_quality = 0.8;
  claim.processing_speed = 0.7;
  claim.accuracy = 0.9;
  claim.specialization = 0.5;
  claim.reliability = 0.9;
  claim.uptime_ratio = 0.9;
  claim.successful_operations = 90;
  claim.failed_operations = 10;
  claim.average_response_time = Duration::millis(2800);
  claim.domain_expertise = {"billing", "search", "storage", "network", "security"};
  claim.available_cpu = 4;
  claim.available_memory = 8'000'000'000;
  claim.available_storage = 500'000'000'000;
  claim.network_bandwidth = 500'000'000;
  return claim;
}

// What asks for nothing.
inline Requirements no_requirements() {
  Requirements none;
  none.required.clear();
  none.preferred.clear();
  none.min_generation_quality = none.min_reliability = none.min_uptime_ratio = none.min_cpu = 0;
  none.min_memory = none.min_storage = none.min_network_bandwidth = none.min_successful_operations = 0;
  none.max_failure_rate = 1;
  none.max_response_time = kLongestResponseTime;
  return none;
}

}  // namespace bellwether::context_lead
