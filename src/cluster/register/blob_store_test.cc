#include "cluster/register/blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bellwether::blobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const BlobKey kKey{"job", "ingest"};

// A store whose disk does what the test says.
class BlobStoreTest : public testing::Test {
 protected:
  static Version version(uint64_t fence, uint64_t number) { return {JobFence(fence), number}; }
  static std::string piece_bytes_of(std::size_t index) {
    return std::string(kPieceBytes, static_cast<char>('a' + index));
  }
  // Of so many full pieces.
  static BlobHead head(Version version, std::size_t pieces) {
    BlobHead head{version, pieces * kPieceBytes, {}};
    for (std::size_t i = 0; i < pieces; ++i) head.pieces.push_back(wire::sha256(as_bytes(piece_bytes_of(i))));
    return head;
  }
  static Piece piece(Version version, uint32_t index) { return {kKey, version, index, false, piece_bytes_of(index)}; }
  Decision decide(const Question& question) { return store_.decide(now_, question); }
  // Until an answer comes, with a disk that works.
  Answer ask(const Question& question) {
    while (true) {
      Decision next = decide(question);
      if (auto* answered = std::get_if<Answer>(&next)) return std::move(*answered);
      if (std::holds_alternative<ReadPiece>(next)) return answer(Verdict::kKept);
      store_.written(next, true);
    }
  }
  Verdict verdict(const Question& question) { return ask(question).verdict; }
  Verdict put(Version version, std::size_t pieces) {
    const Answer offered = ask(Offer{kKey, head(version, pieces)});
    if (offered.verdict != Verdict::kWanted) return offered.verdict;
    for (const uint32_t index : offered.wanted) ask(piece(version, index));
    return verdict(Offer{kKey, head(version, pieces)});
  }
  void clean() {
    for (const Decision& one : store_.expire(now_)) store_.written(one, true);
  }

  Instant now_ = Instant::from_ns(1);
  BlobStore store_{
      {.most_bytes = 8 * kPieceBytes, .most_values = 3, .most_jobs = 3, .most_uploads = 2, .others = {"m2"}}};
};

TEST_F(BlobStoreTest, a_value_is_there_when_its_last_piece_is) {
  const Version first = version(1, 1);
  EXPECT_THAT(ask(Offer{kKey, head(first, 3)}).wanted, ElementsAre(0, 1, 2));
  EXPECT_EQ(verdict(piece(first, 2)), Verdict::kWanted);
  EXPECT_EQ(verdict(piece(first, 0)), Verdict::kWanted);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kNothing);
  EXPECT_EQ(verdict(Fetch{kKey, first, 0}), Verdict::kNothing);
  EXPECT_EQ(verdict(piece(first, 1)), Verdict::kKept);
  EXPECT_EQ(ask(Look{kKey, {}}).head, head(first, 3));
  EXPECT_TRUE(std::holds_alternative<ReadPiece>(decide(Fetch{kKey, first, 2})));
  EXPECT_EQ(verdict(Fetch{kKey, first, 3}), Verdict::kNothing);
}

TEST_F(BlobStoreTest, nothing_is_answered_before_it_is_durable) {
  const Version first = version(1, 1);
  ask(Offer{kKey, head(first, 1)});
  const Decision writing = decide(piece(first, 0));
  ASSERT_TRUE(std::holds_alternative<KeepPiece>(writing));
  EXPECT_TRUE(std::get<KeepPiece>(writing).first);
  EXPECT_EQ(verdict(piece(first, 0)), Verdict::kBusy);
  EXPECT_EQ(verdict(Offer{kKey, head(first, 1)}), Verdict::kBusy);
  store_.written(writing, true);
  const Decision committing = decide(piece(first, 0));
  ASSERT_TRUE(std::holds_alternative<Commit>(committing));
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kNothing);
  EXPECT_EQ(verdict(Offer{kKey, head(first, 1)}), Verdict::kBusy);
  store_.written(committing, true);
  EXPECT_EQ(verdict(Offer{kKey, head(first, 1)}), Verdict::kKept);
}

TEST_F(BlobStoreTest, what_could_not_be_written_is_wanted_again) {
  const Version first = version(1, 1);
  ask(Offer{kKey, head(first, 1)});
  store_.written(decide(piece(first, 0)), false);
  EXPECT_THAT(ask(Offer{kKey, head(first, 1)}).wanted, ElementsAre(0));
  store_.written(decide(piece(first, 0)), true);
  store_.written(decide(piece(first, 0)), false);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kNothing);
  EXPECT_EQ(verdict(Offer{kKey, head(first, 1)}), Verdict::kKept);
}

