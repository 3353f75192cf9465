#include <gmock/gmock.h>

#include "election/store/disk/claims_testing.h"
#include "election/store/host/host_store.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::HolderSight;
using election::Observation;
using testing::HasSubstr;

const RegisterFiles kHostClaimFiles{
    .claim = "/locks/key.lock", .lock = "/locks/key.lock", .ledger = "/locks/key.epoch"};
constexpr const char* kForeign = R"({"instance_id": "other", "pid": 77, "claimed_at": "2026-01-04T12:00:00Z"})";

struct HostClaimScene {
  HostRulesOptions options;
  HostView view{process(9, 900), alive(), kNoon};

  Observation see(const Found& found) const {
    const auto seen = understand_host(kHostClaimFiles, found, options, view);
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : Observation();
  }
};

Found nothing() { return {}; }
Found host_claim_text(const std::string& content) { return found_text(ClaimForm::kLockFile, content); }
Found host_claim_ours(uint64_t epoch = 6) {
  return with_ledger(host_claim_text(write_claim(ClaimForm::kLockFile, claim_of("alice", epoch))), epoch,
                     claim_of("alice", epoch));
}

TEST(HostClaim, a_key_that_nobody_used_is_absent) {
  const Observation seen = HostClaimScene().see(nothing());
  EXPECT_FALSE(seen.present);
  EXPECT_FALSE(seen.may_have_lost_data);
  EXPECT_EQ(seen.floor, Epoch());
  EXPECT_EQ(HostClaimScene().see(host_claim_text("")).version, seen.version)
      << "opening a lock file makes it, and changes nothing";
}

TEST(HostClaim, a_claim_of_ours_is_shown_as_it_stands) {
  HostClaimScene scene;
  const Observation seen = scene.see(host_claim_ours());
  EXPECT_TRUE(seen.present);
  EXPECT_EQ(seen.record, claim_of("alice", 6).record);
  EXPECT_EQ(seen.sight, HolderSight::kAlive);
  EXPECT_EQ(seen.floor, Epoch(7));
  scene.view.holder = dead();
  EXPECT_EQ(scene.see(host_claim_ours()).sight, HolderSight::kDead);
  EXPECT_EQ(scene.see(host_claim_ours()).version, seen.version);
}

TEST(HostClaim, outside_the_profile_age_and_foreign_processes_prove_nothing) {
  HostClaimScene scene;
  scene.view.now = after_noon(Duration::hours(5));
  EXPECT_EQ(scene.see(host_claim_ours()).sight, HolderSight::kAlive);
  scene.view.holder = dead();
  const Observation foreign = scene.see(with_ledger(host_claim_text(kForeign), 5, claim_of("alice", 5)));
  EXPECT_EQ(foreign.sight, HolderSight::kUnknown);
  EXPECT_TRUE(foreign.foreign);
  EXPECT_EQ(foreign.record.holder, "other");
  EXPECT_EQ(foreign.record.epoch, Epoch(5));
  EXPECT_EQ(foreign.floor, Epoch(6));
}

TEST(HostClaim, a_lock_file_emptied_garbled_or_removed_under_its_holder_takes_nothing_from_it) {
  for (const Found& found : {host_claim_text(""), host_claim_text("{\"instance"), nothing()}) {
    HostClaimScene scene;
    const Observation seen = scene.see(with_ledger(found, 6, claim_of("alice", 6)));
    EXPECT_EQ(seen.record, claim_of("alice", 6).record);
    EXPECT_EQ(seen.sight, HolderSight::kAlive);
    EXPECT_THAT(seen.evidence, HasSubstr("alice had not released"));
    scene.view.holder = dead();
    EXPECT_EQ(scene.see(with_ledger(found, 6, claim_of("alice", 6))).sight, HolderSight::kDead);
  }
}

TEST(HostClaim, a_released_key_is_free_and_keeps_its_epoch_and_heir) {
  DiskClaim last = released(claim_of("alice", 5));
  last.record.heir = "bob";
  for (const bool nip_le : {false, true}) {
    HostClaimScene scene;
    scene.options.nip_le = nip_le;
    const Observation seen = scene.see(with_ledger(host_claim_text(""), 6, last));
    EXPECT_TRUE(seen.present);
    EXPECT_FALSE(seen.record.held());
    EXPECT_EQ(seen.record.epoch, Epoch(6));
    EXPECT_EQ(seen.record.heir, "bob");
    EXPECT_EQ(seen.floor, Epoch(7));
  }
}

