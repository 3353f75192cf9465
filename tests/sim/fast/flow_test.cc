// The steps of an iteration in virtual time: which request reaches the server when. Each answer takes 100 ms.
#include <algorithm>
#include <gmock/gmock.h>

#include "core/base/result.h"
#include "tests/sim/fast/parts.h"

namespace bellwether::sim {
namespace {

using testing::ElementsAre;

const std::string kOnce = "executor: per-vu-iterations\n    iterations: 1";

struct Lived {
  std::vector<std::pair<std::string, Duration>> requests;
  Piece piece;
};

// `steps`: a line for each.
Lived lived(const std::string& steps, const std::string& executor = kOnce, uint64_t seed = 1) {
  Ground ground(seed, "defaults: {http: {base: \"http://10.0.0.1\"}}\nworkflows:\n  w:\n    " + executor +
                          "\n    steps:\n" + steps);
  ground.answers_after = Duration::millis(100);
  ground.pieces.resize(1);
  ground.live(Duration::minutes(20));
  return {ground.requests, ground.pieces[0]};
}

// "100 /item": the time of each request in ms, rounded down to tens; those of one time by their names.
std::vector<std::string> transcript(const std::string& steps) {
  const Lived seen = lived(steps);
  std::vector<std::pair<int64_t, std::string>> rounded;
  for (const auto& [target, at] : seen.requests) rounded.emplace_back(at.ns() / 10'000'000 * 10, target);
  std::sort(rounded.begin(), rounded.end());
  std::vector<std::string> out;
  for (const auto& [at, target] : rounded) out.push_back(fmt::format("{} {}", at, target));
  EXPECT_EQ(seen.piece.counted.iterations, 1u);
  return out;
}

// --- after -----------------------------------------------------------------------------------------------------------

TEST(Flow, a_step_begins_when_those_that_it_comes_after_have_ended) {
  EXPECT_THAT(transcript(R"yaml(
      a: {http: {get: /a}, think: 1s}
      b: {http: {get: /b}}
      c: {after: b, http: {get: /c}}
      d: {after: [a, c], http: {get: /d}}
      e: {after: c, http: {get: /e}}
)yaml"),
              ElementsAre("0 /a", "0 /b", "100 /c", "200 /e", "1100 /d"));
}

TEST(Flow, after_the_end_of_the_iteration_no_step_begins) {
  EXPECT_THAT(transcript(R"yaml(
      a: {http: {get: /a}, check: {status: 404}, on_error: end-iteration}
      b: {action: {set: {x: y}}, think: 500ms}
      c: {after: b, http: {get: /c}}
)yaml"),
              ElementsAre("0 /a"));
}

TEST(Flow, a_failure_leaves_out_what_comes_after_it_and_nothing_else) {
  EXPECT_THAT(transcript(R"yaml(
      a: {http: {get: /a}, check: {status: 404}, on_error: skip}
      b: {http: {get: /b}, think: 50ms}
      c: {after: [a, b], http: {get: /c}}
      d: {after: c, http: {get: /d}}
      e: {after: b, http: {get: /e}}
)yaml"),
              ElementsAre("0 /a", "0 /b", "150 /e"));
}

// --- if --------------------------------------------------------------------------------------------------------------

TEST(Flow, a_condition_that_does_not_hold_skips_the_step_and_those_after_it) {
  EXPECT_THAT(transcript(R"yaml(
      cart: {action: {set: {total: "7", kind: book}}}
      big: {after: cart, if: {"${total}": {gt: 10}}, http: {get: /big}}
      gift: {after: big, http: {get: /gift}}
      small: {after: cart, if: {"${total}": {lte: 10, not: [8, 9]}, "${kind}": [film, book]}, http: {get: /small}}
      thin: {after: cart, if: {"${kind}": {matches: "^b.*k$"}, "${kind}/${total}": "book/7"}, http: {get: /thin}}
      film: {after: cart, if: {"${total}": 7, "${kind}": {contains: film}}, http: {get: /film}}
)yaml"),
              ElementsAre("0 /small", "0 /thin"));
}

TEST(Flow, a_condition_compares_values_with_each_other) {
  EXPECT_THAT(transcript(R"yaml(
      a: {action: {set: {x: "7", y: "7", z: "8"}}}
      b: {after: a, if: {"${x}": "${y}"}, http: {get: /b}}
      c: {after: a, if: {"${x}": "${z}"}, http: {get: /c}}
      d: {after: a, if: {"${x}": {lt: "${z}", not: "${z}"}}, http: {get: /d}}
      e: {after: c, http: {get: /e}}
)yaml"),
              ElementsAre("0 /b", "0 /d"));
}

TEST(Flow, a_missing_value_fulfils_only_its_absence) {
  EXPECT_THAT(transcript(R"yaml(
      a: {http: {get: /a}, extract: {x: {header: X-No}, y: {status: true}}}
      b: {after: a, if: {"${x}": {exists: true}}, http: {get: /b}}
      c: {after: a, if: {"${x}": {exists: false}}, http: {get: /c}}
      d: {after: a, if: {"${x}": {not: z}}, http: {get: /d}}
      e: {after: a, if: {"${y}": {exists: true}}, http: {get: /e}}
)yaml"),
              ElementsAre("0 /a", "100 /c", "100 /e"));
}

TEST(Flow, a_step_that_holds_a_skipped_one_has_ended_and_was_not_skipped) {
  EXPECT_THAT(transcript(R"yaml(
      visit:
        steps:
          a: {if: {"${vu}": 2}, http: {get: /a}}
          b: {after: a, http: {get: /b}}
      c: {after: visit, http: {get: /c}}
      none: {after: visit, if: {"${vu}": 2}, steps: {d: {http: {get: /d}}}}
      e: {after: none, http: {get: /e}}
)yaml"),
              ElementsAre("0 /c"));
}

// --- repeat ----------------------------------------------------------------------------------------------------------

TEST(Flow, a_step_repeats_with_its_think_time_and_knows_its_round) {
  EXPECT_THAT(transcript(R"yaml(
      a: {repeat: 3, http: {get: "/a/${repeat.index}"}, think: 50ms}
      b: {after: a, http: {get: /b}}
)yaml"),
              ElementsAre("0 /a/0", "150 /a/1", "300 /a/2", "450 /b"));
}

TEST(Flow, steps_repeat_together_and_those_within_them) {
  EXPECT_THAT(transcript(R"yaml(
      pages:
        repeat: 2
        steps:
          list: {http: {get: "/list/${repeat.index}"}}
          page: {action: {set: {number: "${repeat.index}"}}}
          item: {after: [list, page], repeat: 2, http: {get: "/item/${number}/${repeat.index}"}}
      end: {after: pages, http: {get: /end}}
)yaml"),
              ElementsAre("0 /list/0", "100 /item/0/0", "200 /item/0/1", "300 /list/1", "400 /item/1/0",
                          "500 /item/1/1", "600 /end"));
}

TEST(Flow, a_failure_in_a_round_has_the_effect_that_the_step_says) {
  const auto rounds = [](const std::string& on_error) {
    return transcript(
        "      r:\n        repeat: 2\n        steps:\n"
        "          a: {http: {get: /a}, check: {status: 404}, on_error: " +
        on_error +
        "}\n"
        "          b: {after: a, http: {get: /b}}\n"
        "      c: {after: r, http: {get: /c}}\n");
  };
  EXPECT_THAT(rounds("continue"), ElementsAre("0 /a", "100 /b", "200 /a", "300 /b", "400 /c"));
  EXPECT_THAT(rounds("skip"), ElementsAre("0 /a", "100 /a", "200 /c"));
  EXPECT_THAT(rounds("end-iteration"), ElementsAre("0 /a"));
}

TEST(Flow, a_repeated_step_that_fails_with_skip_repeats_no_more) {
  EXPECT_THAT(transcript(R"yaml(
      a: {repeat: 3, http: {get: /a}, check: {status: 404}, on_error: skip}
      b: {after: a, http: {get: /b}}
      c: {http: {get: /c}}
)yaml"),
              ElementsAre("0 /a", "0 /c"));
}

TEST(Flow, rounds_without_a_wait_hold_up_nobody) {
  EXPECT_THAT(transcript(R"yaml(
      a: {repeat: 100, action: {set: {x: "${repeat.index}"}}}
      b: {after: a, if: {"${x}": 99}, http: {get: "/b/${x}"}}
)yaml"),
              ElementsAre("0 /b/99"));
}

// --- choose ----------------------------------------------------------------------------------------------------------

const std::string kShop = R"yaml(
      visit:
        choose:
          browse: {weight: 7, http: {get: /browse}}
          search: {weight: 2, http: {get: /search}}
          buy:
            steps:
              cart: {http: {get: /cart}}
              pay: {after: cart, http: {get: /pay}}
)yaml";

TEST(Flow, one_of_several_is_drawn_by_weight_and_a_seed_repeats_the_draws) {
  const std::string executor = "executor: per-vu-iterations\n    vus: 5\n    iterations: 800";
  const Lived seen = lived(kShop, executor);
  std::map<std::string, double> shares;
  for (const auto& [target, at] : seen.requests) shares[target] += 1.0 / 4000;
  EXPECT_NEAR(shares["/browse"], 0.7, 0.03);
  EXPECT_NEAR(shares["/search"], 0.2, 0.03);
  EXPECT_NEAR(shares["/cart"], 0.1, 0.03);
  EXPECT_DOUBLE_EQ(shares["/cart"], shares["/pay"]);
  EXPECT_EQ(seen.piece.counted.iterations, 4000u);
  EXPECT_EQ(seen.requests, lived(kShop, executor).requests);
  EXPECT_NE(seen.requests, lived(kShop, executor, 2).requests);
}

TEST(Flow, an_arrival_that_is_dropped_is_charged_to_one_of_them) {
  const Lived seen = lived(kShop, "rate: 50/s\n    duration: 10s\n    vus: 1");
  const Piece& piece = seen.piece;
  EXPECT_GT(piece.counted.dropped, 300u);
  EXPECT_EQ(piece.charged, piece.counted.dropped);
}

TEST(Flow, an_arrival_that_is_dropped_is_charged_to_the_first_requests) {
  const Lived seen = lived(R"yaml(
      prepare: {action: {set: {x: y}}}
      maybe: {if: {"${vu}": 1}, http: {get: /maybe}}
      a: {after: prepare, http: {get: /a}}
      b: {steps: {c: {http: {get: /c}}, d: {after: c, http: {get: /d}}}}
      e: {after: [a, b], http: {get: /e}}
)yaml",
                           "rate: 50/s\n    duration: 10s\n    vus: 1");
  const Piece& piece = seen.piece;
  EXPECT_GT(piece.counted.dropped, 300u);
  EXPECT_EQ(piece.charged, 2 * piece.counted.dropped) << "a and c";
}

