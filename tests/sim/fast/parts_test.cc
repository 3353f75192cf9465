// The parts of a plan, run to the end, in the place of one that died, or from the moment on at which another one hands
// over.
#include "tests/sim/fast/parts.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

using vuser::EngineAssignment;

// --- an open model whose parts die -----------------------------------------------------------------------------------

// Two workflows; the first is cut into parts of which some go on elsewhere after a while.
struct Drawn {
  uint32_t rate = 0;
  uint32_t start_time_ms = 0;
  uint32_t parts = 0;
  uint32_t dead = 0;  // parts [0, dead) ran on the machine that died
  Duration cut;       // of the clock of the run
  Duration resumed;

  Duration start_time() const { return Duration::millis(start_time_ms); }
  Duration due(uint64_t arrival) const {
    return start_time() + Duration::nanos(static_cast<int64_t>(std::llround(arrival * 1e9L / rate)));
  }
};
constexpr uint64_t kSeconds = 6;
constexpr Duration kNear = Duration::millis(12);  // from being due to reaching the server, less than between arrivals

Drawn draw(uint64_t seed) {
  Prng prng(seed);
  Drawn drawn;
  drawn.rate = 5 + static_cast<uint32_t>(prng.below(30));
  drawn.start_time_ms = static_cast<uint32_t>(prng.below(2000));
  drawn.parts = 2 + static_cast<uint32_t>(prng.below(5));
  drawn.dead = 1 + static_cast<uint32_t>(prng.below(drawn.parts));
  // Between two arrivals, so that nothing is under way.
  drawn.cut = drawn.due(prng.below(kSeconds * drawn.rate)) + kNear + Duration::millis(1);
  drawn.resumed = drawn.cut + prng.between(Duration::millis(1), Duration::seconds(3));
  if (prng.chance(0.5)) {  // just when something is due, which then is sent
    uint64_t arrival = 0;
    while (drawn.due(arrival) < drawn.resumed) ++arrival;
    drawn.resumed = drawn.due(arrival);
  }
  return drawn;
}

std::string two_workflows(const Drawn& drawn) {
  return "workflows:\n  a: {executor: constant-arrival-rate, rate: " + std::to_string(drawn.rate) +
         "/s, duration: " + std::to_string(kSeconds) + "s, start_time: " + std::to_string(drawn.start_time_ms) +
         "ms, vus: 6, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}\n"
         "  b: {executor: constant-arrival-rate, rate: 20/s, duration: 2s, start_time: 1s, vus: 6, "
         "steps: {one: {http: {get: \"http://10.0.0.1/b\"}}}}\n";
}

Judgement judge_piece(const Piece& piece) {
  if (piece.foreign != 0) return "a workflow was counted that it does not run";
  if (piece.tally != piece.counted) return "its tally is not the sum of its windows";
  if (piece.counted.requests != piece.scheduled || piece.counted.failed + piece.counted.dropped != 0) {
    return "not every arrival became an answered request";
  }
  const auto first = static_cast<uint64_t>(piece.resume.at / Duration::seconds(1));
  if (piece.seconds.empty() || piece.seconds.front() != first) return "its windows do not begin with its second";
  for (std::size_t i = 0; i < piece.seconds.size(); ++i) {
    if (piece.seconds[i] != first + i) return "its windows leave out a second";
  }
  return {};
}

