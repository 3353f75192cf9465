#include <gtest/gtest.h>

#include "core/base/time_testing.h"
#include "jobs/client/client_following.h"

namespace bellwether::client::detail {
namespace {

using namespace std::chrono_literals;

dispatch::LiveWindow window(uint64_t number, uint64_t requests, uint32_t revision = 0) {
  return {number, revision, 2, {requests, 0, 0, 0, 3, {}}};
}

TEST(LiveFollower, asks_for_what_comes_after_what_it_has) {
  LiveFollower live("j1");
  EXPECT_EQ(live.question(Duration::seconds(1)), (dispatch::WatchLive{"j1", 0, 0, Duration::seconds(1)}));
  const auto told = live.take(
      at_ms(0), {7, 12, {window(4, 10), window(5, 20)}, {30, 1, 2, 3, 4, std::chrono::milliseconds(5)}, false});
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->anew);
  EXPECT_EQ(told->skipped, 0u) << "what was before it came is not missed";
  ASSERT_EQ(told->windows.size(), 2u);
  EXPECT_EQ(told->windows[0].at, 400ms);
  EXPECT_EQ(told->windows[1].at, 500ms);
  EXPECT_EQ(told->windows[1].done.requests, 20u);
  EXPECT_EQ(told->windows[1].done.vus, 3);
  EXPECT_EQ(told->windows[1].told, 2u);
  EXPECT_EQ(told->total.requests, 30u);
  EXPECT_EQ(told->total.age, 5ms);
  EXPECT_EQ(live.question(Duration::zero()), (dispatch::WatchLive{"j1", 7, 12, Duration::zero()}));
  EXPECT_FALSE(live.over());
}

TEST(LiveFollower, says_what_it_missed_and_not_what_is_amended) {
  LiveFollower live("j1");
  ASSERT_TRUE(live.take(at_ms(0), {7, 12, {window(4, 10), window(5, 20)}, {}, false}));
  const auto amended = live.take(at_ms(50), {7, 13, {window(4, 11, 1)}, {}, false});
  ASSERT_TRUE(amended);
  EXPECT_EQ(amended->skipped, 0u);
  EXPECT_EQ(amended->windows[0].revision, 1u);
  EXPECT_EQ(live.take(at_ms(100), {7, 14, {window(6, 1)}, {}, false})->skipped, 0u);
  EXPECT_EQ(live.take(at_ms(9'000), {7, 90, {window(30, 1), window(31, 1)}, {}, false})->skipped, 23u);
}

TEST(LiveFollower, windows_of_another_owner_begin_anew) {
  LiveFollower live("j1");
  ASSERT_TRUE(live.take(at_ms(0), {7, 12, {window(4, 10)}, {}, false}));
  EXPECT_FALSE(live.take(at_ms(50), {8, 0, {}, {}, false})) << "it has none yet";
  const auto anew = live.take(at_ms(100), {8, 1, {window(40, 10)}, {}, false});
  ASSERT_TRUE(anew);
  EXPECT_TRUE(anew->anew);
  EXPECT_EQ(anew->skipped, 0u);
  EXPECT_EQ(live.question(Duration::zero()).change, 1u);
  EXPECT_FALSE(live.take(at_ms(150), {8, 2, {window(41, 10)}, {}, false})->anew);
}

TEST(LiveFollower, at_the_end_what_is_left_is_told) {
  LiveFollower live("j1");
  const auto last = live.take(at_ms(0), {7, 12, {window(4, 10)}, {}, true});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->windows.size(), 1u);
  EXPECT_TRUE(live.over());
  LiveFollower late("j1");
  EXPECT_FALSE(late.take(at_ms(0), {0, 0, {}, {}, true}));
  EXPECT_TRUE(late.over());
}

TEST(LiveFollower, asks_twenty_times_a_second_at_most_and_five_times_at_once) {
  LiveFollower live("j1");
  uint64_t change = 0;
  int calls = 0;
  for (int64_t ms = 0; ms < 2'000; ++ms) {
    while (live.ready(at_ms(ms)) <= at_ms(ms) && calls < 1'000) {
      ++change;
      ASSERT_TRUE(live.take(at_ms(ms), {7, change, {window(change, 1)}, {}, false}));
      ++calls;
    }
    if (ms == 0) EXPECT_EQ(calls, 5);
  }
  EXPECT_LE(calls, 5 + 2 * 20);
  EXPECT_GE(calls, 4 + 2 * 20);
}

}  // namespace
}  // namespace bellwether::client::detail
