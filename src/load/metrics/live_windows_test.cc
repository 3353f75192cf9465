#include "load/metrics/live_windows.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"

namespace bellwether::metrics {
namespace {

constexpr Instant kOrigin = Instant::from_ns(1'000'000'000'000);
constexpr Instant at(int64_t ms) { return kOrigin + Duration::millis(ms); }

LiveCounts did(uint64_t requests, int64_t vus = 0) {
  return {requests, requests / 10, requests / 2, requests / 5, vus};
}

std::vector<LiveWindow> all(const LiveWindows& windows, uint64_t change = 0) {
  std::vector<LiveWindow> out;
  windows.since(change, out);
  return out;
}

// Requests of each window.
std::vector<uint64_t> requests(const LiveWindows& windows) {
  std::vector<uint64_t> out;
  for (const LiveWindow& one : all(windows)) out.push_back(one.counts.requests);
  return out;
}

using Requests = std::vector<uint64_t>;

struct LiveWindowsTest : testing::Test {
  LiveWindows windows{kOrigin};
};

TEST_F(LiveWindowsTest, a_window_is_shown_when_it_and_the_tolerance_are_over) {
  EXPECT_EQ(windows.next_close(), Instant::never());
  const auto one = windows.open(at(0), true);
  const auto two = windows.open(at(0), true);
  EXPECT_TRUE(windows.take(at(10), one, at(10), 1, did(10, 1)));
  EXPECT_TRUE(windows.take(at(60), one, at(60), 2, did(30, 2)));
  EXPECT_TRUE(windows.take(at(149), two, at(99), 1, did(5, 3)));
  EXPECT_EQ(windows.next_close(), at(150));
  EXPECT_FALSE(windows.advance(at(149)));
  EXPECT_TRUE(all(windows).empty());
  EXPECT_TRUE(windows.advance(at(150)));
  EXPECT_EQ(all(windows), (std::vector<LiveWindow>{{0, 0, 2, did(30) + did(5) + LiveCounts{0, 0, 0, 0, 5}}}));
  EXPECT_EQ(windows.next_close(), at(250));
}

TEST_F(LiveWindowsTest, they_are_contiguous_also_where_nothing_was_told) {
  const auto source = windows.open(at(250), true);
  windows.take(at(250), source, at(250), 1, did(10, 4));
  windows.take(at(620), source, at(620), 2, did(15, 6));
  windows.advance(at(750));
  const std::vector<LiveWindow> shown = all(windows);
  ASSERT_EQ(shown.size(), 5u) << "from the one in which the first source was opened";
  for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i].number, i + 2);
  EXPECT_EQ(requests(windows), (Requests{10, 0, 0, 0, 5}));
  EXPECT_EQ(shown[3].counts.vus, 4);
  EXPECT_EQ(shown[4].counts.vus, 6);
}

TEST_F(LiveWindowsTest, a_late_part_amends_its_window_and_the_one_that_had_its_share) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 1, did(10, 1));
  windows.take(at(350), source, at(350), 3, did(100, 5));
  windows.advance(at(600));
  EXPECT_EQ(requests(windows), (Requests{10, 0, 0, 90, 0}));
  const uint64_t shown = windows.change();
  EXPECT_TRUE(windows.take(at(600), source, at(150), 2, did(40, 2)));
  const std::vector<LiveWindow> amended = all(windows, shown);
  ASSERT_EQ(amended.size(), 3u) << "the one between has other users";
  EXPECT_EQ(amended[0], (LiveWindow{1, 1, 1, did(40) - did(10) + LiveCounts{0, 0, 0, 0, 2}}));
  EXPECT_EQ(amended[1], (LiveWindow{2, 1, 0, {0, 0, 0, 0, 2}}));
  EXPECT_EQ(amended[2], (LiveWindow{3, 1, 1, did(100) - did(40) + LiveCounts{0, 0, 0, 0, 5}}));
  EXPECT_EQ(requests(windows), (Requests{10, 30, 0, 60, 0}));
  EXPECT_EQ(windows.total(), did(100, 5));
  EXPECT_TRUE(all(windows, windows.change()).empty()) << "each is shown once";
}

