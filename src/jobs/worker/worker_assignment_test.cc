#include "jobs/worker/worker_assignment.h"

#include <gmock/gmock.h>

#include "jobs/ingest/run_ingest.h"
#include "load/codec/window_testing.h"

namespace bellwether::node {
namespace {

using ingest::kShape;

class AssignmentStreamTest : public testing::Test {
 protected:
  // A second with this many iterations, which identify it.
  static std::string second(uint64_t iterations) {
    metrics::Window window = ingest::empty_window();
    window.workflows[0].iterations = iterations;
    window.workflows[0].iteration.record(Duration::millis(1), iterations);
    return ingest::encode_window(window);
  }
  ingest::Delta next() {
    const auto said = stream_.next();
    if (const auto* delta = std::get_if<ingest::Delta>(&said)) return *delta;
    ADD_FAILURE() << "there are no seconds to send";
    return {};
  }
  bool says_nothing() { return std::holds_alternative<std::monostate>(stream_.next()); }
  bool says_the_end() { return std::holds_alternative<dispatch::AssignmentEnd>(stream_.next()); }
  static uint64_t iterations(const ingest::Delta& delta) {
    return ingest::decode_window(delta.window, kShape)->workflows[0].iterations;
  }
  bool applied(const ingest::Delta& delta, uint64_t upto, uint64_t durable) {
    bool progress = false;
    status_ = stream_.applied(delta, {upto, durable, false}, &progress);
    return progress;
  }

  AssignmentStream stream_{kShape, std::size_t{1} << 20};
  Status status_;
};

TEST_F(AssignmentStreamTest, numbers_seconds_from_where_the_stream_begins_in_the_run) {
  stream_.begin(40, 42);
  ASSERT_TRUE(stream_.add(2, second(7)));
  ASSERT_TRUE(stream_.add(3, second(8)));
  const auto first = next();
  EXPECT_EQ(first.first, 1u);
  EXPECT_EQ(iterations(first), 7u);
  EXPECT_EQ(stream_.from(), 42u);
  EXPECT_EQ(iterations(next()), 8u);
  EXPECT_TRUE(says_nothing());
}

TEST_F(AssignmentStreamTest, empty_seconds_stand_for_those_before_a_late_begin) {
  stream_.begin(40, 42);
  ASSERT_TRUE(stream_.add(5, second(9)));
  EXPECT_EQ(stream_.last_number(), 4u);
  for (uint64_t number = 1; number <= 3; ++number) {
    const auto delta = next();
    EXPECT_EQ(delta.first, number);
    EXPECT_EQ(iterations(delta), 0u);
  }
  EXPECT_EQ(iterations(next()), 9u);
}

TEST_F(AssignmentStreamTest, a_second_from_before_the_begin_is_counted_all_the_same) {
  stream_.begin(0, 5);
  ASSERT_TRUE(stream_.add(4, second(1)));
  ASSERT_TRUE(stream_.add(5, second(2)));
  ASSERT_TRUE(stream_.add(6, second(3)));
  for (uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(iterations(next()), number);
}

struct BegunAssignmentStream : AssignmentStreamTest {
  BegunAssignmentStream() { stream_.begin(0, 0); }
};

TEST_F(BegunAssignmentStream, what_is_no_second_of_the_plan_is_refused) {
  EXPECT_FALSE(stream_.add(0, "garbage"));
  metrics::Window other({3, 1, 1});
  other.steps[2].count = 1;
  EXPECT_FALSE(stream_.add(0, ingest::encode_window(other)));
  EXPECT_FALSE(stream_.add(AssignmentStream::kMaxGap + 1, second(1)));
  EXPECT_FALSE(stream_.add(UINT64_MAX, second(1)));
  EXPECT_EQ(stream_.last_number(), 0u);
  EXPECT_TRUE(stream_.add(AssignmentStream::kMaxGap, second(1)));
}

TEST_F(BegunAssignmentStream, the_end_is_said_behind_all_that_was_measured_until_it_is_noted) {
  ASSERT_TRUE(stream_.add(0, second(1)));
  stream_.end({dispatch::AssignmentOutcome::kStopped, "why", 1, Duration::seconds(1)});
  const auto delta = next();
  EXPECT_TRUE(applied(delta, 1, 1));
  EXPECT_TRUE(says_the_end());
  EXPECT_TRUE(says_the_end()) << "there was no answer";
  EXPECT_FALSE(stream_.delivered());
  stream_.noted();
  EXPECT_TRUE(says_nothing());
  EXPECT_TRUE(stream_.delivered());
}

TEST_F(BegunAssignmentStream, what_was_not_answered_is_said_again_as_it_was) {
  ASSERT_TRUE(stream_.add(0, second(1)));
  const auto delta = next();
  stream_.again();
  EXPECT_EQ(next().window, delta.window);
  EXPECT_TRUE(applied(delta, 1, 0));
  EXPECT_TRUE(says_nothing());
}

TEST_F(BegunAssignmentStream, another_owner_gets_what_it_lacks) {
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(stream_.add(i, second(i + 1)));
    EXPECT_TRUE(applied(next(), i + 1, 1));
  }
  ASSERT_TRUE(stream_.resume(2));
  EXPECT_EQ(next().first, 3u);
  EXPECT_EQ(next().first, 4u);
}

TEST_F(BegunAssignmentStream, a_second_that_is_not_whole_is_in_no_batch) {
  ASSERT_TRUE(stream_.add(0, second(1)));
  ASSERT_TRUE(stream_.add(1, second(2)));
  ASSERT_TRUE(stream_.add(2, second(3), Duration::millis(300)));
  EXPECT_EQ(std::get<ingest::Delta>(stream_.next(10)).last, 2u);
  EXPECT_EQ(std::get<ingest::Delta>(stream_.next(10)).first, 3u);
}

TEST_F(BegunAssignmentStream, an_owner_that_has_less_than_it_is_sent_gets_what_is_missing) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(stream_.add(i, second(i + 1)));
  EXPECT_TRUE(applied(next(), 1, 0));
  EXPECT_TRUE(applied(next(), 2, 0));
  EXPECT_FALSE(applied(next(), 0, 0)) << "it began from an older copy";
  EXPECT_TRUE(status_);
  EXPECT_EQ(next().first, 1u);
}

TEST_F(BegunAssignmentStream, what_an_owner_has_lost_for_good_is_said_and_the_rest_goes_on) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(stream_.add(i, second(i + 1)));
  EXPECT_TRUE(applied(next(), 1, 1));
  EXPECT_TRUE(applied(next(), 2, 2));
  const Status lost = stream_.resume(0);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kNotFound);
  EXPECT_EQ(next().first, 3u);
}

