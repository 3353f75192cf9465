#include "load/codec/totals_codec.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "load/codec/window_testing.h"
#include "load/report/reports.h"
#include "load/report/run_report.h"
#include "proto/stats.pb.h"

namespace bellwether::ingest {
namespace {

using aggregate::Totals;
using testing::HasSubstr;

// A plan of the shape of the windows of window_testing.h.
plan::Plan sample_plan() {
  plan::Plan plan;
  plan.name = "sample";
  plan.workflows.resize(kShape.workflows);
  plan.workflows[0].name = "w";
  plan.steps = {{.workflow = 0, .index = 0, .name = "w.a", .measured = true},
                {.workflow = 0, .index = 1, .name = "w.b", .measured = true}};
  plan.checks = {{.step = 0, .name = "status is 200"}};
  return plan;
}

// The same with own metrics: one of each kind, of both steps.
plan::Plan sample_plan_with_metrics() {
  plan::Plan plan = sample_plan();
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""},
                  {"depth", plan::MetricKind::kGauge, ""},
                  {"paid", plan::MetricKind::kRate, ""},
                  {"price", plan::MetricKind::kTrend, "EUR"}};
  for (uint16_t step = 0; step < 2; ++step) {
    for (uint16_t metric = 0; metric < 4; ++metric) plan.series.push_back({metric, step});
  }
  return plan;
}

