#include "election/store/disk/disk_claim.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "election/store/disk/claims_testing.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr ClaimForm kForms[] = {ClaimForm::kLockFile, ClaimForm::kLeaseFile, ClaimForm::kOneLine};

std::string why_not(ClaimForm form, const std::string& text) {
  const auto claim = read_claim(form, text);
  return claim ? "it can be read" : claim.error().message;
}

TEST(DiskClaim, what_is_written_is_read_back_in_every_form) {
  for (const ClaimForm form : kForms) {
    DiskClaim claim = claim_of("alice \"the first\"\nof nörth", 42);
    claim.record.region = "north";
    claim.record.heir = "bob";
    const auto back = read_claim(form, write_claim(form, claim));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->record, claim.record);
    EXPECT_FALSE(back->foreign);
    EXPECT_EQ(back->process.pid, 4711);
    EXPECT_EQ(back->process.start_time, 500u);
    EXPECT_EQ(back->process.boot_id, "boot-1");
    EXPECT_EQ(back->process.pid_namespace, "pid:[1]");
    EXPECT_EQ(back->process.host, "machine");
  }
}

TEST(DiskClaim, other_programs_find_their_fields_in_what_we_write) {
  const Json lock = Json::parse(write_claim(ClaimForm::kLockFile, claim_of("alice", 42)));
  EXPECT_EQ(lock["instance_id"], "alice");
  EXPECT_EQ(lock["pid"], 4711);
  EXPECT_EQ(lock["claimed_at"], "2026-01-04T12:00:00.000Z");
  const Json lease = Json::parse(write_claim(ClaimForm::kLeaseFile, claim_of("alice", 42)));
  EXPECT_EQ(lease["leader_id"], "alice");
  EXPECT_EQ(lease["leader_epoch"], 42);
  EXPECT_EQ(lease["last_heartbeat"], "2026-01-04T12:00:00.000Z");
  EXPECT_EQ(lease["ttl_ms"], 15000);
}

TEST(DiskClaim, a_lock_file_of_another_program_tells_holder_process_and_time) {
  const auto claim =
      read_claim(ClaimForm::kLockFile,
                 R"({"instance_id": "77-1767528000123456789", "pid": 77, "claimed_at": "2026-01-04T12:00:00.5+00:00",
          "more": {}})");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->foreign);
  EXPECT_EQ(claim->record.holder, "77-1767528000123456789");
  EXPECT_EQ(claim->process.pid, 77);
  EXPECT_EQ(claim->record.renewed_at, after_noon(Duration::millis(500)));
  EXPECT_EQ(claim->record.epoch, Epoch());
  EXPECT_EQ(claim->record.token, "");
}

TEST(DiskClaim, a_lease_file_of_another_program_tells_leader_epoch_and_lease) {
  const auto claim = read_claim(ClaimForm::kLeaseFile,
                                R"({"leader_id": "agent-1", "leader_epoch": 42.0,
                                    "last_heartbeat": "2026-01-04T12:00:00.000Z", "ttl_ms": 180000})");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->foreign);
  EXPECT_EQ(claim->record.holder, "agent-1");
  EXPECT_EQ(claim->record.epoch, Epoch(42));
  EXPECT_EQ(claim->record.lease, Duration::minutes(3));
}

TEST(DiskClaim, a_program_that_copies_our_fields_into_a_claim_of_its_own_makes_no_claim_of_ours) {
  for (const ClaimForm form : kForms) {
    const char* holder = form == ClaimForm::kLockFile ? "instance_id" : "leader_id";
    const char* beat = form == ClaimForm::kLockFile ? "claimed_at" : "last_heartbeat";
    for (const auto& [name, value] : {std::pair{holder, "mallory"}, {beat, "2026-01-04T12:00:05.000Z"}}) {
      Json json = Json::parse(write_claim(form, claim_of("alice", 42)));
      json[name] = value;
      const auto claim = read_claim(form, json.dump());
      ASSERT_TRUE(claim) << claim.error().message;
      EXPECT_TRUE(claim->foreign) << name;
      EXPECT_EQ(claim->record.token, "") << name;
    }
  }
}

TEST(DiskClaim, every_beginning_of_a_claim_is_refused) {
  for (const ClaimForm form : kForms) {
    const std::string text = write_claim(form, claim_of("alice", 42));
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
      EXPECT_FALSE(read_claim(form, text.substr(0, size))) << size;
    }
  }
}

TEST(DiskClaim, a_claim_that_cannot_be_read_says_why) {
  constexpr ClaimForm kLock = ClaimForm::kLockFile;
  constexpr ClaimForm kLease = ClaimForm::kLeaseFile;
  EXPECT_THAT(why_not(kLock, "not json"), HasSubstr("not JSON"));
  EXPECT_THAT(why_not(kLock, "[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(why_not(kLock, R"({"pid": 1, "claimed_at": "2026-01-04T12:00:00Z"})"), HasSubstr("\"instance_id\""));
  EXPECT_THAT(why_not(kLock, R"({"instance_id": "", "pid": 1, "claimed_at": "2026-01-04T12:00:00Z"})"),
              HasSubstr("is empty"));
  EXPECT_THAT(why_not(kLock, R"({"instance_id": "a", "pid": -1, "claimed_at": "2026-01-04T12:00:00Z"})"),
              HasSubstr("\"pid\""));
  EXPECT_THAT(why_not(kLock, R"({"instance_id": "a", "pid": 1, "claimed_at": "yesterday"})"), HasSubstr("not a time"));
  EXPECT_THAT(why_not(kLease, R"({"leader_id": "a", "leader_epoch": 9007199254740992,
                                  "last_heartbeat": "2026-01-04T12:00:00Z", "ttl_ms": 1})"),
              HasSubstr("2^53"));
  EXPECT_THAT(why_not(kLease, R"({"leader_id": "a", "leader_epoch": 1.5,
                                  "last_heartbeat": "2026-01-04T12:00:00Z", "ttl_ms": 1})"),
              HasSubstr("whole number"));
  EXPECT_THAT(why_not(kLease, R"({"leader_id": "a", "leader_epoch": 1,
                                  "last_heartbeat": "2026-01-04T12:00:00Z", "ttl_ms": 99999999999})"),
              HasSubstr("longer than a year"));
  EXPECT_THAT(why_not(kLock, std::string(100, '[')), HasSubstr("not JSON"));
  EXPECT_EQ(read_claim(kLock, std::string(kMaxClaimBytes + 1, ' ')).error().code, Errc::kTooLarge);
}

TEST(DiskClaim, deep_nesting_in_a_field_nobody_knows_is_refused_without_taking_memory) {
  const std::string deep(30'000, '[');
  EXPECT_THAT(why_not(ClaimForm::kLockFile, R"({"more": )" + deep), HasSubstr("not JSON"));
  std::string closed = deep + std::string(30'000, ']');
  EXPECT_THAT(why_not(ClaimForm::kLockFile, R"({"instance_id": "a", "pid": 1, "claimed_at": "2026-01-04T12:00:00Z",
                                               "more": )" +
                                                closed + "}"),
              HasSubstr("not JSON"));
}

TEST(DiskClaim, a_name_that_is_no_utf8_is_still_written_as_json) {
  const std::string text = write_claim(ClaimForm::kLockFile, claim_of("a\xff", 1));
  EXPECT_TRUE(Json::accept(text));
}

}  // namespace
}  // namespace bellwether::store
