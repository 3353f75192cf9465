#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <vector>

#include "load/plan/load_testing.h"
#include "load/plan/schedule.h"

namespace bellwether::plan {
namespace {

// Of a think time as it is delay_written.
Delay delay_written(const std::string& think) {
  TestSources sources("workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}, think: " + think +
                      "}}}}");
  const auto plan = sources.load();
  EXPECT_TRUE(plan) << sources.errors();
  return plan ? plan->workflows[0].steps[0].think.value_or(Delay{}) : Delay{};
}

struct Figures {
  double mean = 0;
  double stddev = 0;
  double median = 0;
  double shortest = 0;
  double longest = 0;
};

// In seconds, of many drawn with a fixed seed.
Figures drawn(const std::string& think) {
  constexpr std::size_t kTimes = 40'000;
  const Delay delay = delay_written(think);
  Prng prng(20);
  std::vector<double> all(kTimes);
  for (double& one : all) one = draw(delay, prng).seconds_f();
  Figures out;
  for (const double one : all) out.mean += one / kTimes;
  for (const double one : all) out.stddev += (one - out.mean) * (one - out.mean) / kTimes;
  out.stddev = std::sqrt(out.stddev);
  std::sort(all.begin(), all.end());
  out.median = all[kTimes / 2];
  out.shortest = all.front();
  out.longest = all.back();
  return out;
}

TEST(Delay, fixed_ones_draw_nothing) {
  Prng prng(1);
  Prng untouched(1);
  EXPECT_EQ(draw(delay_written("1500ms"), prng), Duration::millis(1500));
  EXPECT_EQ(draw(delay_written("2s..2s"), prng), Duration::seconds(2));
  EXPECT_EQ(prng.next(), untouched.next());
}

TEST(Delay, uniform_ones_are_anywhere_between) {
  for (const char* think : {"1s..3s", "{uniform: {min: 1s, max: 3s}}"}) {
    const Figures seen = drawn(think);
    EXPECT_NEAR(seen.mean, 2, 0.02);
    EXPECT_NEAR(seen.stddev, 2 / std::sqrt(12), 0.01);
    EXPECT_GE(seen.shortest, 1);
    EXPECT_LT(seen.shortest, 1.001);
    EXPECT_LE(seen.longest, 3);
    EXPECT_GT(seen.longest, 2.999);
  }
}

TEST(Delay, normal_ones_have_their_mean_and_deviation) {
  const Figures seen = drawn("{normal: {mean: 1s, stddev: 200ms}}");
  EXPECT_NEAR(seen.mean, 1, 0.005);
  EXPECT_NEAR(seen.median, 1, 0.005);
  EXPECT_NEAR(seen.stddev, 0.2, 0.003);
  const Figures cut = drawn("{normal: {mean: 1s, stddev: 200ms, min: 900ms, max: 1050ms}}");
  EXPECT_EQ(cut.shortest, 0.9);
  EXPECT_EQ(cut.longest, 1.05);
  const Figures wide = drawn("{normal: {mean: 100ms, stddev: 1s}}");
  EXPECT_EQ(wide.shortest, 0) << "no pause is shorter than none";
}

TEST(Delay, exponential_ones_have_their_mean) {
  const Figures seen = drawn("{exponential: {mean: 2s}}");
  EXPECT_NEAR(seen.mean, 2, 0.03);
  EXPECT_NEAR(seen.stddev, 2, 0.05);
  EXPECT_NEAR(seen.median, 2 * std::log(2), 0.03);
  EXPECT_EQ(drawn("{exponential: {mean: 2s, max: 5s}}").longest, 5);
}

TEST(Delay, lognormal_ones_have_their_median_and_a_long_tail) {
  const Figures seen = drawn("{lognormal: {median: 1s, sigma: 0.5}}");
  EXPECT_NEAR(seen.median, 1, 0.01);
  EXPECT_NEAR(seen.mean, std::exp(0.5 * 0.5 / 2), 0.01);
  EXPECT_GT(seen.longest, 5);
  EXPECT_EQ(drawn("{lognormal: {median: 1s, sigma: 0.5, max: 3s}}").longest, 3);
}

Delay any_delay() {
  Delay out;
  out.law = static_cast<Delay::Law>(*rc::gen::inRange(0, 4));
  out.low = Duration::nanos(*rc::gen::inRange<int64_t>(0, 10'000'000'000));
  out.high = out.low + Duration::nanos(*rc::gen::inRange<int64_t>(0, 10'000'000'000));
  out.centre = Duration::nanos(*rc::gen::inRange<int64_t>(0, 31'000'000'000'000'000));
  out.spread = *rc::gen::inRange(0, 10'000) * 1e-3;
  return out;
}

RC_GTEST_PROP(Delay, each_keeps_its_bounds_and_its_seed_whatever_it_is, ()) {
  const Delay delay = any_delay();
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  Prng prng(seed);
  Prng again(seed);
  for (int i = 0; i < 50; ++i) {
    const Duration span = draw(delay, prng);
    RC_ASSERT(span >= delay.low && span <= delay.high);
    RC_ASSERT(span == draw(delay, again));
  }
}

TEST(Delay, pacing_is_written_like_think_time) {
  for (const char* executor : {"vus: 1, duration: 1s", "executor: ramping-vus, stages: [{duration: 1s, target: 1}]",
                               "executor: externally-controlled"}) {
    TestSources sources(std::string("workflows: {w: {") + executor +
                        ", pacing: {lognormal: {median: 1s, sigma: 0.5, max: 3s}}, steps: {a: {http: {get: "
                        "'http://h/'}}}}}");
    const auto plan = sources.load();
    ASSERT_TRUE(plan) << sources.errors();
    const auto& made = plan->workflows[0].executor;
    std::optional<Delay> pacing;
    if (const auto* constant = std::get_if<ConstantVus>(&made)) pacing = constant->pacing;
    if (const auto* ramping = std::get_if<RampingVus>(&made)) pacing = ramping->pacing;
    if (const auto* external = std::get_if<ExternallyControlled>(&made)) pacing = external->pacing;
    EXPECT_EQ(pacing, delay_written("{lognormal: {median: 1s, sigma: 0.5, max: 3s}}")) << executor;
  }
}

}  // namespace
}  // namespace bellwether::plan
