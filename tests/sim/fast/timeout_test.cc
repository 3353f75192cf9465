// The timeout of a workflow, in virtual time: whatever its executor is and whatever it is in the middle of, it is over
// then, by the clock with which it began, and says so.
#include <gtest/gtest.h>

#include "tests/sim/fast/parts.h"

namespace bellwether::sim {
namespace {

Piece live(const std::string& workflow, Duration answers_after, Duration resume_at = Duration::zero()) {
  Ground ground(1, "workflows: {w: {" + workflow + "}}\n");
  ground.answers_after = answers_after;
  Piece piece;
  piece.resume.at = resume_at;
  ground.pieces = {piece};
  ground.live(Duration::minutes(10));
  return ground.pieces.front();
}

const std::string kStep = ", steps: {one: {http: {get: \"http://10.0.0.1/\"}}}";
constexpr Duration kSlow = Duration::seconds(50);

void expect_ended_at(const Piece& seen, Duration when) {
  EXPECT_GE(seen.ended, when);
  EXPECT_LE(seen.ended, when + Duration::millis(12));
  EXPECT_EQ(seen.timed_out, (std::vector<uint16_t>{0}));
}

TEST(WorkflowTimeout, ends_what_is_in_flight_under_every_executor) {
  for (const std::string executor :
       {"vus: 3, duration: 1h", "executor: ramping-vus, start_vus: 3, stages: [{duration: 1h, target: 3}]",
        "vus: 3, iterations: 1000", "executor: per-vu-iterations, vus: 3, iterations: 1000",
        "rate: 1/s, duration: 1h, vus: 3", "executor: externally-controlled, vus: 3"}) {
    const Piece seen = live(executor + ", timeout: 5s" + kStep, kSlow);
    SCOPED_TRACE(executor);
    expect_ended_at(seen, Duration::seconds(5));
    EXPECT_EQ(seen.interrupted, 3u);
    EXPECT_EQ(seen.counted.failed, 3u) << "a request that is given up counts as one";
    EXPECT_EQ(seen.counted.iterations, 0u);
  }
}

TEST(WorkflowTimeout, a_rate_begins_nothing_after_it) {
  const Piece seen = live("rate: 10/s, duration: 1h, vus: 3, timeout: 5s" + kStep, Duration::millis(10));
  expect_ended_at(seen, Duration::seconds(5));
  EXPECT_EQ(seen.scheduled, 50u);
  EXPECT_EQ(seen.counted.iterations, 50u);
}

TEST(WorkflowTimeout, includes_start_time_and_graceful_stop) {
  expect_ended_at(live("vus: 1, duration: 1s, start_time: 2s, graceful_stop: 30s, timeout: 5s" + kStep, kSlow),
                  Duration::seconds(5));
  const Piece never = live("vus: 1, duration: 1s, start_time: 1m, timeout: 5s" + kStep, kSlow);
  expect_ended_at(never, Duration::seconds(5));
  EXPECT_EQ(never.counted.requests, 0u);
}

TEST(WorkflowTimeout, ends_pauses_and_what_runs_once) {
  expect_ended_at(live("vus: 2, duration: 1h, pacing: 30m, timeout: 5s" + kStep, Duration::millis(10)),
                  Duration::seconds(5));
  const std::string thinking = ", steps: {one: {http: {get: \"http://10.0.0.1/\"}, think: 30m}}";
  expect_ended_at(live("vus: 2, duration: 1h, timeout: 5s" + thinking, Duration::millis(10)), Duration::seconds(5));
  const std::string action = "timeout: 5s, steps: {one: {action: {http: {get: \"http://10.0.0.1/\"}}}}";
  expect_ended_at(live(action, kSlow), Duration::seconds(5));
}

TEST(WorkflowTimeout, who_goes_on_in_the_place_of_another_keeps_to_the_first_clock) {
  expect_ended_at(live("vus: 1, duration: 1h, timeout: 5s" + kStep, kSlow, Duration::seconds(4)), Duration::seconds(5));
}

TEST(WorkflowTimeout, what_ends_before_never_hears_of_it) {
  const Piece seen = live("vus: 1, duration: 2s, timeout: 5s" + kStep, Duration::millis(10));
  EXPECT_TRUE(seen.timed_out.empty());
  EXPECT_LT(seen.ended, Duration::seconds(3));
  EXPECT_EQ(seen.interrupted, 0u);
}

}  // namespace
}  // namespace bellwether::sim