TEST(HostClaim, a_lost_or_damaged_epoch_is_an_error_that_says_what_to_do) {
  Found lost = host_claim_text(write_claim(ClaimForm::kLockFile, claim_of("alice", 6)));
  Found damaged = host_claim_ours();
  damaged.ledger.reset();
  damaged.ledger_trouble = "its checksum does not match";
  Found torn = host_claim_text("{\"token\": \"tok");
  for (const Found& found : {lost, damaged, torn}) {
    const HostClaimScene scene;
    const auto seen = understand_host(kHostClaimFiles, found, scene.options, scene.view);
    ASSERT_FALSE(seen);
    EXPECT_THAT(seen.error().message, HasSubstr("/locks/key.epoch"));
    EXPECT_THAT(seen.error().message, HasSubstr("accept_epoch_loss=true"));
  }
  HostClaimScene accepting;
  accepting.options.accept_epoch_loss = true;
  EXPECT_EQ(accepting.see(lost).floor, Epoch(7)) << "what is still known counts";
  damaged.text = {};
  damaged.claim.reset();
  EXPECT_TRUE(accepting.see(damaged).may_have_lost_data);
}

TEST(HostClaim, a_lock_file_of_an_older_copy_does_not_take_the_epoch_back) {
  const Observation seen = HostClaimScene().see(with_ledger(host_claim_ours(3), 9, claim_of("bob", 9)));
  EXPECT_EQ(seen.record.epoch, Epoch(3));
  EXPECT_EQ(seen.floor, Epoch(10));
}

class NipLe : public testing::Test {
 protected:
  NipLe() { scene_.options.nip_le = true; }
  HolderSight sight(const Found& found) { return scene_.see(found).sight; }
  HostClaimScene scene_;
};

TEST_F(NipLe, a_living_fresh_foreign_claim_is_held) {
  scene_.view.now = after_noon(Duration::seconds(10));
  const Observation seen = scene_.see(host_claim_text(kForeign));
  EXPECT_EQ(seen.sight, HolderSight::kAlive);
  EXPECT_EQ(seen.record.holder, "other");
  EXPECT_EQ(seen.record.lease, Duration::seconds(10));
}

TEST_F(NipLe, a_claim_is_dead_when_its_process_is_gone_whatever_its_age) {
  scene_.view.holder = dead();
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kDead);
}

TEST_F(NipLe, a_claim_is_dead_when_it_missed_two_refreshes_although_its_process_id_lives) {
  scene_.view.now = after_noon(Duration::millis(10'001));
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kDead);
  EXPECT_EQ(sight(host_claim_ours()), HolderSight::kDead);
  scene_.options.refresh = Duration::seconds(6);
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kAlive);
}

TEST_F(NipLe, a_claim_from_further_in_the_future_than_two_refreshes_is_dead) {
  scene_.view.now = after_noon(-Duration::seconds(10));
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kAlive);
  scene_.view.now = after_noon(-Duration::millis(10'001));
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kDead);
}

TEST_F(NipLe, a_claim_of_ours_is_dead_too_when_its_process_id_was_given_to_another) {
  scene_.view.holder = alive(501);
  EXPECT_EQ(sight(host_claim_ours()), HolderSight::kDead);
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kAlive) << "it does not say when its process started";
}

TEST_F(NipLe, a_claim_with_our_own_id_may_be_taken_unless_another_living_process_of_ours_has_it) {
  scene_.options.own_id = "other";
  EXPECT_EQ(sight(host_claim_text(kForeign)), HolderSight::kDead);
  scene_.options.own_id = "alice";
  EXPECT_EQ(sight(host_claim_ours()), HolderSight::kAlive);
  scene_.view.holder = hidden();
  EXPECT_EQ(sight(host_claim_ours()), HolderSight::kDead);
}

TEST_F(NipLe, what_is_empty_or_cannot_be_read_is_free) {
  for (const Found& found : {host_claim_text(""), host_claim_text("{\"instance"), nothing()}) {
    EXPECT_FALSE(scene_.see(found).record.held());
    const Observation seen = scene_.see(with_ledger(found, 6, claim_of("alice", 6)));
    EXPECT_FALSE(seen.record.held());
    EXPECT_EQ(seen.record.epoch, Epoch(6));
  }
}

}  // namespace
}  // namespace bellwether::store
