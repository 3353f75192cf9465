#include <gmock/gmock.h>

#include "jobs/ingest/run_ingest.h"
#include "load/codec/window_testing.h"

namespace bellwether::ingest {
namespace {

using testing::ElementsAre;
using Verdict = WindowIngest::Verdict;

constexpr StreamId kA{1};
constexpr StreamId kB{2};
constexpr StreamId kC{3};

class WindowIngestTest : public testing::Test {
 protected:
  Result<Verdict> tell(StreamId stream, uint64_t first, uint64_t last, uint64_t requests = 1) {
    metrics::Window window = empty_window();
    window.steps[0].count = requests;
    return book_.apply(now_, stream, first, last, window);
  }
  // "second:requests", with a '+' before an amendment.
  std::vector<std::string> take() {
    std::vector<std::string> out;
    for (const WindowIngest::Closed& one : book_.take(now_)) {
      out.push_back((one.amends ? "+" : "") + std::to_string(one.window.second) + ":" +
                    std::to_string(one.window.steps[0].count));
    }
    return out;
  }
  Instant now_ = Instant::from_ns(1'000'000'000);
  WindowIngest book_{kShape, {.streams_most = 3}};
};

TEST_F(WindowIngestTest, a_second_is_closed_when_all_have_told_it) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  EXPECT_EQ(*tell(kA, 1, 1), Verdict::kApplied);
  EXPECT_EQ(*tell(kA, 2, 2), Verdict::kApplied);
  EXPECT_THAT(take(), ElementsAre());
  EXPECT_EQ(*tell(kB, 1, 1, 5), Verdict::kApplied);
  EXPECT_EQ(book_.next_deadline(), Instant());
  EXPECT_THAT(take(), ElementsAre("0:6"));
  EXPECT_EQ(*tell(kB, 2, 2, 7), Verdict::kApplied);
  EXPECT_THAT(take(), ElementsAre("1:8"));
  EXPECT_EQ(book_.next_deadline(), Instant::never());
}

TEST_F(WindowIngestTest, it_knows_what_a_stream_has_told_of_its_iterations_and_another_one_goes_on_from_there) {
  ASSERT_TRUE(book_.open(kA, 0));
  metrics::Window window = empty_window();
  window.workflows[0].iterations = 9;
  window.workflows[0].interrupted = 1;
  window.workflows[0].begun = 14;
  window.workflows[0].taken = 30;
  window.workflows[0].pace = 28;
  ASSERT_TRUE(book_.apply(now_, kA, 1, 1, window));
  EXPECT_EQ(book_.iterated(kA), (plan::Iterated{.ended = 10, .begun = 14, .taken = 30, .pace = 28}));
  ASSERT_TRUE(book_.apply(now_, kA, 1, 1, window));  // once
  window.workflows[0].taken = 35;
  window.workflows[0].pace = 20;
  ASSERT_TRUE(book_.apply(now_, kA, 2, 4, window));
  EXPECT_EQ(book_.iterated(kA), (plan::Iterated{.ended = 20, .begun = 28, .taken = 35, .pace = 20}));
  book_.take(now_);
  WindowIngest other{kShape, {}};
  const WindowIngest::State state = book_.save();
  ASSERT_TRUE(other.restore(now_, state.streams, {}, state.closed_upto));
  EXPECT_EQ(other.iterated(kA), book_.iterated(kA));
  EXPECT_EQ(plan::begun_within(10, 4, Duration::millis(1'001)), 15u);
  EXPECT_EQ(plan::begun_within(0, 4, Duration::seconds(2)), 4 + 2 * plan::kFirstPace) << "no pace was reported";
}

TEST_F(WindowIngestTest, it_knows_how_much_of_the_last_second_of_a_stream_has_no_load) {
  ASSERT_TRUE(book_.open(kA, 0));
  metrics::Window window = empty_window();
  const auto idle_after = [&](uint64_t first, uint64_t last, Duration covered) {
    window.covered = covered;
    EXPECT_TRUE(book_.apply(now_, kA, first, last, window));
    return book_.iterated(kA).idle;
  };
  EXPECT_EQ(idle_after(1, 1, Duration::millis(300)), Duration::millis(700));
  EXPECT_EQ(idle_after(2, 2, Duration::seconds(1)), Duration::zero());
  EXPECT_EQ(idle_after(3, 3, Duration::zero()), Duration::zero()) << "a worker of an older version does not say it";
  EXPECT_EQ(idle_after(4, 6, Duration::millis(300)), Duration::zero()) << "several seconds, all of them whole";
  EXPECT_EQ(idle_after(7, 7, Duration::millis(250)), Duration::millis(750));
  book_.take(now_);
  WindowIngest other{kShape, {}};
  const WindowIngest::State state = book_.save();
  ASSERT_TRUE(other.restore(now_, state.streams, {}, state.closed_upto));
  EXPECT_EQ(other.iterated(kA).idle, Duration::millis(750));
}

TEST_F(WindowIngestTest, one_that_is_silent_holds_the_others_up_for_a_while_only_and_amends_later) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  ASSERT_TRUE(tell(kA, 1, 1));
  EXPECT_EQ(book_.next_deadline(), now_ + Duration::millis(1500));
  now_ += Duration::millis(1499);
  EXPECT_THAT(take(), ElementsAre());
  now_ += Duration::millis(1);
  EXPECT_THAT(take(), ElementsAre("0:1"));
  ASSERT_TRUE(tell(kB, 1, 1, 4));
  EXPECT_EQ(book_.next_deadline(), now_ + Duration::millis(250));
  now_ += Duration::millis(250);
  EXPECT_THAT(take(), ElementsAre("+0:4"));
}

TEST_F(WindowIngestTest, late_reports_of_one_second_amend_it_once) {
  for (const StreamId stream : {kA, kB, kC}) ASSERT_TRUE(book_.open(stream, 0));
  for (uint64_t number : {1, 2}) ASSERT_TRUE(tell(kA, number, number));
  now_ += Duration::millis(1500);
  EXPECT_THAT(take(), ElementsAre("0:1", "1:1"));
  ASSERT_TRUE(tell(kB, 1, 1, 4));
  now_ += Duration::millis(249);
  ASSERT_TRUE(tell(kC, 1, 1, 5));
  ASSERT_TRUE(tell(kC, 2, 2, 6));
  EXPECT_THAT(take(), ElementsAre()) << "more may come";
  now_ += Duration::millis(1);
  EXPECT_THAT(take(), ElementsAre("+0:9", "+1:6"));
  EXPECT_EQ(book_.next_deadline(), Instant::never());
  ASSERT_TRUE(tell(kB, 2, 2, 7));
  book_.amend_now();
  EXPECT_THAT(take(), ElementsAre("+1:7")) << "who ends the run or copies the book does not wait";
}

TEST_F(WindowIngestTest, many_late_seconds_of_a_worker_do_not_wait) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  for (uint64_t number = 1; number <= 20; ++number) ASSERT_TRUE(tell(kA, number, number));
  now_ += Duration::millis(1500);
  EXPECT_EQ(take().size(), 20u);
  for (uint64_t number = 1; number <= 16; ++number) ASSERT_TRUE(tell(kB, number, number));
  EXPECT_THAT(take(), ElementsAre());
  ASSERT_TRUE(tell(kB, 17, 17));
  EXPECT_EQ(book_.next_deadline(), Instant());
  EXPECT_EQ(take().size(), 17u) << "their memory has a bound";
}

TEST_F(WindowIngestTest, seconds_are_closed_in_their_order) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 1));
  ASSERT_TRUE(tell(kB, 1, 1, 2));
  now_ += Duration::millis(1000);
  ASSERT_TRUE(tell(kA, 1, 1, 3));
  now_ += Duration::millis(500);
  EXPECT_THAT(take(), ElementsAre("0:3", "1:2")) << "the later one is due, and takes the earlier one along";
}

