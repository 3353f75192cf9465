#include "lead/health.h"

#include <gmock/gmock.h>

namespace bellwether::lead {
namespace {

using election::Epoch;
using election::Observation;
using testing::HasSubstr;
using testing::IsEmpty;

WallTime health_at(int64_t seconds) { return {1'700'000'000'000'000'000 + seconds * 1'000'000'000}; }

Observation held_by(const char* holder, uint64_t epoch) {
  Observation seen{.present = true};
  seen.record = {.holder = holder,
                 .token = std::string("token of ") + holder,
                 .epoch = Epoch(epoch),
                 .lease = Duration::seconds(180),
                 .acquired_at = health_at(0),
                 .renewed_at = health_at(0)};
  return seen;
}

Findings of(std::vector<Observation> seen, int64_t now, bool expected = true) {
  Findings out;
  judge_lease({.via = "file:x", .key = "k", .seen = std::move(seen), .holder_expected = expected}, health_at(now), {},
              out);
  return out;
}

void expect_one(const Findings& findings, Severity severity, const std::string& what) {
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, severity);
  EXPECT_THAT(findings[0].what, HasSubstr(what));
  for (const std::string* part : {&findings[0].evidence, &findings[0].why, &findings[0].command}) {
    EXPECT_NE(*part, "") << what;
  }
}

TEST(Health, a_lease_that_is_renewed_in_time_has_no_findings) {
  EXPECT_THAT(of({held_by("a", 3), held_by("a", 3)}, 60), IsEmpty());
  EXPECT_THAT(of({held_by("a", 3), held_by("b", 4)}, 60), IsEmpty()) << "a takeover is no fault";
}

TEST(Health, a_heartbeat_that_is_late_and_a_lease_that_is_over_are_told_apart) {
  EXPECT_THAT(of({held_by("a", 3)}, 80), IsEmpty());
  expect_one(of({held_by("a", 3)}, 81), Severity::kWarning, "heartbeat of 'k' is late");
  expect_one(of({held_by("a", 3)}, 181), Severity::kCritical, "has expired");
}

TEST(Health, where_the_store_counts_the_lease_its_word_is_taken) {
  Observation seen = held_by("a", 3);
  seen.left = Duration::seconds(5);
  EXPECT_THAT(of({seen}, 1000), IsEmpty());
}

TEST(Health, a_renewal_from_the_future_is_clock_skew) {
  EXPECT_THAT(of({held_by("a", 3)}, -5), IsEmpty());
  expect_one(of({held_by("a", 3)}, -6), Severity::kWarning, "clock skew");
}

TEST(Health, two_leaders_and_an_epoch_that_went_back_are_critical) {
  expect_one(of({held_by("a", 3), held_by("b", 3)}, 1), Severity::kCritical, "two leaders");
  expect_one(of({held_by("a", 3), held_by("b", 2)}, 1), Severity::kCritical, "went back");
}

TEST(Health, nobody_is_critical_unless_the_key_is_given_back_after_each_tick) {
  expect_one(of({Observation{}}, 1), Severity::kCritical, "'k' has no holder");
  EXPECT_THAT(of({Observation{}}, 1, false), IsEmpty());
}

TEST(Health, what_the_store_found_odd_is_passed_on) {
  Observation odd = held_by("a", 3);
  odd.evidence = "the file was torn";
  expect_one(of({odd}, 1), Severity::kWarning, "unusual");
  odd.foreign = true;
  expect_one(of({odd}, 1), Severity::kNote, "unusual");
  odd.may_have_lost_data = true;
  expect_one(of({odd}, 1), Severity::kCritical, "may have lost data");
  Observation dead = held_by("a", 3);
  dead.sight = election::HolderSight::kDead;
  expect_one(of({dead}, 1), Severity::kWarning, "is dead");
}

TEST(Health, churn_has_the_thresholds_that_operators_know) {
  for (const auto& [epochs, findings, severity] : {std::tuple{4u, 0u, Severity::kNote},
                                                   {5u, 1u, Severity::kWarning},
                                                   {9u, 1u, Severity::kWarning},
                                                   {10u, 1u, Severity::kCritical}}) {
    Findings out;
    judge_churn("k", epochs, {}, out);
    EXPECT_EQ(out.size(), findings) << epochs;
    EXPECT_EQ(worst_of(out), severity) << epochs;
  }
}

TEST(Health, silent_agents_and_clocks_that_are_ahead_are_named) {
  AgentRegistry registry;
  const AgentAges ages;
  ASSERT_TRUE(registry.add("silent", "w", "h1", 1, health_at(0), ages));
  ASSERT_TRUE(registry.add("well", "w", "h2", 1, health_at(100), ages));
  Findings out;
  judge_registry("r.json", registry, ages, health_at(121), out);
  expect_one(out, Severity::kWarning, "silent");
  EXPECT_EQ(out[0].evidence, "silent (stale)");
  out.clear();
  judge_registry("r.json", registry, ages, health_at(90), out);
  expect_one(out, Severity::kWarning, "future");
  EXPECT_EQ(out[0].evidence, "well on h2");
}

TEST(Health, twenty_restarts_in_an_hour_are_too_many) {
  Findings out;
  judge_watchdog("w.json", 19, "it is dead", {}, out);
  EXPECT_THAT(out, IsEmpty());
  judge_watchdog("w.json", 20, "it is dead", {}, out);
  expect_one(out, Severity::kWarning, "too often");
}

TEST(Health, a_promise_that_cannot_hold_comes_with_its_arithmetic) {
  LoopPolicy loop;
  loop.name = "reconciler";
  loop.poll_interval = Duration::seconds(30);
  loop.lock_ttl = Duration::seconds(60);
  loop.takeover_slo = Duration::seconds(15);
  Findings out;
  judge_budget({.file = "p.yaml"}, loop, budget_of_loop(loop, Duration::millis(50)), out);
  expect_one(out, Severity::kWarning, "cannot meet its objective");
  EXPECT_THAT(out[0].evidence, HasSubstr("= 92.625s"));
}

TEST(Health, a_queue_that_stands_still_and_tasks_that_failed_are_told) {
  TaskQueue queue;
  ASSERT_TRUE(queue.add("nightly", "").has_value());
  Findings none;
  judge_queue("q", queue, none);
  EXPECT_THAT(none, IsEmpty());

  ASSERT_TRUE(queue.take_over(Epoch(1)).has_value());
  const auto grant = queue.hand_out("a", Epoch(1));
  ASSERT_TRUE(grant && *grant);
  ASSERT_TRUE(queue.fail_attempt(**grant, "exit code 3", 1).has_value());
  Findings failed;
  judge_queue("q", queue, failed);
  expect_one(failed, Severity::kWarning, "1 task failed");
  EXPECT_THAT(failed[0].evidence, HasSubstr("nightly: exit code 3"));

  queue = TaskQueue();
  queue.halt("it was torn");
  Findings halted;
  judge_queue("q", queue, halted);
  expect_one(halted, Severity::kCritical, "halted");
}

}  // namespace
}  // namespace bellwether::lead
