#include "jobs/ingest/run_ingest.h"

#include <gtest/gtest.h>

#include "core/message/message_testing.h"
#include "load/codec/totals_codec.h"
#include "load/codec/window_testing.h"
#include "load/plan/load_testing.h"

namespace bellwether::ingest {
namespace {

plan::Plan small_plan() {
  plan::Plan plan;
  plan.name = "small";
  plan.workflows.resize(kShape.workflows);
  plan.steps.resize(kShape.steps);
  plan.checks.resize(kShape.checks);
  return plan;
}

Instant at(int64_t ms) { return Instant::from_ns(1'000'000'000 + ms * 1'000'000); }

std::string second(Prng& prng, uint64_t number) { return encode_window(random_window(prng, number)); }

std::string totals_of(const RunIngest& ingest) { return encode_totals(ingest.totals().save()).value(); }

struct RunIngestTest : testing::Test {
  const plan::Plan plan = small_plan();
  RunIngest ingest{plan};
  Prng prng{1};
};

TEST_F(RunIngestTest, ASecondCountsWhenAllOpenStreamsHaveToldIt) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  ASSERT_TRUE(ingest.open(StreamId(2), 0));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, second(prng, 0)));
  EXPECT_FALSE(ingest.settle(at(0)));
  ASSERT_TRUE(ingest.hear(at(10), StreamId(2), 1, 1, second(prng, 0)));
  EXPECT_TRUE(ingest.settle(at(10)));
  EXPECT_EQ(ingest.seconds(), 1u);
  EXPECT_EQ(ingest.totals().elapsed(), Duration::seconds(1));
}

TEST_F(RunIngestTest, TheLastSecondIsAsLongAsTheLoadLivedThroughIt) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, second(prng, 0)));
  metrics::Window last = random_window(prng, 1);
  last.covered = Duration::millis(250);
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 2, 2, encode_window(last)));
  ingest.finish(at(0));
  EXPECT_EQ(ingest.seconds(), 2u);
  EXPECT_EQ(ingest.totals().elapsed(), Duration::millis(1250));
}

TEST_F(RunIngestTest, ARunIsAsLongAsTheSecondsThatItsStreamsMerged) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  ASSERT_TRUE(ingest.open(StreamId(2), 2));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 6, second(prng, 0)));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(2), 1, 6, second(prng, 0)));
  EXPECT_TRUE(ingest.settle(at(1500)));
  EXPECT_EQ(ingest.totals().elapsed(), Duration::seconds(8));
  ASSERT_TRUE(ingest.open(StreamId(3), 0));
  ASSERT_TRUE(ingest.hear(at(1500), StreamId(3), 1, 8, second(prng, 0)));
  ingest.finish(at(1500));
  EXPECT_EQ(ingest.totals().elapsed(), Duration::seconds(8)) << "late, and others had measured then";
}

// The order to begin at second 2 did not arrive.
TEST_F(RunIngestTest, WhatIsToBeginAgainLaterCountsFromThen) {
  ASSERT_TRUE(ingest.open(StreamId(1), 2));
  ASSERT_TRUE(ingest.open(StreamId(1), 5));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, second(prng, 0)));
  ingest.settle(at(0));
  ASSERT_EQ(ingest.totals().series().size(), 1u);
  EXPECT_EQ(ingest.totals().series().begin()->second, 5u);
  ASSERT_TRUE(ingest.open(StreamId(1), 9));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 2, 2, second(prng, 1)));
  ingest.settle(at(0));
  EXPECT_EQ(ingest.totals().series().rbegin()->second, 6u) << "it has begun";
}

TEST_F(RunIngestTest, WhatAClosedStreamTellsIsExcess) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  const std::string first = second(prng, 0);
  ASSERT_EQ(ingest.hear(at(0), StreamId(1), 1, 1, first), RunIngest::Heard::kCounted);
  ingest.close(StreamId(1));
  EXPECT_EQ(ingest.hear(at(0), StreamId(1), 1, 1, first), RunIngest::Heard::kKnown);
  EXPECT_EQ(ingest.excess(), 0u);
  EXPECT_EQ(ingest.hear(at(0), StreamId(1), 2, 2, second(prng, 1)), RunIngest::Heard::kExcess);
  EXPECT_GT(ingest.excess(), 0u);
  EXPECT_EQ(ingest.applied(StreamId(1)), 1u);
}

TEST_F(RunIngestTest, WhatWasToldIsSafeWhenACopyThatHasItIsKept) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  const std::string first = second(prng, 0);
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, first));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, first));
  EXPECT_TRUE(ingest.unsafe());
  EXPECT_EQ(ingest.unsafe_bytes(), first.size()) << "what is told again is known";
  const auto bytes = ingest.save(at(0));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(ingest.durable(StreamId(1)), 0u) << "nobody has the copy yet";
  const std::string later = second(prng, 1);
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 2, 2, later));
  ingest.kept();
  EXPECT_EQ(ingest.durable(StreamId(1)), 1u);
  EXPECT_TRUE(ingest.unsafe());
  EXPECT_EQ(ingest.unsafe_bytes(), later.size());
  ASSERT_TRUE(ingest.save(at(0)));
  ingest.kept();
  EXPECT_FALSE(ingest.unsafe());
  const auto restored = RunIngest::restore(at(0), plan, *bytes);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->durable(StreamId(1)), 1u);
  EXPECT_FALSE(restored->unsafe());
}