// The disk may have the record already: its pieces must stay until something newer is certain.
TEST_F(BlobStoreTest, a_commit_in_doubt_is_written_again_and_not_cleaned_up) {
  const Version first = version(1, 1);
  ask(Offer{kKey, head(first, 1)});
  store_.written(decide(piece(first, 0)), true);
  store_.written(decide(piece(first, 0)), false);
  now_ += Duration::minutes(10);
  const auto todo = store_.expire(now_);
  ASSERT_EQ(todo.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<Commit>(todo[0]));
  store_.written(todo[0], true);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kKept);
}

TEST_F(BlobStoreTest, a_newer_version_takes_the_place_of_the_older_at_once) {
  EXPECT_EQ(put(version(1, 1), 2), Verdict::kKept);
  EXPECT_EQ(store_.bytes(), 2 * kPieceBytes);
  const Version second = version(1, 2);
  ask(Offer{kKey, head(second, 1)});
  store_.written(decide(piece(second, 0)), true);
  const Decision committing = decide(piece(second, 0));
  ASSERT_TRUE(std::holds_alternative<Commit>(committing));
  EXPECT_EQ(std::get<Commit>(committing).old.pieces, 2u);
  EXPECT_EQ(ask(Look{kKey, {}}).head.version, version(1, 1));
  store_.written(committing, true);
  EXPECT_EQ(ask(Look{kKey, {}}).head.version, second);
  EXPECT_EQ(store_.bytes(), kPieceBytes);
  const Answer late = ask(Offer{kKey, head(version(1, 1), 2)});
  EXPECT_EQ(late.verdict, Verdict::kNewer);
  EXPECT_EQ(late.head.version, second);
  EXPECT_EQ(verdict(Fetch{kKey, version(1, 1), 0}), Verdict::kNewer);
}

TEST_F(BlobStoreTest, one_version_is_never_two_values) {
  EXPECT_EQ(put(version(1, 1), 1), Verdict::kKept);
  const Answer other = ask(Offer{kKey, head(version(1, 1), 2)});
  EXPECT_EQ(other.verdict, Verdict::kUnable);
  EXPECT_THAT(other.why, HasSubstr("a different value under version 1 under fence 1"));
  ask(Offer{kKey, head(version(1, 2), 1)});
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 2), 2)}), Verdict::kUnable);
  Piece wrong = piece(version(1, 2), 0);
  wrong.bytes[17] = '?';
  EXPECT_EQ(verdict(wrong), Verdict::kUnable);
}

TEST_F(BlobStoreTest, after_a_promise_nothing_under_a_lower_fence_is_taken) {
  EXPECT_EQ(put(version(1, 1), 1), Verdict::kKept);
  ask(Offer{kKey, head(version(1, 2), 1)});
  const Decision promising = decide(Look{kKey, JobFence(2)});
  ASSERT_TRUE(std::holds_alternative<KeepFence>(promising));
  // From when it is decided, and not only from when it is durable.
  EXPECT_EQ(verdict(piece(version(1, 2), 0)), Verdict::kFenced);
  ASSERT_TRUE(std::holds_alternative<KeepFence>(decide(Look{kKey, JobFence(2)})));
  store_.written(promising, true);
  EXPECT_EQ(verdict(Look{kKey, JobFence(2)}), Verdict::kKept);
  EXPECT_EQ(ask(Look{kKey, JobFence(1)}).fence, JobFence(2));
  EXPECT_EQ(verdict(Look{kKey, JobFence(1)}), Verdict::kFenced);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kKept);
  // Not even what is here already is a success of its writer any more.
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 1), 1)}), Verdict::kFenced);
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 1), 1), true}), Verdict::kKept);
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 3), 1), true}), Verdict::kWanted);
  EXPECT_EQ(put(version(2, 1), 1), Verdict::kKept);
}

TEST_F(BlobStoreTest, two_writers_do_not_throw_each_others_pieces_away) {
  ask(Offer{kKey, head(version(1, 1), 2)});
  ask(piece(version(1, 1), 0));
  ask(Offer{kKey, head(version(2, 1), 2)});
  ask(piece(version(2, 1), 0));
  EXPECT_EQ(verdict(piece(version(1, 1), 1)), Verdict::kKept);
  EXPECT_EQ(verdict(piece(version(2, 1), 1)), Verdict::kKept);
  EXPECT_EQ(ask(Look{kKey, {}}).head.version, version(2, 1));
  clean();
  EXPECT_EQ(store_.bytes(), 2 * kPieceBytes);
}

