#include <gtest/gtest.h>

#include "cluster/health/signals.h"
#include "core/base/time_testing.h"

namespace bellwether::health {
namespace {

int64_t ms(Instant t) { return (t - at_ms(0)).ms() + 1; }

// Looks at the next time and reports this; gives that time.
int64_t look(Probe& probe, bool passed) {
  const int64_t now = ms(probe.next_deadline());
  EXPECT_TRUE(probe.tick(at_ms(now)));
  passed ? probe.passed() : probe.failed();
  return now;
}

TEST(Probe, it_looks_each_period_and_a_little) {
  Probe probe(kLivenessProbe, true, at_ms(0), Prng(1));
  int64_t last = look(probe, true);
  for (int i = 0; i < 20; ++i) {
    const int64_t now = look(probe, true);
    EXPECT_GE(now - last, 10'000);
    EXPECT_LE(now - last, 11'002);
    last = now;
  }
}

TEST(Probe, three_failures_in_a_row_change_the_verdict_and_one_success_changes_it_back) {
  Probe probe(kLivenessProbe, true, at_ms(0), Prng(1));
  for (const bool passed : {false, false, true, false, false}) look(probe, passed);
  EXPECT_TRUE(probe.passes());
  EXPECT_EQ(probe.against(), 2);
  look(probe, false);
  EXPECT_FALSE(probe.passes());
  look(probe, true);
  EXPECT_TRUE(probe.passes());
}

TEST(Probe, a_look_without_an_outcome_is_a_failure_and_what_comes_later_does_not_count) {
  Probe probe(kLivenessProbe, true, at_ms(0), Prng(1));
  EXPECT_TRUE(probe.tick(at_ms(0)));
  EXPECT_FALSE(probe.tick(at_ms(500))) << "one at a time";
  EXPECT_EQ(probe.next_deadline(), at_ms(1000));
  EXPECT_FALSE(probe.tick(at_ms(1000)));
  EXPECT_EQ(probe.against(), 1);
  probe.passed();
  EXPECT_EQ(probe.against(), 1);
}

class ProbesTest : public testing::Test {
 protected:
  Probes node_{Probes::Settings{}, at_ms(0), Prng(1)};
};

TEST_F(ProbesTest, a_node_that_starts_is_alive_and_not_ready) {
  EXPECT_TRUE(node_.tick(at_ms(0)).startup);
  EXPECT_TRUE(node_.live());
  EXPECT_FALSE(node_.ready());
  EXPECT_FALSE(node_.started());
  node_.startup_result(at_ms(1), true);
  EXPECT_TRUE(node_.started());
  EXPECT_FALSE(node_.ready()) << "not before it was looked at";
  const auto due = node_.tick(at_ms(1));
  EXPECT_TRUE(due.liveness && due.readiness);
  EXPECT_FALSE(due.startup);
  node_.liveness_result(true);
  node_.readiness_result(true);
  EXPECT_TRUE(node_.ready());
}

TEST_F(ProbesTest, thirty_failures_of_the_startup_probe_are_allowed_for_and_then_it_is_dead) {
  int64_t now = 0;
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(node_.live()) << i;
    now = ms(node_.next_deadline());
    ASSERT_TRUE(node_.tick(at_ms(now)).startup);
    node_.startup_result(at_ms(now), false);
  }
  EXPECT_FALSE(node_.live());
  EXPECT_GE(now, 29 * 5000);
  node_.tick(node_.next_deadline());
  node_.startup_result(at_ms(now + 6000), true);
  EXPECT_TRUE(node_.live()) << "late, but there";
}

TEST_F(ProbesTest, one_that_is_dead_is_not_ready_whatever_its_readiness_says) {
  node_.tick(at_ms(0));
  node_.startup_result(at_ms(0), true);
  for (int i = 0; i < 3; ++i) {
    const auto due = node_.tick(at_ms(i * 12'000));
    ASSERT_TRUE(due.liveness && due.readiness);
    node_.liveness_result(false);
    node_.readiness_result(true);
  }
  EXPECT_FALSE(node_.live());
  EXPECT_FALSE(node_.ready());
}

}  // namespace
}  // namespace bellwether::health
