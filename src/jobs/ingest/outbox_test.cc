#include "jobs/ingest/outbox.h"

#include <gmock/gmock.h>

#include "load/codec/window_testing.h"

namespace bellwether::ingest {
namespace {

class OutboxTest : public testing::Test {
 protected:
  void measure(int seconds) {
    for (int i = 0; i < seconds; ++i) outbox_.add(encode_window(random_window(prng_, second_++)));
  }
  // The numbers of the deltas that it sends now.
  std::vector<std::pair<uint64_t, uint64_t>> send() {
    std::vector<std::pair<uint64_t, uint64_t>> out;
    while (const auto delta = outbox_.next()) out.emplace_back(delta->first, delta->last);
    return out;
  }
  using Numbers = std::vector<std::pair<uint64_t, uint64_t>>;

  Prng prng_{5};
  uint64_t second_ = 0;
  Outbox outbox_{kShape, std::size_t{1} << 20};
};

TEST_F(OutboxTest, sends_a_few_ahead_and_forgets_what_is_durable) {
  measure(10);
  EXPECT_EQ(send(), (Numbers{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 8}}));
  ASSERT_TRUE(outbox_.answered(3, 0));
  EXPECT_EQ(send(), (Numbers{{9, 9}, {10, 10}}));
  EXPECT_EQ(outbox_.deltas(), 10u);
  ASSERT_TRUE(outbox_.answered(10, 9));
  EXPECT_EQ(outbox_.deltas(), 1u);
  ASSERT_TRUE(outbox_.answered(10, 10));
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(outbox_.bytes(), 0u);
}

TEST_F(OutboxTest, a_lower_limit_merges_what_is_kept) {
  measure(40);
  const std::size_t before = outbox_.bytes();
  outbox_.limit(before / 2);
  EXPECT_LE(outbox_.bytes(), before / 2);
  EXPECT_EQ(outbox_.last_number(), 40u);
  EXPECT_EQ(send().back().second, 40u);
}

TEST_F(OutboxTest, an_answer_that_comes_late_changes_nothing) {
  measure(4);
  send();
  ASSERT_TRUE(outbox_.answered(4, 2));
  ASSERT_TRUE(outbox_.answered(2, 1));
  EXPECT_EQ(outbox_.deltas(), 2u);
  EXPECT_EQ(send(), Numbers{});
}

TEST_F(OutboxTest, another_owner_gets_what_it_lacks) {
  measure(6);
  send();
  ASSERT_TRUE(outbox_.answered(6, 2));
  ASSERT_TRUE(outbox_.resume(4));
  EXPECT_EQ(send(), (Numbers{{5, 5}, {6, 6}}));
  ASSERT_TRUE(outbox_.resume(2));
  EXPECT_EQ(send().size(), 4u);
}

TEST_F(OutboxTest, what_was_never_sent_travels_together_for_one_who_takes_only_batches) {
  measure(2);
  ASSERT_TRUE(outbox_.next());
  measure(12);
  EXPECT_EQ(outbox_.unsent(), 13u);
  ASSERT_TRUE(outbox_.resume(0));
  EXPECT_EQ(outbox_.unsent(), 14u);
  Numbers sent;
  while (const auto delta = outbox_.next(10)) sent.emplace_back(delta->first, delta->last);
  EXPECT_EQ(sent, (Numbers{{1, 1}, {2, 11}, {12, 14}})) << "the first may have been applied as it was";
  EXPECT_EQ(outbox_.unsent(), 0u);
  ASSERT_TRUE(outbox_.resume(0));
  EXPECT_EQ(send(), sent) << "and again as it was";
}

TEST_F(OutboxTest, an_owner_that_lacks_what_is_gone_is_told_and_the_rest_goes_on) {
  measure(4);
  send();
  ASSERT_TRUE(outbox_.answered(3, 3));
  const Status lost = outbox_.resume(1);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kNotFound);
  EXPECT_THAT(lost.error().message, testing::HasSubstr("seconds 2 to 3"));
  EXPECT_EQ(send(), (Numbers{{4, 4}}));
}

TEST_F(OutboxTest, answers_about_what_was_never_sent_are_refused) {
  measure(3);
  EXPECT_EQ(outbox_.answered(1, 0).error().code, Errc::kProtocol);
  EXPECT_EQ(outbox_.resume(4).error().code, Errc::kProtocol);
  send();
  EXPECT_EQ(outbox_.answered(2, 3).error().code, Errc::kProtocol);
  EXPECT_EQ(outbox_.deltas(), 3u);
}

TEST(OutboxMemory, stays_within_its_limit_and_loses_nothing) {
  Prng prng(9);
  Outbox outbox(kShape, 100'000);
  metrics::Window whole = empty_window();
  for (uint64_t second = 0; second < 600; ++second) {
    const metrics::Window window = random_window(prng, second);
    whole.merge(window);
    outbox.add(encode_window(window));
    ASSERT_LE(outbox.bytes(), 100'000u);
  }
  EXPECT_GT(outbox.deltas(), 1u);
  metrics::Window back = empty_window();
  uint64_t expected = 1;
  while (const auto delta = outbox.next(1 + expected % 7)) {
    EXPECT_EQ(delta->first, expected);
    expected = delta->last + 1;
    const auto window = decode_window(delta->window, kShape);
    ASSERT_TRUE(window);
    EXPECT_EQ(window->second, delta->first - 1) << "it is that of its first second";
    back.merge(*window);
    ASSERT_TRUE(outbox.answered(delta->last, delta->last));
  }
  EXPECT_EQ(expected, 601u);
  EXPECT_TRUE(back.steps[0].service == whole.steps[0].service);
  EXPECT_EQ(back.steps[1].count, whole.steps[1].count);
  EXPECT_EQ(back.workflows[0].iterations, whole.workflows[0].iterations);
}

TEST_F(OutboxTest, a_second_that_is_not_whole_stands_alone) {
  measure(2);
  outbox_.add(encode_window(random_window(prng_, second_++)), false);
  measure(2);
  Numbers batches;
  while (const auto delta = outbox_.next(10)) batches.emplace_back(delta->first, delta->last);
  EXPECT_EQ(batches, (Numbers{{1, 2}, {3, 3}, {4, 5}}));
}

TEST(OutboxMemory, what_was_sent_stays_as_it_is) {
  Prng prng(9);
  Outbox outbox(kShape, 1);
  outbox.add(encode_window(random_window(prng)));
  ASSERT_TRUE(outbox.next());
  outbox.add(encode_window(random_window(prng)));
  outbox.add(encode_window(random_window(prng)));
  ASSERT_TRUE(outbox.resume(0));
  EXPECT_EQ(outbox.next()->last, 1u) << "perhaps it was applied";
  const auto rest = outbox.next();
  EXPECT_EQ(rest->first, 2u);
  EXPECT_EQ(rest->last, 3u);
}

TEST_F(OutboxTest, shows_what_it_keeps_and_changes_nothing) {
  measure(5);
  send();
  ASSERT_TRUE(outbox_.answered(4, 2));
  const auto beyond = [this](uint64_t number) {
    Numbers out;
    for (const Delta* delta : outbox_.beyond(number)) out.emplace_back(delta->first, delta->last);
    return out;
  };
  EXPECT_EQ(beyond(0), (Numbers{{3, 3}, {4, 4}, {5, 5}}));
  EXPECT_EQ(beyond(4), (Numbers{{5, 5}}));
  EXPECT_EQ(beyond(5), Numbers{});
  EXPECT_EQ(send(), Numbers{});
}

}  // namespace
}  // namespace bellwether::ingest
