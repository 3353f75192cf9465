#include <gtest/gtest.h>

#include "load/results/compare/compare.h"

namespace bellwether::results {
namespace {

// Unclear unless they have another judgement.
std::string advice(std::vector<Difference> differences, std::string step = "shop.pay") {
  for (Difference& one : differences) {
    if (one.judgement == Judgement::kNotJudged) one.judgement = Judgement::kUnclear;
  }
  Comparison of;
  of.steps = {{std::move(step), std::move(differences)}};
  return advice_of(of, {.relative = 0.05, .errors = 0.001});
}

TEST(CompareAdvice, says_what_the_runs_can_show_and_how_much_longer_they_must_be) {
  EXPECT_EQ(advice({{.figure = Figure::kP95, .change = 0.01, .low = -0.14, .high = 0.16}}),
            "1 figure is unclear: the difference found is smaller than these runs can show. They show a change of 15% "
            "in p95 of shop.pay (tolerance: 5%). Runs about 9 times as long give a clear answer, and so does "
            "--tolerance 16%.");
}

TEST(CompareAdvice, runs_of_hundreds_of_times_the_length_are_none) {
  EXPECT_EQ(advice({{.figure = Figure::kRate, .change = 0.01, .low = -0.05, .high = 0.07},
                    {.figure = Figure::kP99, .change = 0.05, .low = -0.8, .high = 0.9}},
                   ""),
            "2 figures are unclear: the difference found is smaller than these runs can show. They show a change of "
            "85% in p99 of all steps (tolerance: 5%). --tolerance 90% gives a clear answer; a smaller one needs "
            "steadier or much longer runs.");
  EXPECT_NE(advice({{.figure = Figure::kP99, .change = 0.05, .low = -8, .high = 9}}).find("too uneven"),
            std::string::npos);
}

TEST(CompareAdvice, fractions_have_a_tolerance_of_their_own) {
  EXPECT_EQ(advice({{.figure = Figure::kErrors, .change = 0.001, .low = -0.01, .high = 0.012}}),
            "1 figure is unclear: the difference found is smaller than these runs can show. They show a change of 1.1 "
            "percentage points in errors of shop.pay (tolerance: 0.1 percentage points). --errors 1.2% gives a clear "
            "answer; a smaller one needs steadier or much longer runs.");
}

TEST(CompareAdvice, a_tolerance_that_leaves_figures_unclear_is_none) {
  const Difference errors{.figure = Figure::kErrors, .change = 0.001, .low = -0.01, .high = 0.012};
  const std::string uneven = advice({{.figure = Figure::kP99, .change = 0.05, .low = -8, .high = 9}, errors});
  EXPECT_EQ(uneven.find("--errors"), std::string::npos) << uneven;
  EXPECT_NE(uneven.find("too uneven"), std::string::npos) << uneven;
}

TEST(CompareAdvice, a_tolerance_is_enough_for_clear_figures_that_it_makes_unclear) {
  const Difference unclear{.figure = Figure::kP95, .change = 0.01, .low = -0.14, .high = 0.16};
  const auto told = [&](Difference other, Judgement judgement) {
    other.judgement = judgement;
    const std::string out = advice({unclear, other});
    return out.substr(out.find("--tolerance"));
  };
  const Difference tolerated{.figure = Figure::kP50, .change = -0.10, .low = -0.20, .high = -0.001};
  EXPECT_EQ(told(tolerated, Judgement::kBetter), "--tolerance 20%.");
  // Beyond the tolerance in any case.
  const Difference beyond{.figure = Figure::kP50, .change = 0.30, .low = 0.1, .high = 0.50};
  EXPECT_EQ(told(beyond, Judgement::kWorse), "--tolerance 16%.");
  // Rounded up, it is the change.
  const Difference rounded{.figure = Figure::kP50, .change = 0.1595, .low = 0.1, .high = 0.219};
  EXPECT_EQ(told(rounded, Judgement::kWorse), "--tolerance 22%.");
}

TEST(CompareAdvice, a_real_difference_is_not_called_chance) {
  EXPECT_NE(advice({{.figure = Figure::kP50, .change = 0.05, .low = 0.01, .high = 0.09}})
                .find("the difference found is real, and may be greater than the tolerance"),
            std::string::npos);
  EXPECT_EQ(advice_of({}, {}), "");
}

}  // namespace
}  // namespace bellwether::results