TEST_F(LiveWindowsTest, users_in_a_window_that_is_not_over_are_not_those_of_one_that_is) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 1, did(10, 1));
  windows.take(at(210), source, at(210), 2, did(20, 5));
  ASSERT_EQ(all(windows).size(), 1u);
  EXPECT_EQ(all(windows)[0].counts.vus, 1);
}

// The other machine's clock was set, or is known better now.
TEST_F(LiveWindowsTest, what_is_told_after_something_was_not_collected_before_it) {
  const auto source = windows.open(at(0), true);
  windows.take(at(350), source, at(350), 3, did(10));
  windows.take(at(380), source, at(150), 4, did(30));
  windows.take(at(450), source, at(450), 9, did(50));
  EXPECT_FALSE(windows.take(at(460), source, at(250), 5, did(10))) << "it would lie before what was told before it";
  windows.advance(at(600));
  EXPECT_EQ(requests(windows), (Requests{0, 0, 0, 30, 20}));
}

TEST_F(LiveWindowsTest, what_changes_nothing_is_no_amendment) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 2, did(10));
  windows.take(at(350), source, at(350), 4, did(100));
  windows.advance(at(600));
  const uint64_t shown = windows.change();
  EXPECT_FALSE(windows.take(at(600), source, at(50), 2, did(10))) << "twice";
  EXPECT_FALSE(windows.take(at(600), source, at(20), 1, did(5))) << "superseded in its own window";
  EXPECT_FALSE(windows.take(at(600), source, at(360), 3, did(50))) << "collected after what was told after it";
  EXPECT_FALSE(windows.take(at(600), source, at(560), 5, did(99))) << "a counter that fell";
  EXPECT_FALSE(windows.take(at(600), source, at(150), 3, did(101))) << "more than it had done later";
  EXPECT_EQ(windows.change(), shown);
  EXPECT_EQ(windows.total(), did(100));
}

