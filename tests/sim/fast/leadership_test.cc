// Leadership over every kind of store while everything breaks: never two who may act, never an epoch twice, and when
// all is whole again one leader within the budget, who stays. Every well-known mistake must be found out.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "base/probe.h"
#include "sim/leadership/leadership_world.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

class Leadership : public testing::TestWithParam<Mechanism> {};

template <Mechanism kMechanism>
Judgement live(uint64_t seed) {
  // These worlds are small: ten runs for each seed that is asked for.
  for (uint64_t run = seed * 10; run < seed * 10 + 10; ++run) {
    const std::string violation = live_leadership(kMechanism, run).violation;
    if (violation.empty()) continue;
    return violation + "\n  bellwether sim --world leadership-" + std::string(to_string(kMechanism)) + " --seed " +
           std::to_string(run);
  }
  return {};
}

TEST_P(Leadership, holds_its_invariants_whatever_breaks) {
  switch (GetParam()) {
    case Mechanism::kHostLock: expect_good(&live<Mechanism::kHostLock>); break;
    case Mechanism::kLeaseFile: expect_good(&live<Mechanism::kLeaseFile>); break;
    case Mechanism::kRedis: expect_good(&live<Mechanism::kRedis>); break;
    case Mechanism::kEtcd: expect_good(&live<Mechanism::kEtcd>); break;
    case Mechanism::kKubernetes: expect_good(&live<Mechanism::kKubernetes>); break;
    case Mechanism::kPostgres: expect_good(&live<Mechanism::kPostgres>); break;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Leadership, testing::ValuesIn(kMechanisms),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(LeadershipWorld, one_seed_gives_one_run) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const uint64_t first = live_leadership(Mechanism::kRedis, seed).fingerprint;
    EXPECT_EQ(live_leadership(Mechanism::kRedis, seed).fingerprint, first);
    EXPECT_NE(live_leadership(Mechanism::kRedis, seed + 1).fingerprint, first);
  }
}

// A mistake, and a mechanism in which it is commonly made.
struct Canary {
  LeadershipMistake mistake;
  Mechanism mechanism;
};

class LeadershipCanary : public testing::TestWithParam<Canary> {};

TEST_P(LeadershipCanary, is_found_out) {
  constexpr uint64_t kMostSeeds = 20'000;
  const auto [mistake, mechanism] = GetParam();
  uint64_t seed = 1;
  while (seed <= kMostSeeds && live_leadership(mechanism, seed, mistake).violation.empty()) ++seed;
  EXPECT_LE(seed, kMostSeeds) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, LeadershipCanary,
                         testing::Values(Canary{LeadershipMistake::kIgnoresExpectedVersion, Mechanism::kLeaseFile},
                                         Canary{LeadershipMistake::kReleaseDeletesUnseen, Mechanism::kRedis},
                                         Canary{LeadershipMistake::kReleaseErasesEpoch, Mechanism::kPostgres},
                                         Canary{LeadershipMistake::kEpochInMemory, Mechanism::kRedis},
                                         Canary{LeadershipMistake::kTrustsWallClock, Mechanism::kLeaseFile},
                                         Canary{LeadershipMistake::kCountsFromAnswer, Mechanism::kRedis},
                                         Canary{LeadershipMistake::kKeepsLeadingUnrenewed, Mechanism::kLeaseFile},
                                         Canary{LeadershipMistake::kWorkOutlivesTerm, Mechanism::kRedis},
                                         Canary{LeadershipMistake::kCachesLeadership, Mechanism::kEtcd},
                                         Canary{LeadershipMistake::kReleasesBeforeWorkStops, Mechanism::kKubernetes},
                                         Canary{LeadershipMistake::kNoMarginForDrift, Mechanism::kKubernetes},
                                         Canary{LeadershipMistake::kDeadlineIsTheLease, Mechanism::kEtcd},
                                         Canary{LeadershipMistake::kClockStopsInSuspend, Mechanism::kEtcd},
                                         Canary{LeadershipMistake::kRenewsWhileWorkHangs, Mechanism::kRedis},
                                         Canary{LeadershipMistake::kFailOpenIsLeadership, Mechanism::kHostLock},
                                         Canary{LeadershipMistake::kResourceForgetsFence, Mechanism::kPostgres},
                                         Canary{LeadershipMistake::kDeadProcessTakenBlindly, Mechanism::kHostLock},
                                         Canary{LeadershipMistake::kPidAloneMeansAlive, Mechanism::kHostLock},
                                         Canary{LeadershipMistake::kStartsBeforeStopped, Mechanism::kPostgres},
                                         Canary{LeadershipMistake::kNewLeaseCountsAtOnce, Mechanism::kRedis}),
                         [](const auto& info) {
                           std::string name(to_string(info.param.mistake));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(LeadershipWorld, has_a_canary_for_every_mistake) {
  int canaries = 0;
  for (int i = 0; i < testing::UnitTest::GetInstance()->total_test_suite_count(); ++i) {
    const testing::TestSuite* suite = testing::UnitTest::GetInstance()->GetTestSuite(i);
    if (std::string_view(suite->name()) == "Every/LeadershipCanary") canaries = suite->total_test_count();
  }
  EXPECT_EQ(canaries, kLeadershipMistakes - 1);
}

TEST(LeadershipWorld, reaches_every_kind_of_fault) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    for (const Mechanism mechanism : kMechanisms) live_leadership(mechanism, seed);
  }
  for (const char* probe : {"leadership: a contender is paused",
                            "leadership: a contender is cut off from the store",
                            "leadership: a contender does not hear the store",
                            "leadership: the network is slow and loses messages",
                            "leadership: the work hangs",
                            "leadership: a lease gets other times",
                            "leadership: a holder is told to resign",
                            "leadership: the store is down",
                            "leadership: somebody deletes the record by hand",
                            "leadership: a store comes back empty",
                            "leadership: a store comes back with an older state",
                            "leadership: etcd begins its leases anew",
                            "leadership: the resource refuses a late act",
                            "election: a look fails",
                            "election: an act fails",
                            "election: a store has lost data",
                            "election: a claim whose answer was lost is found",
                            "election: a claim comes too late",
                            "election: a claim is answered after its own end",
                            "election: a renewal is withheld"}) {
    EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
  }
}

}  // namespace
}  // namespace bellwether::sim
