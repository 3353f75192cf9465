#include "cluster/replication/blobs.h"

#include "cluster/replication/blobs_world_testing.h"

namespace bellwether::blobs {
namespace {

using testing::HasSubstr;

TEST_F(BlobsTest, what_was_put_is_got_by_anybody) {
  ASSERT_TRUE(put("m1", 1, 1, "a bundle"));
  for (const char* reader : {"m1", "m2", "m3", "gate"}) {
    const auto blob = get(reader);
    ASSERT_TRUE(blob) << blob.error().message;
    ASSERT_TRUE(*blob);
    EXPECT_EQ((*blob)->bytes, "a bundle");
    EXPECT_EQ((*blob)->version, (Version{JobFence(1), 1}));
  }
}

TEST_F(BlobsTest, nothing_is_there_before_it_is_put) {
  const auto blob = get("m1");
  ASSERT_TRUE(blob);
  EXPECT_FALSE(*blob);
}

TEST_F(BlobsTest, values_of_any_size_come_back_as_they_were) {
  uint64_t number = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPieceBytes - 1, kPieceBytes, kPieceBytes + 1,
                                 5 * kPieceBytes, std::size_t{16} << 20}) {
    const std::string bytes = value_of(size, size);
    ASSERT_TRUE(put("gate", 1, ++number, bytes)) << size;
    EXPECT_TRUE(got("m2") == bytes) << size;
  }
}

TEST_F(BlobsTest, a_value_beyond_the_limit_is_refused_before_anything_is_sent) {
  const auto done = put("m1", 1, 1, std::string(kMaxBlobBytes + 1, 'x'));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTooLarge);
  EXPECT_THAT(done.error().message, HasSubstr("67108865"));
  EXPECT_EQ(got("m1"), "(nothing)");
}

TEST_F(BlobsTest, keys_do_not_get_in_each_others_way) {
  ASSERT_TRUE(put("m1", 1, 1, "one", kPatience, {"a", "bundle"}));
  ASSERT_TRUE(put("m1", 1, 1, "two", kPatience, {"a/bundle", "bundle"}));
  ASSERT_TRUE(put("m1", 1, 1, "three", kPatience, {"a", "ingest"}));
  ASSERT_TRUE(drop("m2", "a"));
  EXPECT_EQ(get("m3", 0, kPatience, {"a", "bundle"}).error().code, Errc::kNotFound);
  EXPECT_EQ(get("m3", 0, kPatience, {"a", "ingest"}).error().code, Errc::kNotFound);
  EXPECT_EQ((*get("m3", 0, kPatience, {"a/bundle", "bundle"}))->bytes, "two");
  EXPECT_EQ(put("m1", 1, 1, "x", kPatience, {"", "bundle"}).error().code, Errc::kInvalid);
  EXPECT_EQ(put("m1", 1, 1, "x", kPatience, {"job", "Bundle/"}).error().code, Errc::kInvalid);
}

TEST_F(BlobsTest, an_older_version_is_refused_and_told_of_the_newer) {
  ASSERT_TRUE(put("m1", 2, 5, "newer"));
  const auto done = put("m2", 2, 4, "older");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kRefused);
  EXPECT_THAT(done.error().message, HasSubstr("5 under fence 2"));
  EXPECT_EQ(got("m3"), "newer");
}

// Its successor has read what was there, and goes on from that: what the predecessor puts afterwards would be lost.
TEST_F(BlobsTest, a_writer_whose_successor_has_read_puts_nothing_any_more) {
  ASSERT_TRUE(put("m1", 1, 5, "read by the successor"));
  EXPECT_EQ(got("m2", 2), "read by the successor");
  const auto late = put("m1", 1, 6, "too late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kRefused);
  EXPECT_THAT(late.error().message, HasSubstr("fence 2"));
  EXPECT_EQ(got("m3"), "read by the successor");
  ASSERT_TRUE(put("m2", 2, 1, "of the successor"));
  EXPECT_EQ(got("gate"), "of the successor");
  EXPECT_EQ(get("m1", 1).error().code, Errc::kRefused);
}

// One voter alone had accepted it, and a reader has written it again: that does not confirm it to its writer, because
// the successor has not read it.
TEST_F(BlobsTest, what_a_reader_writes_again_is_no_success_of_a_writer_that_was_succeeded) {
  ASSERT_TRUE(put("m1", 1, 5, "read by the successor"));
  const std::string bytes = "too late";
  const BlobHead head{{JobFence(1), 6}, bytes.size(), {wire::sha256(as_bytes(bytes))}};
  EXPECT_EQ(ask("m1", "m3", Offer{ingest(), head}).verdict, Verdict::kWanted);
  EXPECT_EQ(ask("m1", "m3", Piece{ingest(), head.version, 0, false, bytes}).verdict, Verdict::kKept);
  peer("m3").stop();
  EXPECT_EQ(got("m2", 2), "read by the successor");
  peer("m3").start();
  peer("m1").stop();
  EXPECT_EQ(got("gate"), bytes);
  EXPECT_TRUE(has("m2", 1, 6));
  peer("m1").start();
  const auto late = put("m1", 1, 6, bytes);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kRefused) << late.error().message;
}

