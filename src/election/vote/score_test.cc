#include "election/vote/score.h"

#include <gtest/gtest.h>
#include <limits>

namespace bellwether::vote {
namespace {

Claim best() {
  return {{"context_curation", "project_manager", "admin_election", "semantic_analysis"},
          kFullUptime,
          kFullExperience,
          {0, 0, 0, 1}};
}

TEST(Score, the_best_there_is_has_one_and_the_worst_nothing) {
  EXPECT_DOUBLE_EQ(score_of(best(), {}), 1);
  EXPECT_DOUBLE_EQ(score_of({{}, {}, {}, {1, 1, 1, 0}}, {}), 0);
}

TEST(Score, each_part_has_its_weight) {
  const Claim worst{{}, {}, {}, {1, 1, 1, 0}};
  const auto with = [&](auto change) {
    Claim claim = worst;
    change(claim);
    return score_of(claim, {});
  };
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.uptime = kFullUptime; }), 0.30);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.capabilities = best().capabilities; }), 0.20);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.experience = kFullExperience; }), 0.15);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.resources.network_quality = 1; }), 0.15 + 0.20 * 0.2);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.resources.cpu_used = 0; }), 0.20 * 0.3);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.resources.memory_used = 0; }), 0.20 * 0.3);
  EXPECT_DOUBLE_EQ(with([](Claim& c) { c.resources.disk_used = 0; }), 0.20 * 0.2);
}

TEST(Score, weights_are_settings) {
  const ScoreWeights only_uptime{1, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(score_of({{}, Duration::hours(6), {}, {}}, only_uptime), 0.25);
}

TEST(Score, who_leads_contexts_is_worth_its_fitness_for_that_too) {
  Claim claim = best();
  claim.fitness = 0.5;
  EXPECT_DOUBLE_EQ(score_of(claim, {}), 0.7 + 0.3 * 0.5);
  ScoreWeights none;
  none.fitness = 0;
  EXPECT_DOUBLE_EQ(score_of(claim, none), 1);
  none.fitness = 1.1;
  EXPECT_FALSE(none.validate());
}

TEST(Score, uptime_and_experience_grow_until_they_are_full) {
  const auto parts = [](Duration uptime, Duration experience) { return parts_of({{}, uptime, experience, {}}); };
  EXPECT_DOUBLE_EQ(parts(Duration::hours(12), Duration::hours(42)).uptime, 0.5);
  EXPECT_DOUBLE_EQ(parts(Duration::hours(12), Duration::hours(42)).experience, 0.25);
  EXPECT_DOUBLE_EQ(parts(Duration::hours(25), Duration::hours(169)).uptime, 1);
  EXPECT_DOUBLE_EQ(parts(Duration::hours(25), Duration::hours(169)).experience, 1);
}

TEST(Score, capabilities_add_up_to_one_at_most) {
  const auto worth = [](std::vector<std::string> capabilities) {
    return parts_of({capabilities, {}, {}, {}}).capability;
  };
  EXPECT_DOUBLE_EQ(worth({}), 0);
  EXPECT_DOUBLE_EQ(worth({"admin_election"}), 0.25);
  EXPECT_DOUBLE_EQ(worth({"key_reconstruction"}), 0.25);
  EXPECT_DOUBLE_EQ(worth({"semantic_analysis"}), 0.25);
  EXPECT_DOUBLE_EQ(worth({"context_curation"}), 0.35);
  EXPECT_DOUBLE_EQ(worth({"project_manager"}), 0.35);
  EXPECT_DOUBLE_EQ(worth({"cooking"}), 0);
  EXPECT_DOUBLE_EQ(worth({"admin_election", "admin_election"}), 0.25) << "said twice";
  EXPECT_DOUBLE_EQ(worth({"admin_election", "context_curation"}), 0.60);
  EXPECT_DOUBLE_EQ(worth({"admin_election", "context_curation", "project_manager", "semantic_analysis"}), 1);
}

// The two candidates that the format's documentation shows have 0.78 and 0.85 there, which are not what its formula
// gives.
TEST(Score, a_candidate_worked_out_by_hand) {
  const Claim claim{
      {"admin_election", "context_curation"}, Duration::hours(24), Duration::hours(168), {0.35, 0.52, 0.41, 0.95}};
  const double resources = 0.65 * 0.3 + 0.48 * 0.3 + 0.59 * 0.2 + 0.95 * 0.2;
  EXPECT_NEAR(score_of(claim, {}), 0.3 + 0.2 * 0.6 + 0.2 * resources + 0.15 * 0.95 + 0.15, 1e-12);
}

TEST(Score, who_may_stand) {
  const auto may = [](std::vector<std::string> capabilities) { return may_stand(capabilities); };
  EXPECT_TRUE(may({"admin_election"}));
  EXPECT_TRUE(may({"other", "context_curation"}));
  EXPECT_TRUE(may({"project_manager"}));
  EXPECT_FALSE(may({}));
  EXPECT_FALSE(may({"key_reconstruction", "semantic_analysis"}));
}

TEST(Score, weights_that_do_not_add_up_are_refused) {
  EXPECT_TRUE(ScoreWeights{}.validate());
  EXPECT_FALSE((ScoreWeights{0.3, 0.2, 0.2, 0.15, 0.2}).validate());
  EXPECT_FALSE((ScoreWeights{-0.1, 0.3, 0.3, 0.25, 0.25}).validate());
  EXPECT_FALSE((ScoreWeights{std::numeric_limits<double>::quiet_NaN(), 0.3, 0.3, 0.2, 0.2}).validate());
}

}  // namespace
}  // namespace bellwether::vote