TEST_F(LiveWindowsTest, what_is_too_old_is_dropped_and_made_up_for_by_what_comes_next) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 1, did(10));
  EXPECT_FALSE(windows.take(at(5'151), source, at(150), 2, did(20)));
  EXPECT_EQ(windows.too_old(), 1u);
  EXPECT_TRUE(windows.take(at(5'151), source, at(151), 2, did(20))) << "not yet";
  EXPECT_TRUE(windows.take(at(5'250), source, at(5'250), 3, did(70)));
  windows.advance(at(5'450));
  Requests expected(54);
  expected[0] = 10;
  expected[1] = 10;
  expected[52] = 50;
  EXPECT_EQ(requests(windows), expected);
}

TEST_F(LiveWindowsTest, of_a_source_that_began_earlier_only_what_is_new_counts) {
  const auto source = windows.open(at(0), false);
  windows.take(at(50), source, at(50), 100, did(1'000, 7));
  windows.take(at(160), source, at(160), 101, did(1'010, 8));
  EXPECT_FALSE(windows.take(at(170), source, at(10), 99, did(990, 7)));
  windows.advance(at(300));
  EXPECT_EQ(requests(windows), (Requests{0, 10}));
  EXPECT_EQ(all(windows)[0].counts.vus, 7);
  EXPECT_EQ(windows.total(), did(1'010, 8));
}

TEST_F(LiveWindowsTest, a_source_that_was_silent_for_long_and_then_is_late_is_amended_right) {
  const auto source = windows.open(at(0), true);
  windows.take(at(1'050), source, at(1'050), 1, did(100));
  windows.take(at(7'450), source, at(7'450), 3, did(300));  // in the place of the first one in its ring
  windows.take(at(7'460), source, at(7'250), 2, did(220));
  windows.advance(at(7'700));
  const std::vector<LiveWindow> shown = all(windows);
  EXPECT_EQ(shown.size(), LiveWindows::kKept);
  std::map<uint64_t, uint64_t> by_number;
  for (const LiveWindow& one : shown) by_number[one.number] = one.counts.requests;
  EXPECT_EQ(by_number[72], 120u);
  EXPECT_EQ(by_number[74], 80u);
}

TEST_F(LiveWindowsTest, a_source_that_ended_has_no_users_and_tells_nothing_more) {
  const auto one = windows.open(at(0), true);
  const auto two = windows.open(at(0), true);
  windows.take(at(50), one, at(50), 1, did(10, 3));
  windows.take(at(50), two, at(50), 1, did(20, 4));
  windows.end(at(220), one);
  windows.end(at(230), one);
  EXPECT_FALSE(windows.take(at(240), one, at(240), 2, did(30, 3)));
  windows.advance(at(450));
  const std::vector<LiveWindow> shown = all(windows);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[1].counts.vus, 7);
  EXPECT_EQ(shown[2].counts.vus, 4);
  EXPECT_EQ(windows.total(), did(30, 4));
}

TEST_F(LiveWindowsTest, memory_of_a_source_is_used_again_when_its_windows_are_forgotten) {
  const auto one = windows.open(at(0), true);
  windows.take(at(50), one, at(50), 1, did(10, 1));
  windows.end(at(100), one);
  EXPECT_NE(windows.open(at(6'000), true), one);
  const auto again = windows.open(at(6'650), true);
  EXPECT_EQ(again, one);
  EXPECT_TRUE(windows.take(at(6'660), again, at(6'660), 1, did(7, 2)));
  windows.advance(at(7'000));
  EXPECT_EQ(windows.total(), did(10) + did(7, 2));
  EXPECT_EQ(all(windows).back().counts.vus, 2);
}

TEST_F(LiveWindowsTest, after_a_long_silence_only_what_may_still_be_told_is_there) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 1, did(10, 3));
  const uint64_t shown = windows.change();
  windows.advance(at(86'400'000));
  EXPECT_LE(windows.change() - shown, LiveWindows::kKept);
  EXPECT_EQ(all(windows).size(), LiveWindows::kKept);
  EXPECT_EQ(all(windows).front().counts, (LiveCounts{0, 0, 0, 0, 3}));
}

TEST_F(LiveWindowsTest, at_the_end_whatever_there_is_is_closed) {
  const auto source = windows.open(at(0), true);
  windows.take(at(50), source, at(50), 1, did(10, 1));
  windows.take(at(120), source, at(120), 2, did(30, 1));
  windows.end(at(140), source);
  windows.finish(at(145));
  EXPECT_EQ(requests(windows), (Requests{10, 20}));
  EXPECT_EQ(all(windows).back().counts.vus, 0);
}

// --- any order, twice, lost ------------------------------------------------------------------------------------------

struct Told {
  LiveWindows::Source source;
  Instant collected;
  uint64_t number;
  LiveCounts counts;
  Instant comes;
};

// The reports of some sources about each 50 ms for two seconds, some lost and some doubled, and all up to `delay`
// later.
std::vector<Told> story(Prng& prng, LiveWindows::Source sources, Duration delay) {
  std::vector<Told> out;
  for (LiveWindows::Source source = 0; source < sources; ++source) {
    LiveCounts counts;
    uint64_t number = prng.below(1'000);
    for (int64_t ms = static_cast<int64_t>(prng.below(50)); ms < 2'000;
         ms += 20 + static_cast<int64_t>(prng.below(60))) {
      counts = counts + LiveCounts{prng.below(50), prng.below(5), prng.below(20), prng.below(3), 0};
      counts.vus = static_cast<int64_t>(prng.below(10));
      ++number;
      for (std::size_t copies = prng.below(4); copies > 0; --copies) {
        const auto later = Duration::nanos(static_cast<int64_t>(prng.below(static_cast<uint64_t>(delay.ns()) + 1)));
        out.push_back({source, at(ms), number, counts, at(ms) + later});
        if (copies > 2) break;
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Told& a, const Told& b) { return a.comes < b.comes; });
  return out;
}

std::vector<LiveWindow> told_in_order(std::vector<Told> parts, LiveWindows::Source sources) {
  std::stable_sort(parts.begin(), parts.end(), [](const Told& a, const Told& b) { return a.collected < b.collected; });
  LiveWindows windows(kOrigin);
  for (LiveWindows::Source i = 0; i < sources; ++i) windows.open(at(0), true);
  for (const Told& one : parts) windows.take(one.collected, one.source, one.collected, one.number, one.counts);
  windows.advance(at(5'500));
  return all(windows);
}

void expect_same(const std::vector<LiveWindow>& a, const std::vector<LiveWindow>& b) {
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(a[i].number == b[i].number);
    RC_ASSERT(a[i].told == b[i].told);
    RC_ASSERT(a[i].counts == b[i].counts);
  }
}

RC_GTEST_PROP(LiveWindows, whatever_the_order_the_windows_are_the_same_and_their_sum_is_what_was_told_last, ()) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  const auto sources = *rc::gen::inRange<LiveWindows::Source>(1, 5);
  const std::vector<Told> parts = story(prng, sources, Duration::seconds(3));
  LiveWindows windows(kOrigin);
  for (LiveWindows::Source i = 0; i < sources; ++i) windows.open(at(0), true);
  std::map<LiveWindows::Source, Told> last;
  // As one sees them who asks now and then, and keeps the newest of each.
  std::map<uint64_t, LiveWindow> seen;
  uint64_t change = 0;
  const auto look = [&] {
    for (const LiveWindow& one : all(windows, change)) {
      const auto before = seen.find(one.number);
      if (before != seen.end()) {
        RC_ASSERT(one.revision >= before->second.revision);
        if (one.revision == 0) RC_ASSERT(before->second == one);
      }
      seen[one.number] = one;
    }
    change = windows.change();
  };
  for (const Told& one : parts) {
    windows.take(one.comes, one.source, one.collected, one.number, one.counts);
    auto& known = last.try_emplace(one.source, one).first->second;
    if (one.number > known.number) known = one;
    if (prng.below(10) == 0) look();
  }
  windows.advance(at(5'500));
  look();
  expect_same(all(windows), told_in_order(parts, sources));
  LiveCounts sum;
  std::size_t next = 0;
  for (const auto& [number, one] : seen) {
    RC_ASSERT(number == next++);
    sum = sum + one.counts;
  }
  LiveCounts expected;
  for (const auto& [source, one] : last) expected = expected + one.counts;
  sum.vus = seen.empty() ? 0 : seen.rbegin()->second.counts.vus;
  RC_ASSERT(sum == expected);
  RC_ASSERT(windows.total() == expected);
  RC_ASSERT(windows.too_old() == 0U);
}

RC_GTEST_PROP(LiveWindows, whatever_the_clocks_of_machines_show_the_windows_are_those_of_one_clock, ()) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  constexpr LiveWindows::Source kSources = 3;
  std::vector<Told> parts = story(prng, kSources, Duration::zero());
  struct Machine {
    Duration ahead;
    ClockOffset offset;
    int messages = 0;
  };
  std::array<Machine, kSources> machines;
  for (Machine& one : machines) one.ahead = Duration::seconds(static_cast<int64_t>(prng.below(1'000'000)));
  // The way of a message is between nothing and what the tolerance bears; of the first ones it is nothing, so that a
  // clock is known from then on.
  for (Told& one : parts) {
    const bool is_first = machines[one.source].messages++ == 0;
    one.comes = one.collected + (is_first ? Duration::zero() : Duration::millis(static_cast<int64_t>(prng.below(50))));
  }
  const std::vector<LiveWindow> expected = told_in_order(parts, kSources);
  std::stable_sort(parts.begin(), parts.end(), [](const Told& a, const Told& b) { return a.comes < b.comes; });
  LiveWindows windows(kOrigin);
  for (LiveWindows::Source i = 0; i < kSources; ++i) windows.open(at(0), true);
  for (const Told& one : parts) {
    Machine& machine = machines[one.source];
    const Instant collected = machine.offset.heard(one.comes, one.collected + machine.ahead);
    windows.take(one.comes, one.source, collected, one.number, one.counts);
  }
  windows.advance(at(5'500));
  expect_same(all(windows), expected);
  for (const LiveWindow& one : all(windows)) RC_ASSERT(one.revision == 0U);
}

RC_GTEST_PROP(LiveWindows, what_comes_within_the_tolerance_amends_nothing, ()) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  const std::vector<Told> parts = story(prng, 3, LiveWindows::kTolerance - Duration::nanos(1));
  LiveWindows windows(kOrigin);
  for (int i = 0; i < 3; ++i) windows.open(at(0), true);
  for (const Told& one : parts) windows.take(one.comes, one.source, one.collected, one.number, one.counts);
  windows.advance(at(5'500));
  expect_same(all(windows), told_in_order(parts, 3));
  for (const LiveWindow& one : all(windows)) RC_ASSERT(one.revision == 0U);
}

}  // namespace
}  // namespace bellwether::metrics
