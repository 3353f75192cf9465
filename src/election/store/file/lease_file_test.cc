#include <gmock/gmock.h>

#include "election/store/disk/claims_testing.h"
#include "election/store/file/lease_file_store.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::HolderSight;
using election::Observation;
using testing::HasSubstr;

const RegisterFiles kFiles{.claim = "/m/state.json", .lock = "/m/state.json.lock", .ledger = "/m/state.json.epoch"};

struct Scene {
  LeaseFileRulesOptions options;
  LeaseFileView view{process(9, 900), alive()};

  Observation see(const Found& found) const {
    const auto seen = understand_lease_file(kFiles, found, options, view);
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : Observation();
  }
};

Found text(const std::string& content) { return found_text(ClaimForm::kLeaseFile, content); }
Found foreign(uint64_t epoch) {
  return text(R"({"leader_id": "agent-1", "leader_epoch": )" + std::to_string(epoch) +
              R"(, "last_heartbeat": "2026-01-04T12:00:00.000Z", "ttl_ms": 180000})");
}
Found ours(uint64_t epoch = 6) {
  return with_ledger(text(write_claim(ClaimForm::kLeaseFile, claim_of("alice", epoch))), epoch,
                     claim_of("alice", epoch));
}

TEST(LeaseFile, one_that_is_not_there_and_never_was_is_absent) {
  const Observation seen = Scene().see({});
  EXPECT_FALSE(seen.present);
  EXPECT_EQ(seen.floor, Epoch());
}

TEST(LeaseFile, a_lease_of_ours_is_shown_as_it_stands_with_what_its_process_proves) {
  Scene scene;
  const Observation seen = scene.see(ours());
  EXPECT_EQ(seen.record, claim_of("alice", 6).record);
  EXPECT_FALSE(seen.foreign);
  EXPECT_EQ(seen.sight, HolderSight::kAlive);
  EXPECT_EQ(seen.floor, Epoch(7));
  scene.view.holder = dead();
  EXPECT_EQ(scene.see(ours()).sight, HolderSight::kDead);
}

TEST(LeaseFile, another_boot_is_no_proof_on_a_disk_that_machines_share) {
  Scene scene;
  scene.view.self.boot_id = "boot-2";
  EXPECT_EQ(scene.see(ours()).sight, HolderSight::kDead);
  scene.options.one_machine = false;
  EXPECT_EQ(scene.see(ours()).sight, HolderSight::kUnknown);
}

TEST(LeaseFile, a_lease_of_another_program_is_held_for_its_own_time_under_its_own_epoch) {
  const Observation seen = Scene().see(foreign(42));
  EXPECT_TRUE(seen.present);
  EXPECT_TRUE(seen.foreign);
  EXPECT_EQ(seen.record.holder, "agent-1");
  EXPECT_EQ(seen.record.epoch, Epoch(42));
  EXPECT_EQ(seen.record.lease, Duration::minutes(3));
  EXPECT_EQ(seen.floor, Epoch(43));
  EXPECT_EQ(seen.sight, HolderSight::kUnknown);
}

TEST(LeaseFile, another_program_that_begins_again_at_epoch_1_does_not_take_the_epoch_back) {
  const Observation seen = Scene().see(with_ledger(foreign(1), 42, claim_of("alice", 42)));
  EXPECT_EQ(seen.record.holder, "agent-1");
  EXPECT_EQ(seen.record.epoch, Epoch(42));
  EXPECT_EQ(seen.floor, Epoch(43));
  EXPECT_THAT(seen.evidence, testing::AllOf(HasSubstr("under epoch 1 although epoch 42"), HasSubstr("out of order")));
}

TEST(LeaseFile, every_heartbeat_of_another_program_is_another_version) {
  const Found first = foreign(42);
  Found second = first;
  second.text.text.replace(second.text.text.find(":00:00"), 6, ":01:00");
  EXPECT_NE(Scene().see(first).version, Scene().see(second).version);
}

TEST(LeaseFile, a_removed_file_takes_nothing_from_its_living_holder) {
  Scene scene;
  const Observation seen = scene.see(with_ledger({}, 6, claim_of("alice", 6)));
  EXPECT_EQ(seen.record, claim_of("alice", 6).record);
  EXPECT_EQ(seen.sight, HolderSight::kAlive);
  EXPECT_THAT(seen.evidence, HasSubstr("removed although alice"));
  scene.view.holder = dead();
  EXPECT_EQ(scene.see(with_ledger({}, 6, claim_of("alice", 6))).sight, HolderSight::kDead);
}

