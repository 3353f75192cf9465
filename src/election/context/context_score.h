// How good a context leader a node would be, as one number from what it says of itself:
//
//   score = sum of weight x component / sum of the weights, + bonuses, - penalties, within 0 and 1
//
// with each of the 13 components from 0 to 1. Five are the parts of the score for admin; the formulas of the other
// eight are in docs/leadership/context.md. Who does not meet the requirements has 0.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "election/context/context_claim.h"
#include "election/context/requirements.h"

namespace bellwether::context_lead {

enum class Component : uint8_t {
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
inline constexpr std::size_t kComponents = 13;
// "uptime", "context_capability", ...
std::string_view to_string(Component component);

template <class T>
struct PerComponent : std::array<T, kComponents> {
  using std::array<T, kComponents>::operator[];
  T& operator[](Component one) { return (*this)[static_cast<std::size_t>(one)]; }
  const T& operator[](Component one) const { return (*this)[static_cast<std::size_t>(one)]; }
};

inline constexpr double kMostWeight = 1000;

// In the order of the components. Only how they compare with each other matters.
struct ContextWeights {
  PerComponent<double> of{0.08, 0.10, 0.08, 0.06, 0.08, 0.15, 0.12, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02};

  double sum() const;
  // Errors: kInvalid (outside of 0 to kMostWeight, or all of them 0).
  Status validate() const;
};

// From there on more of it is worth nothing more.
inline constexpr double kFullCores = 8;
inline constexpr double kFullMemory = 16e9;    // bytes
inline constexpr double kFullStorage = 1e12;   // bytes
inline constexpr double kFullBandwidth = 1e9;  // bits per second
inline constexpr double kFullDomains = 10;
// The best and the worst response time that the score tells apart.
inline constexpr Duration kBestResponseTime = Duration::seconds(1);
inline constexpr Duration kWorstResponseTime = Duration::seconds(10);

// Bonuses are for more than these, penalties for less; what equals them changes nothing.
inline constexpr double kExceptionalQuality = 0.95;
inline constexpr double kExceptionalUptime = 0.99;
inline constexpr double kLowQuality = 0.5;

// 1 for the best time and less, 0 for the worst and more, linear in between.
double response_time_score(Duration average);
// Before they are weighed, each from 0 to 1. REQUIRES a claim that validates.
PerComponent<double> components_of(const ContextClaim& claim);

struct Adjustment {
  std::string_view name;
  double amount = 0;  // below zero: a penalty
  bool operator==(const Adjustment&) const = default;
};
// Those that apply. REQUIRES a claim that validates.
std::vector<Adjustment> adjustments_of(const ContextClaim& claim);

// The score, and how it came about.
struct ContextScore {
  struct Part {
    double value = 0;     // of the component, 0 to 1
    double weight = 0;    // its share of all weights, 0 to 1
    double weighted = 0;  // value x weight
  };
  PerComponent<Part> parts;
  double weighted_sum = 0;
  std::vector<Adjustment> adjustments;
  double sum = 0;                           // with the adjustments, within 0 and 1
  std::vector<std::string> disqualified;    // why; empty: the requirements are met
  std::vector<Capability> lacks_preferred;  // costs nothing

  bool is_fit() const { return disqualified.empty(); }
  double score() const { return is_fit() ? sum : 0; }
};

// REQUIRES weights and requirements that validate. Errors: kInvalid for a claim that cannot be.
Result<ContextScore> score_of(const ContextClaim& claim, const ContextWeights& weights,
                              const Requirements& requirements);

}  // namespace bellwether::context_lead
