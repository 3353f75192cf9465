// Blobs when voters die, come back, lose their disks or have no room; and the guarantees of put and get, checked
// against random histories.
#include "cluster/replication/blobs_world_testing.h"

namespace bellwether::blobs {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using Trouble = TroubledKv::Trouble;

TEST_F(BlobsTest, a_minority_may_be_down_and_catches_up_when_it_is_back) {
  peer("m3").stop();
  const std::string bytes = value_of(3, 3 * kPieceBytes + 5);
  ASSERT_TRUE(put("m1", 1, 1, bytes));
  peer("m3").start();
  until([&] { return has("m3", 1, 1); });
  peer("m1").stop();
  EXPECT_TRUE(got("m3") == bytes);
}

TEST_F(BlobsTest, without_a_majority_nothing_is_put_or_got_and_it_says_who_is_missing) {
  ASSERT_TRUE(put("m1", 1, 1, "kept"));
  peer("m2").stop();
  peer("m3").stop();
  const std::string said = failure_of_put("m1", 2, "'m2': ");
  EXPECT_THAT(said, HasSubstr("no majority of the voters (m1, m2, m3)"));
  EXPECT_THAT(said, HasSubstr("'m2': "));
  const auto blob = get("m1", 0, Duration::millis(300));
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().code, Errc::kTimeout);
}

TEST_F(BlobsTest, without_a_majority_people_get_the_newest_that_is_left) {
  for (const char* name : {"m1", "m2", "m3", "gate"}) {
    peer(name).stop();
    peer(name).asking.look_most = kPatience;
    peer(name).start();
  }
  EXPECT_EQ(*get_unconfirmed("m1"), std::nullopt) << "there is none";
  ASSERT_TRUE(put("m1", 1, 1, "older"));
  until([&] { return has("m2", 1, 1) && has("m3", 1, 1); });
  peer("m3").stop();
  ASSERT_TRUE(put("m1", 1, 2, "newer"));
  EXPECT_EQ((*get_unconfirmed("gate"))->bytes, "newer");
  peer("m2").stop();
  EXPECT_EQ((*get_unconfirmed("m1"))->bytes, "newer");
  peer("m1").stop();
  peer("m3").start();
  EXPECT_EQ((*get_unconfirmed("m3"))->bytes, "older");
  peer("m3").stop();
  const auto none = get_unconfirmed("gate");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kUnreachable);
  EXPECT_THAT(none.error().message, HasSubstr("'m2': "));
}

TEST_F(BlobsTest, everything_survives_a_restart_of_all) {
  const std::string bytes = value_of(4, 2 * kPieceBytes + 1);
  ASSERT_TRUE(put("m1", 3, 1, bytes));
  EXPECT_TRUE(got("m2", 4) == bytes);
  ASSERT_TRUE(put("m1", 1, 1, "of another job", kPatience, ingest("over")));
  ASSERT_TRUE(drop("m1", "over"));
  for (const char* name : {"m1", "m2", "m3"}) peer(name).stop();
  for (const char* name : {"m1", "m2", "m3"}) peer(name).start();
  EXPECT_TRUE(got("gate") == bytes);
  // The promise and the end of a job, too.
  EXPECT_EQ(put("m1", 3, 2, "late").error().code, Errc::kRefused);
  EXPECT_EQ(put("m1", 1, 2, "late", kPatience, ingest("over")).error().code, Errc::kNotFound);
}

TEST_F(BlobsTest, a_reader_leaves_what_it_has_read_on_a_majority) {
  ASSERT_TRUE(put("m1", 1, 1, "older"));
  until([&] { return has("m2", 1, 1) && has("m3", 1, 1); });
  // A writer that died in the middle: one voter has it.
  const std::string bytes = "newer";
  const BlobHead head{{JobFence(1), 2}, bytes.size(), {wire::sha256(as_bytes(bytes))}};
  ASSERT_EQ(ask("m1", "m3", Offer{ingest(), head}).verdict, Verdict::kWanted);
  ASSERT_EQ(ask("m1", "m3", Piece{ingest(), head.version, 0, false, bytes}).verdict, Verdict::kKept);
  peer("m1").stop();
  EXPECT_EQ(got("gate"), "newer");
  EXPECT_TRUE(has("m2", 1, 2));
  peer("m1").start();
  peer("m3").stop();
  EXPECT_EQ(got("gate"), "newer");
}

