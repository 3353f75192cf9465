#include "load/aggregate/totals.h"

#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"

namespace bellwether::aggregate {
namespace {

// Two workflows: "open.a" (arrival rate) and an action, then "closed.b".
plan::Plan two_workflows() {
  plan::Plan plan;
  plan.workflows.resize(2);
  plan.steps = {{.workflow = 0, .index = 0, .name = "open.a", .measured = true},
                {.workflow = 0, .index = 1, .name = "open.set", .measured = false},
                {.workflow = 1, .index = 0, .name = "closed.b", .measured = true}};
  plan.checks = {{.step = 0, .name = "status is 200"}};
  return plan;
}

metrics::Window totals_second_of(const plan::Plan& plan, uint64_t second) {
  metrics::Window window(aggregate::shape_of(plan));
  window.second = second;
  return window;
}

// A second with one request of `latency` in step closed.b, one iteration and one virtual user.
metrics::Window one_request(const plan::Plan& plan, uint64_t second, Duration latency) {
  metrics::Window window = totals_second_of(plan, second);
  window.steps[2].count = 1;
  window.steps[2].service.record(latency);
  window.workflows[1].iterations = 1;
  window.workflows[1].vus_active = 1;
  return window;
}

struct TotalsTest : testing::Test {
  const plan::Plan plan = two_workflows();
  Totals totals{plan};
};

TEST_F(TotalsTest, the_time_of_a_workflow_adds_up_with_what_late_parts_add_to_it) {
  for (const uint64_t second : {0, 1}) {
    metrics::Window window = one_request(plan, second, Duration::millis(1));
    window.workflows[1].ran = Duration::millis(600);
    totals.add(window);
  }
  metrics::Window late = one_request(plan, 1, Duration::millis(1));
  totals.amend(late);
  EXPECT_EQ(totals.elapsed(1), Duration::millis(1200));
  late.workflows[1].ran = Duration::millis(400);
  totals.amend(late);
  EXPECT_EQ(totals.elapsed(1), Duration::millis(1600));
  late.second = 2;
  totals.amend(late);
  EXPECT_EQ(totals.elapsed(1), Duration::seconds(2)) << "a second that nobody had measured";
  EXPECT_EQ(totals.elapsed(0), Duration::seconds(3)) << "unknown";
  EXPECT_EQ(Totals::restore(plan, totals.save()).elapsed(1), Duration::seconds(2));
}

TEST_F(TotalsTest, counts_are_sums_over_measured_steps_and_can_be_of_one_workflow) {
  metrics::Window window = totals_second_of(plan, 0);
  window.steps[0].count = 10;
  window.steps[0].failed = 1;
  window.steps[1].count = 1000;
  window.steps[2].count = 5;
  window.steps[2].bytes_sent = 50;
  window.steps[2].bytes_received = 70;
  window.workflows[0] = [] {
    metrics::WorkflowWindow w(nullptr);
    w.iterations = 9;
    w.scheduled = 12;
    w.on_time = 8;
    w.late = 1;
    w.dropped = 3;
    return w;
  }();
  window.workflows[1].iterations = 5;
  window.workflows[1].interrupted = 2;
  totals.add(window);
  window.second = 1;
  totals.add(window);

  EXPECT_EQ(totals.counts().requests, 30u);
  EXPECT_EQ(totals.counts().failed, 2u);
  EXPECT_EQ(totals.counts().iterations, 28u);
  EXPECT_EQ(totals.counts(0).requests, 20u);
  EXPECT_EQ(totals.counts(0).scheduled, 24u);
  EXPECT_EQ(totals.counts(0).on_time + totals.counts(0).late + totals.counts(0).dropped, 24u);
  EXPECT_EQ(totals.counts(1).requests, 10u);
  EXPECT_EQ(totals.counts(1).bytes_sent, 100u);
  EXPECT_EQ(totals.counts(1).bytes_received, 140u);
  EXPECT_EQ(totals.counts(1).interrupted, 4u);
  EXPECT_EQ(totals.elapsed(), Duration::seconds(2));
}

TEST_F(TotalsTest, gauges_are_those_of_the_last_second_with_the_peak_beside) {
  for (const int64_t active : {3, 7, 2}) {
    metrics::Window window = totals_second_of(plan, 0);
    window.workflows[0].vus_active = active;
    window.workflows[0].vus_allocated = 10 * active;
    window.workflows[1].vus_active = 1;
    totals.add(window);
  }
  EXPECT_EQ(totals.sum().workflows[0].vus_active, 2);
  EXPECT_EQ(totals.vus(0).active.last, 2);
  EXPECT_EQ(totals.vus(0).active.peak, 7);
  EXPECT_EQ(totals.vus().active.last, 3);
  EXPECT_EQ(totals.vus().active.peak, 8);
  EXPECT_EQ(totals.vus().allocated.peak, 70);
  EXPECT_EQ(totals.last().vus, 3);
}

TEST_F(TotalsTest, a_point_of_the_series_is_one_second_over_all_steps) {
  metrics::Window window = one_request(plan, 0, Duration::micros(100));
  window.steps[0].count = 3;
  window.steps[0].failed = 2;
  window.steps[0].service.record(Duration::micros(300), 2);
  window.steps[0].response.answered.record(Duration::micros(900), 3);
  window.workflows[0].dropped = 4;
  totals.add(window, Duration::millis(500));

  ASSERT_EQ(totals.series().size(), 1u);
  const SeriesPoint& point = totals.series()[0];
  EXPECT_EQ(point.requests, 4u);
  EXPECT_EQ(point.failed, 2u);
  EXPECT_EQ(point.dropped, 4u);
  EXPECT_EQ(point.iterations, 1u);
  EXPECT_DOUBLE_EQ(point.rate_per_s(), 8);
  EXPECT_NEAR(point.service.p50.millis_f(), 0.3, 0.0003);
  EXPECT_NEAR(point.response.p99.millis_f(), 0.9, 0.0009);
}

TEST_F(TotalsTest, a_second_forgets_the_latencies_of_the_one_before) {
  totals.add(one_request(plan, 0, Duration::seconds(5)));
  totals.add(one_request(plan, 1, Duration::millis(1)));
  EXPECT_LT(totals.series()[1].service.p99, Duration::millis(2));
  EXPECT_EQ(totals.sum().steps[2].service.count(), 2u);
}

TEST_F(TotalsTest, the_series_of_more_than_a_day_is_bounded_and_loses_no_count) {
  const uint64_t seconds = 95'007;
  for (uint64_t s = 0; s < seconds; ++s) {
    totals.add(one_request(plan, s, s == 50'001 ? Duration::seconds(1) : Duration::millis(1)));
    ASSERT_LE(totals.series().size(), Totals::kMaxSeries);
  }
  uint64_t requests = 0;
  uint64_t next = 0;
  std::map<int64_t, std::size_t> lengths;
  for (const SeriesPoint& point : totals.series()) {
    EXPECT_EQ(point.second, next);
    EXPECT_EQ(point.vus, 1);
    const int64_t length = point.covered.ns() / 1'000'000'000;
    ++lengths[length];
    next += static_cast<uint64_t>(length);
    EXPECT_EQ(point.requests, static_cast<uint64_t>(length));
    EXPECT_EQ(point.service.p50 > Duration::millis(999), point.second <= 50'001 && next > 50'001)
        << "the stall stays visible";
    requests += point.requests;
  }
  EXPECT_EQ(requests, seconds);
  EXPECT_EQ(next, seconds);
  EXPECT_GE(lengths[1], 990U);
  EXPECT_GE(lengths[10], 354U);
  EXPECT_EQ(lengths[60], 1440U);
  EXPECT_EQ(lengths.size(), 4U) << "and one for all that is older";
  EXPECT_EQ(totals.last().requests, 1u) << "the last second is never merged";
}

// In any order of the parts the points of the series are the run.
RC_GTEST_PROP(Totals, the_points_of_the_series_add_up_to_the_run, ()) {
  const plan::Plan plan = two_workflows();
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  Totals totals(plan);
  uint64_t second = 0;
  uint64_t told = 0;
  for (int i = 0; i < 300; ++i) {
    second += prng.chance(0.05) ? prng.below(100'000) : 1 + prng.below(30);
    totals.add(one_request(plan, second, Duration::millis(1)));
    ++told;
    if (prng.chance(0.3)) {
      totals.amend(one_request(plan, prng.below(second + 1), Duration::millis(2)));
      ++told;
    }
    if (prng.chance(0.05)) totals = Totals::restore(plan, totals.save());
    uint64_t requests = 0;
    Duration covered;
    for (const SeriesPoint& point : totals.series()) {
      requests += point.requests;
      covered += point.covered;
    }
    RC_ASSERT(requests == told);
    RC_ASSERT(covered == totals.elapsed());
    RC_ASSERT(totals.series().size() <= Totals::kMaxSeries);
  }
  RC_ASSERT(totals.counts().requests == told);
}

TEST_F(TotalsTest, gaps_between_seconds_are_kept_as_gaps) {
  for (const uint64_t s : {0, 5, 900}) totals.add(one_request(plan, s, Duration::millis(1)));
  ASSERT_EQ(totals.series().size(), 3u);
  EXPECT_EQ(totals.series()[2].second, 900u);
}

TEST_F(TotalsTest, what_comes_late_amends_its_second_and_no_gauge) {
  for (const uint64_t s : {0, 1, 3}) totals.add(one_request(plan, s, Duration::millis(1)));
  totals.amend(one_request(plan, 1, Duration::millis(9)));
  ASSERT_EQ(totals.series().size(), 3u);
  EXPECT_EQ(totals.series()[1].requests, 2u);
  EXPECT_EQ(totals.series()[1].covered, Duration::seconds(1));
  EXPECT_GT(totals.series()[1].service.p99, Duration::millis(8));
  EXPECT_LT(totals.series()[2].service.p99, Duration::millis(2));
  EXPECT_EQ(totals.sum().steps[2].service.count(), 4u);
  EXPECT_EQ(totals.counts().requests, 4u);
  EXPECT_EQ(totals.sum().workflows[1].vus_active, 1);
  EXPECT_EQ(totals.vus(1).active.peak, 1);
  EXPECT_EQ(totals.elapsed(), Duration::seconds(3));

  totals.amend(one_request(plan, 2, Duration::millis(1)));
  ASSERT_EQ(totals.series().size(), 4u);
  EXPECT_EQ(totals.series()[2].second, 2u) << "nobody had told anything of it";
  EXPECT_EQ(totals.elapsed(), Duration::seconds(4));
  EXPECT_EQ(totals.last().second, 3u);
}

TEST_F(TotalsTest, a_second_that_was_closed_short_gets_the_missing_time_from_late_parts) {
  totals.add(one_request(plan, 0, Duration::millis(1)));
  totals.add(one_request(plan, 1, Duration::millis(1)), Duration::millis(400));
  for (const int64_t measured : {300, 900, 700}) {
    metrics::Window late = one_request(plan, 1, Duration::millis(1));
    late.covered = Duration::millis(measured);
    totals.amend(late);
  }
  EXPECT_EQ(totals.elapsed(), Duration::millis(1'900));
  EXPECT_EQ(totals.series()[1].covered, Duration::millis(900));
  EXPECT_EQ(totals.step_series().covered[1], Duration::millis(900));
}

TEST_F(TotalsTest, the_series_stays_within_its_limit_when_seconds_are_amended) {
  const uint64_t seconds = 2 * Totals::kMaxSeries;
  for (uint64_t s = 0; s < seconds; s += 2) totals.add(one_request(plan, s, Duration::millis(1)));
  for (uint64_t s = 1; s < seconds; s += 2) totals.amend(one_request(plan, s, Duration::millis(1)));
  EXPECT_LE(totals.series().size(), Totals::kMaxSeries);
  uint64_t requests = 0;
  for (const SeriesPoint& point : totals.series()) requests += point.requests;
  EXPECT_EQ(requests, seconds);
}

TEST_F(TotalsTest, that_are_restored_know_which_of_their_points_are_intervals) {
  for (uint64_t s = 0; s < 2'000; ++s) {
    if (s % 10 != 3) totals.add(one_request(plan, s, Duration::millis(1)));
  }
  Totals restored = Totals::restore(plan, totals.save());
  for (Totals* each : {&totals, &restored}) each->amend(one_request(plan, 3, Duration::millis(9)));
  EXPECT_EQ(restored.series(), totals.series());
  EXPECT_EQ(restored.elapsed(), totals.elapsed());
}

TEST_F(TotalsTest, that_are_restored_go_on_as_those_that_were_saved) {
  metrics::Window busy = one_request(plan, 0, Duration::millis(1));
  busy.workflows[1].vus_active = 9;
  totals.add(busy);
  for (const uint64_t s : {1, 3}) totals.add(one_request(plan, s, Duration::millis(1)), Duration::millis(900));
  Totals restored = Totals::restore(plan, totals.save());
  EXPECT_EQ(restored.last(), totals.last());
  EXPECT_EQ(restored.sum().second, 3u);
  for (Totals* each : {&totals, &restored}) {
    each->add(one_request(plan, 4, Duration::millis(7)));
    each->amend(one_request(plan, 1, Duration::millis(9)));
  }
  EXPECT_EQ(restored.elapsed(), totals.elapsed());
  EXPECT_EQ(restored.series(), totals.series());
  EXPECT_EQ(restored.fine_from(), totals.fine_from());
  EXPECT_EQ(restored.vus(), totals.vus());
  EXPECT_EQ(restored.vus(1).active.peak, 9);
  EXPECT_EQ(restored.vus(1), totals.vus(1));
  EXPECT_EQ(restored.counts(1).requests, 5u);
  EXPECT_TRUE(restored.sum().steps[2].service == totals.sum().steps[2].service);
}

}  // namespace
}  // namespace bellwether::aggregate
