#include <gmock/gmock.h>

#include "lead/roles/context_role.h"

namespace bellwether::node {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

ContextFigures able() {
  ContextFigures figures;
  figures.capabilities = {"context_generation", "context_curation", "semantic_analysis", "cluster_coordination"};
  figures.uptime = Duration::hours(30);
  figures.resources = {0.5, 0.5, 0.5, 1};
  figures.available_cpu = 4;
  figures.available_memory = 8'000'000'000;
  figures.available_storage = 500'000'000'000;
  figures.network_bandwidth = 1'000'000'000;
  figures.work = {95, 5, Duration::seconds(100)};
  return figures;
}

TEST(ContextFitness, who_has_done_its_jobs_well_is_fit) {
  const auto fitness = fitness_of(able(), {});
  EXPECT_THAT(fitness.disqualified, testing::IsEmpty());
  EXPECT_GT(fitness.score, 0.5);
  EXPECT_LE(fitness.score, 1);
  EXPECT_THAT(fitness.lacks_preferred, ElementsAre("rag_integration"));
}

TEST(ContextFitness, more_failures_are_a_lower_score_and_many_disqualify) {
  ContextFigures figures = able();
  const double before = fitness_of(figures, {}).score;
  figures.work = {91, 9, Duration::seconds(100)};
  EXPECT_LT(fitness_of(figures, {}).score, before);
  figures.work = {50, 50, Duration::seconds(100)};
  const auto poor = fitness_of(figures, {});
  EXPECT_EQ(poor.score, 0);
  EXPECT_THAT(poor.disqualified, Contains(HasSubstr("quality")));
}

TEST(ContextFitness, slow_jobs_are_a_lower_score) {
  ContextFigures figures = able();
  const double before = fitness_of(figures, {}).score;
  figures.work.time = Duration::seconds(400);
  // 4 s on average are a third less than 1 s, in speed and in performance.
  EXPECT_NEAR(before - fitness_of(figures, {}).score, (0.08 / 3 + 0.06 * 0.3) / 3, 1e-9);
}

TEST(ContextFitness, a_machine_that_is_too_small_is_disqualified_and_the_reason_told) {
  ContextFigures figures = able();
  figures.available_memory = 1'000'000'000;
  const auto fitness = fitness_of(figures, {});
  EXPECT_EQ(fitness.score, 0);
  EXPECT_THAT(fitness.disqualified, ElementsAre(HasSubstr("memory")));
}

TEST(ContextFitness, what_is_not_measured_is_not_required) {
  ContextFigures figures = able();
  figures.work = {};
  figures.network_bandwidth.reset();
  const auto fitness = fitness_of(figures, {});
  // That nothing has been done is known well.
  EXPECT_THAT(fitness.disqualified, ElementsAre(HasSubstr("operations")));
  EXPECT_THAT(fitness.disqualified, testing::Not(Contains(HasSubstr("bandwidth"))));
}

TEST(ContextFitness, capabilities_disqualify_unless_they_are_not_required) {
  ContextFigures figures = able();
  figures.capabilities = {"admin_election"};
  EXPECT_EQ(fitness_of(figures, {}).score, 0);
  context_lead::ContextSettings settings;
  settings.require_context_capability = false;
  EXPECT_GT(fitness_of(figures, settings).score, 0);
}

TEST(ContextFitness, what_is_in_use_is_not_available) {
  const ContextFigures figures = machine_figures({4, 8'000'000'000, 500, 1'000}, {0.25, 0.5, 0.9, 1});
  EXPECT_DOUBLE_EQ(figures.available_cpu, 3);
  EXPECT_EQ(figures.available_memory, 4'000'000'000u);
  EXPECT_EQ(figures.available_storage, 500u);
  EXPECT_EQ(figures.network_bandwidth, 1'000u);
}

}  // namespace
}  // namespace bellwether::node