Judgement parts_go_on_elsewhere(uint64_t seed) {
  const Drawn drawn = draw(seed);
  Ground ground(seed, two_workflows(drawn));
  for (uint32_t part = 0; part < drawn.parts; ++part) {
    const bool dies = part < drawn.dead;
    const EngineAssignment assignment{.part = part, .parts = drawn.parts, .workflows = {0}};
    ground.pieces.push_back({.assignment = assignment, .killed_at = dies ? std::optional(drawn.cut) : std::nullopt});
    if (dies) ground.pieces.push_back({.assignment = assignment, .resume = {drawn.resumed}});
  }
  ground.pieces.push_back({.assignment = {.workflows = {1}}});
  ground.live(Duration::seconds(60));

  std::map<uint64_t, int> came;
  auto requests = ground.by_target();
  for (const Duration at : requests["/a"]) {
    const auto arrival = static_cast<uint64_t>((at - drawn.start_time()).seconds_f() * drawn.rate);
    if (at - drawn.due(arrival) > kNear) {
      return "a request came at " + std::to_string(at.ns()) + ", due " + std::to_string(drawn.due(arrival).ns());
    }
    ++came[arrival];
  }
  for (uint64_t arrival = 0; arrival < kSeconds * drawn.rate; ++arrival) {
    const bool dead = arrival % drawn.parts < drawn.dead;
    const bool lost = dead && drawn.due(arrival) >= drawn.cut && drawn.due(arrival) < drawn.resumed;
    if (came[arrival] != (lost ? 0 : 1)) {
      return "arrival " + std::to_string(arrival) + " came " + std::to_string(came[arrival]) + " times";
    }
  }
  if (came.size() != kSeconds * drawn.rate) return "there were more arrivals than planned";
  const std::vector<Duration>& others = requests["/b"];
  if (others.size() != 40 || others.front() < Duration::seconds(1) || others.front() > Duration::seconds(1) + kNear) {
    return "the other workflow did not begin at its time, or not run in full";
  }
  for (const Piece& piece : ground.pieces) {
    if (auto wrong = judge_piece(piece); !wrong.empty()) return wrong;
  }
  return {};
}
TEST(Parts, that_go_on_elsewhere_leave_out_what_was_due_between_and_nothing_else) {
  expect_good(&parts_go_on_elsewhere);
}

// --- an open model that is handed over -------------------------------------------------------------------------------

// Every arrival is issued by exactly one: by the one that hands over what is due before, by the other what is due from
// then on; and what is under way then is finished.
Judgement parts_are_handed_over(uint64_t seed) {
  Prng prng(seed);
  const Drawn drawn = draw(seed);
  Ground ground(seed, two_workflows(drawn));
  ground.answers_after = prng.between(Duration::zero(), Duration::millis(100));  // a user is free for the next
  Duration at = drawn.resumed;
  for (int i = 0; i < 8 && prng.chance(0.5); ++i) at = at - Duration::nanos(1);
  for (uint32_t part = 0; part < drawn.parts; ++part) {
    const bool moves = part < drawn.dead;
    const EngineAssignment assignment{.part = part, .parts = drawn.parts, .workflows = {0}};
    const Duration told = prng.between(Duration::zero(), std::min(at, Duration::seconds(3)));
    ground.pieces.push_back(
        {.assignment = assignment, .hands_over_at = moves ? std::optional(at) : std::nullopt, .told = told});
    const Duration early = prng.between(Duration::zero(), std::min(at, Duration::seconds(3)));
    if (moves) ground.pieces.push_back({.assignment = assignment, .resume = {at}, .told = early});
  }
  ground.live(Duration::seconds(60));
  std::map<uint64_t, int> came;
  auto requests = ground.by_target();
  for (const Duration when : requests["/a"]) {
    ++came[static_cast<uint64_t>((when - drawn.start_time()).seconds_f() * drawn.rate)];
  }
  for (uint64_t arrival = 0; arrival < kSeconds * drawn.rate; ++arrival) {
    if (came[arrival] != 1)
      return "arrival " + std::to_string(arrival) + " came so often: " + std::to_string(came[arrival]);
  }
  if (came.size() != kSeconds * drawn.rate) return "there were more arrivals than planned";
  for (const Piece& piece : ground.pieces) {
    if (auto wrong = judge_piece(piece); !wrong.empty()) return wrong;
    if (piece.hands_over_at && piece.ended > *piece.hands_over_at + Duration::millis(200) &&
        *piece.hands_over_at > drawn.start_time()) {
      return "it went on for longer than what it had begun took";
    }
  }
  return {};
}
TEST(Parts, that_are_handed_over_leave_out_nothing_and_issue_nothing_twice) { expect_good(&parts_are_handed_over); }