metrics::Window random_values(Prng& prng, uint64_t second) {
  metrics::Window window(aggregate::shape_of(sample_plan_with_metrics()));
  window.second = second;
  for (std::size_t i = 0; i < window.series.size(); ++i) {
    const Duration at = Duration::seconds(static_cast<int64_t>(second));
    for (uint64_t values = prng.below(4); values > 0; --values) {
      const double value = static_cast<double>(prng.below(1'000'000)) / 64;
      if (i % 4 == 0) window.series[i].add(value);
      if (i % 4 == 1) window.series[i].set(value - 7'000, at);
      if (i % 4 == 2) window.series[i].observe(prng.chance(0.5) ? 1 : 0);
      if (i % 4 == 3) window.series[i].record(value, 1e3);
    }
  }
  return window;
}

Totals copied(const Totals& totals) {
  const auto bytes = encode_totals(totals.save());
  EXPECT_TRUE(bytes.has_value());
  auto state = decode_totals(*bytes, totals.plan());
  EXPECT_TRUE(state.has_value()) << state.error().message;
  return Totals::restore(totals.plan(), std::move(*state));
}

std::string report_of(const Totals& totals) {
  return report::to_json(report::conclude(totals, {.run_id = "r", .elapsed = totals.elapsed()}));
}

RC_GTEST_PROP(TotalsCodec, totals_that_were_restored_go_on_as_the_original, (uint64_t seed)) {
  Prng prng(seed);
  const plan::Plan plan = sample_plan();
  Totals original(plan);
  Totals other(plan);
  uint64_t second = prng.below(100);
  const uint64_t steps = 5 + prng.below(40);
  for (uint64_t i = 0; i < steps; ++i) {
    if (prng.chance(0.2)) other = copied(other);
    if (prng.chance(0.2) && second > 0) {
      const metrics::Window late = random_window(prng, prng.below(second));
      original.amend(late);
      other.amend(late);
      continue;
    }
    second += prng.chance(0.1) ? prng.below(50'000) : 1;
    const metrics::Window window = random_window(prng, second);
    const Duration covered = prng.chance(0.1) ? Duration::millis(300) : Duration::seconds(1);
    original.add(window, covered);
    other.add(window, covered);
  }
  RC_ASSERT(report_of(copied(other)) == report_of(original));
  RC_ASSERT(copied(other).last() == original.last());
  RC_ASSERT(copied(other).series() == original.series());
  RC_ASSERT(copied(other).vus(0) == original.vus(0));
  RC_ASSERT(*encode_totals(other.save()) == *encode_totals(original.save()));
}

TEST(TotalsCodec, a_series_of_several_tiers_goes_on_as_the_original) {
  Prng prng(5);
  const plan::Plan plan = sample_plan();
  Totals original(plan);
  Totals other(plan);
  for (uint64_t second = 0; second < 3 * Totals::kMaxSeries; ++second) {
    if (prng.chance(0.002)) other = copied(other);
    metrics::Window window = empty_window();
    window.second = second;
    window.steps[0].count = prng.below(9);
    window.steps[0].service.record(Duration::micros(1 + static_cast<int64_t>(prng.below(5000))));
    original.add(window);
    other.add(window);
  }
  EXPECT_GT(original.fine_from(), 7'000U);
  EXPECT_EQ(copied(other).fine_from(), original.fine_from());
  EXPECT_EQ(copied(other).series(), original.series());
  EXPECT_EQ(report_of(copied(other)), report_of(original));
}

TEST(TotalsCodec, metrics_over_time_go_on_as_the_original) {
  Prng prng(6);
  const plan::Plan plan = sample_plan_with_metrics();
  Totals original(plan);
  Totals other(plan);
  for (uint64_t second = 0; second < 95'000; second += prng.chance(0.2) ? prng.below(300) : 1) {
    if (prng.chance(0.002)) other = copied(other);
    const bool late = prng.chance(0.02);
    const metrics::Window window = random_values(prng, late ? prng.below(second + 1) : second);
    for (Totals* each : {&original, &other}) late ? each->amend(window) : each->add(window);
  }
  EXPECT_FALSE(original.save().metrics.archive.empty());
  for (std::size_t m = 0; m < plan.metrics.size(); ++m) EXPECT_FALSE(original.series_of(m).empty());
  EXPECT_EQ(report_of(copied(other)), report_of(original));
  EXPECT_EQ(*encode_totals(other.save()), *encode_totals(original.save()));
}

// A copy that was made before metrics had a series is read without one.
TEST(TotalsCodec, a_copy_without_metrics_over_time_goes_on) {
  Prng prng(6);
  const plan::Plan plan = sample_plan_with_metrics();
  Totals totals(plan);
  totals.add(random_values(prng, 0));
  wire::TotalsCopy copy;
  ASSERT_TRUE(copy.ParseFromString(*encode_totals(totals.save())));
  copy.clear_metric_tiers();
  auto state = decode_totals(copy.SerializeAsString(), plan);
  ASSERT_TRUE(state.has_value()) << state.error().message;
  Totals restored = Totals::restore(plan, std::move(*state));
  EXPECT_TRUE(restored.series_of(0).empty());
  metrics::Window next(aggregate::shape_of(plan));
  next.second = 1;
  next.series[0].add(1);
  restored.add(next);
  EXPECT_EQ(restored.series_of(0).size(), 1U);
}

TEST(TotalsCodec, totals_of_nothing_survive) {
  const plan::Plan plan = sample_plan();
  const Totals nothing(plan);
  EXPECT_TRUE(copied(nothing).empty());
  EXPECT_EQ(report_of(copied(nothing)), report_of(nothing));
}

// A count that no second can have, and a long run can.
TEST(TotalsCodec, a_run_may_count_more_than_a_second) {
  const plan::Plan plan = sample_plan();
  Totals totals(plan);
  metrics::Window window = empty_window();
  window.steps[0].count = kMaxCount;
  window.steps[0].service.record(Duration::millis(1), kMaxCount);
  window.steps[0].bytes_received = uint64_t{1} << 50;
  totals.add(window);
  totals.add(window);
  EXPECT_EQ(copied(totals).counts().requests, 2 * kMaxCount);
  EXPECT_EQ(copied(totals).counts().bytes_received, uint64_t{1} << 51);
  EXPECT_EQ(decode_window(encode_window(totals.sum()), kShape).error().code, Errc::kProtocol);
}

// The bytes of some totals, changed, are refused for this reason.
template <class Change>
std::string refused(Change change) {
  const plan::Plan plan = sample_plan();
  Prng prng(1);
  Totals totals(plan);
  for (uint64_t second = 0; second < 4; ++second) totals.add(random_window(prng, second));
  wire::TotalsCopy copy;
  EXPECT_TRUE(copy.ParseFromString(*encode_totals(totals.save())));
  change(copy);
  const auto state = decode_totals(copy.SerializeAsString(), plan);
  return state ? "" : state.error().message;
}

TEST(TotalsCodec, what_cannot_be_is_refused) {
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(decode_totals("\xff", sample_plan()).error().code, Errc::kProtocol);
  EXPECT_THAT(refused([](auto& c) { c.set_sum("\xff"); }), HasSubstr("not a window"));
  EXPECT_THAT(refused([](auto& c) { c.set_elapsed_ns(-1); }), HasSubstr("an impossible time"));
  EXPECT_THAT(refused([](auto& c) { c.clear_workflow_vus(); }), HasSubstr("another plan"));
  EXPECT_THAT(refused([](auto& c) { c.add_workflow_vus(); }), HasSubstr("another plan"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_all_vus()->mutable_active()->set_last(1 << 20); }), HasSubstr("peak"));
  EXPECT_THAT(refused([](auto& c) {
                c.mutable_all_vus()->mutable_active()->set_last(-5);
                c.mutable_all_vus()->mutable_active()->set_peak(-4);
              }),
              HasSubstr("users"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_last()->set_second(100'000); }), HasSubstr("does not ascend"))
      << "seconds of one minute";
  EXPECT_THAT(refused([](auto& c) { c.mutable_series()->SwapElements(0, 1); }), HasSubstr("does not ascend"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_series(1)->set_requests(UINT64_MAX); }),
              HasSubstr("an impossible count"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_last()->set_covered_ns(-1); }), HasSubstr("an impossible time"));
  EXPECT_THAT(refused([](auto& c) {
                for (uint64_t s = 4; s <= Totals::kMaxSeries; ++s) c.add_series()->set_second(s);
              }),
              HasSubstr("too long a series"));
}

TEST(TotalsCodec, metrics_that_cannot_be_are_refused) {
  const plan::Plan plan = sample_plan_with_metrics();
  Totals totals(plan);
  for (uint64_t second = 0; second < 30; ++second) {
    metrics::Window window(aggregate::shape_of(plan));
    window.second = second;
    for (const std::size_t metric : {1U, 3U}) window.series[metric].record(4, 1e3);
    totals.add(window);
  }
  const std::string bytes = *encode_totals(totals.save());
  const auto refused = [&](auto change) {
    wire::TotalsCopy copy;
    EXPECT_TRUE(copy.ParseFromString(bytes));
    change(copy);
    const auto state = decode_totals(copy.SerializeAsString(), plan);
    return state ? "" : state.error().message;
  };
  const auto with = [&](auto change) {
    return refused([&](auto& c) { change(*c.mutable_metric_tiers(0)->mutable_points(1)->mutable_figures(0)); });
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_THAT(refused([](auto& c) { c.mutable_metric_tiers()->RemoveLast(); }), HasSubstr("another plan"));
  EXPECT_THAT(refused([](auto& c) {
                c.clear_metric_tiers();
                c.mutable_metric_archive();
              }),
              HasSubstr("another plan"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_metric_tiers(1)->set_open("\xff"); }),
              HasSubstr("an impossible interval"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_metric_tiers(0)->mutable_points()->SwapElements(0, 1); }),
              HasSubstr("out of order"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_metric_tiers(1)->mutable_points(1)->set_second(11); }),
              HasSubstr("out of order"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_metric_tiers(2)->add_points()->set_second(60); }),
              HasSubstr("out of order"))
      << "the run has not come so far";
  EXPECT_THAT(refused([](auto& c) {
                c.mutable_last()->set_second(10'000);
                c.clear_series();
                for (uint64_t s = 30; s <= aggregate::most_of_tier(0); ++s) {
                  c.mutable_metric_tiers(0)->add_points()->set_second(s);
                }
              }),
              HasSubstr("too many"));
  EXPECT_THAT(with([](auto& f) { f.set_metric(4); }), HasSubstr("an unknown"));
  EXPECT_THAT(with([](auto& f) { f.set_metric(3); }), HasSubstr("an unknown")) << "twice";
  EXPECT_THAT(with([](auto& f) { f.set_count(0); }), HasSubstr("contradict"));
  EXPECT_THAT(with([](auto& f) { f.set_trues(2); }), HasSubstr("contradict"));
  EXPECT_THAT(with([](auto& f) { f.set_least(5); }), HasSubstr("contradict"));
  EXPECT_THAT(with([](auto& f) { f.set_last(-5); }), HasSubstr("contradict"));
  EXPECT_THAT(with([](auto& f) { f.set_count(UINT64_MAX); }), HasSubstr("an impossible count"));
  EXPECT_THAT(with([](auto& f) { f.set_sum(std::nan("")); }), HasSubstr("an impossible figure"));
  EXPECT_THAT(with([](auto& f) { f.set_p95(-1e300); }), HasSubstr("an impossible figure"));
}

TEST(TotalsCodec, steps_over_time_that_cannot_be_are_refused) {
  EXPECT_THAT(refused([](auto& c) { c.set_step_length(3); }), HasSubstr("series of steps"));
  EXPECT_THAT(refused([](auto& c) { c.clear_step_length(); }), HasSubstr("series of steps"));
  EXPECT_THAT(refused([](auto& c) {
                while (c.step_intervals_size() <= static_cast<int>(aggregate::kMaxStepIntervals))
                  c.add_step_intervals();
              }),
              HasSubstr("series of steps"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_step_intervals(1)->set_covered_ns(-1); }),
              HasSubstr("an impossible time"));
  EXPECT_THAT(refused([](auto& c) { c.mutable_step_intervals(1)->set_covered_ns(INT64_MAX); }),
              HasSubstr("an impossible time"));
  const auto with_figures = [](std::initializer_list<uint32_t> steps, uint64_t failed) {
    return refused([&](auto& c) {
      auto& interval = *c.mutable_step_intervals(1);
      interval.clear_figures();
      for (const uint32_t step : steps) {
        auto& figure = *interval.add_figures();
        figure.set_step(step);
        figure.set_failed(failed);
      }
    });
  };
  EXPECT_EQ(with_figures({0, 1}, 1), "");
  EXPECT_THAT(with_figures({2}, 1), HasSubstr("an unknown"));
  EXPECT_THAT(with_figures({1, 0}, 1), HasSubstr("an unknown"));
  EXPECT_THAT(with_figures({0}, UINT64_MAX), HasSubstr("an impossible count"));
}

// Bytes of an earlier version.
TEST(TotalsCodec, a_copy_without_steps_over_time_goes_on) {
  EXPECT_EQ(refused([](auto& c) {
              c.clear_step_length();
              c.clear_step_intervals();
            }),
            "");
}

TEST(TotalsCodec, another_plan_is_refused) {
  const plan::Plan plan = sample_plan();
  Totals totals(plan);
  metrics::Window window = empty_window();
  window.steps.back().count = 1;
  totals.add(window);
  plan::Plan smaller = plan;
  smaller.steps.pop_back();
  const auto decoded = decode_totals(*encode_totals(totals.save()), smaller);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message, HasSubstr("another plan"));
}

}  // namespace
}  // namespace bellwether::ingest