TEST_F(BlobsTest, a_version_that_was_torn_by_a_crash_leaves_the_one_before_whole) {
  ASSERT_TRUE(put("m1", 1, 1, "whole"));
  until([&] { return has("m3", 1, 1); });
  const std::string bytes = value_of(5, 3 * kPieceBytes);
  BlobHead head{{JobFence(1), 2}, bytes.size(), {}};
  for (std::size_t i = 0; i < 3; ++i) head.pieces.push_back(wire::sha256(as_bytes(piece_of(bytes, i))));
  ASSERT_EQ(ask("m1", "m3", Offer{ingest(), head}).verdict, Verdict::kWanted);
  for (const uint32_t i : {0u, 2u}) {
    const Piece piece{ingest(), head.version, i, false, std::string(piece_of(bytes, i))};
    ASSERT_EQ(ask("m1", "m3", piece).verdict, Verdict::kWanted);
  }
  peer("m3").stop();
  peer("m3").start();
  EXPECT_TRUE(has("m3", 1, 1));
  // What was torn takes no room for long.
  until([&] { return peer("m3").replica->bytes() == 5; });
  EXPECT_EQ(peer("m3").stored("blobs/piece/"), 1u);
  EXPECT_EQ(peer("m3").stored("blobs/torn/"), 0u);
  ASSERT_TRUE(put("m1", 1, 2, bytes));
  until([&] { return has("m3", 1, 2); });
  peer("m1").stop();
  EXPECT_TRUE(got("m3") == bytes);
}

TEST_F(BlobsTest, a_full_disk_refuses_with_the_reason_and_keeps_what_it_has) {
  ASSERT_TRUE(put("m1", 1, 1, "before"));
  until([&] { return has("m3", 1, 1); });
  peer("m3").trouble = Trouble::kFull;
  ASSERT_TRUE(put("m1", 1, 2, "after"));
  until([&] { return !peer("m3").notes.empty(); });
  EXPECT_THAT(peer("m3").notes, Contains(HasSubstr("the disk is full")));
  EXPECT_THAT(peer("m3").replica->unable(), HasSubstr("the disk is full"));
  EXPECT_TRUE(has("m3", 1, 1));
  peer("m2").trouble = Trouble::kFull;
  EXPECT_THAT(failure_of_put("m1", 3, "the disk is full"), HasSubstr("the disk is full"));
  peer("m2").trouble = peer("m3").trouble = Trouble::kNone;
  ASSERT_TRUE(put("m1", 1, 4, "with room again"));
  until([&] { return has("m3", 1, 4); });
  EXPECT_EQ(peer("m3").replica->unable(), "");
}

// It may have been written, or not: in both cases nothing is lost that was confirmed as kept.
TEST_F(BlobsTest, a_disk_that_does_not_say_what_it_did_loses_nothing) {
  ASSERT_TRUE(put("m1", 1, 1, "before"));
  until([&] { return has("m2", 1, 1) && has("m3", 1, 1); });
  peer("m2").trouble = peer("m3").trouble = Trouble::kDoubtful;
  EXPECT_FALSE(put("m1", 1, 2, "", Duration::millis(300)));
  peer("m2").trouble = peer("m3").trouble = Trouble::kNone;
  ASSERT_TRUE(put("m1", 1, 3, "after"));
  for (const char* name : {"m2", "m3"}) peer(name).stop();
  for (const char* name : {"m2", "m3"}) peer(name).start();
  peer("m1").stop();
  EXPECT_EQ(got("gate"), "after");
}

TEST_F(BlobsTest, a_commit_in_doubt_is_whole_after_a_restart) {
  ASSERT_TRUE(put("m1", 1, 1, "before"));
  until([&] { return has("m2", 1, 1) && has("m3", 1, 1); });
  for (const char* name : {"m1", "m2", "m3"}) peer(name).trouble = Trouble::kDoubtful;
  EXPECT_FALSE(put("m1", 1, 2, "", Duration::millis(300)));
  for (const char* name : {"m1", "m2", "m3"}) {
    peer(name).stop();
    peer(name).trouble = Trouble::kNone;
    peer(name).start();
  }
  EXPECT_THAT(got("gate"), AnyOf("before", ""));
}

TEST_F(BlobsTest, a_voter_that_has_lost_its_disk_keeps_nothing_until_a_person_says_so) {
  ASSERT_TRUE(put("m1", 1, 1, "a value"));
  peer("m3").stop();
  peer("m3").lose_disk();
  peer("m3").start();
  const Answer answered = ask("m1", "m3", Look{ingest(), {}});
  EXPECT_EQ(answered.verdict, Verdict::kUnable);
  EXPECT_THAT(answered.why, HasSubstr("--first-start"));
  EXPECT_EQ(got("m2"), "a value");
}