TEST_F(RunIngestTest, ACopyCountsTheBytesOfItsOpenSeconds) {
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  ASSERT_TRUE(ingest.open(StreamId(2), 0));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, second(prng, 0)));
  const auto bytes = ingest.save(at(0));
  ASSERT_TRUE(bytes);
  const WindowIngest::State state = ingest.book().save();
  ASSERT_EQ(state.open.size(), 1u);
  auto restored = RunIngest::restore(at(0), plan, *bytes);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->book().open_bytes(), encode_window(*state.open[0]).size());
  ASSERT_TRUE(restored->hear(at(0), StreamId(2), 1, 1, second(prng, 0)));
  EXPECT_TRUE(restored->settle(at(0)));
  EXPECT_EQ(restored->book().open_bytes(), 0u);
}

TEST_F(RunIngestTest, AFollowerThatAddsTheNewsHasTheSameTotals) {
  aggregate::Totals follower(plan);
  Prng prng(3);
  uint64_t followed = 0;
  for (uint32_t stream = 1; stream <= 3; ++stream) ASSERT_TRUE(ingest.open(StreamId(stream), 0));
  for (uint64_t number = 1; number <= 40; ++number) {
    for (uint32_t stream = 1; stream <= 3; ++stream) {
      if (stream == 2 && number % 7 == 0) continue;  // comes together with the next
      if (stream == 2 && number % 7 == 1 && number > 1) {
        ASSERT_TRUE(ingest.hear(at(static_cast<int64_t>(number) * 3000), StreamId(2), number - 1, number - 1,
                                second(prng, number - 2)));
      }
      ASSERT_TRUE(ingest.hear(at(static_cast<int64_t>(number) * 3000), StreamId(stream), number, number,
                              second(prng, number - 1)));
    }
    ingest.settle(at(static_cast<int64_t>(number) * 3000 + 2000));
    ASSERT_TRUE(ingest.has_news_since(followed));
    for (const RunIngest::Second* one : ingest.news_since(followed)) {
      const auto window = decode_window(one->window, kShape);
      ASSERT_TRUE(window);
      if (one->amends) {
        follower.amend(*window);
      } else {
        follower.add(*window, one->covered);
      }
      ++followed;
    }
  }
  EXPECT_GT(followed, 40u) << "some seconds were amended";
  EXPECT_EQ(encode_totals(follower.save()).value(), totals_of(ingest));
}

// A restored copy that receives the later seconds again has the same totals as the original.
TEST(RunIngest, ACopyGoesOnAsTheOriginalWould) {
  const plan::Plan plan = small_plan();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Prng prng(seed);
    RunIngest one(plan);
    RunIngest other(plan);
    for (uint32_t stream = 1; stream <= 3; ++stream) {
      ASSERT_TRUE(one.open(StreamId(stream), 0));
      ASSERT_TRUE(other.open(StreamId(stream), 0));
    }
    std::map<uint32_t, std::vector<std::string>> told;
    for (uint64_t number = 1; number <= 20; ++number) {
      const Instant now = at(static_cast<int64_t>(number) * 1000);
      for (uint32_t stream = 1; stream <= 3; ++stream) {
        told[stream].push_back(second(prng, number - 1));
        ASSERT_TRUE(one.hear(now, StreamId(stream), number, number, told[stream].back()));
        ASSERT_TRUE(other.hear(now, StreamId(stream), number, number, told[stream].back()));
      }
      one.settle(now);
      other.settle(now);
      if (!prng.chance(0.3)) continue;
      const auto bytes = other.save(now);
      ASSERT_TRUE(bytes);
      auto restored = RunIngest::restore(now, plan, *bytes);
      ASSERT_TRUE(restored) << restored.error().message;
      other = std::move(*restored);
    }
    for (uint32_t stream = 1; stream <= 3; ++stream) {
      one.close(StreamId(stream));
      other.close(StreamId(stream));
    }
    one.finish(at(30'000));
    other.finish(at(30'000));
    ASSERT_EQ(totals_of(one), totals_of(other)) << "seed " << seed;
    EXPECT_EQ(one.totals().elapsed(), Duration::seconds(20));
  }
}

// The owner dies between a second that it closed and the last report of that second.
TEST_F(RunIngestTest, ACopyKnowsTheTimesOfWorkflowsToWhichLateSecondsAdd) {
  const auto of_ran = [](Duration ran) {
    metrics::Window window = empty_window();
    window.workflows[0].ran = ran;
    return encode_window(window);
  };
  for (const uint32_t stream : {1, 2}) ASSERT_TRUE(ingest.open(StreamId(stream), 0));
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, of_ran(Duration::millis(400))));
  ASSERT_TRUE(ingest.settle(at(1500)));
  const auto bytes = ingest.save(at(1500));
  ASSERT_TRUE(bytes);
  auto restored = RunIngest::restore(at(1500), plan, *bytes);
  ASSERT_TRUE(restored);
  ASSERT_TRUE(restored->hear(at(1500), StreamId(2), 1, 1, of_ran(Duration::millis(900))));
  restored->finish(at(1500));
  EXPECT_EQ(restored->totals().elapsed(0), Duration::millis(900));
}

TEST(RunIngest, CopiesAreKeptWithinTheirLimits) { message::expect_sound<IngestSnapshot>(); }

TEST(RunIngest, WhatIsNoCopyIsRefused) {
  const plan::Plan plan = small_plan();
  EXPECT_FALSE(RunIngest::restore(at(0), plan, "something else"));
  RunIngest ingest(plan);
  ASSERT_TRUE(ingest.open(StreamId(1), 0));
  metrics::Window window = empty_window();
  window.steps[1].count = 1;
  ASSERT_TRUE(ingest.hear(at(0), StreamId(1), 1, 1, encode_window(window)));
  const auto bytes = ingest.save(at(0));
  ASSERT_TRUE(bytes);
  plan::Plan another = small_plan();
  another.steps.resize(1);
  EXPECT_FALSE(RunIngest::restore(at(0), another, *bytes));
}

}  // namespace
}  // namespace bellwether::ingest
