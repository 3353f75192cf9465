// What each executor promises, in virtual time: which user begins an iteration when, how many there are, and what
// becomes of those that are under way when their time is over. In one part, and in several.
#include <algorithm>
#include <gtest/gtest.h>

#include "load/plan/load_testing.h"
#include "load/plan/schedule.h"
#include "tests/sim/fast/parts.h"

namespace bellwether::sim {
namespace {

constexpr Duration kNear = Duration::millis(12);  // from its begin to reaching the server

// Each request names its user: /1, /2 …
std::string workflow(const std::string& executor, const std::string& more) {
  return "workflows: {w: {" + executor + ", steps: {one: {http: {get: \"http://10.0.0.1/${vu}\"}" + more + "}}}}\n";
}

struct Lived {
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  std::map<std::string, std::vector<Duration>> by_user;
  std::vector<Duration> all;
  Duration ended;
};

Lived lived(const Ground& ground) {
  Lived out;
  for (const Piece& piece : ground.pieces) {
    out.iterations += piece.counted.iterations;
    out.dropped += piece.counted.dropped;
    out.ended = std::max(out.ended, piece.ended);
  }
  out.by_user = ground.by_target();
  for (const auto& [target, at] : ground.requests) out.all.push_back(at);
  return out;
}

Lived live_pieces(const std::string& executor, Duration answers_after, std::vector<Piece> pieces,
                  const std::string& more = {}) {
  Ground ground(1, workflow(executor, more));
  ground.answers_after = answers_after;
  ground.pieces = std::move(pieces);
  ground.live(Duration::minutes(2));
  return lived(ground);
}

// `more`: of the step.
Lived live(const std::string& executor, Duration answers_after, uint32_t parts = 1, const std::string& more = {}) {
  std::vector<Piece> pieces(parts);
  for (uint32_t part = 0; part < parts; ++part)
    pieces[part].assignment = {.part = part, .parts = parts, .workflows = {}};
  return live_pieces(executor, answers_after, std::move(pieces), more);
}

void expect_near(Duration seen, Duration wanted, const std::string& what) {
  EXPECT_GE(seen, wanted) << what;
  EXPECT_LE(seen, wanted + kNear) << what;
}

TEST(Executors, the_time_of_a_workflow_is_from_its_start_time_to_its_last_response_and_all_of_a_rate) {
  Ground ground(1, R"(workflows:
  early: {rate: 10/s, duration: 1500ms, vus: 9, steps: {one: {http: {get: "http://10.0.0.1/early"}}}}
  late: {rate: 10/s, duration: 3s, start_time: 2300ms, vus: 9, steps: {one: {http: {get: "http://10.0.0.1/late"}}}}
  # Nothing begins in the second and in the third second.
  slow: {vus: 1, duration: 4s, steps: {one: {http: {get: "http://10.0.0.1/slow"}, think: 3s}}}
  rare: {rate: 1/s, duration: 2900ms, vus: 1, steps: {one: {http: {get: "http://10.0.0.1/rare"}}}}
)");
  ground.answers_after = Duration::millis(100);
  ground.pieces.resize(1);
  ground.live(Duration::minutes(1));
  const std::vector<Duration>& ran = ground.pieces[0].ran;
  // The last arrival is due a tenth of a second before the end, and waits as long for its response.
  expect_near(ran.at(0), Duration::millis(1500), "early");
  expect_near(ran.at(1), Duration::millis(3000), "late");
  EXPECT_GE(ran.at(2), Duration::millis(4000)) << "slow";
  expect_near(ran.at(3), Duration::millis(2900), "rare: the planned time, with the last arrival at 2 s");
}

// --- ramping-vus -----------------------------------------------------------------------------------------------------

const std::string kHill =
    "executor: ramping-vus, start_vus: 0, stages: [{duration: 10s, target: 10}, {duration: 10s, target: 0}]";

void expect_hill(const Lived& seen) {
  ASSERT_EQ(seen.by_user.size(), 10u);
  for (int64_t user = 1; user <= 10; ++user) {
    const std::vector<Duration>& at = seen.by_user.at("/" + std::to_string(user));
    expect_near(at.front(), Duration::seconds(user), "its number is reached");
    const Duration leaves = Duration::seconds(10 + 10 - user + 1);
    EXPECT_LT(at.back(), leaves) << "user " << user;
    EXPECT_GE(at.back(), leaves - Duration::millis(110)) << "user " << user << " goes on until there are fewer";
  }
  EXPECT_EQ(seen.iterations, seen.all.size()) << "who is one too many ends what it does";
}

TEST(RampingVus, users_come_and_go_with_the_course) { expect_hill(live(kHill, Duration::millis(100))); }

TEST(RampingVus, parts_follow_it_together) { expect_hill(live(kHill, Duration::millis(100), 3)); }

TEST(RampingVus, who_goes_has_the_time_of_the_graceful_ramp_down) {
  const std::string course =
      "executor: ramping-vus, start_vus: 2, stages: [{duration: 1s, target: 2}, {duration: 0s, target: 1}, "
      "{duration: 6s, target: 1}]";
  const Lived patient = live(course, Duration::seconds(3));
  EXPECT_EQ(patient.iterations, 4u);
  const Lived strict = live(course + ", graceful_ramp_down: 1s", Duration::seconds(3));
  EXPECT_EQ(strict.iterations, 3u) << "what the second user did when it went is cut off";
  EXPECT_EQ(strict.by_user.at("/2").size(), 1u);
  EXPECT_EQ(strict.by_user.at("/1").size(), 3u);
}

TEST(RampingVus, who_is_wanted_again_goes_on_where_it_is) {
  const std::string course =
      "executor: ramping-vus, start_vus: 1, stages: [{duration: 1s, target: 1}, {duration: 0s, target: 0}, "
      "{duration: 1s, target: 0}, {duration: 0s, target: 1}, {duration: 2s, target: 1}]";
  const Lived patient = live(course, Duration::seconds(3));
  ASSERT_EQ(patient.all.size(), 2u);
  expect_near(patient.all[1], Duration::seconds(3), "its iteration was never cut off");
  EXPECT_EQ(patient.iterations, 2u);
  const Lived strict = live(course + ", graceful_ramp_down: 500ms", Duration::seconds(3));
  ASSERT_EQ(strict.all.size(), 2u);
  expect_near(strict.all[1], Duration::seconds(2), "it begins anew when it is wanted");
  EXPECT_EQ(strict.iterations, 1u);
}

TEST(RampingVus, who_goes_does_not_think_to_the_end) {
  const std::string course =
      "executor: ramping-vus, start_vus: 1, stages: [{duration: 1s, target: 1}, {duration: 0s, target: 0}, "
      "{duration: 2s, target: 0}, {duration: 0s, target: 1}, {duration: 2s, target: 1}], graceful_ramp_down: 500ms";
  const Lived seen = live(course, Duration::millis(10), 1, ", think: 1m");
  ASSERT_EQ(seen.all.size(), 2u);
  expect_near(seen.all[1], Duration::seconds(3), "it begins anew when it is wanted");
}

TEST(RampingVus, those_that_are_left_at_the_end_have_the_graceful_stop) {
  const std::string course = "executor: ramping-vus, start_vus: 3, stages: [{duration: 5s, target: 3}]";
  EXPECT_EQ(live(course, Duration::seconds(2)).iterations, 9u);
  EXPECT_EQ(live(course + ", graceful_stop: 500ms", Duration::seconds(2)).iterations, 6u);
}

TEST(RampingVus, whoever_goes_on_for_one_that_died_has_the_users_of_that_moment) {
  std::vector<Piece> pieces(3);
  pieces[0].assignment = pieces[2].assignment = {.part = 0, .parts = 2, .workflows = {}};
  pieces[1].assignment = {.part = 1, .parts = 2, .workflows = {}};
  pieces[0].killed_at = Duration::millis(4'550);
  pieces[2].resume.at = Duration::millis(6'050);
  const Lived seen = live_pieces(kHill, Duration::millis(100), std::move(pieces));
  for (const char* user : {"/1", "/3", "/5"}) {
    const std::vector<Duration>& at = seen.by_user.at(user);
    const auto again = std::lower_bound(at.begin(), at.end(), Duration::millis(4'600));
    ASSERT_NE(again, at.end()) << user;
    expect_near(*again, Duration::millis(6'050), user);
  }
  expect_near(seen.by_user.at("/7").front(), Duration::seconds(7), "the next one of that part");
  expect_near(seen.by_user.at("/2").front(), Duration::seconds(2), "the other part knows nothing of it");
}

TEST(RampingVus, who_hands_over_begins_nothing_from_then_on) {
  std::vector<Piece> pieces(2);
  pieces[0].hands_over_at = pieces[1].resume.at = Duration::seconds(5);
  pieces[0].told = pieces[1].told = Duration::millis(500);
  const Lived seen = live_pieces(kHill, Duration::millis(100), std::move(pieces));
  for (int64_t user = 1; user <= 10; ++user) {
    const std::vector<Duration>& at = seen.by_user.at("/" + std::to_string(user));
    for (std::size_t i = 1; i < at.size(); ++i) {
      EXPECT_LE(at[i] - at[i - 1], Duration::millis(110)) << "no gap at the border, user " << user;
    }
    expect_near(at.front(), Duration::seconds(user), "its number is reached");
  }
}

// --- externally-controlled -------------------------------------------------------------------------------------------

constexpr auto kPause = Order::What::kPause;
constexpr auto kResume = Order::What::kResume;
constexpr auto kScale = Order::What::kScale;
constexpr auto kStop = Order::What::kStop;

Lived live_ordered(const std::string& executor, Duration answers_after, const std::vector<Order>& orders,
                   uint32_t parts = 1) {
  std::vector<Piece> pieces(parts);
  for (uint32_t part = 0; part < parts; ++part) {
    pieces[part].assignment = {.part = part, .parts = parts, .workflows = {}};
    pieces[part].orders = orders;
  }
  return live_pieces(executor, answers_after, std::move(pieces));
}

std::size_t between(const std::vector<Duration>& all, Duration from, Duration to) {
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](Duration at) { return at >= from && at < to; }));
}

const std::string kTold = "executor: externally-controlled, vus: 2, max_vus: 10, duration: 10s";

TEST(ExternallyControlled, has_as_many_users_as_it_is_told_over_all_parts) {
  const std::vector<Order> orders{
      {Duration::seconds(3), kScale, 7}, {Duration::seconds(5), kScale, 1}, {Duration::seconds(7), kScale, 40}};
  for (const uint32_t parts : {1u, 3u}) {
    const Lived seen = live_ordered(kTold, Duration::millis(100), orders, parts);
    ASSERT_EQ(seen.by_user.size(), 10u) << "never more than max_vus";
    EXPECT_EQ(between(seen.by_user.at("/2"), Duration::zero(), Duration::millis(2900)), 29u);
    expect_near(seen.by_user.at("/7").front(), Duration::seconds(3), "it is called then");
    EXPECT_EQ(between(seen.by_user.at("/7"), Duration::millis(5100), Duration::seconds(7)), 0u);
    EXPECT_EQ(between(seen.by_user.at("/2"), Duration::millis(5100), Duration::seconds(7)), 0u);
    EXPECT_GE(between(seen.by_user.at("/1"), Duration::millis(5100), Duration::seconds(7)), 18u) << "the first stays";
    expect_near(seen.by_user.at("/10").front(), Duration::seconds(7), "the last one");
    EXPECT_EQ(seen.iterations, seen.all.size());
    EXPECT_GE(seen.ended, Duration::seconds(10));
    EXPECT_LE(seen.ended, Duration::millis(10'150));
  }
}

TEST(ExternallyControlled, may_have_nobody_for_a_while) {
  const Lived seen = live_ordered(kTold, Duration::millis(100),
                                  {{Duration::seconds(2), kScale, 0}, {Duration::seconds(8), kScale, 1}});
  EXPECT_EQ(between(seen.all, Duration::millis(2100), Duration::seconds(8)), 0u);
  EXPECT_GE(between(seen.all, Duration::seconds(8), Duration::seconds(10)), 19u);
}

TEST(ExternallyControlled, without_a_duration_it_runs_until_it_is_stopped) {
  const Lived seen =
      live_ordered("executor: externally-controlled, vus: 3", Duration::millis(300), {{Duration::seconds(60), kStop}});
  EXPECT_GE(seen.ended, Duration::seconds(60));
  EXPECT_LE(seen.ended, Duration::millis(60'350)) << "what runs may end";
  EXPECT_EQ(seen.iterations, seen.all.size());
  EXPECT_EQ(seen.by_user.size(), 3u) << "as many as at its begin are the most, unless it says otherwise";
}

// --- pause and resume ------------------------------------------------------------------------------------------------

const std::vector<Order> kBreak{{Duration::seconds(2), kPause}, {Duration::seconds(5), kResume}};

TEST(Pause, of_closed_executors_begins_nothing_and_their_clock_goes_on) {
  for (const std::string& executor :
       {std::string("vus: 4, duration: 8s"), kTold,
        std::string("executor: ramping-vus, start_vus: 4, stages: [{duration: 8s, target: 4}]"),
        std::string("executor: per-vu-iterations, vus: 4, iterations: 1000, max_duration: 8s")}) {
    const Lived seen = live_ordered(executor, Duration::millis(100), kBreak, 2);
    EXPECT_EQ(between(seen.all, Duration::millis(2100), Duration::seconds(5)), 0u) << executor;
    EXPECT_EQ(between(seen.all, Duration::seconds(5), Duration::millis(5012)), executor == kTold ? 2u : 4u) << executor;
    EXPECT_EQ(seen.iterations, seen.all.size()) << executor << ": what ran when it was paused has ended";
    EXPECT_LE(seen.ended, executor == kTold ? Duration::millis(10'150) : Duration::millis(8'150)) << executor;
  }
}

TEST(Pause, of_an_arrival_rate_leaves_out_what_comes_due_meanwhile) {
  std::vector<Piece> pieces(2);
  for (uint32_t part = 0; part < 2; ++part) {
    pieces[part].assignment = {.part = part, .parts = 2, .workflows = {}};
    pieces[part].orders = kBreak;
  }
  Ground ground(1, workflow("rate: 50/s, vus: 10, duration: 8s", ""));
  ground.answers_after = Duration::millis(20);
  ground.pieces = std::move(pieces);
  ground.live(Duration::minutes(1));
  std::vector<Duration> all;
  for (const auto& [target, at] : ground.requests) all.push_back(at);
  EXPECT_EQ(between(all, Duration::millis(2020), Duration::seconds(5)), 0u);
  EXPECT_EQ(between(all, Duration::zero(), Duration::millis(2020)), 100u);
  EXPECT_EQ(between(all, Duration::seconds(5), Duration::seconds(9)), 150u) << "at its own times again";
  uint64_t scheduled = 0;
  for (const Piece& piece : ground.pieces) {
    scheduled += piece.scheduled;
    EXPECT_EQ(piece.counted.dropped, 0u);
  }
  EXPECT_EQ(scheduled, 250u) << "what nobody was to send does not count";
}

TEST(Pause, that_lasts_to_the_end_does_not_hold_it_up) {
  for (const char* executor : {"vus: 4, duration: 4s", "rate: 50/s, vus: 10, duration: 4s"}) {
    const Lived seen = live_ordered(executor, Duration::millis(100), {{Duration::seconds(2), kPause}});
    EXPECT_GE(seen.ended, Duration::seconds(4));
    EXPECT_LE(seen.ended, Duration::millis(4'150));
    EXPECT_EQ(between(seen.all, Duration::millis(2100), Duration::seconds(9)), 0u);
  }
}

TEST(Pause, a_stop_ends_it) {
  for (const char* executor :
       {"vus: 4, duration: 40s", "rate: 50/s, vus: 10, duration: 40s", "rate: 1/m, vus: 1, duration: 40s"}) {
    const Lived seen =
        live_ordered(executor, Duration::millis(100), {{Duration::seconds(2), kPause}, {Duration::seconds(3), kStop}});
    EXPECT_LE(seen.ended, Duration::millis(3'050)) << executor;
  }
}

// --- a number of iterations ------------------------------------------------------------------------------------------

TEST(SharedIterations, are_done_once_by_whoever_is_free) {
  for (const uint32_t parts : {1u, 2u, 3u}) {
    const Lived seen = live("executor: shared-iterations, vus: 4, iterations: 10", Duration::millis(100), parts);
    EXPECT_EQ(seen.iterations, 10u) << parts;
    EXPECT_EQ(seen.all.size(), 10u) << parts;
    EXPECT_EQ(seen.dropped, 0u) << parts;
    EXPECT_LE(seen.ended, Duration::millis(400)) << "it ends when they are done";
  }
}

TEST(SharedIterations, what_is_not_begun_in_time_is_dropped) {
  const Lived seen =
      live("executor: shared-iterations, vus: 2, iterations: 100, max_duration: 1s", Duration::millis(400), 2);
  EXPECT_EQ(seen.iterations, 6u) << "at 0, 0.4 and 0.8 s, and the last ones may end";
  EXPECT_EQ(seen.dropped, 94u);
}

TEST(PerVuIterations, every_user_does_its_own) {
  for (const uint32_t parts : {1u, 2u}) {
    const Lived seen = live("executor: per-vu-iterations, vus: 3, iterations: 5", Duration::millis(50), parts);
    EXPECT_EQ(seen.iterations, 15u);
    for (const char* user : {"/1", "/2", "/3"}) EXPECT_EQ(seen.by_user.at(user).size(), 5u) << user << " of " << parts;
  }
}

TEST(PerVuIterations, what_is_not_begun_in_time_is_dropped) {
  const Lived seen =
      live("executor: per-vu-iterations, vus: 2, iterations: 5, max_duration: 1s", Duration::millis(400));
  EXPECT_EQ(seen.iterations, 6u);
  EXPECT_EQ(seen.dropped, 4u);
}

// --- ramping-arrival-rate --------------------------------------------------------------------------------------------

TEST(RampingArrivalRate, arrivals_come_when_the_rate_says_whatever_the_parts) {
  const std::string course =
      "executor: ramping-arrival-rate, start_rate: 0/s, vus: 20, stages: [{duration: 10s, target: 20/s}, "
      "{duration: 2s, target: 20/s}, {duration: 0s, target: 5/s}, {duration: 2s, target: 5/s}]";
  const plan::ArrivalSchedule schedule(
      {{0, 20, Duration::seconds(10)}, {20, 20, Duration::seconds(2)}, {5, 5, Duration::seconds(2)}}, 0, 1);
  ASSERT_EQ(schedule.count(), 150u);
  for (const uint32_t parts : {1u, 3u}) {
    Lived seen = live(course, Duration::millis(20), parts);
    std::ranges::sort(seen.all);
    ASSERT_EQ(seen.all.size(), schedule.count()) << parts;
    for (uint64_t i = 0; i < schedule.count(); ++i) {
      expect_near(seen.all[i], schedule.due(i), "arrival " + std::to_string(i));
    }
    EXPECT_EQ(seen.iterations, 150u);
  }
}

// --- pauses that are drawn -------------------------------------------------------------------------------------------

std::vector<Duration> gaps(const Lived& seen) {
  std::vector<Duration> out;
  for (const auto& [user, at] : seen.by_user) {
    for (std::size_t i = 1; i < at.size(); ++i) out.push_back(at[i] - at[i - 1]);
  }
  return out;
}

void expect_spread(const std::vector<Duration>& gaps) {
  ASSERT_GT(gaps.size(), 100u);
  Duration sum;
  for (const Duration gap : gaps) {
    EXPECT_GE(gap, Duration::millis(200) - kNear);
    EXPECT_LE(gap, Duration::seconds(1) + kNear);
    sum += gap;
  }
  EXPECT_LT(*std::min_element(gaps.begin(), gaps.end()), Duration::millis(300));
  EXPECT_GT(*std::max_element(gaps.begin(), gaps.end()), Duration::millis(900));
  EXPECT_NEAR((sum / static_cast<int64_t>(gaps.size())).seconds_f(), 0.6, 0.06);
}

TEST(Pauses, pacing_is_drawn_anew_for_each_iteration_whatever_the_answer_takes) {
  expect_spread(gaps(live("vus: 5, duration: 30s, pacing: 200ms..1s", Duration::millis(100))));
  expect_spread(
      gaps(live("executor: ramping-vus, start_vus: 5, stages: [{duration: 30s, target: 5}], "
                "pacing: {uniform: {min: 200ms, max: 1s}}",
                Duration::millis(100))));
}

TEST(Pauses, think_time_is_drawn_anew_for_each_step) {
  expect_spread(gaps(live("vus: 5, duration: 30s", Duration::zero(), 1,
                          ", think: {normal: {mean: 600ms, stddev: 300ms, min: 200ms, max: 1s}}")));
}

TEST(Pauses, one_seed_gives_one_run) {
  const std::string paced = "vus: 3, duration: 20s, pacing: {exponential: {mean: 1s, max: 4s}}";
  const std::string thinks = ", think: {lognormal: {median: 300ms, sigma: 0.8, max: 2s}}";
  EXPECT_EQ(live(paced, Duration::millis(10), 1, thinks).all, live(paced, Duration::millis(10), 1, thinks).all);
}

// --- rows that end ---------------------------------------------------------------------------------------------------

// What reached the server, of so many rows of a file.
Lived live_rows(const std::string& executor, int rows, std::vector<Piece>& pieces, Duration answers_after,
                const std::string& at_end = "stop") {
  plan::TestSources sources("data: {ids: {csv: ids.csv, at_end: " + at_end + "}}\nworkflows: {w: {" + executor +
                            ", steps: {one: {http: {get: \"http://10.0.0.1/${ids.n}\"}}}}}\n");
  std::string& file = sources.world.files["ids.csv"];
  file = "n\n";
  for (int i = 0; i < rows; ++i) file += std::to_string(i) + "\n";
  auto plan = sources.load();
  EXPECT_TRUE(plan.has_value()) << executor;
  Ground ground(1, workflow("vus: 1, duration: 1s", ""));
  if (plan) ground.plan = std::move(*plan);
  ground.answers_after = answers_after;
  ground.pieces = pieces;
  ground.live(Duration::minutes(2));
  pieces = ground.pieces;
  return lived(ground);
}

Lived live_rows(const std::string& executor, int rows, uint32_t parts, Duration answers_after) {
  std::vector<Piece> pieces(parts);
  for (uint32_t part = 0; part < parts; ++part)
    pieces[part].assignment = {.part = part, .parts = parts, .workflows = {}};
  return live_rows(executor, rows, pieces, answers_after);
}

// A part whose engine dies in the middle of a second, and another one that continues it a second later.
std::vector<Piece> one_after_another(plan::RowPoint rows) {
  std::vector<Piece> pieces(2);
  for (Piece& piece : pieces) piece.assignment = {.part = 1, .parts = 2, .workflows = {}, .reported = true};
  pieces[0].killed_at = Duration::millis(2'600);
  pieces[1].resume = {Duration::millis(3'600), rows};
  return pieces;
}

TEST(Rows, go_on_after_those_that_a_lost_engine_may_have_taken) {
  // Half of 20 arrivals a second. The engine reports two seconds, 20 rows; 16 arrivals are due before the other begins.
  auto pieces = one_after_another({20, Duration::seconds(2)});
  const Lived open = live_rows("rate: 20/s, duration: 5s, vus: 4", 1'000, pieces, Duration::millis(10));
  EXPECT_EQ(pieces[0].taken.at(1), 20u) << "what it reports is what the other one gets";
  const auto id = [](int n) { return "/" + std::to_string(2 * n + 1); };  // of the odd part
  EXPECT_TRUE(open.by_user.contains(id(25)));
  EXPECT_FALSE(open.by_user.contains(id(26)) || open.by_user.contains(id(35))) << "left out, for it may be taken";
  EXPECT_TRUE(open.by_user.contains(id(36)));
  EXPECT_EQ(open.by_user.size(), open.all.size()) << "none comes twice";

  // Users: the owner adds what they may have begun in the time that was not reported.
  pieces = one_after_another({500, Duration::millis(2'600)});
  const Lived closed = live_rows("vus: 2, duration: 5s", 2'000, pieces, Duration::millis(10));
  EXPECT_TRUE(closed.by_user.contains(id(500)));
  EXPECT_FALSE(closed.by_user.contains(id(499)));
  EXPECT_EQ(closed.by_user.size(), closed.all.size());
  EXPECT_EQ(pieces[1].taken.back(), 500 + pieces[1].begun.at(0) + pieces[1].begun.at(1));

  // Without a row that is certainly free, it begins nothing.
  pieces = one_after_another({1'500, Duration::millis(2'600)});
  const Lived none = live_rows("vus: 2, duration: 5s", 2'000, pieces, Duration::millis(10));
  EXPECT_EQ(pieces[1].counted.requests, 0u);
  EXPECT_LT(none.ended, Duration::seconds(4));
}

TEST(Rows, a_reported_part_begins_no_more_than_its_owner_counts_on) {
  std::vector<Piece> pieces(1);
  const auto live_fast = [&](const std::string& executor) {
    pieces[0].assignment.reported = true;
    pieces[0].orders = {{Duration::millis(1'050), Order::What::kApplied, 1}};
    const Lived seen = live_rows(executor, 1'000'000, pieces, Duration::zero());
    const auto before = [&](Duration at) {
      return static_cast<uint64_t>(std::lower_bound(seen.all.begin(), seen.all.end(), at) - seen.all.begin());
    };
    return std::pair(before(Duration::seconds(1)), before(Duration::millis(2'500)));
  };
  for (const char* executor :
       {"executor: shared-iterations, vus: 20, iterations: 100000, max_duration: 3s", "vus: 20, duration: 3s"}) {
    const auto [first, later] = live_fast(executor);
    EXPECT_LE(first, plan::begun_within(0, 20, Duration::seconds(1))) << executor;
    EXPECT_GT(first, plan::kFirstPace * 9 / 10) << executor;
    EXPECT_EQ(pieces[0].paces.at(0), 2 * (pieces[0].begun.at(0) + 1));
    EXPECT_LE(later, first + plan::begun_within(pieces[0].paces.at(0), 20, Duration::millis(1'500))) << executor;
    EXPECT_GT(later, 3 * plan::kFirstPace) << executor << " goes on at twice its pace";
    pieces = std::vector<Piece>(1);
  }
}

TEST(Rows, each_is_taken_once_by_every_executor_which_then_ends) {
  for (const char* executor :
       {"vus: 2, duration: 1m", "vus: 2, duration: 1m, pacing: 1s",
        "executor: ramping-vus, start_vus: 2, stages: [{duration: 1m, target: 2}]",
        "executor: shared-iterations, vus: 2, iterations: 100", "executor: per-vu-iterations, vus: 2, iterations: 100",
        "rate: 5/s, duration: 1m, vus: 2", "executor: externally-controlled, vus: 2, duration: 1m"}) {
    for (const uint32_t parts : {1u, 2u}) {
      const Lived seen = live_rows(executor, 10, parts, Duration::millis(100));
      EXPECT_EQ(seen.by_user.size(), 10u) << executor << " in " << parts;
      EXPECT_EQ(seen.all.size(), 10u) << executor << " in " << parts;
      EXPECT_EQ(seen.iterations, 10u) << executor << " in " << parts;
      EXPECT_EQ(seen.dropped, 0u) << executor << " in " << parts;
      EXPECT_LT(seen.ended, Duration::seconds(20)) << executor << " in " << parts;
    }
  }
}

TEST(Rows, a_part_without_a_row_begins_nothing) {
  EXPECT_EQ(live_rows("vus: 2, duration: 1m", 1, 2, Duration::millis(100)).all.size(), 1u);
}

TEST(Rows, arrivals_that_wait_take_rows_and_those_after_the_last_do_not) {
  const Lived seen = live_rows("rate: 10/s, duration: 1m, vus: 1, max_wait: 30s", 3, 1, Duration::seconds(3));
  EXPECT_EQ(seen.by_user.size(), 3u);
  EXPECT_EQ(seen.iterations, 3u);
  EXPECT_LT(seen.ended, Duration::seconds(20));
}

}  // namespace
}  // namespace bellwether::sim