TEST_F(BlobsTest, a_voter_with_as_much_as_it_may_have_says_so) {
  peer("m3").stop();
  peer("m3").settings.limits.most_bytes = 100;
  peer("m3").start();
  ASSERT_TRUE(put("m1", 1, 1, std::string(60, 'a')));
  until([&] { return has("m3", 1, 1); });
  const std::string more(60, 'b');
  const BlobHead head{{JobFence(1), 1}, more.size(), {wire::sha256(as_bytes(more))}};
  const Answer answered = ask("m1", "m3", Offer{ingest("other"), head});
  EXPECT_EQ(answered.verdict, Verdict::kUnable);
  EXPECT_THAT(answered.why, HasSubstr("its blobs have 60 bytes; the limit is 100"));
}

TEST_F(BlobsTest, one_that_was_away_when_a_job_was_dropped_hears_of_it) {
  ASSERT_TRUE(put("m1", 1, 1, "a value"));
  until([&] { return has("m3", 1, 1); });
  peer("m3").stop();
  ASSERT_TRUE(drop("m1"));
  peer("m1").blobs.reset();  // so that the one who dropped it does not say it again
  peer("m3").start();
  until([&] { return peer("m3").replica->values() == 0; });
  EXPECT_EQ(ask("gate", "m3", Look{ingest(), {}}).verdict, Verdict::kDropped);
}

// --- any history -----------------------------------------------------------------------------------------------------

// Owners follow each other, each reads under its fence and then writes; now and then one that was succeeded writes too;
// voters die, a minority at a time, and come back. What was put is never lost, and what was read never goes back.
class BlobsHistory : public BlobsTest, public testing::WithParamInterface<uint64_t> {
 protected:
  BlobsHistory() : BlobsTest(5) {}

  void play(uint64_t seed) {
    Prng prng(seed);
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
      switch (prng.below(8)) {
        case 0: take_over(prng); break;
        case 1:
        case 2: crash(prng); break;
        case 3: restart(prng); break;
        case 4: write_late(prng); break;
        case 5: read(prng); break;
        default: write(prng); break;
      }
    }
    for (const std::string& name : names_) {
      if (!peer(name).up()) peer(name).start();
    }
    if (!HasFatalFailure()) read(prng);
  }

 private:
  // One that is up.
  std::string somebody(Prng& prng) {
    while (true) {
      const std::string& name = names_[prng.below(names_.size())];
      if (peer(name).up()) return name;
    }
  }
  std::string content(Version version) const {
    return value_of(version.fence.value() * 1000 + version.number, 1 + (version.number % 3) * kPieceBytes);
  }
  void seen(const Result<std::optional<Blob>>& blob) {
    ASSERT_TRUE(blob) << blob.error().message;
    const Version version = *blob ? (*blob)->version : Version();
    ASSERT_GE(version, newest_) << to_string(version) << " after " << to_string(newest_);
    if (*blob) ASSERT_TRUE((*blob)->bytes == content(version)) << to_string(version);
    newest_ = version;
  }
  void read(Prng& prng) { seen(get(somebody(prng), 0, kPatience)); }
  void take_over(Prng& prng) {
    ++fence_;
    number_ = 0;
    seen(get(somebody(prng), fence_, kPatience));
  }
  void write(Prng& prng) {
    const Version version{JobFence(fence_), ++number_};
    const Status done = put(somebody(prng), fence_, number_, content(version), kPatience);
    ASSERT_TRUE(done) << done.error().message;
    newest_ = version;
  }
  void write_late(Prng& prng) {
    if (fence_ == 1) return;
    const uint64_t fence = 1 + prng.below(fence_ - 1);
    const uint64_t number = 1'000'000 + ++late_;
    const Status done = put(somebody(prng), fence, number, content({JobFence(fence), number}), kPatience);
    ASSERT_FALSE(done) << "a predecessor wrote under fence " << fence;
    ASSERT_EQ(done.error().code, Errc::kRefused) << done.error().message;
  }
  void crash(Prng& prng) {
    std::size_t down = 0;
    for (const std::string& name : names_) down += peer(name).up() ? 0 : 1;
    if (down < 2) peer(somebody(prng)).stop();
  }
  void restart(Prng& prng) {
    for (const std::string& name : names_) {
      if (!peer(name).up() && prng.chance(0.7)) peer(name).start();
    }
  }

  uint64_t fence_ = 1;
  uint64_t number_ = 0;
  uint64_t late_ = 0;
  Version newest_;
};

TEST_P(BlobsHistory, what_was_put_or_read_is_never_lost_whoever_dies) { play(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, BlobsHistory, testing::Range<uint64_t>(1, 4));

}  // namespace
}  // namespace bellwether::blobs
