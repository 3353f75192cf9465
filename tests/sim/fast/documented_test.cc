// The cases by which k6 documents its executors, in its own field names where they are known here too, in virtual time:
// how many iterations they do, with how many users, and when they end. Each iteration is one request that is answered
// after half a second. Counts are exact, and times are so to one iteration.
//
// Source of the cases: Grafana k6 documentation, "Executors", "Graceful stop", "Arrival-rate VU allocation" and
// "Dropped iterations".
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/sim/fast/parts.h"

namespace bellwether::sim {
namespace {

constexpr Duration kIteration = Duration::millis(500);

struct Lived {
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  uint64_t interrupted = 0;
  std::size_t users = 0;
  Duration first;
  Duration last_begin;
  Duration ended;
};

Lived live(const std::string& workflows, uint32_t parts, Duration answers_after = kIteration,
           const std::string& only = {}) {
  Ground ground(3, "workflows: {" + workflows + "}");
  ground.answers_after = answers_after;
  for (uint32_t part = 0; part < parts; ++part) {
    Piece piece;
    piece.assignment = {.part = part, .parts = parts, .workflows = {}};
    ground.pieces.push_back(std::move(piece));
  }
  ground.live(Duration::minutes(12));
  Lived out;
  for (const Piece& piece : ground.pieces) {
    out.iterations += piece.counted.iterations;
    out.dropped += piece.counted.dropped;
    out.interrupted += piece.interrupted;
    out.ended = std::max(out.ended, piece.ended);
  }
  out.users = ground.by_target().size();
  out.first = Duration::hours(1);
  for (const auto& [target, at] : ground.requests) {
    if (!target.starts_with("/" + only)) continue;
    out.first = std::min(out.first, at);
    out.last_begin = std::max(out.last_begin, at);
  }
  return out;
}

std::string workflow(const std::string& name, const std::string& executor) {
  return name + ": {" + executor + ", steps: {s: {http: {get: \"http://10.0.0.1/" + name + "-${vu}\"}}}}";
}

struct Case {
  const char* what;
  const char* executor;
  uint64_t iterations;
  uint64_t dropped;
  uint64_t dropped_of_three;  // parts know nothing of each other, so each drops what finds none of its own users free
  std::size_t users;
  std::size_t users_of_three;
  Duration ends;
};

const Case kCases[] = {
    {"shared iterations: 200 by 10 users, whoever is free",
     "executor: shared-iterations, vus: 10, iterations: 200, "
     "maxDuration: 30s",
     200, 0, 0, 10, 10, Duration::seconds(10)},
    {"per-VU iterations: 20 by each of 10 users",
     "executor: per-vu-iterations, vus: 10, iterations: 20, "
     "maxDuration: 30s",
     200, 0, 0, 10, 10, Duration::seconds(10)},
    {"iterations that do not fit into maxDuration are dropped",
     "executor: shared-iterations, vus: 5, iterations: 100, "
     "maxDuration: 2s",
     20, 80, 80, 5, 5, Duration::seconds(2)},
    {"constant VUs: 10 users for 30 s", "executor: constant-vus, vus: 10, duration: 30s", 600, 0, 0, 10, 10,
     Duration::seconds(30)},
    {"ramping VUs: up to 10 in 20 s and down in 10 s; who is one too many is cut off: 9",
     "executor: ramping-vus, startVUs: 0, gracefulRampDown: 0s, stages: [{duration: 20s, target: 10}, {duration: 10s, "
     "target: 0}]",
     281, 0, 0, 10, 10, Duration::seconds(30)},
    {"ramping VUs: a stage without a duration is a jump",
     "executor: ramping-vus, startVUs: 10, stages: [{duration: 3s, "
     "target: 10}, {duration: 0s, target: 100}, {duration: 3s, target: 100}]",
     660, 0, 0, 100, 100, Duration::seconds(6)},
    {"constant arrival rate: 30 a second whatever the iterations take",
     "executor: constant-arrival-rate, duration: 30s, rate: 30, timeUnit: 1s, preAllocatedVUs: 2, maxVUs: 50", 900, 0,
     0, 16, 18, Duration::seconds(30)},
    {"constant arrival rate: in minutes",
     "executor: constant-arrival-rate, duration: 2m, rate: 90, timeUnit: 1m, "
     "preAllocatedVUs: 5",
     180, 0, 0, 1, 3, Duration::minutes(2)},
    {"ramping arrival rate: 300 a minute, up to 600, level, and down to 60",
     "executor: ramping-arrival-rate, startRate: 300, timeUnit: 1m, preAllocatedVUs: 2, maxVUs: 50, stages: "
     "[{duration: "
     "1m, target: 300}, {duration: 2m, target: 600}, {duration: 4m, target: 600}, {duration: 2m, target: 60}]",
     4260, 0, 0, 6, 6, Duration::minutes(9)},
    {"arrivals for which no user is free are dropped",
     "executor: constant-arrival-rate, rate: 20, duration: 10s, "
     "preAllocatedVUs: 5, maxVUs: 5",
     92, 108, 115, 5, 5, Duration::seconds(10)},
    {"a user for each arrival of the time that an iteration takes is enough",
     "executor: constant-arrival-rate, rate: "
     "20, duration: 10s, preAllocatedVUs: 13",
     200, 0, 0, 11, 12, Duration::seconds(10)},
};

TEST(Documented, executors_do_what_k6_says_of_them_in_one_part_and_in_three) {
  for (const Case& each : kCases) {
    for (const uint32_t parts : {1u, 3u}) {
      const Lived seen = live(workflow("w", each.executor), parts);
      const std::string what = std::string(each.what) + ", parts: " + std::to_string(parts);
      const uint64_t dropped = parts == 1 ? each.dropped : each.dropped_of_three;
      EXPECT_EQ(seen.iterations, each.iterations + each.dropped - dropped) << what;
      EXPECT_EQ(seen.dropped, dropped) << what;
      EXPECT_EQ(seen.users, parts == 1 ? each.users : each.users_of_three) << what;
      EXPECT_GE(seen.ended, each.ends - kIteration) << what;
      EXPECT_LE(seen.ended, each.ends + kIteration) << what;
    }
  }
}

TEST(Documented, graceful_stop_cuts_off_what_is_left_after_it) {
  // Iterations of 5 s at 0, 5 and 10 s: those that begin before the end have three more seconds, which is too little.
  const Lived strict =
      live(workflow("w", "executor: constant-vus, vus: 100, duration: 9s, gracefulStop: 3s"), 1, Duration::seconds(5));
  EXPECT_EQ(strict.interrupted, 0u);
  EXPECT_EQ(strict.iterations, 200u) << "the second ones end at 10 s, within the three seconds";
  const Lived cut =
      live(workflow("w", "executor: constant-vus, vus: 100, duration: 6s, gracefulStop: 3s"), 1, Duration::seconds(5));
  EXPECT_EQ(cut.iterations, 100u);
  EXPECT_EQ(cut.interrupted, 100u);
  EXPECT_EQ(cut.ended, Duration::seconds(9));
  const Lived none =
      live(workflow("w", "executor: constant-vus, vus: 10, duration: 6s, gracefulStop: 0s"), 1, Duration::seconds(5));
  EXPECT_EQ(none.interrupted, 10u);
  EXPECT_EQ(none.ended, Duration::seconds(6));
}

TEST(Documented, start_time_sets_scenarios_behind_each_other) {
  const std::string both = workflow("contacts", "executor: shared-iterations, vus: 10, iterations: 100") + ", " +
                           workflow("news", "executor: per-vu-iterations, vus: 5, iterations: 10, startTime: 30s");
  const Lived contacts = live(both, 1, kIteration, "contacts");
  const Lived news = live(both, 1, kIteration, "news");
  EXPECT_EQ(contacts.iterations, 150u) << "of both";
  EXPECT_LE(contacts.last_begin, Duration::seconds(5));
  EXPECT_GE(news.first, Duration::seconds(30));
  EXPECT_LE(news.first, Duration::millis(30'050));
  EXPECT_LE(news.ended, Duration::millis(35'600));
}

}  // namespace
}  // namespace bellwether::sim
