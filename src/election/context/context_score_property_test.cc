// For every claim within the limits and all settings: the score lies between 0 and 1, and is no lower when one figure
// is better.
#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "election/context/context_testing.h"

namespace bellwether::context_lead {
namespace {

// At an end as often as in between.
double ratio(Prng& prng) {
  if (prng.chance(0.3)) return prng.chance(0.5) ? 1 : 0;
  return prng.unit();
}

uint64_t count(Prng& prng, uint64_t most) {
  return prng.chance(0.2) ? most : static_cast<uint64_t>(static_cast<double>(most) * prng.unit() * prng.unit());
}

constexpr const char* kCapabilities[] = {
    "context_generation",   "context_curation", "context_distribution", "context_storage",
    "semantic_analysis",    "rag_integration",  "temporal_analysis",    "decision_tracking",
    "cluster_coordination", "load_balancing",   "health_monitoring",    "resource_management",
};

ContextClaim any_claim(Prng& prng) {
  ContextClaim claim;
  for (const char* one : kCapabilities) {
    if (prng.chance(0.5)) claim.base.capabilities.emplace_back(one);
  }
  claim.base.uptime = Duration::hours(static_cast<int64_t>(prng.below(50)));
  claim.base.experience = Duration::hours(static_cast<int64_t>(prng.below(300)));
  claim.base.resources = {ratio(prng), ratio(prng), ratio(prng), ratio(prng)};
  claim.generation_quality = ratio(prng);
  claim.processing_speed = ratio(prng);
  claim.accuracy = ratio(prng);
  claim.specialization = ratio(prng);
  claim.reliability = ratio(prng);
  claim.uptime_ratio = ratio(prng);
  if (prng.chance(0.8)) {
    claim.successful_operations = count(prng, prng.chance(0.5) ? 100 : kMaxOperations);
    claim.failed_operations = 1 + count(prng, prng.chance(0.5) ? 20 : kMaxOperations - 1);
    claim.average_response_time = prng.between(Duration::zero(), Duration::seconds(12));
  }
  claim.domain_expertise.resize(prng.below(15), "one");
  claim.available_cpu = kMaxCores * prng.unit() * ratio(prng);
  claim.available_memory = count(prng, prng.chance(0.5) ? 20'000'000'000 : kMaxBytes);
  claim.available_storage = count(prng, prng.chance(0.5) ? 2'000'000'000'000 : kMaxBytes);
  claim.network_bandwidth = count(prng, prng.chance(0.5) ? 2'000'000'000 : kMaxBitsPerSecond);
  return claim;
}

ContextWeights any_weights(Prng& prng) {
  ContextWeights weights;
  if (prng.chance(0.3)) return weights;
  for (double& one : weights.of) one = kMaxWeight * ratio(prng);
  weights.of[prng.below(kComponents)] = 1;
  return weights;
}

Requirements any_requirements(Prng& prng) {
  if (prng.chance(0.4)) return no_requirements();
  Requirements requirements;
  if (prng.chance(0.5)) requirements.required.clear();
  if (prng.chance(0.5)) requirements.min_generation_quality = prng.unit();
  if (prng.chance(0.5)) requirements.max_failure_rate = prng.unit();
  return requirements;
}

void raise(double& figure, double most, Prng& prng) { figure += (most - figure) * ratio(prng); }
void raise(uint64_t& figure, uint64_t most, Prng& prng) { figure += prng.below(most - figure + 1); }
void lower(double& figure, Prng& prng) { figure *= prng.unit(); }

// Makes one figure better.
constexpr int kWays = 19;
void better(ContextClaim& claim, int way, Prng& prng) {
  switch (way) {
    case 0: claim.base.capabilities.emplace_back(kCapabilities[prng.below(std::size(kCapabilities))]); break;
    case 1: claim.base.uptime += Duration::hours(1); break;
    case 2: claim.base.experience += Duration::hours(1); break;
    case 3: lower(claim.base.resources.cpu_used, prng); break;
    case 4: lower(claim.base.resources.memory_used, prng); break;
    case 5: lower(claim.base.resources.disk_used, prng); break;
    case 6: raise(claim.base.resources.network_quality, 1, prng); break;
    case 7: raise(claim.generation_quality, 1, prng); break;
    case 8: raise(claim.processing_speed, 1, prng); break;
    case 9: raise(claim.accuracy, 1, prng); break;
    case 10: raise(claim.specialization, 1, prng); break;
    case 11: raise(claim.reliability, 1, prng); break;
    case 12: raise(claim.uptime_ratio, 1, prng); break;
    case 13: raise(claim.successful_operations, kMaxOperations, prng); break;
    case 14:
      // The last failure stays: without any operation the claim has no response time.
      if (claim.failed_operations > 1) claim.failed_operations = 1 + prng.below(claim.failed_operations);
      break;
    case 15:
      claim.average_response_time = Duration::from_seconds_f(claim.average_response_time.seconds_f() * prng.unit());
      break;
    case 16: claim.domain_expertise.emplace_back("another"); break;
    case 17: raise(claim.available_cpu, kMaxCores, prng); break;
    default:
      raise(claim.available_memory, kMaxBytes, prng);
      raise(claim.available_storage, kMaxBytes, prng);
      raise(claim.network_bandwidth, kMaxBitsPerSecond, prng);
  }
}

TEST(ContextScoreProperty, within_nothing_and_all_and_no_lower_for_who_is_better) {
  Prng prng(20'260'711);
  int fit = 0;
  for (int turn = 0; turn < 20'000 && !testing::Test::HasFailure(); ++turn) {
    const ContextClaim claim = any_claim(prng);
    const ContextWeights weights = any_weights(prng);
    const Requirements requirements = any_requirements(prng);
    ASSERT_TRUE(claim.validate()) << claim.validate().error().message;
    const ContextScore before = score_of(claim, weights, requirements).value();
    // Written so that what is no number fails.
    EXPECT_TRUE(before.score() >= 0 && before.score() <= 1) << "turn " << turn;
    for (const double one : components_of(claim)) EXPECT_TRUE(one >= 0 && one <= 1 + 1e-12) << "turn " << turn;
    fit += before.disqualified.empty() ? 1 : 0;
    const int way = static_cast<int>(prng.below(kWays));
    ContextClaim than = claim;
    better(than, way, prng);
    const auto after = score_of(than, weights, requirements);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_GE(after->score(), before.score()) << "turn " << turn << ", way " << way;
    EXPECT_LE(after->disqualified.size(), before.disqualified.size()) << "turn " << turn << ", way " << way;
  }
  EXPECT_GT(fit, 5'000) << "most would be disqualified, and nothing compared";
}

}  // namespace
}  // namespace bellwether::context_lead
