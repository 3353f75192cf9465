// The real engine against the real test server, one of which stands still for a while. In an open model every arrival
// of the stall must show in the response times, as much as it waited, whether or not a virtual user was free for it;
// what the percentiles must then be is known beforehand.
#include <gtest/gtest.h>

#include "sim/world.h"
#include "target/routes.h"
#include "tests/sim/fast/http_server.h"
#include "tests/sim/fast/load.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

using metrics::Histogram;

constexpr Duration kRunsFor = Duration::seconds(10);
constexpr double kRate = 100;
constexpr uint64_t kArrivals = 1000;
constexpr uint64_t kUsualStalls = 25;  // arithmetic knows the answer to each of them: none is rare

plan::QuickRun open_model(uint32_t vus) {
  return {.url = "http://server/json", .vus = vus, .duration = kRunsFor, .rate_per_s = kRate};
}

struct Stall {
  const char* node;
  Duration begins;
  Duration lasts;
};

void live(uint64_t seed, Load& load, const Stall& stall) {
  target::FaultOptions target_faults;
  World world(seed);
  Node& server = world.add_node("server");
  Node& generator = world.add_node("generator");
  Node& stalled = stall.node == server.name() ? server : generator;
  server.start(&http_server, &target_faults);
  world.run_for(Duration::millis(1));
  generator.start(&generate_load, &load);
  world.run_for(stall.begins);
  stalled.pause();
  world.run_for(stall.lasts);
  stalled.resume();
  world.run_for(kRunsFor + Duration::seconds(40));
  EXPECT_TRUE(load.over) << "seed " << seed;
}

Stall draw_stall(uint64_t seed, const char* node) {
  Prng prng(seed);
  return {node, prng.between(Duration::seconds(1), Duration::seconds(5)),
          prng.between(Duration::millis(500), Duration::seconds(4))};
}

// What the response time of this percentile must be when all arrivals of the stall waited for its end.
Duration due_at(double percentile, Duration stall) {
  const double waiting = stall.seconds_f() * kRate;
  const double above = (100 - percentile) / 100 * static_cast<double>(kArrivals);
  return above >= waiting ? Duration::zero() : Duration::from_seconds_f(stall.seconds_f() * (1 - above / waiting));
}

Judgement judge(const Histogram& response, Duration stall) {
  // Two arrivals, and the way to the server and back on a new connection.
  constexpr Duration kNear = Duration::millis(60);
  if (response.count() != kArrivals) return std::to_string(response.count()) + " response times";
  for (const double percentile : {50.0, 90.0, 95.0, 99.0, 100.0}) {
    const Duration is = response.percentile(percentile);
    const Duration must = due_at(percentile, stall);
    if (is < must - kNear || is > must + kNear) {
      return "p" + std::to_string(percentile) + " is " + std::to_string(is.ms()) + " ms and must be " +
             std::to_string(must.ms()) + " ms";
    }
  }
  return {};
}

Judgement every_arrival_is_sent(uint64_t seed) {
  const Stall stall = draw_stall(seed, "server");
  Load load(open_model(/*vus=*/500));
  live(seed, load, stall);
  if (load.workflow().dropped != 0 || load.step().failed != 0) return "something was dropped or failed";
  return judge(load.step().response.waits(), stall.lasts);
}
TEST(Stall, of_the_server_shows_in_full_when_every_arrival_is_sent) {
  expect_good(&every_arrival_is_sent, kUsualStalls);
}

Judgement one_user_only(uint64_t seed) {
  const Stall stall = draw_stall(seed, "server");
  Load load(open_model(/*vus=*/1));
  live(seed, load, stall);
  const auto& counts = load.workflow();
  if (counts.scheduled != kArrivals || counts.on_time + counts.late + counts.dropped != kArrivals) {
    return "arrivals are not accounted for";
  }
  if (load.step().response.unfinished.count() != counts.dropped || counts.dropped < 40)
    return "what was dropped was not charged";
  return judge(load.step().response.waits(), stall.lasts);
}
TEST(Stall, of_the_server_shows_in_full_although_the_one_user_was_busy) { expect_good(&one_user_only, kUsualStalls); }

Judgement generator_stalls(uint64_t seed) {
  const Stall stall = draw_stall(seed, "generator");
  Load load(open_model(/*vus=*/500));
  live(seed, load, stall);
  if (load.workflow().late == 0) return "late starts were counted as on time";
  if (load.workflow().start_lag.max() < stall.lasts - Duration::millis(20)) return "the lag does not show";
  return judge(load.step().response.waits(), stall.lasts);
}
TEST(Stall, of_the_generator_shows_in_full_as_lag_and_response_time) { expect_good(&generator_stalls, kUsualStalls); }