TEST_F(BegunAssignmentStream, an_owner_that_has_more_than_was_ever_sent_contradicts_itself) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(stream_.add(i, second(i + 1)));
  EXPECT_FALSE(applied(next(), 2, 0));
  ASSERT_FALSE(status_);
  EXPECT_EQ(status_.error().code, Errc::kProtocol);
  EXPECT_EQ(next().first, 1u);
  EXPECT_FALSE(stream_.resume(9));
}

TEST_F(BegunAssignmentStream, what_is_noted_and_not_durable_is_in_doubt_until_the_owner_says_so) {
  ASSERT_TRUE(stream_.add(0, second(1)));
  ASSERT_TRUE(stream_.add(1, second(2)));
  stream_.end({});
  EXPECT_TRUE(applied(next(), 1, 0));
  EXPECT_TRUE(applied(next(), 2, 0));
  stream_.noted();
  EXPECT_TRUE(stream_.is_in_doubt());
  EXPECT_FALSE(stream_.delivered());
  EXPECT_TRUE(says_nothing());
  stream_.prove();
  const auto last = next();
  EXPECT_EQ(last.first, 2u);
  EXPECT_TRUE(applied(last, 2, 1));
  EXPECT_TRUE(stream_.is_in_doubt());
  stream_.prove();
  EXPECT_TRUE(applied(next(), 2, 2));
  EXPECT_TRUE(stream_.delivered());
  EXPECT_EQ(stream_.bytes(), 0u);
}

TEST_F(BegunAssignmentStream, what_nobody_wants_is_not_kept) {
  ASSERT_TRUE(stream_.add(0, second(1)));
  const auto under_way = next();
  stream_.discard();
  EXPECT_EQ(stream_.bytes(), 0u);
  EXPECT_FALSE(applied(under_way, 1, 1));
  EXPECT_TRUE(status_);
  ASSERT_TRUE(stream_.add(1, second(2)));
  EXPECT_TRUE(says_nothing());
  stream_.end({});
  EXPECT_TRUE(says_the_end());
  stream_.noted();
  EXPECT_TRUE(stream_.delivered());
  EXPECT_EQ(stream_.last_number(), 1u);
}

TEST_F(AssignmentStreamTest, memory_stays_within_its_limit_and_the_sum_is_whole) {
  AssignmentStream small(kShape, 2'000);
  small.begin(0, 0);
  uint64_t told = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(small.add(i, second(i)));
    told += i;
  }
  EXPECT_LT(small.bytes(), 4'000u);
  uint64_t got = 0;
  uint64_t upto = 0;
  while (upto < 500) {
    const auto said = small.next();
    const auto& delta = std::get<ingest::Delta>(said);
    EXPECT_EQ(delta.first, upto + 1);
    got += iterations(delta);
    upto = delta.last;
    bool progress = false;
    ASSERT_TRUE(small.applied(delta, {upto, upto, false}, &progress));
  }
  EXPECT_EQ(got, told);
}

}  // namespace
}  // namespace bellwether::node