TEST(LeaseFile, a_removed_file_of_a_released_key_goes_on_from_the_known_epoch) {
  const Observation seen = Scene().see(with_ledger({}, 6, released(claim_of("alice", 6))));
  EXPECT_TRUE(seen.present);
  EXPECT_FALSE(seen.record.held());
  EXPECT_EQ(seen.record.epoch, Epoch(6));
  EXPECT_EQ(seen.floor, Epoch(7));
}

TEST(LeaseFile, one_that_cannot_be_read_is_held_by_who_held_it_or_by_somebody_unknown) {
  for (const char* content : {"", "{\"leader_id\": \"age", "null", "[]", "{}"}) {
    Scene scene;
    scene.view.holder = dead();
    const Observation known = scene.see(with_ledger(text(content), 6, claim_of("alice", 6)));
    EXPECT_EQ(known.record, claim_of("alice", 6).record) << content;
    EXPECT_EQ(known.sight, HolderSight::kUnknown) << "perhaps another program wrote it since";
    EXPECT_THAT(known.evidence, HasSubstr("cannot be read ("));

    const Observation unknown = scene.see(with_ledger(text(content), 6, released(claim_of("alice", 6))));
    EXPECT_TRUE(unknown.record.held()) << content;
    EXPECT_TRUE(unknown.foreign);
    EXPECT_EQ(unknown.record.token, "");
    EXPECT_EQ(unknown.record.epoch, Epoch(6));
    EXPECT_TRUE(scene.see(text(content)).record.held()) << content;
  }
}

TEST(LeaseFile, a_release_is_a_lease_that_has_run_out_for_other_programs_and_keeps_what_we_know) {
  DiskClaim last = released(claim_of("alice", 6));
  last.record.heir = "bob";
  const DiskClaim written = as_written(last);
  EXPECT_EQ(written.record.lease, Duration::zero());
  EXPECT_EQ(written.record.renewed_at, WallTime());
  const std::string content = write_claim(ClaimForm::kLeaseFile, written);
  EXPECT_THAT(content, HasSubstr("1970-01-01T00:00:00.000Z"));
  const Observation seen = Scene().see(with_ledger(text(content), 6, last));
  EXPECT_FALSE(seen.record.held());
  EXPECT_FALSE(seen.foreign);
  EXPECT_EQ(seen.record.heir, "bob");
  EXPECT_EQ(seen.record.renewed_at, kNoon);
}

TEST(LeaseFile, a_lost_or_damaged_epoch_is_an_error_that_says_what_to_do) {
  Found lost = text(write_claim(ClaimForm::kLeaseFile, claim_of("alice", 6)));
  const Scene scene;
  const auto seen = understand_lease_file(kFiles, lost, scene.options, scene.view);
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message,
              testing::AllOf(HasSubstr(kFiles.ledger), HasSubstr("accept_epoch_loss=true"), HasSubstr("epoch 6")));
  Scene accepting;
  accepting.options.accept_epoch_loss = true;
  EXPECT_EQ(accepting.see(lost).floor, Epoch(7));
}

TEST(LeaseFile, a_heartbeat_from_the_future_is_an_error_that_explains_clocks) {
  const Duration skew = Duration::seconds(5);
  EXPECT_TRUE(check_clock(kFiles, ours(), skew, kNoon));
  EXPECT_TRUE(check_clock(kFiles, ours(), skew, after_noon(-skew)));
  const Status refused = check_clock(kFiles, ours(), skew, after_noon(-Duration::seconds(6)));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(HasSubstr("6s in the future"), HasSubstr("/m/state.json"), HasSubstr("clocks"),
                             HasSubstr("on machine"), HasSubstr("?skew=")));
  EXPECT_TRUE(check_clock(kFiles, ours(), Duration::seconds(6), after_noon(-Duration::seconds(6))));
  EXPECT_FALSE(check_clock(kFiles, foreign(1), skew, after_noon(-Duration::hours(1))));
  EXPECT_TRUE(check_clock(kFiles, text("{"), skew, after_noon(-Duration::hours(1))));
  EXPECT_TRUE(check_clock(kFiles, {}, skew, {}));
}

}  // namespace
}  // namespace bellwether::store