TEST_F(BlobStoreTest, what_was_begun_and_left_goes_away) {
  ask(Offer{kKey, head(version(1, 1), 3)});
  ask(piece(version(1, 1), 0));
  ask(Offer{kKey, head(version(1, 2), 2)});  // of the same writer: the one before is given up
  EXPECT_EQ(verdict(piece(version(1, 1), 1)), Verdict::kNothing);
  clean();
  EXPECT_EQ(store_.bytes(), 2 * kPieceBytes);
  now_ += Duration::minutes(5);
  clean();
  EXPECT_EQ(verdict(piece(version(1, 2), 1)), Verdict::kNothing);
  clean();
  EXPECT_EQ(store_.bytes(), 0u);
}

TEST_F(BlobStoreTest, it_takes_no_more_than_it_may_have) {
  EXPECT_EQ(put(version(1, 1), 6), Verdict::kKept);
  const BlobKey other{"other", "ingest"};
  const Answer full = ask(Offer{other, head(version(1, 1), 3)});
  EXPECT_EQ(full.verdict, Verdict::kUnable);
  EXPECT_THAT(full.why, HasSubstr("the limit is 4194304"));
  EXPECT_EQ(verdict(Offer{other, head(version(1, 1), 1)}), Verdict::kWanted);
  EXPECT_EQ(verdict(Offer{{"third", "a"}, head(version(1, 1), 1)}), Verdict::kWanted);
  EXPECT_EQ(verdict(Offer{{"fourth", "a"}, head(version(1, 1), 0)}), Verdict::kUnable);
  // Another version of a present value is no further value, but too many are incomplete.
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 2), 0)}), Verdict::kBusy);
  now_ += Duration::seconds(20);
  EXPECT_EQ(verdict(Offer{kKey, head(version(1, 2), 0)}), Verdict::kKept);
}

TEST_F(BlobStoreTest, a_dropped_job_is_dead_for_its_time) {
  EXPECT_EQ(put(version(1, 1), 2), Verdict::kKept);
  ask(Look{kKey, JobFence(5)});
  ask(Offer{{"job", "bundle"}, head(version(5, 1), 1)});
  const Decision dropping = decide(Drop{"job", false});
  ASSERT_TRUE(std::holds_alternative<KeepDrop>(dropping));
  EXPECT_EQ(std::get<KeepDrop>(dropping).slots.size(), 2u);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kDropped);
  store_.written(dropping, false);
  const Decision again = decide(Drop{"job", false});
  ASSERT_TRUE(std::holds_alternative<KeepDrop>(again));
  EXPECT_EQ(std::get<KeepDrop>(again).slots.size(), 2u);
  store_.written(again, true);
  EXPECT_EQ(verdict(Drop{"job", false}), Verdict::kKept);
  EXPECT_EQ(store_.bytes(), 0u);
  EXPECT_EQ(put(version(9, 1), 1), Verdict::kDropped);
  now_ += Duration::hours(2);
  clean();  // one that keeps blobs too has not heard of it
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kDropped);
  EXPECT_THAT(store_.untold("m2", 10), ElementsAre("job"));
  store_.told("m2", "job");
  EXPECT_THAT(store_.untold("m2", 10), IsEmpty());
  clean();
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kNothing);
}

// Else two that inform each other of it would do so for ever.
TEST_F(BlobStoreTest, a_leftover_that_is_not_there_is_not_remembered) {
  EXPECT_EQ(verdict(Drop{"unknown", true}), Verdict::kKept);
  EXPECT_THAT(store_.untold("m2", 10), IsEmpty());
  EXPECT_EQ(put(version(1, 1), 1), Verdict::kKept);
  EXPECT_EQ(verdict(Drop{"job", true}), Verdict::kKept);
  EXPECT_EQ(store_.values(), 0u);
}

TEST_F(BlobStoreTest, a_commit_that_is_overtaken_by_the_end_of_its_job_changes_nothing) {
  const Version first = version(1, 1);
  ask(Offer{kKey, head(first, 1)});
  store_.written(decide(piece(first, 0)), true);
  const Decision committing = decide(piece(first, 0));
  const Decision dropping = decide(Drop{"job", false});
  store_.written(committing, true);
  store_.written(dropping, true);
  EXPECT_EQ(verdict(Look{kKey, {}}), Verdict::kDropped);
  EXPECT_EQ(store_.values(), 0u);
  EXPECT_EQ(store_.bytes(), 0u);
}

