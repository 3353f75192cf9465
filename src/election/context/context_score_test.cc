#include <gmock/gmock.h>

#include "election/context/context_testing.h"
#include "election/context/fitness.h"

namespace bellwether::context_lead {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <class Change>
double component(std::size_t which, Change change) {
  ContextClaim claim;
  change(claim);
  EXPECT_TRUE(claim.validate());
  return components_of(claim)[which];
}

double worth(std::size_t which, std::vector<std::string> capabilities, double generation_quality = 1) {
  return component(which, [&](ContextClaim& c) {
    c.base.capabilities = std::move(capabilities);
    c.generation_quality = generation_quality;
  });
}

// Parts of the score for admin: 12 of 24 h; 0.35 for curation alone; (1 - 0.5) x (0.3 + 0.3 + 0.2) + 0.8 x 0.2;
// 42 of 168 h.
TEST(ContextScore, five_components_are_those_of_the_score_for_admin) {
  const auto parts = components_of(middling());
  EXPECT_DOUBLE_EQ(parts[Component::kUptime], 0.5);
  EXPECT_DOUBLE_EQ(parts[Component::kCapability], 0.35);
  EXPECT_DOUBLE_EQ(parts[Component::kResources], 0.56);
  EXPECT_DOUBLE_EQ(parts[Component::kNetwork], 0.8);
  EXPECT_DOUBLE_EQ(parts[Component::kExperience], 0.25);
}

TEST(ContextScore, context_capability_adds_up) {
  constexpr auto kWhich = Component::kContextCapability;
  EXPECT_DOUBLE_EQ(worth(kWhich, {}), 0);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_generation"}), 0.3);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_curation"}), 0.2);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_distribution"}), 0.2);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_storage"}), 0.1);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"semantic_analysis"}), 0.1);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"rag_integration"}), 0.1);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"temporal_analysis", "load_balancing", "admin_election"}), 0);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_generation", "context_generation"}), 0.3) << "said twice";
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_generation", "context_curation", "context_distribution", "context_storage",
                                  "semantic_analysis", "rag_integration"}),
                   1);
}

TEST(ContextScore, intelligence_is_worth_as_much_as_the_quality_of_what_it_makes) {
  constexpr auto kWhich = Component::kIntelligence;
  EXPECT_DOUBLE_EQ(worth(kWhich, {}), 0);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"semantic_analysis"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"rag_integration"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"temporal_analysis"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"decision_tracking"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_generation", "cluster_coordination"}), 0);
  const std::vector<std::string> all{"semantic_analysis", "rag_integration", "temporal_analysis", "decision_tracking"};
  EXPECT_DOUBLE_EQ(worth(kWhich, all, 1), 1);
  EXPECT_DOUBLE_EQ(worth(kWhich, all, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"semantic_analysis", "rag_integration"}, 0.5), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, all, 0), 0);
}

TEST(ContextScore, coordination_adds_up) {
  constexpr auto kWhich = Component::kCoordination;
  EXPECT_DOUBLE_EQ(worth(kWhich, {}), 0);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"cluster_coordination"}), 0.3);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"load_balancing"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"health_monitoring"}), 0.2);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"resource_management"}), 0.25);
  EXPECT_DOUBLE_EQ(worth(kWhich, {"context_storage", "decision_tracking"}), 0);
  EXPECT_DOUBLE_EQ(
      worth(kWhich, {"cluster_coordination", "load_balancing", "health_monitoring", "resource_management"}), 1);
}

TEST(ContextScore, quality_is_the_mean_of_three) {
  const struct {
    double generation, speed, accuracy, quality;
  } rows[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0.9, 0, 0, 0.3}, {0, 0.9, 0, 0.3}, {0, 0, 0.9, 0.3}, {0.8, 0.7, 0.9, 0.8}};
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(component(Component::kQuality,
                               [&](ContextClaim& c) {
                                 c.generation_quality = row.generation;
                                 c.processing_speed = row.speed;
                                 c.accuracy = row.accuracy;
                               }),
                     row.quality);
  }
}