TEST_F(BlobsTest, a_dropped_job_takes_nothing_any_more) {
  ASSERT_TRUE(put("m1", 1, 1, value_of(1, 3 * kPieceBytes)));
  ASSERT_TRUE(drop("m2"));
  until([&] { return peer("m1").replica->bytes() + peer("m2").replica->bytes() + peer("m3").replica->bytes() == 0; });
  EXPECT_EQ(get("m1").error().code, Errc::kNotFound);
  const auto late = put("m1", 1, 2, "late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kNotFound);
  EXPECT_TRUE(drop("m3"));
}

TEST_F(BlobsTest, a_job_that_was_dropped_long_ago_is_forgotten_when_all_have_heard) {
  for (const char* name : {"m1", "m2", "m3"}) {
    peer(name).stop();
    peer(name).settings.limits.dropped_kept = Duration::millis(1);
    peer(name).start();
  }
  ASSERT_TRUE(put("m1", 1, 1, "a value"));
  ASSERT_TRUE(drop("m1"));
  until([&] { return put("m1", 3, 1, "of another job under that name").has_value(); });
}

TEST_F(BlobsTest, only_managers_and_gates_may_ask) {
  ASSERT_TRUE(put("m1", 1, 1, "a value"));
  const auto blob = get("worker", 0, Duration::seconds(5));
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().code, Errc::kUnreachable) << blob.error().message;
  EXPECT_GE(peer("m1").refused(), 1u);
}

TEST_F(BlobsTest, voters_that_were_told_of_others_keep_nothing_together) {
  peers_["m9"] = std::make_unique<Peer>(*runtime_, "m9", std::vector<std::string>{"m1", "m2", "m9"}, book_, "",
                                        wire::Role::kManager);
  peer("m9").start();
  const std::string expected = "its settings name other replicas: m1 m2 m3";
  EXPECT_THAT(failure_of_put("m9", 1, expected), HasSubstr(expected));
}