TEST_F(WindowIngestTest, each_stream_adds_to_the_bytes_that_may_wait) {
  WindowIngest book(kShape, {.open_most = {250, 200}});
  ASSERT_TRUE(book.open(kA, 0));
  EXPECT_EQ(book.open_bytes_most(), 250u) << "the least";
  ASSERT_TRUE(book.open(kB, 0));
  EXPECT_EQ(book.open_bytes_most(), 400u);
  ASSERT_TRUE(book.apply(now_, kA, 1, 1, empty_window(), 400));
  EXPECT_TRUE(book.take(now_).empty());
  ASSERT_TRUE(book.apply(now_, kA, 2, 2, empty_window(), 1));
  EXPECT_EQ(book.take(now_).size(), 1u);
}

TEST_F(WindowIngestTest, what_waits_is_bounded_in_bytes_too) {
  WindowIngest book(kShape, {.open_most = {250, 0}});
  ASSERT_TRUE(book.open(kA, 0));
  ASSERT_TRUE(book.open(kB, 0));
  for (uint64_t number = 1; number <= 2; ++number) {
    ASSERT_TRUE(book.apply(now_, kA, number, number, empty_window(), 100));
  }
  EXPECT_EQ(book.open_bytes(), 200u);
  EXPECT_TRUE(book.take(now_).empty());
  ASSERT_TRUE(book.apply(now_, kA, 3, 3, empty_window(), 100));
  EXPECT_EQ(book.take(now_).size(), 1u) << "the oldest, before the other stream has told it";
  EXPECT_EQ(book.open_bytes(), 200u);
  ASSERT_TRUE(book.apply(now_, kA, 4, 4, empty_window(), 1'000));
  EXPECT_EQ(book.take(now_).size(), 3u);
  EXPECT_EQ(book.open_bytes(), 0u);
  ASSERT_TRUE(book.apply(now_, kB, 1, 1, empty_window(), 100));
  book.amend_now();
  const auto late = book.take(now_);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_TRUE(late[0].amends) << "nothing is lost by it";
}

TEST_F(WindowIngestTest, who_has_ended_is_not_waited_for) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  ASSERT_TRUE(tell(kA, 1, 1));
  book_.end(kB);
  EXPECT_TRUE(book_.has_ended(kB));
  EXPECT_THAT(take(), ElementsAre("0:1"));
  EXPECT_EQ(*tell(kB, 1, 1), Verdict::kApplied) << "what it still has counts";
}

TEST_F(WindowIngestTest, who_joins_later_is_waited_for_from_then_on) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 1));
  ASSERT_TRUE(tell(kA, 1, 1));
  EXPECT_THAT(take(), ElementsAre("0:1"));
  ASSERT_TRUE(tell(kA, 2, 2));
  EXPECT_THAT(take(), ElementsAre());
  ASSERT_TRUE(tell(kB, 1, 1));
  EXPECT_THAT(take(), ElementsAre("1:2"));
}