// (10 s - time) / 9 s, between 1 s and 10 s.
TEST(ContextScore, response_times_count_from_one_second_to_ten) {
  const std::pair<int64_t, double> rows[] = {{0, 1},      {999, 1},    {1000, 1},      {1009, 0.999},
                                             {1900, 0.9}, {5500, 0.5}, {9991, 0.001},  {10'000, 0},
                                             {10'001, 0}, {60'000, 0}, {86'400'000, 0}};
  for (const auto& [ms, score] : rows) EXPECT_NEAR(response_time_score(Duration::millis(ms)), score, 1e-12) << ms;
}

// 0.7 x successes of all + 0.3 x score of the response time.
TEST(ContextScore, performance_is_success_and_speed) {
  const struct {
    uint64_t successful, failed;
    int64_t ms;
    double performance;
  } rows[] = {
      {10, 0, 1000, 1},       // 0.7 x 1 + 0.3 x 1
      {10, 0, 10'000, 0.7},   // 0.7 x 1 + 0.3 x 0
      {0, 10, 1000, 0.3},     // 0.7 x 0 + 0.3 x 1
      {0, 10, 10'000, 0},     // nothing
      {30, 10, 5500, 0.675},  // 0.7 x 0.75 + 0.3 x 0.5
      {1, 1, 1900, 0.62},     // 0.7 x 0.5 + 0.3 x 0.9
      {kMaxOperations, kMaxOperations, 1000, 0.65},
  };
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(component(Component::kPerformance,
                               [&](ContextClaim& c) {
                                 c.successful_operations = row.successful;
                                 c.failed_operations = row.failed;
                                 c.average_response_time = Duration::millis(row.ms);
                               }),
                     row.performance);
  }
}

TEST(ContextScore, who_has_done_nothing_has_no_performance) {
  EXPECT_EQ(component(Component::kPerformance, [](ContextClaim&) {}), 0);
}

// 0.6 x specialization + 0.4 x domains of ten.
TEST(ContextScore, specialization_is_depth_and_breadth) {
  const auto with = [](double specialization, std::size_t domains) {
    return component(Component::kSpecialization, [&](ContextClaim& c) {
      c.specialization = specialization;
      for (std::size_t i = 0; i < domains; ++i) c.domain_expertise.push_back("domain" + std::to_string(i));
    });
  };
  EXPECT_DOUBLE_EQ(with(0, 0), 0);
  EXPECT_DOUBLE_EQ(with(1, 0), 0.6);
  EXPECT_DOUBLE_EQ(with(0, 1), 0.04);
  EXPECT_DOUBLE_EQ(with(0, 9), 0.36);
  EXPECT_DOUBLE_EQ(with(0, 10), 0.4);
  EXPECT_DOUBLE_EQ(with(0, 11), 0.4);
  EXPECT_DOUBLE_EQ(with(0.5, 5), 0.5);
  const auto twice = [](ContextClaim& c) { c.domain_expertise = {"billing", "billing"}; };
  EXPECT_DOUBLE_EQ(component(Component::kSpecialization, twice), 0.04);
}

// 0.3 x cores of 8 + 0.3 x memory of 16 GB + 0.2 x storage of 1 TB + 0.2 x bandwidth of 1 Gbit/s.
TEST(ContextScore, availability_is_what_is_free) {
  const struct {
    double cores;
    uint64_t memory, storage, bandwidth;
    double availability;
  } rows[] = {
      {0, 0, 0, 0, 0},
      {4, 0, 0, 0, 0.15},
      {8, 0, 0, 0, 0.3},
      {9, 0, 0, 0, 0.3},
      {0, 8'000'000'000, 0, 0, 0.15},
      {0, 16'000'000'000, 0, 0, 0.3},
      {0, 17'000'000'000, 0, 0, 0.3},
      {0, 0, 250'000'000'000, 0, 0.05},
      {0, 0, 1'000'000'000'000, 0, 0.2},
      {0, 0, 1'100'000'000'000, 0, 0.2},
      {0, 0, 0, 100'000'000, 0.02},
      {0, 0, 0, 1'000'000'000, 0.2},
      {0, 0, 0, 2'000'000'000, 0.2},
      {8, 16'000'000'000, 1'000'000'000'000, 1'000'000'000, 1},
  };
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(component(Component::kAvailability,
                               [&](ContextClaim& c) {
                                 c.available_cpu = row.cores;
                                 c.available_memory = row.memory;
                                 c.available_storage = row.storage;
                                 c.network_bandwidth = row.bandwidth;
                               }),
                     row.availability);
  }
}

// 0.6 x reliability + 0.4 x share of uptime.
TEST(ContextScore, reliability_is_work_and_uptime) {
  const auto with = [](double reliability, double uptime) {
    return component(Component::kReliability,
                     [&](ContextClaim& c) { c.reliability = reliability, c.uptime_ratio = uptime; });
  };
  EXPECT_DOUBLE_EQ(with(0, 0), 0);
  EXPECT_DOUBLE_EQ(with(1, 0), 0.6);
  EXPECT_DOUBLE_EQ(with(0, 1), 0.4);
  EXPECT_DOUBLE_EQ(with(0.5, 0.75), 0.6);
  EXPECT_DOUBLE_EQ(with(1, 1), 1);
}

TEST(ContextScore, quality_is_rewarded_above_and_punished_below_its_borders) {
  const auto with = [](double quality) {
    ContextClaim claim;
    claim.generation_quality = quality;
    return adjustment_of(claim);
  };
  EXPECT_EQ(with(0.4999), -0.10);
  EXPECT_EQ(with(0.50), 0);
  EXPECT_EQ(with(0.5001), 0);
  EXPECT_EQ(with(0.9499), 0);
  EXPECT_EQ(with(0.95), 0);
  EXPECT_EQ(with(0.9501), 0.05);
}

TEST(ContextScore, uptime_is_rewarded_above_its_border) {
  const auto with = [](double uptime) {
    ContextClaim claim = middling();
    claim.uptime_ratio = uptime;
    return adjustment_of(claim);
  };
  EXPECT_EQ(with(0.9899), 0);
  EXPECT_EQ(with(0.99), 0);
  EXPECT_EQ(with(0.9901), 0.03);
}

TEST(ContextScore, four_capabilities_together_are_rewarded) {
  const std::vector<std::string> four{"context_generation", "context_curation", "semantic_analysis",
                                      "cluster_coordination"};
  ContextClaim claim = middling();
  claim.base.capabilities = four;
  EXPECT_EQ(adjustment_of(claim), 0.02);
  for (std::size_t without = 0; without < four.size(); ++without) {
    claim.base.capabilities = four;
    claim.base.capabilities[without] = "rag_integration";
    EXPECT_EQ(adjustment_of(claim), 0) << four[without];
  }
}

TEST(ContextScore, more_failures_than_successes_are_punished) {
  const auto with = [](uint64_t failed) {
    ContextClaim claim = middling();
    claim.successful_operations = 10;
    claim.failed_operations = failed;
    return adjustment_of(claim);
  };
  EXPECT_EQ(with(9), 0);
  EXPECT_EQ(with(10), 0);
  EXPECT_EQ(with(11), -0.15);
}

// 0.08 x 0.5 + 0.10 x 0.35 + 0.08 x 0.56 + 0.06 x 0.8 + 0.08 x 0.25 = 0.1878, and 0.15 x 0.5 + 0.12 x 0 + 0.10 x 0 +
// 0.08 x 0.8 + 0.06 x (0.7 x 0.9 + 0.3 x 0.8) + 0.04 x 0.5 + 0.03 x 0.5 + 0.02 x 0.9 = 0.2442.
TEST(ContextScore, a_candidate_worked_out_by_hand) {
  const ContextScore score = score_of(middling(), {}, {}).value();
  EXPECT_NEAR(score.score(), 0.432, 1e-12);
  EXPECT_EQ(adjustment_of(middling()), 0);
  EXPECT_THAT(score.disqualified, IsEmpty());
  const ContextWeights defaults;
  const double weights[] = {0.08, 0.10, 0.08, 0.06, 0.08, 0.15, 0.12, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02};
  const double values[] = {0.5, 0.35, 0.56, 0.8, 0.25, 0.5, 0, 0, 0.8, 0.87, 0.5, 0.5, 0.9};
  for (std::size_t i = 0; i < kComponents; ++i) {
    EXPECT_NEAR(components_of(middling())[i], values[i], 1e-12) << i;
    EXPECT_EQ(defaults.of[i], weights[i]) << i;
  }
}

TEST(ContextScore, bonuses_and_penalties_are_added_to_the_sum) {
  ContextClaim claim = middling();
  claim.uptime_ratio = 1;  // + 0.02 x 0.4 x 0.1 for the component
  EXPECT_NEAR(score_of(claim, {}, {})->score(), 0.432 + 0.0008 + 0.03, 1e-12);
  claim = middling();
  claim.failed_operations = 270;  // of 360: 0.06 x 0.7 x (0.9 - 0.25) less for the component
  EXPECT_NEAR(score_of(claim, {}, no_requirements())->score(), 0.432 - 0.0273 - 0.15, 1e-12);
}

TEST(ContextScore, it_stays_within_nothing_and_all) {
  ContextClaim best = middling();
  best.base.capabilities = {"context_generation", "context_curation",     "context_distribution", "context_storage",
                            "semantic_analysis",  "rag_integration",      "temporal_analysis",    "decision_tracking",
                            "load_balancing",     "cluster_coordination", "health_monitoring",    "resource_management",
                            "project_manager",    "admin_election"};
  best.base.uptime = vote::kFullUptime;
  best.base.experience = vote::kFullExperience;
  best.base.resources = {0, 0, 0, 1};
  best.generation_quality = best.processing_speed = best.accuracy = 1;
  best.specialization = best.reliability = best.uptime_ratio = 1;
  best.domain_expertise = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  best.failed_operations = 0;
  best.average_response_time = Duration::millis(500);
  best.available_cpu = 8;
  best.available_memory = 16'000'000'000;
  best.available_storage = 1'000'000'000'000;
  best.network_bandwidth = 1'000'000'000;
  const ContextScore top = score_of(best, {}, {}).value();
  for (const double one : components_of(best)) EXPECT_NEAR(one, 1, 1e-12);
  EXPECT_NEAR(adjustment_of(best), 0.05 + 0.03 + 0.02, 1e-12);
  EXPECT_EQ(top.score(), 1);

  ContextClaim worst;
  worst.base.resources = {1, 1, 1, 0};
  worst.failed_operations = 1;
  worst.average_response_time = Duration::seconds(10);
  const ContextScore bottom = score_of(worst, {}, no_requirements()).value();
  for (const double one : components_of(worst)) EXPECT_EQ(one, 0);
  EXPECT_NEAR(adjustment_of(worst), -0.10 - 0.15, 1e-12);
  EXPECT_EQ(bottom.score(), 0);
  EXPECT_THAT(bottom.disqualified, IsEmpty());
}

TEST(ContextScore, who_is_disqualified_has_nothing_and_is_told_why) {
  ContextClaim claim = middling();
  claim.generation_quality = 0.55;
  const ContextScore score = score_of(claim, {}, {}).value();
  EXPECT_EQ(score.score(), 0);
  EXPECT_GT(score.sum, 0.4) << "what it would have had";
  EXPECT_THAT(score.disqualified, ElementsAre("a generation quality of 0.55, at least 0.60 is required"));
}

TEST(ContextScore, preferred_capabilities_are_told_and_cost_nothing) {
  const Requirements indifferent = no_requirements();
  const ContextScore score = score_of(middling(), {}, {}).value();
  EXPECT_THAT(score.lacks_preferred, ElementsAre("semantic_analysis", "cluster_coordination", "rag_integration"));
  EXPECT_EQ(score.score(), score_of(middling(), {}, indifferent)->score());
}

TEST(ContextScore, only_how_weights_compare_matters) {
  ContextWeights tenfold;
  for (double& weight : tenfold.of) weight *= 10;
  EXPECT_NEAR(score_of(middling(), tenfold, {})->score(), 0.432, 1e-12);
  ContextWeights two{{}};
  two.of[Component::kQuality] = 3;         // 0.8
  two.of[Component::kSpecialization] = 1;  // 0.5
  EXPECT_NEAR(score_of(middling(), two, {})->score(), (3 * 0.8 + 0.5) / 4, 1e-12);
}

TEST(ContextScore, each_weight_belongs_to_its_component) {
  const auto components = components_of(middling());
  for (std::size_t i = 0; i < kComponents; ++i) {
    ContextWeights only{{}};
    only.of[i] = 0.5;
    EXPECT_DOUBLE_EQ(score_of(middling(), only, {})->score(), components[i]) << i;
  }
}

TEST(ContextScore, weights_that_cannot_be_are_refused) {
  const auto refusal = [](auto change) {
    ContextWeights weights;
    change(weights);
    const Status status = weights.validate();
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refusal([](ContextWeights&) {}), "");
  EXPECT_EQ(refusal([](ContextWeights& w) { w.of.fill(kMaxWeight); }), "");
  EXPECT_EQ(refusal([](ContextWeights& w) { w.of[Component::kQuality] = -0.1; }),
            "the weight of quality is -0.1; it must be from 0 to 1000");
  EXPECT_NE(refusal([](ContextWeights& w) { w.of[Component::kReliability] = kMaxWeight + 1; }), "");
  for (const double none : kNoNumbers) {
    EXPECT_NE(refusal([&](ContextWeights& w) { w.of[Component::kUptime] = none; }), "");
  }
  EXPECT_EQ(refusal([](ContextWeights& w) { w.of.fill(0); }),
            "all weights of the score are 0; at least one must be more");
}

TEST(ContextScore, a_claim_that_cannot_be_has_no_score) {
  ContextClaim claim = middling();
  claim.accuracy = kNoNumbers[0];
  const auto score = score_of(claim, {}, {});
  ASSERT_FALSE(score);
  EXPECT_EQ(score.error().code, Errc::kInvalid);
  EXPECT_EQ(score.error().message, "accuracy is nan; it must be from 0 to 1");
}

}  // namespace
}  // namespace bellwether::context_lead