// --- retries ---------------------------------------------------------------------------------------------------------

TEST(Flow, each_retry_has_a_time_of_its_own) {
  const Lived seen =
      lived("      a: {http: {get: /a, expected_statuses: [404], retries: {times: 2, wait: 1s}}, on_error: skip}\n");
  ASSERT_EQ(seen.requests.size(), 3u);
  EXPECT_GE(seen.requests[2].second, Duration::millis(2'200));
  EXPECT_EQ(seen.piece.counted.requests, 3u);
  EXPECT_EQ(seen.piece.counted.failed, 3u);
  EXPECT_GE(seen.piece.service, Duration::millis(100));
  EXPECT_LE(seen.piece.service, Duration::millis(110)) << "without the tries before it and the waits between";
  EXPECT_LE(seen.piece.response, Duration::millis(110));
}

// --- groups ----------------------------------------------------------------------------------------------------------

TEST(Flow, the_time_of_a_group_is_from_its_first_step_to_its_last_with_the_pauses_between) {
  const Lived seen = lived(R"yaml(
      a: {http: {get: /a}, think: 1s}
      b: {after: a, http: {get: /b}, group: checkout, think: 1s}
      c: {after: b, group: checkout, repeat: 2, steps: {d: {http: {get: /d}}, e: {http: {get: /e}, think: 2s}}}
      f: {after: c, http: {get: /f}}
)yaml");
  const auto& times = seen.piece.times;
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].first, 1u) << "one value an iteration";
  EXPECT_GE(times[0].second, Duration::millis(3'300));
  EXPECT_LE(times[0].second, Duration::millis(3'310)) << "without the pause after e";
}

TEST(Flow, a_group_that_did_not_begin_has_no_time) {
  const Lived seen = lived(R"yaml(
      a: {http: {get: /a}, check: {status: 404}, on_error: skip, group: one}
      b: {after: a, http: {get: /b}, group: two}
)yaml");
  const auto& times = seen.piece.times;
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].first, 1u);
  EXPECT_EQ(times[1].first, 0u);
}

}  // namespace
}  // namespace bellwether::sim
