#include "load/results/compare/compare.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "load/metrics/histogram.h"

namespace bellwether::results {
namespace {

double normal(Prng& prng) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += prng.unit();
  return sum - 6;
}

struct World {
  double times = 1;      // of all times, beside the usual
  double failing = 0.0;  // share
  double rate = 1;
  double dropping = 0.0;  // share
  std::size_t batches = 30;
};

// A server whose moods last: each batch is as fast as the one before, a bit more or less.
Batches run_of(uint64_t seed, const World& world) {
  Prng prng(seed);
  Batches out;
  out.steps = {"a"};
  out.of.resize(2);
  double mood = normal(prng);
  for (std::size_t b = 0; b < world.batches; ++b) {
    mood = 0.3 * mood + std::sqrt(1 - 0.09) * normal(prng);
    StepBatch batch;
    const auto count = static_cast<uint64_t>(world.rate * (300 + 3 * normal(prng)));
    for (uint64_t i = 0; i < count; ++i) {
      const double ms = 10 * world.times * std::exp(0.02 * mood + 0.3 * normal(prng));
      ++batch.times[metrics::Histogram::index_of(static_cast<uint64_t>(ms * 1e6))];
      batch.failed += prng.chance(world.failing) ? 1 : 0;
    }
    batch.count = count;
    batch.due = 300;
    for (uint64_t i = 0; i < batch.due; ++i) batch.dropped += prng.chance(world.dropping) ? 1 : 0;
    out.of[0].push_back(batch);
    out.of[1].push_back(batch);
    out.covered.push_back(Duration::seconds(1));
  }
  return out;
}

int found(const World& before, const World& after, const Tolerance& tolerance, Judgement judgement, int pairs) {
  int of = 0;
  for (int i = 0; i < pairs; ++i) {
    const auto seed = static_cast<uint64_t>(2 * i + 1);
    of += compare(run_of(seed, before), run_of(seed + 1, after), tolerance).count(judgement) > 0 ? 1 : 0;
  }
  return of;
}

TEST(Compare, two_runs_of_one_world_differ_no_more_often_than_is_said) {
  // With nothing tolerated, so that only the intervals protect: 5 % of 50, and what chance adds to that.
  const Tolerance nothing{.relative = 0, .errors = 0};
  const World world{.failing = 0.01};
  EXPECT_LE(found(world, world, nothing, Judgement::kWorse, 50), 5);
}

TEST(Compare, two_runs_of_one_world_are_no_regression) {
  const World world{.failing = 0.01};
  EXPECT_EQ(found(world, world, {}, Judgement::kWorse, 20), 0);
}

TEST(Compare, a_tenth_slower_is_found_and_so_is_a_tenth_faster) {
  EXPECT_GE(found({}, {.times = 1.1}, {}, Judgement::kWorse, 15), 15);
  EXPECT_GE(found({}, {.times = 0.9}, {}, Judgement::kBetter, 15), 15);
  EXPECT_EQ(found({}, {.times = 0.9}, {}, Judgement::kWorse, 10), 0);
}

TEST(Compare, a_run_that_dropped_iterations_is_worse_than_one_that_did_not) {
  EXPECT_EQ(found({}, {.dropping = 0.05}, {}, Judgement::kWorse, 5), 5);
  EXPECT_EQ(found({.dropping = 0.05}, {}, {}, Judgement::kBetter, 5), 5);
  const Comparison compared = compare(run_of(1, {}), run_of(2, {.dropping = 0.05}), {});
  ASSERT_EQ(compared.steps.size(), 1U);
  const Difference& one = compared.steps[0].differences.back();
  EXPECT_EQ(one.figure, Figure::kDropped);
  EXPECT_EQ(one.before, 0);
  EXPECT_NEAR(one.change, 0.05, 0.01);
  EXPECT_NE(compare(run_of(1, {}), run_of(2, {}), {}).steps[0].differences.back().figure, Figure::kDropped);
}

TEST(Compare, less_than_is_tolerated_is_no_regression_however_sure) {
  EXPECT_EQ(found({}, {.times = 1.1}, {.relative = 0.3}, Judgement::kWorse, 10), 0);
}

const Difference& of(const Comparison& comparison, Figure figure) {
  return comparison.steps.back().differences[static_cast<std::size_t>(figure)];
}

TEST(Compare, a_change_lies_in_its_interval_and_has_its_sign) {
  const Comparison slower = compare(run_of(1, {}), run_of(2, {.times = 1.2, .rate = 0.8}), {});
  for (const Difference& one : slower.steps.back().differences) {
    EXPECT_LE(one.low, one.change);
    EXPECT_LE(one.change, one.high);
  }
  EXPECT_NEAR(of(slower, Figure::kP50).change, 0.2, 0.03);
  EXPECT_NEAR(of(slower, Figure::kRate).change, -0.2, 0.03);
  EXPECT_EQ(of(slower, Figure::kRate).judgement, Judgement::kWorse);
  EXPECT_EQ(of(slower, Figure::kErrors).judgement, Judgement::kSame);
  EXPECT_NEAR(of(slower, Figure::kP50).before, 10, 0.3);
}

TEST(Compare, new_errors_are_found_where_there_were_none) {
  const Comparison broken = compare(run_of(1, {}), run_of(2, {.failing = 0.05}), {});
  EXPECT_EQ(of(broken, Figure::kErrors).judgement, Judgement::kWorse);
  EXPECT_NEAR(of(broken, Figure::kErrors).change, 0.05, 0.01);
  EXPECT_EQ(compare(run_of(2, {.failing = 0.05}), run_of(1, {}), {}).steps.back().differences[1].judgement,
            Judgement::kBetter);
}

TEST(Compare, what_is_too_little_is_not_judged) {
  const Comparison brief = compare(run_of(1, {.batches = 7}), run_of(2, {.times = 2}), {});
  EXPECT_EQ(brief.judged, 0U);
  EXPECT_EQ(brief.count(Judgement::kWorse), 0U);
  const Comparison few = compare(run_of(1, {.rate = 0.1}), run_of(2, {.times = 2, .rate = 0.1}), {});
  EXPECT_EQ(of(few, Figure::kP50).judgement, Judgement::kWorse);
  EXPECT_EQ(of(few, Figure::kP99).judgement, Judgement::kNotJudged) << "900 requests have 9 beyond it";
}

TEST(Compare, the_same_runs_compare_the_same_each_time) {
  const Batches a = run_of(1, {});
  const Batches b = run_of(2, {});
  EXPECT_EQ(of(compare(a, b, {}), Figure::kP99).low, of(compare(a, b, {}), Figure::kP99).low);
}

TEST(Compare, says_how_much_longer_runs_must_be_to_tell) {
  Comparison of;
  const Tolerance tolerance{.relative = 0.05, .errors = 0.001};
  of.steps = {{"a",
               {{.figure = Figure::kP95, .change = 0.01, .low = -0.14, .high = 0.16, .judgement = Judgement::kUnclear},
                {.figure = Figure::kP99, .low = -7, .high = 7, .judgement = Judgement::kSame}}}};
  EXPECT_NEAR(of.longer(tolerance), 9, 1e-9) << "an interval three times as wide as the tolerance";
  of.steps[0].differences[0].change = 0.15;
  EXPECT_NEAR(of.longer(tolerance), 2, 1e-9) << "at least twice";
  of.steps[0].differences[0].judgement = Judgement::kSame;
  EXPECT_EQ(of.longer(tolerance), 1);
}

}  // namespace
}  // namespace bellwether::results