TEST_F(BlobsTest, a_voter_that_has_the_version_is_sent_no_piece_of_it) {
  const std::string bytes = value_of(7, 4 * kPieceBytes);
  ASSERT_TRUE(put("m1", 1, 1, bytes));
  until([&] { return has("m3", 1, 1); });
  BlobHead head{{JobFence(1), 1}, bytes.size(), {}};
  for (std::size_t i = 0; i < 4; ++i) head.pieces.push_back(wire::sha256(as_bytes(piece_of(bytes, i))));
  EXPECT_EQ(ask("m1", "m3", Offer{ingest(), head}).verdict, Verdict::kKept);
  head.version.number = 2;
  const Answer wants = ask("m1", "m3", Offer{ingest(), head});
  EXPECT_EQ(wants.verdict, Verdict::kWanted);
  EXPECT_THAT(wants.wanted, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(ask("m1", "m3", Piece{ingest(), head.version, 2, false, std::string(piece_of(bytes, 2))}).verdict,
            Verdict::kWanted);
  EXPECT_THAT(ask("m1", "m3", Offer{ingest(), head}).wanted, testing::ElementsAre(0, 1, 3));
  EXPECT_EQ(ask("m1", "m3", Piece{ingest(), head.version, 0, false, std::string(kPieceBytes, 'x')}).verdict,
            Verdict::kUnable);
}

// --- the set of replicas changes -------------------------------------------------------------------------------------

using registers::ReplicaSet;

const ReplicaSet kOneComes{1, {"m1", "m2", "m3"}, {"m1", "m2", "m3", "m4"}};
const ReplicaSet kOfFour{2, {"m1", "m2", "m3", "m4"}, {}};

TEST_F(BlobsTest, a_replica_that_comes_reads_values_promises_and_drops_before_it_says_so) {
  const std::string bytes = value_of(7, 3 * kPieceBytes + 5);
  ASSERT_TRUE(put("m1", 1, 1, bytes));
  EXPECT_EQ(got("m2", 2), bytes);
  ASSERT_TRUE(put("m1", 1, 1, "of an ended job", kPatience, {"over", "bundle"}));
  ASSERT_TRUE(drop("m1", "over"));
  add("m4", folder_.path("m4"), wire::Role::kManager);
  peer("m4").start();
  for (const char* one : {"m1", "m2", "m3", "m4"}) peer(one).lines->hear(kOneComes);
  for (const char* one : {"m1", "m2", "m3", "m4"}) {
    until([&] { return peer(one).lines->read() == 1; });
  }
  for (const char* one : {"m1", "m2", "m3", "m4"}) peer(one).lines->hear(kOfFour);
  until([&] { return peer("m4").lines->set().number == 2; });
  EXPECT_TRUE(has("m4", 1, 1));
  const BlobHead late{{JobFence(1), 2}, 1, {wire::sha256(as_bytes("x"))}};
  EXPECT_EQ(ask("m4", "m4", Offer{ingest(), late}).verdict, Verdict::kFenced);
  EXPECT_EQ(ask("m4", "m4", Offer{{"over", "bundle"}, late}).verdict, Verdict::kDropped);
  peer("m4").stop();
  peer("m4").start();
  until([&] { return peer("m4").lines->set().number == 2; });
  EXPECT_EQ(peer("m4").lines->read(), 1u);
  peer("m1").stop();
  EXPECT_EQ(got("m4"), bytes);
}

TEST_F(BlobsTest, a_writer_with_an_older_set_is_told_of_the_newer_one_and_goes_on_with_it) {
  add("m4", folder_.path("m4"), wire::Role::kManager);
  peer("m4").start();
  for (const char* one : {"m2", "m3", "m4"}) peer(one).lines->hear(kOneComes);
  until([&] { return peer("m2").lines->set().number == 1 && peer("m3").lines->set().number == 1; });
  ASSERT_TRUE(put("gate", 1, 1, "a value"));
  EXPECT_EQ(peer("gate").lines->set(), kOneComes);
  until([&] { return peer("m1").lines->set().number == 1; });  // in its turn
  EXPECT_EQ(got("m1"), "a value");
}

// Three of four have it, and the one that had an older set is no replica of anybody until it knows the newer one.
TEST_F(BlobsTest, a_replica_with_an_older_set_answers_after_it_has_taken_the_newer_one_over) {
  peer("m1").lines->hear({1, {"m1", "m2", "m3"}, {"m1", "m2"}});
  until([&] { return peer("m1").lines->set().number == 1; });
  ASSERT_TRUE(put("m1", 1, 1, "a value"));
  EXPECT_EQ(peer("m2").lines->set().number, 1u);
  EXPECT_EQ(peer("gate").lines->set().number, 0u);
  EXPECT_EQ(got("gate"), "a value");
  EXPECT_EQ(peer("gate").lines->set().number, 1u);
}

TEST_F(BlobsTest, who_ends_waits_for_nothing) {
  peer("m2").stop();
  peer("m3").stop();
  runtime::Scope scope;
  auto putting = [](Blobs* blobs, Instant deadline, Status* outcome) -> runtime::task<void> {
    *outcome = co_await blobs->put(ingest(), {JobFence(1), 1}, "a value", deadline, nullptr);
  };
  Status outcome;
  scope.spawn(putting(peer("m1").blobs.get(), runtime_->read_clock() + kPatience, &outcome));
  runtime_->run(pause());
  auto closing = [](Blobs* blobs, runtime::Scope* all) -> runtime::task<int> {
    co_await blobs->close();
    co_await all->join();
    co_return 0;
  };
  runtime_->run(closing(peer("m1").blobs.get(), &scope));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kClosed);
}

}  // namespace
}  // namespace bellwether::blobs