TEST_F(BlobStoreTest, tombstones_have_a_limit_and_the_oldest_goes) {
  for (int i = 0; i < 5; ++i) {
    now_ += Duration::seconds(1);
    ask(Drop{"job" + std::to_string(i), false});
  }
  clean();
  EXPECT_EQ(verdict(Look{{"job0", "a"}, {}}), Verdict::kNothing);
  EXPECT_EQ(verdict(Look{{"job4", "a"}, {}}), Verdict::kDropped);
}

TEST(CopyTally, a_majority_agrees_or_cannot_any_more) {
  Tally tally({0, {"a", "b", "c"}, {}});
  tally.say(0, Tally::Vote::kYes);
  EXPECT_FALSE(tally.agreed());
  tally.say(1, Tally::Vote::kNo);
  EXPECT_FALSE(tally.hopeless());
  tally.say(1, Tally::Vote::kYes);  // the first word counts
  EXPECT_FALSE(tally.agreed());
  tally.say(2, Tally::Vote::kYes);
  EXPECT_TRUE(tally.agreed());
  Tally four({0, {"a", "b", "c", "d"}, {}});
  four.say(0, Tally::Vote::kNo);
  EXPECT_FALSE(four.hopeless());
  four.say(1, Tally::Vote::kNo);
  EXPECT_TRUE(four.hopeless());
}

TEST(CopyTally, during_a_change_both_sets_must_agree) {
  Tally tally({1, {"a", "b", "c"}, {"c", "d", "e"}});
  EXPECT_EQ(tally.voters(), 5u);
  EXPECT_EQ(tally.name(3), "d");
  for (const std::size_t old : {0, 1}) tally.say(old, Tally::Vote::kYes);
  EXPECT_FALSE(tally.agreed());
  tally.say(3, Tally::Vote::kNo);
  EXPECT_FALSE(tally.hopeless());
  Tally other = tally;
  other.say(4, Tally::Vote::kNo);
  EXPECT_TRUE(other.hopeless());
  for (const std::size_t next : {2, 4}) tally.say(next, Tally::Vote::kYes);
  EXPECT_TRUE(tally.agreed());
}

TEST_F(BlobStoreTest, tells_another_replica_what_it_has_in_pages) {
  ask(Look{kKey, JobFence(4)});
  put(version(4, 1), 1);
  ask(Offer{{"job", "bundle"}, head(version(4, 1), 1)});  // not complete
  ask(Drop{"gone", false});
  const Answer all = ask(List{});
  EXPECT_EQ(all.verdict, Verdict::kKept);
  EXPECT_FALSE(all.more);
  EXPECT_THAT(all.listed, ElementsAre(Listed{"gone", "", {}, {}, true}, Listed{"job", "", {}, JobFence(4), false},
                                      Listed{"job", "ingest", version(4, 1), {}, false}));
  EXPECT_THAT(ask(List{"job", ""}).listed, ElementsAre(all.listed[2]));
  EXPECT_THAT(ask(List{"job", "ingest"}).listed, IsEmpty());

  BlobStore many({.most_jobs = 3'000});
  BlobStoreStart start;
  for (int i = 0; i < 2'500; ++i) start.fences.emplace_back(fmt::format("job{:04}", i), JobFence(1));
  many.start(now_, start);
  std::vector<Listed> found;
  Answer page;
  do {
    const Listed last = found.empty() ? Listed() : found.back();
    page = std::get<Answer>(many.decide(now_, List{last.job, last.kind}));
    found.insert(found.end(), page.listed.begin(), page.listed.end());
  } while (page.more);
  ASSERT_EQ(found.size(), 2'500u);
  EXPECT_EQ(found.back().job, "job2499");
}

TEST(CopyTally, the_newest_of_all_is_found_with_those_that_have_it) {
  const auto kept = [](uint64_t fence, uint64_t number) {
    Answer one = answer(Verdict::kKept);
    one.head.version = {JobFence(fence), number};
    return std::optional<Answer>(one);
  };
  const Newest newest = newest_of({kept(1, 9), std::nullopt, kept(2, 1), answer(Verdict::kNothing), kept(2, 1)});
  ASSERT_TRUE(newest.head);
  EXPECT_EQ(newest.head->version, (Version{JobFence(2), 1}));
  EXPECT_THAT(newest.at, ElementsAre(2, 4));
  EXPECT_FALSE(newest_of({answer(Verdict::kNothing), std::nullopt}).head);
}

}  // namespace
}  // namespace bellwether::blobs