// With one user who is busy all the time: what waits for it when the time comes is still served.
TEST(Parts, that_are_handed_over_serve_what_was_due_before_however_late) {
  Ground ground(1,
                "workflows: {a: {executor: constant-arrival-rate, rate: 10/s, duration: 4s, max_wait: 10s, "
                "vus: 1, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}}");
  ground.answers_after = Duration::millis(150);
  ground.pieces = {{.assignment = {}, .hands_over_at = Duration::seconds(2), .told = Duration::millis(100)}};
  ground.live(Duration::seconds(20));
  EXPECT_EQ(ground.requests.size(), 20u);
  EXPECT_EQ(ground.pieces[0].scheduled, 20u);
  EXPECT_EQ(ground.pieces[0].counted.requests, 20u);
  EXPECT_EQ(ground.pieces[0].counted.dropped, 0u);
  EXPECT_GT(ground.pieces[0].ended, Duration::seconds(2));
}

// --- an open model whose parts share their users ---------------------------------------------------------------------

// Each response takes its own time, never to the moment at which an arrival is due. So who is dropped is arithmetic: an
// arrival at whose time all users are busy.
struct Busy {
  explicit Busy(uint64_t seed) {
    Prng prng(seed);
    users = 2 + static_cast<uint32_t>(prng.below(6));
    parts = 2 + static_cast<uint32_t>(prng.below(7));
    preallocated = 1 + static_cast<uint32_t>(prng.below(users));
    for (int i = 0; i < 150; ++i) answers.push_back(Duration::millis(10 + 20 * prng.between(0, 2 * users)));
  }
  // The arrivals that were served, and the sum of all parts.
  std::pair<std::vector<int64_t>, Piece> live(uint64_t seed, uint32_t in_parts) const {
    Ground ground(seed, fmt::format("workflows: {{a: {{rate: 50/s, duration: 3s, vus: {{preallocated: {}, max: {}}}, "
                                    "steps: {{one: {{http: {{get: \"http://10.0.0.1/a\"}}}}}}}}}}\n",
                                    preallocated, users));
    vuser::SpareUsers spare(1, in_parts);
    ground.spare = &spare;
    ground.answers = answers;
    ground.apart = Duration::millis(20);
    for (uint32_t part = 0; part < in_parts; ++part)
      ground.pieces.push_back({.assignment = {.part = part, .parts = in_parts, .workflows = {}}});
    ground.live(Duration::seconds(30));
    std::vector<int64_t> served;
    for (const auto& [target, at] : ground.requests) served.push_back(at / ground.apart);
    std::ranges::sort(served);
    Piece sum;
    for (const Piece& piece : ground.pieces) {
      sum.scheduled += piece.scheduled;
      sum.charged += piece.charged;
      sum.counted += piece.counted;
      sum.users += piece.users;
    }
    return {std::move(served), std::move(sum)};
  }
  uint32_t users = 0;
  uint32_t parts = 0;
  uint32_t preallocated = 0;
  std::vector<Duration> answers;
};

Judgement parts_share_users(uint64_t seed) {
  const Busy busy(seed);
  const auto [by_one, one] = busy.live(seed, 1);
  const auto [by_all, all] = busy.live(seed, busy.parts);
  if (by_one != by_all) {
    return fmt::format("of {} users in {} parts {} arrivals were served, of one part {}", busy.users, busy.parts,
                       by_all.size(), by_one.size());
  }
  if (all.scheduled != busy.answers.size()) return fmt::format("{} arrivals were scheduled", all.scheduled);
  if (all.counted.requests != by_all.size()) return "a request is missing";
  if (all.counted.dropped != all.scheduled - all.counted.requests) return "an arrival is missing";
  if (all.charged != all.counted.dropped) return "not each that was dropped was charged with its wait";
  if (all.users > busy.users) return "there were more users than planned";
  return {};
}
TEST(Parts, that_share_their_users_drop_what_one_part_would_have_dropped) { expect_good(&parts_share_users); }

