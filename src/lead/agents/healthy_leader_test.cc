#include <gtest/gtest.h>

#include "lead/agents/fleet_leader.h"

namespace bellwether::lead {
namespace {

using election::Elector;
using election::HolderSight;
using election::Observation;

constexpr int64_t kSecond = 1'000'000'000;

Observation held_by_b(int64_t renewed_at_s, uint64_t renewal) {
  Observation seen;
  seen.present = true;
  seen.record.holder = "b";
  seen.record.token = "token of b";
  seen.record.epoch = election::Epoch(3);
  seen.record.renewal = renewal;
  seen.record.lease = Duration::seconds(180);
  seen.record.renewed_at = {renewed_at_s * kSecond};
  seen.version = std::to_string(renewal);
  return seen;
}

// What an agent "a" makes of these looks, all made at the wall clock's 1000 s.
bool leaves(const std::vector<Observation>& looks) {
  election::ElectorConfig config;
  config.key = "k";
  config.claim.holder = "a";
  config.timing = election::LeaseTiming::of(Duration::seconds(180));
  Elector elector(std::move(config), 1);
  HealthyLeader leader;
  election::Effects effects;
  Instant now = Instant::from_ns(0);
  elector.step(now, election::Start{}, effects);
  bool healthy = leader.is_seen_by(elector, {1000 * kSecond});
  EXPECT_FALSE(healthy) << "nothing was seen yet";
  for (const Observation& seen : looks) {
    elector.step(now, election::Looked{seen}, effects);
    healthy = leader.is_seen_by(elector, {1000 * kSecond});
    now = elector.wake();
    elector.step(now, election::Tick{}, effects);
  }
  return healthy;
}

TEST(HealthyLeader, one_that_renewed_within_its_lease_is_healthy) {
  EXPECT_TRUE(leaves({held_by_b(900, 1)}));
  EXPECT_FALSE(leaves({held_by_b(800, 1)})) << "it ran out by the wall clock: it may be dead, and its key ours soon";
}

TEST(HealthyLeader, one_that_renews_before_our_eyes_is_healthy_whatever_the_clocks_say) {
  EXPECT_FALSE(leaves({held_by_b(100, 1), held_by_b(100, 1)}));
  EXPECT_TRUE(leaves({held_by_b(100, 1), held_by_b(160, 2)}));
}

TEST(HealthyLeader, what_the_store_knows_counts_more_than_clocks) {
  Observation seen = held_by_b(100, 1);
  seen.sight = HolderSight::kAlive;
  EXPECT_TRUE(leaves({seen}));
  seen = held_by_b(999, 1);
  seen.sight = HolderSight::kDead;
  EXPECT_FALSE(leaves({seen}));
  seen = held_by_b(100, 1);
  seen.left = Duration::seconds(1);
  EXPECT_TRUE(leaves({seen}));
}

TEST(HealthyLeader, what_our_own_name_has_left_behind_is_no_other_leader) {
  Observation seen = held_by_b(999, 1);
  seen.record.holder = "a";
  seen.record.token = "token of an earlier process of a";
  EXPECT_FALSE(leaves({seen}));
}

TEST(HealthyLeader, nobody_is_no_leader) {
  Observation seen = held_by_b(999, 1);
  seen.record.holder.clear();
  seen.record.token.clear();
  EXPECT_FALSE(leaves({seen}));
}

}  // namespace
}  // namespace bellwether::lead
