// Under every crash, partition and hand-over: no acknowledged request is lost, none is completed twice, and all are
// completed when the faults stop.
#include <gtest/gtest.h>

#include "core/base/cases_testing.h"
#include "election/context/context_world_testing.h"

namespace bellwether::context_lead {
namespace {

struct Lived {
  std::size_t failovers = 0;
  std::size_t taken_over = 0;
  std::size_t refused = 0;
  std::size_t acknowledged = 0;
  std::string wrong;  // the first thing that must not be; empty: nothing
};

void disturb(ContextWorld& world, Prng& prng) {
  const uint64_t any = 1 + prng.below(world.nodes());
  const uint64_t office = world.office() != 0 ? world.office() : any;
  switch (prng.below(10)) {
    case 0:
    case 1: world.crash(office); break;
    case 2: world.crash(any); break;
    case 3:
    case 4: world.transfer(any); break;
    case 5: world.isolate(prng.chance(0.7) ? office : any); break;
    case 6: world.mend(); break;
    case 7: world.sick = {any}; break;
    default:
      for (uint64_t id = 1; id <= world.nodes(); ++id) world.start(id);
      break;
  }
}

Lived live(uint64_t seed, Canary canary = Canary::kNone) {
  Prng prng(seed);
  ContextWorld world(3 + prng.below(3), prng.next(), canary);
  world.loss = prng.chance(0.5) ? 0.1 * prng.unit() : 0;
  world.crash_chance = prng.chance(0.5) ? 0.01 : 0;
  world.doubled = 0.15;
  // In some worlds so many that the ends of the first are forgotten before the last are submitted.
  const uint64_t most_new = prng.chance(0.1) ? 20 : 3;
  for (int turn = 0; turn < 60 && world.wrong.empty(); ++turn) {
    for (uint64_t i = prng.below(most_new); i > 0; --i) world.submit_new();
    world.run(prng.between(Duration::millis(10), Duration::seconds(prng.chance(0.3) ? 60 : 15)));
    disturb(world, prng);
  }
  world.calm();
  for (int i = 0; i < 360 && world.undone() > 0 && world.wrong.empty(); ++i) world.run(Duration::seconds(30));
  Lived lived{world.failovers, world.taken_over, world.refused, world.acknowledged(), {}};
  if (!world.wrong.empty()) {
    lived.wrong = world.wrong.front();
  } else if (world.undone() > 0) {
    lived.wrong = std::to_string(world.undone()) + " requests are not done after three hours without a fault";
  }
  return lived;
}

TEST(DutyProperty, no_request_is_lost_or_completed_twice) {
  Lived all;
  const uint64_t worlds = cases(60);
  for (uint64_t seed = 1; seed <= worlds; ++seed) {
    const Lived one = live(seed);
    ASSERT_EQ(one.wrong, "") << "seed " << seed;
    all.failovers += one.failovers;
    all.taken_over += one.taken_over;
    all.refused += one.refused;
    all.acknowledged += one.acknowledged;
  }
  RecordProperty("failovers", static_cast<int>(all.failovers));
  RecordProperty("requests", static_cast<int>(all.acknowledged));
  EXPECT_GE(all.failovers, worlds * 10);
  EXPECT_GE(all.taken_over, worlds / 3) << "transfers that went through";
  EXPECT_GE(all.refused, worlds / 3) << "completions that came too late";
}

class DutyCanary : public testing::TestWithParam<Canary> {};

TEST_P(DutyCanary, is_found) {
  std::string found;
  for (uint64_t seed = 1; seed <= 150 && found.empty(); ++seed) found = live(seed, GetParam()).wrong;
  EXPECT_NE(found, "");
  RecordProperty("found", found);
}

INSTANTIATE_TEST_SUITE_P(All, DutyCanary,
                         testing::Values(Canary::kCompletionWithoutFence, Canary::kAcknowledgedBeforeReplicated,
                                         Canary::kWriteWithoutFence, Canary::kTakenFromMinority,
                                         Canary::kPayloadOnOneDisk, Canary::kAcknowledgedAtOnce));

}  // namespace
}  // namespace bellwether::context_lead