// Two parts of one user each; the responses to requests that come in each span of this length take their own times.
struct Two {
  Two(const char* rate, const char* wait_max, const char* duration, Duration apart, std::vector<Duration> answers)
      : ground(1, fmt::format("workflows: {{a: {{rate: {}, duration: {}, vus: 2, max_wait: {}, graceful_stop: 10s, "
                              "steps: {{one: {{http: {{get: \"http://10.0.0.1/a\"}}}}}}}}}}\n",
                              rate, duration, wait_max)) {
    ground.spare = &spare;
    ground.answers = std::move(answers);
    ground.apart = apart;
    for (uint32_t part = 0; part < 2; ++part)
      ground.pieces.push_back({.assignment = {.part = part, .parts = 2, .workflows = {}}});
    ground.live(Duration::seconds(30));
    for (const auto& [target, at] : ground.requests) came.push_back(at / Duration::millis(10) * 10);
    for (const Piece& piece : ground.pieces) dropped += piece.counted.dropped;
  }
  vuser::SpareUsers spare{1, 2};
  Ground ground;
  std::vector<int64_t> came;  // in milliseconds, to the last ten
  uint64_t dropped = 0;
};

// The first user is busy until 2.9 s, the second from 1 to 2.2 s. The arrival of 2 s is the first part's, and the last.
TEST(Parts, that_share_their_users_begin_an_arrival_that_waits_as_soon_as_one_is_free) {
  const Two two("1/s", "500ms", "3s", Duration::seconds(1),
                {Duration::millis(2900), Duration::millis(1200), Duration::millis(5)});
  EXPECT_THAT(two.came, testing::ElementsAre(0, 1000, 2200));
  EXPECT_EQ(two.dropped, 0u);
}

// The first user is busy for long. The arrival of 250 ms has waited too long when the second one is free at 365 ms.
TEST(Parts, that_share_their_users_begin_no_arrival_that_has_waited_too_long) {
  std::vector<Duration> answers(100, Duration::millis(5));
  answers[0] = Duration::seconds(3);
  answers[1] = Duration::millis(240);
  const Two two("8/s", "100ms", "600ms", Duration::millis(125), answers);
  EXPECT_THAT(two.came, testing::ElementsAre(0, 120, 370, 500));
  EXPECT_EQ(two.dropped, 1u);
}

// --- a closed model --------------------------------------------------------------------------------------------------

constexpr const char* kSixUsers =
    "workflows:\n  a: {vus: 6, duration: 5s, pacing: 100ms, steps: {one: {http: {get: \"http://10.0.0.1/${vu}\"}}}}\n";

TEST(Parts, of_a_closed_model_go_on_with_their_users_to_the_planned_end) {
  Ground ground(1, kSixUsers);
  ground.pieces = {{.assignment = {.part = 1, .parts = 3}, .resume = {Duration::millis(2500)}}};
  ground.live(Duration::seconds(10));
  const auto requests = ground.by_target();
  ASSERT_EQ(requests.size(), 2u);
  for (const char* user : {"/3", "/4"}) {
    ASSERT_EQ(requests.count(user), 1u) << user;
    const std::vector<Duration>& at = requests.at(user);
    EXPECT_EQ(at.size(), 25u);
    EXPECT_GE(at.front(), Duration::millis(2500));
    EXPECT_LT(at.front(), Duration::millis(2500) + kNear);
    EXPECT_LT(at.back(), Duration::seconds(5));
  }
  EXPECT_EQ(ground.pieces[0].seconds, (std::vector<uint64_t>{2, 3, 4, 5}));
  EXPECT_LT(ground.pieces[0].ended, Duration::millis(5010));
}

TEST(Parts, of_a_closed_model_are_handed_over_with_their_users) {
  Ground ground(1, kSixUsers);
  const Duration at = Duration::seconds(3);
  for (uint32_t part = 0; part < 2; ++part) {
    const EngineAssignment assignment{.part = part, .parts = 2};
    ground.pieces.push_back({.assignment = assignment, .hands_over_at = at, .told = Duration::seconds(1)});
    ground.pieces.push_back({.assignment = assignment, .resume = {at}, .told = Duration::seconds(1)});
  }
  ground.live(Duration::seconds(10));
  const auto requests = ground.by_target();
  ASSERT_EQ(requests.size(), 6u);
  for (const auto& [user, when] : requests) {
    EXPECT_EQ(when.size(), 50u) << user;
    for (std::size_t i = 1; i < when.size(); ++i) EXPECT_GT(when[i] - when[i - 1], Duration::millis(80)) << user;
  }
  for (const Piece& piece : ground.pieces) {
    EXPECT_EQ(piece.counted.iterations, piece.hands_over_at ? 90u : 60u);
    if (piece.hands_over_at) EXPECT_LT(piece.ended, at + Duration::millis(20));
  }
}