TEST_F(WindowIngestTest, each_number_counts_once_and_in_its_order) {
  ASSERT_TRUE(book_.open(kA, 0));
  EXPECT_EQ(*tell(kA, 2, 2), Verdict::kGap);
  EXPECT_EQ(*tell(kA, 1, 1), Verdict::kApplied);
  EXPECT_EQ(*tell(kA, 1, 1), Verdict::kKnown);
  EXPECT_EQ(*tell(kA, 2, 5), Verdict::kApplied);
  EXPECT_EQ(*tell(kA, 3, 4), Verdict::kKnown);
  EXPECT_EQ(book_.applied(kA), 5u);
  EXPECT_EQ(tell(kA, 5, 6).error().code, Errc::kProtocol);
  EXPECT_EQ(tell(kA, 7, 6).error().code, Errc::kProtocol);
  EXPECT_EQ(tell(kA, 0, 6).error().code, Errc::kProtocol);
  EXPECT_EQ(tell(kB, 1, 1).error().code, Errc::kNotFound);
  EXPECT_EQ(book_.apply(now_, kA, 6, 6, metrics::Window({1, 1, 1})).error().code, Errc::kProtocol);
  EXPECT_EQ(book_.applied(kA), 5u);
  EXPECT_THAT(take(), ElementsAre("0:1", "1:1", "2:0", "3:0", "4:0"));
}

TEST_F(WindowIngestTest, merged_seconds_count_for_the_first_and_each_of_them_was_lived) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  metrics::Window window = empty_window();
  window.steps[0].count = 8;
  window.workflows[0].vus_active = 2;
  window.workflows[0].ran = Duration::millis(3300);  // it began in the first of them
  ASSERT_TRUE(book_.apply(now_, kA, 1, 4, window));
  window.workflows[0].ran = Duration::millis(700);
  ASSERT_TRUE(book_.apply(now_, kB, 1, 1, window));
  window.workflows[0].ran = Duration::seconds(1);
  for (const uint64_t number : {2, 3, 4}) ASSERT_TRUE(book_.apply(now_, kB, number, number, window));
  std::vector<std::pair<uint64_t, Duration>> seen;
  for (const WindowIngest::Closed& one : book_.take(now_)) {
    seen.emplace_back(one.window.steps[0].count, one.window.workflows[0].ran);
    EXPECT_EQ(one.window.workflows[0].vus_active, 4);
  }
  EXPECT_THAT(seen, ElementsAre(std::pair(16, Duration::millis(700)), std::pair(8, Duration::seconds(1)),
                                std::pair(8, Duration::seconds(1)), std::pair(8, Duration::seconds(1))));
  EXPECT_EQ(*tell(kA, 5, 1'000'000), Verdict::kApplied);
  book_.end(kA);
  book_.end(kB);
  EXPECT_EQ(take().size(), 64u) << "their number has a bound";
}

TEST_F(WindowIngestTest, merged_seconds_are_whole_beside_a_stream_that_ends_in_one_of_them) {
  ASSERT_TRUE(book_.open(kA, 0));
  ASSERT_TRUE(book_.open(kB, 0));
  metrics::Window window = empty_window();
  window.covered = Duration::seconds(1);
  ASSERT_TRUE(book_.apply(now_, kA, 1, 2, window));
  ASSERT_TRUE(book_.apply(now_, kB, 1, 1, window));
  window.covered = Duration::millis(300);
  ASSERT_TRUE(book_.apply(now_, kB, 2, 2, window));
  const auto closed = book_.take(now_);
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[1].window.covered, Duration::seconds(1));
}

