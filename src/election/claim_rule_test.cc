#include <gmock/gmock.h>

#include "core/base/time_testing.h"
#include "election/elector.h"

namespace bellwether::election {
namespace {

using Kind = Verdict::Kind;

const LeaseTiming kTiming = LeaseTiming::of(Duration::seconds(15));

Observation held_by(std::string holder, uint64_t epoch, uint64_t renewal) {
  Observation seen;
  seen.present = true;
  seen.record.holder = std::move(holder);
  seen.record.token = seen.record.holder + "-token";
  seen.record.epoch = Epoch(epoch);
  seen.record.renewal = renewal;
  seen.record.lease = kTiming.lease;
  seen.version = std::to_string(epoch) + "." + std::to_string(renewal);
  return seen;
}

class Rule : public testing::Test {
 protected:
  Verdict judge(double seconds, const Observation& seen, uint64_t floor = 0) {
    return rule.assess(at_seconds(seconds), seen, "my-token", Epoch(floor));
  }
  ClaimRule rule{{.holder = "me", .region = {}, .cross_region_wait = {}}, kTiming, false};
};

TEST_F(Rule, a_key_that_nobody_has_held_is_free) { EXPECT_EQ(judge(0, Observation()).kind, Kind::kFree); }

TEST_F(Rule, a_lease_runs_from_when_its_record_was_first_seen_here) {
  const Observation seen = held_by("a", 1, 0);
  EXPECT_EQ(judge(100, seen).free_at, at_seconds(115.15));
  EXPECT_EQ(judge(115.1, seen).kind, Kind::kHeld);
  EXPECT_EQ(judge(115.15, seen).kind, Kind::kFree);
}

TEST_F(Rule, each_renewal_begins_it_anew) {
  judge(0, held_by("a", 1, 0));
  EXPECT_EQ(judge(14, held_by("a", 1, 1)).free_at, at_seconds(29.15));
}

TEST_F(Rule, time_stamps_in_the_record_mean_nothing) {
  Observation seen = held_by("a", 1, 0);
  seen.record.renewed_at = WallTime{1};
  EXPECT_EQ(judge(0, seen).kind, Kind::kHeld);
  seen.record.renewed_at = WallTime{INT64_MAX};
  EXPECT_EQ(judge(15.2, seen).kind, Kind::kFree);
}

TEST_F(Rule, the_lease_in_the_record_counts_not_ours) {
  Observation seen = held_by("a", 1, 0);
  seen.record.lease = Duration::seconds(100);
  EXPECT_EQ(judge(0, seen).free_at, at_seconds(101));
}

TEST_F(Rule, proof_of_death_frees_at_once) {
  Observation seen = held_by("a", 1, 0);
  seen.sight = HolderSight::kDead;
  EXPECT_EQ(judge(0, seen).kind, Kind::kFree);
}

TEST_F(Rule, our_own_token_is_ours) {
  Observation seen = held_by("me", 1, 0);
  seen.record.token = "my-token";
  EXPECT_EQ(judge(0, seen).kind, Kind::kOurs);
}

TEST_F(Rule, our_name_with_another_token_is_somebody_else) {
  EXPECT_EQ(judge(0, held_by("me", 1, 0)).kind, Kind::kHeld) << "an earlier life, or a clone";
}

TEST_F(Rule, a_released_key_is_free_unless_it_is_kept_for_an_heir) {
  Observation seen = held_by("", 4, 9);
  EXPECT_EQ(judge(0, seen).kind, Kind::kFree);
  seen.record.heir = "me";
  EXPECT_EQ(judge(0, seen).kind, Kind::kFree);
  seen.record.heir = "b";
  EXPECT_EQ(judge(0, seen).kind, Kind::kHeld);
  EXPECT_EQ(judge(15, seen).kind, Kind::kFree) << "an heir that does not come is not waited for";
}

TEST_F(Rule, a_store_that_shows_less_than_was_seen_is_not_believed_for_a_lease) {
  EXPECT_EQ(judge(0, Observation(), 5).kind, Kind::kLostData);
  EXPECT_EQ(judge(15.1, Observation(), 5).kind, Kind::kLostData);
  EXPECT_EQ(judge(15.15, Observation(), 5).kind, Kind::kFree);
  EXPECT_EQ(judge(16, held_by("", 4, 0), 5).kind, Kind::kLostData) << "nor what it calls released";
}

TEST_F(Rule, doubt_covers_absence_releases_and_familiar_tokens) {
  Observation absent;
  absent.may_have_lost_data = true;
  absent.evidence = "this store is new";
  EXPECT_EQ(judge(0, absent).kind, Kind::kLostData);
  EXPECT_EQ(judge(0, absent).why, "this store is new, so another candidate may hold the key");
  Observation released = held_by("", 4, 9);
  released.may_have_lost_data = true;
  EXPECT_EQ(judge(0, released).kind, Kind::kLostData);
  Observation ours = held_by("me", 5, 0);
  ours.record.token = "my-token";
  ours.may_have_lost_data = true;
  EXPECT_EQ(judge(0, ours).kind, Kind::kLostData) << "somebody may have followed us in what was lost";
}

TEST_F(Rule, an_absent_record_of_a_key_that_was_held_is_not_a_release) {
  Observation removed;
  removed.floor = Epoch(6);  // the store still knows that epoch 5 was given out
  EXPECT_EQ(judge(0, removed).kind, Kind::kLostData);
}

TEST(RuleOfRegions, a_candidate_elsewhere_waits_longer) {
  ClaimRule rule({.holder = "me", .region = "west", .cross_region_wait = Duration::seconds(30)}, kTiming, false);
  Observation seen = held_by("a", 1, 0);
  seen.record.region = "east";
  EXPECT_EQ(rule.assess(at_seconds(0), seen, "t", Epoch()).free_at, at_seconds(45.15));
  Observation released = held_by("", 2, 0);
  released.record.region = "east";
  EXPECT_EQ(rule.assess(at_seconds(100), released, "t", Epoch()).kind, Kind::kHeld);
  EXPECT_EQ(rule.assess(at_seconds(130), released, "t", Epoch()).kind, Kind::kFree);
  Observation dead = held_by("a", 3, 0);
  dead.record.region = "east";
  dead.sight = HolderSight::kDead;
  EXPECT_EQ(rule.assess(at_seconds(200), dead, "t", Epoch()).free_at, at_seconds(230))
      << "those of its region see it too";
}

TEST(RuleOfTrust, an_empty_store_is_believed_when_told_so) {
  ClaimRule rule({.holder = "me", .region = {}, .cross_region_wait = {}, .trust_empty = true}, kTiming, false);
  Observation absent;
  absent.may_have_lost_data = true;
  absent.floor = Epoch(1'795'000'000'000);  // from the store's clock, since it does not know
  EXPECT_EQ(rule.assess(at_seconds(0), absent, "t", Epoch()).kind, Kind::kFree);
  EXPECT_EQ(rule.assess(at_seconds(0), absent, "t", Epoch(3)).kind, Kind::kLostData)
      << "what we saw ourselves stays seen";
}

TEST(RuleOfQueues, a_store_that_gives_out_epochs_removes_what_is_released) {
  ClaimRule rule({.holder = "me", .region = {}, .cross_region_wait = {}}, kTiming, true);
  Observation absent;
  absent.floor = Epoch(101);
  EXPECT_EQ(rule.assess(at_seconds(0), absent, "t", Epoch(100)).kind, Kind::kFree);
  EXPECT_EQ(rule.assess(at_seconds(0), absent, "t", Epoch(101)).kind, Kind::kLostData) << "it would repeat an epoch";
}

}  // namespace
}  // namespace bellwether::election