constexpr Duration kThreeStalls = Duration::seconds(30);

// A second in ten in which nothing is answered: of 100 arrivals ten wait, evenly from 0 to 1 s.
class OneSecondInTen : public testing::TestWithParam<uint32_t> {};

TEST_P(OneSecondInTen, gives_the_percentiles_of_arithmetic) {
  target::FaultOptions target_faults{.latency_low = Duration::millis(1),
                                     .latency_high = Duration::millis(1),
                                     .stall_every = Duration::seconds(10),
                                     .stall_for = Duration::seconds(1)};
  Load load({.url = "http://server/json", .vus = GetParam(), .duration = kThreeStalls, .rate_per_s = 1000});
  World world(GetParam());
  world.network().set_links({.latency_min = Duration::micros(50), .latency_max = Duration::micros(100)});
  world.add_node("server").start(&http_server, &target_faults);
  world.run_for(Duration::millis(1));
  world.add_node("generator").start(&generate_load, &load);
  world.run_for(kThreeStalls + Duration::seconds(10));
  ASSERT_TRUE(load.over);

  const auto& counts = load.workflow();
  EXPECT_EQ(counts.scheduled, 30'000u);
  EXPECT_EQ(counts.on_time + counts.late + counts.dropped, counts.scheduled);
  EXPECT_EQ(load.step().response.unfinished.count(), counts.dropped);
  EXPECT_EQ(load.step().response.count(), counts.scheduled);
  EXPECT_NEAR(load.step().response.waits().percentile(95).millis_f(), 502, 502 * 0.02);
  EXPECT_NEAR(load.step().response.waits().percentile(99).millis_f(), 902, 902 * 0.02);
  EXPECT_NEAR(load.step().response.waits().percentile(99.9).millis_f(), 992, 992 * 0.02);
}

INSTANTIATE_TEST_SUITE_P(Stall, OneSecondInTen, testing::Values(1, 10, 100, 2000));

// The same for users who each keep a pace. They ask nothing while they wait: what their pace says that they should have
// asked is charged all the same.
class PacedOneSecondInTen : public testing::TestWithParam<uint32_t> {};

TEST_P(PacedOneSecondInTen, gives_the_percentiles_of_arithmetic) {
  target::FaultOptions target_faults{.latency_low = Duration::millis(1),
                                     .latency_high = Duration::millis(1),
                                     .stall_every = Duration::seconds(10),
                                     .stall_for = Duration::seconds(1)};
  Load load({.url = "http://server/json", .vus = GetParam(), .duration = kThreeStalls});
  std::get<plan::ConstantVus>(load.plan.workflows[0].executor).pacing = plan::Delay::of(Duration::millis(GetParam()));
  World world(GetParam());
  world.network().set_links({.latency_min = Duration::micros(50), .latency_max = Duration::micros(100)});
  world.add_node("server").start(&http_server, &target_faults);
  world.run_for(Duration::millis(1));
  world.add_node("generator").start(&generate_load, &load);
  world.run_for(kThreeStalls + Duration::seconds(10));
  ASSERT_TRUE(load.over);

  const metrics::StepWindow& step = load.step();
  EXPECT_EQ(step.response.count(), step.count + step.response.unfinished.count());
  // After each stall a user's pace begins anew, less than one later than it would have been.
  EXPECT_NEAR(static_cast<double>(step.response.count()), 30'000, 100 + 3.0 * GetParam());
  // In each of the three stalls a user waits for one answer, and what would have come in the meantime is not asked.
  EXPECT_NEAR(static_cast<double>(step.response.unfinished.count()), 3'000 - 6.0 * GetParam(), 100);
  // All users began at once, so what is due comes in steps of the pace.
  EXPECT_NEAR(step.response.waits().percentile(95).millis_f(), 502, 502 * 0.02 + GetParam());
  EXPECT_NEAR(step.response.waits().percentile(99).millis_f(), 902, 902 * 0.02 + GetParam());
  EXPECT_NEAR(step.response.waits().percentile(99.9).millis_f(), 992, 992 * 0.02 + GetParam());
  EXPECT_LT(step.service.percentile(95), Duration::millis(10));
  EXPECT_EQ(load.workflow().dropped, 0u) << "there was no arrival";
}

INSTANTIATE_TEST_SUITE_P(Stall, PacedOneSecondInTen, testing::Values(5, 20));

// Each answer takes half as long again as the pace: each iteration but the first is due 50 ms before it can begin.
TEST(Stall, of_each_answer_a_little_shows_in_the_next_one) {
  target::FaultOptions target_faults{.latency_low = Duration::millis(150), .latency_high = Duration::millis(150)};
  Load load({.url = "http://server/json", .vus = 1, .duration = kRunsFor});
  std::get<plan::ConstantVus>(load.plan.workflows[0].executor).pacing = plan::Delay::of(Duration::millis(100));
  World world(1);
  world.add_node("server").start(&http_server, &target_faults);
  world.run_for(Duration::millis(1));
  world.add_node("generator").start(&generate_load, &load);
  world.run_for(kRunsFor + Duration::seconds(5));
  ASSERT_TRUE(load.over);
  EXPECT_NEAR(load.step().service.percentile(50).millis_f(), 150, 5);
  EXPECT_NEAR(load.step().response.waits().percentile(50).millis_f(), 200, 5);
  EXPECT_EQ(load.step().response.unfinished.count(), 1u)
      << "the one that was due before the end and could not begin any more";
}

// A pace that nobody can keep: a million a second are due, and the wait of each is known to a thousandth.
TEST(Stall, a_pace_far_too_short_is_charged_in_groups) {
  Load load({.url = "http://server/json", .vus = 1, .duration = kRunsFor});
  std::get<plan::ConstantVus>(load.plan.workflows[0].executor).pacing = plan::Delay::of(Duration::micros(1));
  live(1, load, {"server", Duration::seconds(5), Duration::seconds(2)});
  EXPECT_NEAR(static_cast<double>(load.step().response.count()), 10e6, 10e6 * 0.01);
  EXPECT_NEAR(load.step().response.waits().max().millis_f(), 2'000, 20);
  EXPECT_NEAR(load.step().response.waits().percentile(90).millis_f(), 1'000, 20) << "a fifth waited from 0 to 2 s";
}

// At the end of the time a user still waits: what its pace said until then was due.
TEST(Stall, at_the_end_charges_what_the_pace_said_up_to_the_end_of_the_time) {
  Load load({.url = "http://server/json", .vus = 1, .duration = kRunsFor});
  load.plan.workflows[0].graceful_stop = Duration::seconds(2);
  std::get<plan::ConstantVus>(load.plan.workflows[0].executor).pacing = plan::Delay::of(Duration::millis(100));
  live(1, load, {"server", Duration::seconds(5), Duration::minutes(1)});
  // 50 were answered, and the last 50 were not.
  EXPECT_NEAR(static_cast<double>(load.step().response.unfinished.count()), 50, 1);
  EXPECT_NEAR(load.step().response.waits().max().millis_f(), 7'000, 110);
  EXPECT_NEAR(load.step().response.waits().percentile(51).millis_f(), 2'000, 210);
}

// The server stands still from the fifth second on and for longer than anybody waits for it.
TEST(Stall, at_the_end_charges_what_is_unanswered_with_the_time_that_it_waited) {
  Load load(open_model(/*vus=*/1000));
  load.plan.workflows[0].graceful_stop = Duration::seconds(2);
  live(1, load, {"server", Duration::seconds(5), Duration::minutes(1)});
  EXPECT_EQ(load.step().response.count(), kArrivals);
  EXPECT_NEAR(static_cast<double>(load.step().response.unfinished.count()), 500, 2);
  EXPECT_EQ(load.step().response.unfinished.count(),
            load.step().errors[static_cast<std::size_t>(http1::ErrorKind::kInterrupted)]);
  EXPECT_NEAR(load.step().response.waits().max().millis_f(), 7000, 20);
  EXPECT_NEAR(load.step().response.waits().percentile(75).millis_f(), 4500, 40) << "half of the 500 waited longer";
}

// The closed model for comparison: it asks nothing while it waits, so the stall is one slow answer among thousands.
TEST(Stall, hides_from_the_percentiles_of_a_closed_model) {
  Load load({.url = "http://server/json", .vus = 1, .duration = kRunsFor});
  live(1, load, {"server", Duration::seconds(3), Duration::seconds(2)});
  EXPECT_GT(load.step().count, 2500u);
  EXPECT_LT(load.step().service.percentile(99.9), Duration::millis(10));
  EXPECT_GT(load.step().service.max(), Duration::millis(1900));
}

}  // namespace
}  // namespace bellwether::sim
