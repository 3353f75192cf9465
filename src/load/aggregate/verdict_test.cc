#include "load/aggregate/verdict.h"

#include <gmock/gmock.h>

namespace bellwether::aggregate {
namespace {

Facts good() { return {.thresholds = 3, .requests = 1000}; }

void expect(const Facts& facts, Outcome outcome, int exit_code, std::string_view reason_contains) {
  const Verdict got = verdict(facts);
  EXPECT_EQ(got.outcome, outcome) << got.reason;
  EXPECT_EQ(got.exit_code, exit_code) << got.reason;
  const std::string text = verdict_text(got.reason, got.failed_thresholds);
  EXPECT_NE(text.find(reason_contains), std::string::npos) << text;
}

TEST(Verdict, without_a_confirmed_result_no_figure_decides) {
  Facts facts = good();
  facts.unconfirmed = "no manager answers";
  expect(facts, Outcome::kInconclusive, 120, "unconfirmed: no manager answers");
  EXPECT_EQ(verdict(facts).reason, "unconfirmed: no manager answers");
  facts.on_loss = plan::OnLoss::kPass;
  facts.ending = Ending::kCancelled;
  facts.thresholds_failed = {"a p(95)=2ms, limit <1ms"};
  facts.losses = {.entries = 1, .time = Duration::millis(800), .most_ratio = 0.25};
  expect(facts, Outcome::kInconclusive, 120,
         "no manager answers; so far 25.0 % of the load was lost for 800ms; 1 of 3 thresholds failed: a p(95)=2ms");
}

TEST(Verdict, each_row_of_the_table) {
  expect(good(), Outcome::kPass, 0, "all 3 thresholds passed");
  Facts facts = good();
  facts.thresholds = 1;
  expect(facts, Outcome::kPass, 0, "the threshold passed");
  facts.thresholds = 0;
  expect(facts, Outcome::kPass, 0, "no threshold was given");

  facts = good();
  facts.ending = Ending::kSignal;
  expect(facts, Outcome::kAborted, 105, "signal");
  facts.ending = Ending::kOnError;
  expect(facts, Outcome::kAborted, 108, "on_error");
  facts.ending = Ending::kThreshold;
  expect(facts, Outcome::kFail, 99, "abortOnFail");
  facts.ending = Ending::kCancelled;
  expect(facts, Outcome::kAborted, 105, "cancelled before its end");
  facts.why = "wrong target";
  expect(facts, Outcome::kAborted, 105, "cancelled before its end: wrong target");
  facts.ending = Ending::kNotRun;
  facts.why = "no worker was there for 1m";
  expect(facts, Outcome::kAborted, 1, "the run did not take place: no worker was there for 1m");

  facts = good();
  facts.losses = {.entries = 1, .time = Duration::millis(800), .most_ratio = 0.25};
  expect(facts, Outcome::kInconclusive, 120, "25.0 % of the load was lost for 800ms");

  facts = good();
  facts.thresholds_failed = {"a p(95)=2ms, limit <1ms", "b rate=5%, limit <1%"};
  expect(facts, Outcome::kFail, 99, "2 of 3 thresholds failed: a p(95)=2ms, limit <1ms; b rate=5%, limit <1%");
  facts.thresholds_no_samples = 1;
  expect(facts, Outcome::kFail, 99,
         "1 threshold had no samples to judge; 2 of 3 thresholds failed: a p(95)=2ms, limit <1ms; b rate=5%");
  facts = good();
  facts.thresholds_no_samples = 1;
  expect(facts, Outcome::kInconclusive, 123, "1 of 3 thresholds had no samples");

  facts = good();
  facts.scheduled = 1000;
  facts.missed = 11;
  expect(facts, Outcome::kFail, 121, "11 of 1,000 iterations (1.1 %)");
  facts.saturated = true;
  expect(facts, Outcome::kInconclusive, 122, "generator was saturated");
}

TEST(Verdict, a_run_in_which_nothing_worked_never_passes_unless_a_threshold_says_so) {
  Facts facts{.requests = 1000, .failed = 1000};
  expect(facts, Outcome::kFail, 110, "every request failed, 1,000 of them");
  facts.failed = 999;
  expect(facts, Outcome::kPass, 0, "no threshold");
  facts = Facts{};
  facts.why = "no iteration began";
  expect(facts, Outcome::kFail, 110, "no measured request was made: no iteration began");
  facts.measures = false;
  expect(facts, Outcome::kPass, 0, "no threshold");
  facts = Facts{.thresholds = 1, .requests = 1000, .failed = 1000};
  expect(facts, Outcome::kPass, 0, "the threshold passed");
}

TEST(Verdict, up_to_one_percent_of_the_schedule_may_be_missed) {
  Facts facts = good();
  facts.scheduled = 1000;
  facts.missed = 10;
  expect(facts, Outcome::kPass, 0, "passed");
  facts.missed = 11;
  expect(facts, Outcome::kFail, 121, "the schedule was not achieved: 11 of 1,000 iterations (1.1 %)");
  facts.missing = "buy";
  expect(facts, Outcome::kFail, 121, "the schedule of 'buy' was not achieved");
}

TEST(Verdict, a_saturated_generator_that_kept_its_schedule_is_no_failure) {
  Facts facts = good();
  facts.saturated = true;
  expect(facts, Outcome::kPass, 0, "passed");
}

// All combinations of what can be wrong: the exit code is that of the first row of the table that applies.
TEST(Verdict, precedence_holds_for_every_combination) {
  for (int bits = 0; bits < 512; ++bits) {
    const auto on = [bits](int bit) { return (bits >> bit & 1) != 0; };
    for (const Ending ending : {Ending::kCompleted, Ending::kSignal, Ending::kOnError, Ending::kTimeout,
                                Ending::kThreshold, Ending::kCancelled, Ending::kNotRun}) {
      Facts facts;
      facts.ending = ending;
      facts.thresholds = on(0) ? 4 : 0;
      if (on(0) && on(1)) facts.thresholds_failed = {"a"};
      facts.thresholds_no_samples = on(0) && on(2) ? 1 : 0;
      facts.requests = 100;
      facts.failed = on(3) ? 100 : 0;
      facts.scheduled = on(6) ? 0 : 100;
      facts.missed = on(4) && !on(6) ? 50 : 0;
      facts.saturated = on(5);
      if (on(7)) facts.losses = {.entries = 2, .time = Duration::seconds(1), .most_ratio = 0.5};
      if (on(8)) facts.on_loss = plan::OnLoss::kPass;

      int expected = 0;
      if (ending == Ending::kNotRun) {
        expected = 1;
      } else if (ending == Ending::kSignal || ending == Ending::kCancelled) {
        expected = 105;
      } else if (ending == Ending::kOnError || ending == Ending::kTimeout) {
        expected = 108;
      } else if (ending == Ending::kThreshold || !facts.thresholds_failed.empty()) {
        expected = 99;
      } else if (on(7) && !on(8)) {
        expected = 120;
      } else if (facts.thresholds_no_samples > 0) {
        expected = 123;
      } else if (facts.thresholds == 0 && facts.failed == 100) {
        expected = 110;
      } else if (facts.missed == 50) {
        expected = facts.saturated ? 122 : 121;
      }
      const Verdict got = verdict(facts);
      ASSERT_EQ(got.exit_code, expected) << bits;
      ASSERT_EQ(got.outcome == Outcome::kPass, expected == 0) << bits;
      ASSERT_FALSE(got.reason.empty());
    }
  }
}

TEST(Verdict, on_loss_decides_what_a_loss_means) {
  Facts facts = good();
  facts.losses = {.entries = 3, .time = Duration::millis(2100), .most_ratio = 0.333};
  expect(facts, Outcome::kInconclusive, 120, "up to 33.3 % of the load was lost in 3 places, 2.10s in all");
  facts.on_loss = plan::OnLoss::kFail;
  expect(facts, Outcome::kFail, 120, "was lost");
  facts.on_loss = plan::OnLoss::kPass;
  expect(facts, Outcome::kPass, 0, "all 3 thresholds passed; up to 33.3 % of the load was lost");
  expect(facts, Outcome::kPass, 0, "which on_loss: pass allows");
  facts.losses = {};
  facts.on_loss = plan::OnLoss::kFail;
  expect(facts, Outcome::kPass, 0, "all 3 thresholds passed");
}

TEST(Verdict, a_threshold_that_failed_on_what_was_measured_fails_and_the_loss_is_said) {
  Facts facts = good();
  facts.losses = {.entries = 1, .time = Duration::seconds(1), .most_ratio = 0.0001};
  facts.thresholds_failed = {"a p(95)=2ms, limit <1ms"};
  expect(facts, Outcome::kFail, 99,
         "less than 0.1 % of the load was lost for 1s; 1 of 3 thresholds failed: a p(95)=2ms, limit <1ms");
  facts.thresholds_failed = {};
  facts.thresholds_no_samples = 1;
  expect(facts, Outcome::kInconclusive, 120, "lost for 1s, and 1 of 3 thresholds had no samples");
}

TEST(Losses, count_the_time_of_overlapping_ones_once) {
  const std::vector<plan::Loss> losses{{Duration::seconds(10), Duration::seconds(12), 0.25, "w2"},
                                       {Duration::seconds(1), Duration::seconds(2), 0.5, "w1"},
                                       {Duration::seconds(11), Duration::seconds(13), 0.25, "w3"},
                                       {Duration::millis(10'500), Duration::seconds(11), 0.1, "w4"},
                                       {Duration::millis(12'200), Duration::millis(12'500), 0.1, "w5"}};
  const LossSum sum = sum_of(losses);
  EXPECT_EQ(sum.entries, 5u);
  EXPECT_EQ(sum.time, Duration::seconds(4));
  EXPECT_DOUBLE_EQ(sum.most_ratio, 0.5);
  EXPECT_EQ(sum_of({}).time, Duration::zero());
}

plan::Plan one_step() {
  plan::Plan plan;
  plan.workflows.resize(1);
  plan.steps = {{.workflow = 0, .index = 0, .name = "w.s", .measured = true}};
  return plan;
}

TEST(Generator, is_saturated_by_cpu_by_lag_and_by_exhaustion_and_by_nothing_less) {
  const plan::Plan plan = one_step();
  const auto check_of = [&](Duration cpu, Duration lag, uint32_t exhausted) {
    metrics::Window window({1, 1, 0});
    window.cpu = cpu;
    window.loop_lag.record(lag);
    window.steps[0].errors[static_cast<std::size_t>(http1::ErrorKind::kExhausted)] = exhausted;
    Totals totals(plan);
    totals.add(window, Duration::seconds(10));
    return generator_check(totals, 2);
  };
  EXPECT_FALSE(check_of(Duration::millis(18'900), Duration::millis(50), 0).saturated());
  EXPECT_NE(check_of(Duration::seconds(19), Duration::zero(), 0).saturation.find("CPU"), std::string::npos);
  EXPECT_NE(check_of(Duration::zero(), Duration::millis(51), 0).saturation.find("lagged"), std::string::npos);
  EXPECT_NE(check_of(Duration::zero(), Duration::zero(), 1).saturation.find("1 request found"), std::string::npos);
  EXPECT_DOUBLE_EQ(check_of(Duration::seconds(5), Duration::zero(), 0).cpu_cores, 0.5);
  EXPECT_FALSE(generator_check(Totals(plan), 1).saturated()) << "before anything was measured";
}

TEST(Generator, is_saturated_when_its_loops_stood_still_for_a_hundredth_of_the_run) {
  const plan::Plan plan = one_step();
  metrics::Window window({1, 1, 0});
  window.loop_lag.record(Duration::micros(90), 1'000'000);
  window.loop_lag.record(Duration::millis(900), 100);
  window.loop_lag.record(Duration::seconds(3), 2);  // one for each core
  Totals totals(plan);
  totals.add(window, Duration::seconds(290));
  EXPECT_THAT(generator_check(totals, 2).saturation, testing::StartsWith("its event loop stood still for 3.0"));
  totals.add(metrics::Window({1, 1, 0}), Duration::seconds(20));
  EXPECT_FALSE(generator_check(totals, 2).saturated());
}

TEST(Generator, is_saturated_by_what_its_machine_did_to_it_for_a_hundredth_of_the_run) {
  const plan::Plan plan = one_step();
  Totals totals(plan);
  totals.add(metrics::Window({1, 1, 0}), Duration::seconds(1000));
  const auto found = [&](Saturation saturation, Duration first, Duration second) {
    const Duration later = Duration::seconds(500);
    return generator_check(
        totals, 2, {{saturation, Duration::zero(), first, 0.5, true}, {saturation, later, later + second, 0.3, true}});
  };
  const Generator stolen = found(Saturation::kStolen, Duration::seconds(6), Duration::seconds(5));
  EXPECT_EQ(stolen.saturation,
            "the hypervisor gave 50 % of the requested CPU time to other machines (at worst; 11s in all)");
  EXPECT_EQ(stolen.remedy, remedy(Saturation::kStolen));
  EXPECT_EQ(stolen.findings.size(), 2U);
  for (const Saturation saturation :
       {Saturation::kThrottled, Saturation::kStolen, Saturation::kMemory, Saturation::kDescriptors}) {
    EXPECT_TRUE(found(saturation, Duration::seconds(6), Duration::seconds(5)).saturated()) << to_string(saturation);
    EXPECT_FALSE(found(saturation, Duration::seconds(5), Duration::seconds(4)).saturated()) << to_string(saturation);
  }
  for (const Saturation saturation : {Saturation::kCpu, Saturation::kLoopLag, Saturation::kExhausted}) {
    const Generator busy = found(saturation, Duration::seconds(100), Duration::seconds(100));
    EXPECT_FALSE(busy.saturated()) << "the run as a whole says so, or nothing: " << to_string(saturation);
    EXPECT_EQ(busy.findings.size(), 2U);
  }
}

TEST(Generator, of_several_workers_one_whose_machine_held_it_up_is_enough_and_is_named) {
  const plan::Plan plan = one_step();
  Totals totals(plan);
  totals.add(metrics::Window({1, 1, 0}), Duration::seconds(100));
  const auto found = [](const char* worker, double worst, Duration length) {
    return Finding{Saturation::kStolen, Duration::seconds(10), Duration::seconds(10) + length, worst, true, worker};
  };
  const Generator one =
      generator_check(totals, 4, {found("w1", 0.9, Duration::millis(900)), found("w2", 0.4, Duration::seconds(1))});
  EXPECT_EQ(one.saturation,
            "worker 'w2': the hypervisor gave 40 % of the requested CPU time to other machines (at worst; 1s in all)");
  EXPECT_EQ(one.findings.size(), 2U);
  const Generator none =
      generator_check(totals, 4, {found("w1", 0.9, Duration::millis(900)), found("w2", 0.4, Duration::millis(900))});
  EXPECT_FALSE(none.saturated()) << "neither was, for long enough";
}

TEST(Verdict, of_a_number_of_iterations_all_are_scheduled) {
  plan::Plan plan = one_step();
  plan.workflows[0].executor = plan::Iterations{.vus = 2, .iterations = 100};
  metrics::Window window({1, 1, 0});
  window.steps[0].count = 7;
  window.workflows[0].iterations = 6;
  window.workflows[0].interrupted = 1;
  window.workflows[0].dropped = 93;
  Totals totals(plan);
  totals.add(window);
  const Verdict judged = verdict(facts_of(totals, {}, {.cores = 1}, Ending::kCompleted, "", {}));
  EXPECT_EQ(judged.exit_code, kExitSchedule);
  EXPECT_NE(judged.reason.find("93 of 100 iterations (93.0 %)"), std::string::npos) << judged.reason;
}

TEST(Verdict, many_failed_thresholds_are_not_all_named) {
  Facts facts = good();
  facts.thresholds = 9;
  facts.thresholds_failed = {"a", "b", "c", "d", "e"};
  expect(facts, Outcome::kFail, 99, "5 of 9 thresholds failed: a; b; c; and 2 more");
  facts.ending = Ending::kThreshold;
  expect(facts, Outcome::kFail, 99,
         "stopped early by a failed threshold that has abortOnFail; 5 of 9 thresholds failed");
}

TEST(Verdict, failed_thresholds_are_a_list_beside_the_reason_whatever_decided) {
  Facts facts = good();
  facts.thresholds_failed = {"a p(95)=2ms, limit <1ms", "b", "c", "d"};
  facts.thresholds = 5;
  EXPECT_EQ(verdict(facts).reason, "4 of 5 thresholds failed");
  EXPECT_EQ(verdict(facts).failed_thresholds, facts.thresholds_failed) << "all of them, none is shortened";
  facts.ending = Ending::kSignal;
  EXPECT_EQ(verdict(facts).exit_code, 105);
  EXPECT_EQ(verdict(facts).reason, "stopped by a signal before its end; 4 of 5 thresholds failed");
  EXPECT_EQ(verdict(facts).failed_thresholds, facts.thresholds_failed);
  EXPECT_TRUE(verdict(good()).failed_thresholds.empty());
  EXPECT_EQ(verdict_text("all 3 thresholds passed", {}), "all 3 thresholds passed");
}

TEST(Verdict, a_stop_names_its_cause) {
  Facts facts = good();
  facts.ending = Ending::kSignal;
  expect(facts, Outcome::kAborted, 105, "stopped by a signal before its end");
  facts.why = "the user (key q)";
  expect(facts, Outcome::kAborted, 105, "stopped by the user (key q) before its end");
}

TEST(Verdict, facts_come_from_totals_plan_and_results) {
  plan::Plan plan = one_step();
  plan.thresholds.resize(3);
  plan.thresholds[1].metric = plan.thresholds[1].metric_text = "dropped_iterations";
  plan.thresholds[1].expression = "count<1";
  metrics::Window window({1, 1, 0});
  window.steps[0].count = 10;
  window.steps[0].failed = 4;
  window.workflows[0].scheduled = 20;
  window.workflows[0].on_time = 9;
  window.workflows[0].late = 1;
  window.workflows[0].dropped = 3;
  Totals totals(plan);
  totals.add(window);
  Generator generator{.cores = 1};
  generator.saturation = "busy";
  const std::vector<ThresholdResult> results{{.value = 1, .ok = true}, {.value = 1, .ok = false}, {}};
  plan.on_loss = plan::OnLoss::kFail;
  const std::vector<plan::Loss> losses{{Duration::seconds(1), Duration::seconds(3), 0.5, "w1 died"}};
  const Facts facts = facts_of(totals, results, generator, Ending::kOnError, "why", losses);
  EXPECT_EQ(facts.why, "why");
  EXPECT_EQ(facts.losses.entries, 1u);
  EXPECT_EQ(facts.losses.time, Duration::seconds(2));
  EXPECT_EQ(facts.on_loss, plan::OnLoss::kFail);
  EXPECT_EQ(facts.ending, Ending::kOnError);
  EXPECT_EQ(facts.thresholds, 3u);
  EXPECT_EQ(facts.thresholds_failed, std::vector<std::string>{"dropped_iterations count=1, limit <1"});
  EXPECT_EQ(facts.thresholds_no_samples, 1u);
  EXPECT_TRUE(facts.measures);
  EXPECT_EQ(facts.requests, 10u);
  EXPECT_EQ(facts.failed, 4u);
  EXPECT_EQ(facts.scheduled, 0u) << "a threshold judges it";
  EXPECT_TRUE(facts.saturated);

  plan.steps[0].measured = false;
  plan.thresholds.clear();
  const Facts other = facts_of(totals, {}, Generator{.cores = 1}, Ending::kCompleted);
  EXPECT_FALSE(other.measures);
  EXPECT_EQ(other.scheduled, 20u);
  EXPECT_EQ(other.missed, 10u) << "three dropped, seven never started";
  EXPECT_EQ(other.missing, "") << "there is no other";
}

TEST(Facts, a_threshold_on_the_drops_of_one_workflow_says_nothing_about_the_others) {
  plan::Plan plan;
  for (const char* name : {"a", "b", "c"}) plan.workflows.emplace_back().name = name;
  metrics::Window window({0, 3, 0});
  for (std::size_t w = 0; w < 3; ++w) {
    window.workflows[w].scheduled = 100;
    window.workflows[w].dropped = 50 - 20 * w;
    window.workflows[w].on_time = 50 + 20 * w;
  }
  Totals totals(plan);
  totals.add(window);
  const auto worst = [&] { return facts_of(totals, {}, Generator{.cores = 1}, Ending::kCompleted); };
  EXPECT_EQ(worst().missing, "a");
  plan.thresholds = {{.metric = "dropped_iterations", .workflow = 0}};
  EXPECT_EQ(worst().missing, "b");
  EXPECT_EQ(worst().missed, 30u);
  plan.thresholds[0].workflow.reset();
  EXPECT_EQ(worst().scheduled, 0u);
}

}  // namespace
}  // namespace bellwether::aggregate
