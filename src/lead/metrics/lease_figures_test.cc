#include "lead/metrics/lease_figures.h"

#include <gmock/gmock.h>

#include "core/base/time_testing.h"

namespace bellwether::lead {
namespace {

using testing::HasSubstr;
using testing::Not;

election::TermOfOffice term_until(Instant end) {
  auto term_end = std::make_shared<election::TermEnd>();
  term_end->move_to(end);
  return {"k", "me", election::Epoch(7), at_ms(0), term_end};
}

election::LeaseRecord record(std::string holder, uint64_t epoch) {
  election::LeaseRecord out;
  out.holder = std::move(holder);
  out.epoch = election::Epoch(epoch);
  return out;
}

TEST(LeaseFigures, say_leader_only_while_the_term_runs) {
  LeaseFigures figures("k", "");
  EXPECT_FALSE(figures.read(at_ms(0)).leader);
  figures.elected(term_until(at_ms(1000)), at_ms(10));
  EXPECT_TRUE(figures.read(at_ms(999)).leader);
  EXPECT_EQ(figures.read(at_ms(510)).since_renewal, Duration::millis(500));
  EXPECT_FALSE(figures.read(at_ms(1000)).leader) << "nobody has told it yet, but it is over";
  figures.elected(term_until(at_ms(3000)), at_ms(2000));
  figures.term_ended();
  EXPECT_FALSE(figures.read(at_ms(2001)).leader);
}

TEST(LeaseFigures, count_changes_of_holder_once_and_keep_the_last_failover) {
  LeaseFigures figures("k", "");
  figures.leader_changed(record("a", 3), Duration::seconds(9));
  EXPECT_FALSE(figures.read(at_ms(0)).failover) << "what came before the first is not known";
  figures.leader_changed(record("", 3), {});
  figures.leader_changed(record("a", 3), {});
  figures.leader_changed(record("b", 4), Duration::seconds(2));
  const LeaseSnapshot now = figures.read(at_ms(0));
  EXPECT_EQ(now.transitions, 2U);
  EXPECT_EQ(now.epoch, election::Epoch(4));
  EXPECT_EQ(now.failover, Duration::seconds(2));
}

TEST(PrometheusText, has_counters_with_zero_from_the_start_and_no_figures_that_are_not_known) {
  LeaseFigures figures("k", "loop");
  const std::string text = prometheus_text({figures.read(at_ms(0))});
  EXPECT_THAT(text, HasSubstr("bellwether_leader{key=\"k\",loop=\"loop\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_transitions_total{key=\"k\",loop=\"loop\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("orphan_replayed_total{key=\"k\",loop=\"loop\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("job_lock_wait_bucket{key=\"k\",loop=\"loop\",le=\"+Inf\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("bellwether_failover_seconds")));
  EXPECT_THAT(text, Not(HasSubstr("stale_jobs")));
}

TEST(PrometheusText, adds_the_buckets_of_a_histogram_up) {
  LeaseFigures figures("k", "");
  for (const int64_t ms : {1, 2, 30, 60'000}) figures.renewed(at_ms(0), Duration::millis(ms));
  const std::string text = prometheus_text({figures.read(at_ms(0))});
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renew_seconds_bucket{key=\"k\",le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renew_seconds_bucket{key=\"k\",le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renew_seconds_bucket{key=\"k\",le=\"10\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renew_seconds_bucket{key=\"k\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renew_seconds_count{key=\"k\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("bellwether_lease_renewals_total{key=\"k\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("job_lock_wait"))) << "there is no loop";
}

}  // namespace
}  // namespace bellwether::lead