TEST_F(WindowIngestTest, an_amendment_has_the_time_of_a_workflow_that_its_second_lacks) {
  for (const StreamId stream : {kA, kB, kC}) ASSERT_TRUE(book_.open(stream, 0));
  const auto reports = [this](WindowIngest& book, StreamId stream, uint64_t number, Duration ran) {
    metrics::Window window = empty_window();
    window.workflows[0].ran = ran;
    EXPECT_TRUE(book.apply(now_, stream, number, number, window));
    now_ += Duration::millis(1500);
    const auto closed = book.take(now_);
    return closed.empty() ? Duration::max() : closed[0].window.workflows[0].ran;
  };
  EXPECT_EQ(reports(book_, kA, 1, Duration::millis(400)), Duration::millis(400));
  EXPECT_EQ(reports(book_, kB, 1, Duration::seconds(1)), Duration::millis(600));
  EXPECT_EQ(reports(book_, kC, 1, Duration::seconds(1)), Duration::zero());
  EXPECT_EQ(reports(book_, kA, 2, Duration::millis(400)), Duration::millis(400));
  const WindowIngest::State state = book_.save();
  for (const bool knows : {true, false}) {
    WindowIngest other{kShape, {}};
    const auto ran = knows ? state.ran : std::vector<WindowIngest::RanSecond>();
    ASSERT_TRUE(other.restore(now_, state.streams, {}, state.closed_upto, ran));
    EXPECT_EQ(reports(other, kB, 2, Duration::seconds(1)), knows ? Duration::millis(600) : Duration::zero());
    EXPECT_EQ(reports(other, kC, 2, Duration::seconds(1)), Duration::zero()) << "once";
  }
}

TEST_F(WindowIngestTest, a_copy_has_the_times_of_the_last_seconds_and_refuses_impossible_ones) {
  ASSERT_TRUE(book_.open(kA, 0));
  const uint64_t seconds = WindowIngest::kRanMost + 5;
  for (uint64_t number = 1; number <= seconds; ++number) {
    metrics::Window window = empty_window();
    window.workflows[0].ran = Duration::millis(static_cast<int64_t>(number));
    ASSERT_TRUE(book_.apply(now_, kA, number, number, window));
  }
  take();
  const std::vector<WindowIngest::RanSecond> ran = book_.save().ran;
  ASSERT_EQ(ran.size(), WindowIngest::kRanMost);
  EXPECT_EQ(ran.front().second, 5u);
  EXPECT_EQ(ran.front().ran[0], Duration::millis(6));
  EXPECT_EQ(ran.back().second, seconds - 1);
  const auto restores = [this](uint64_t closed_upto, std::vector<WindowIngest::RanSecond> with) {
    WindowIngest other{kShape, {}};
    return other.restore(now_, {}, {}, closed_upto, std::move(with)).has_value();
  };
  EXPECT_TRUE(restores(seconds, ran));
  EXPECT_FALSE(restores(seconds - 1, ran)) << "a second that is not closed";
  EXPECT_FALSE(restores(seconds, {ran[0], ran[0]}));
  EXPECT_FALSE(restores(seconds, {{3, {}}})) << "of another plan";
}

TEST_F(WindowIngestTest, a_restored_ingest_goes_on_where_its_copy_was_made) {
  ASSERT_TRUE(book_.open(kA, 3, 10));
  EXPECT_EQ(*tell(kA, 10, 10), Verdict::kKnown);
  EXPECT_EQ(*tell(kA, 11, 11), Verdict::kApplied);
  EXPECT_THAT(take(), ElementsAre("13:1"));
}

TEST_F(WindowIngestTest, streams_are_bounded_and_opened_once) {
  ASSERT_TRUE(book_.open(kA, 0));
  EXPECT_EQ(book_.open(kA, 0).error().code, Errc::kInvalid);
  ASSERT_TRUE(book_.open(kB, 0));
  ASSERT_TRUE(book_.open(StreamId{3}, 0));
  EXPECT_EQ(book_.open(StreamId{4}, 0).error().code, Errc::kExhausted);
}

TEST(WindowIngestLimits, the_oldest_second_is_closed_when_too_many_wait) {
  WindowIngest book(kShape, {.open_seconds_most = 2});
  const Instant now = Instant::from_ns(1);
  ASSERT_TRUE(book.open(kA, 0));
  ASSERT_TRUE(book.open(kB, 0));
  for (uint64_t number = 1; number <= 5; ++number) {
    ASSERT_TRUE(book.apply(now, kA, number, number, empty_window()));
  }
  EXPECT_EQ(book.take(now).size(), 3u);
  EXPECT_EQ(book.closed_upto(), 3u);
}

}  // namespace
}  // namespace bellwether::ingest
