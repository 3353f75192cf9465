#include "sim/timeline.h"

#include <gmock/gmock.h>

namespace bellwether::sim {
namespace {

using testing::ElementsAre;

void run_all(Timeline& timeline) {
  while (timeline.next() != Instant::never()) {
    timeline.advance(timeline.next());
    timeline.run_one();
  }
}

TEST(Timeline, events_come_in_order_of_time_and_then_of_scheduling) {
  Timeline timeline(1);
  std::vector<int> seen;
  timeline.after(Duration::seconds(2), [&] { seen.push_back(3); });
  timeline.after(Duration::seconds(1), [&] { seen.push_back(1); });
  timeline.after(Duration::seconds(1), [&] { seen.push_back(2); });
  run_all(timeline);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_EQ(timeline.now(), Instant() + Duration::seconds(2));
}

TEST(Timeline, an_event_may_schedule_others) {
  Timeline timeline(1);
  std::vector<int> seen;
  timeline.after(Duration::seconds(1), [&] {
    seen.push_back(1);
    timeline.after(Duration::zero(), [&] { seen.push_back(2); });
    timeline.after(Duration::seconds(3), [&] { seen.push_back(4); });
  });
  timeline.after(Duration::seconds(2), [&] { seen.push_back(3); });
  run_all(timeline);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
}

TEST(Timeline, without_events_the_next_is_never) {
  Timeline timeline(1);
  EXPECT_EQ(timeline.next(), Instant::never());
}

uint64_t fingerprint_after(Duration first, Duration second, int draws) {
  Timeline timeline(5);
  timeline.after(first, [] {});
  timeline.after(second, [] {});
  for (int i = 0; i < draws; ++i) timeline.prng().next();
  run_all(timeline);
  return timeline.fingerprint();
}

TEST(Timeline, the_fingerprint_sees_times_order_and_draws) {
  const Duration one = Duration::seconds(1);
  const Duration two = Duration::seconds(2);
  const uint64_t original = fingerprint_after(one, two, 1);
  EXPECT_EQ(fingerprint_after(one, two, 1), original);
  EXPECT_NE(fingerprint_after(two, one, 1), original);
  EXPECT_NE(fingerprint_after(one, two, 2), original);
  EXPECT_NE(fingerprint_after(one, two + Duration::nanos(1), 1), original);
}

TEST(Timeline, the_fingerprint_sees_what_is_recorded) {
  Timeline a(5);
  Timeline b(5);
  a.record(1);
  b.record(2);
  EXPECT_NE(a.fingerprint(), b.fingerprint());
}

}  // namespace
}  // namespace bellwether::sim