TEST(Parts, that_go_on_before_their_workflow_begins_wait_for_it) {
  Ground ground(1,
                "workflows: {a: {vus: 3, duration: 1s, start_time: 2s, pacing: 100ms, steps: {one: {http: "
                "{get: \"http://10.0.0.1/a\"}}}}}");
  ground.pieces = {{.assignment = {}, .resume = {Duration::millis(1500)}}};
  ground.live(Duration::seconds(10));
  ASSERT_EQ(ground.requests.size(), 30u);
  EXPECT_GE(ground.requests.front().second, Duration::seconds(2));
}

TEST(Parts, whose_time_is_over_end_at_once) {
  for (const char* executor :
       {"vus: 6, duration: 5s", "executor: constant-arrival-rate, rate: 9/s, duration: 5s, vus: 3"}) {
    Ground ground(1, std::string("workflows: {a: {") + executor +
                         ", start_time: 1s, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}}");
    ground.pieces = {{.assignment = {}, .resume = {Duration::seconds(6)}}};
    ground.live(Duration::seconds(10));
    EXPECT_TRUE(ground.requests.empty());
    EXPECT_EQ(ground.pieces[0].seconds, (std::vector<uint64_t>{6}));
    EXPECT_EQ(ground.pieces[0].ended, Duration::seconds(6));
    EXPECT_EQ(ground.pieces[0].users, 0);
  }
}

// --- what is left of a number of iterations --------------------------------------------------------------------------

TEST(Parts, begin_as_many_iterations_as_are_left_for_them) {
  for (const std::string executor : {"shared", "per-vu"}) {
    Ground ground(1, "workflows:\n  a: {executor: " + executor +
                         "-iterations, vus: 6, iterations: 60, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}\n");
    ground.pieces.push_back({.assignment = {.part = 0, .parts = 2, .workflows = {0}, .iterations = 7}});
    ground.pieces.push_back({.assignment = {.part = 1, .parts = 2, .workflows = {0}, .iterations = 0}});
    ground.live(Duration::seconds(10));
    EXPECT_EQ(ground.by_target()["/a"].size(), 7u) << executor;
  }
}

// --- fewer users than engines ----------------------------------------------------------------------------------------

TEST(Parts, of_a_workflow_are_at_most_as_many_as_its_users) {
  Ground ground(1,
                "workflows:\n"
                "  a: {executor: constant-arrival-rate, rate: 100/s, duration: 5s, vus: 2, steps: {one: {http: "
                "{get: \"http://10.0.0.1/a\"}}}}\n"
                "  b: {vus: 1, duration: 5s, pacing: 1s, steps: {one: {http: {get: \"http://10.0.0.1/b\"}}}}\n"
                "  c: {executor: shared-iterations, vus: 3, iterations: 30, steps: {one: {http: "
                "{get: \"http://10.0.0.1/c\"}}}}\n");
  for (uint32_t part = 0; part < 8; ++part) ground.pieces.push_back({.assignment = {.part = part, .parts = 8}});
  ground.live(Duration::seconds(10));
  const auto requests = ground.by_target();
  EXPECT_EQ(requests.at("/a").size(), 500u);
  EXPECT_EQ(requests.at("/b").size(), 5u);
  EXPECT_EQ(requests.at("/c").size(), 30u);
  uint64_t dropped = 0;
  std::vector<int64_t> users;
  for (const Piece& piece : ground.pieces) {
    dropped += piece.counted.dropped;
    users.push_back(piece.users);
  }
  EXPECT_EQ(dropped, 0u);
  // Each on an engine of its own, as long as there are any.
  EXPECT_EQ(users, (std::vector<int64_t>{1, 1, 1, 1, 1, 1, 0, 0}));
}

}  // namespace
}  // namespace bellwether::sim
