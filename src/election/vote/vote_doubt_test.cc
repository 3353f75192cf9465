// Voters that do not believe what a candidate says of itself, and elections that this splits.
#include "election/vote/vote_elector.h"
#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

// Node 1 is dead. Node 2 believes itself, and node 3 does not: its life began after it had been heard of.
void split_votes(VoteGroup& group) {
  ASSERT_EQ(group.lead(), 1u);
  group.stop(1);
  group.stop(2);
  group.start(2);
}

using VoteDoubtOfThree = VoteOf<3>;

TEST_F(VoteDoubtOfThree, votes_that_are_split_are_not_split_for_ever) {
  split_votes(group);
  EXPECT_TRUE(group.run_until(Duration::minutes(1), [&] { return group.admin() != 0; }));
  EXPECT_TRUE(group.was_noted(3, "does not vote for node 2: it claims an uptime of"));
  EXPECT_EQ(group.admin(), 3u);
}

TEST_F(VoteDoubtOfThree, an_election_that_is_split_is_over_soon_after_all_who_take_part_have_voted) {
  split_votes(group);
  group.forget();
  const auto votes = [&] { return group.sent<Vote>(2) > 0 && group.sent<Vote>(3) > 0; };
  ASSERT_TRUE(group.run_until(Duration::seconds(30), votes));
  EXPECT_TRUE(group.run_until(kLan.gather * 2 + Duration::millis(5),
                              [&] { return group.all<ElectionComplete>(3).size() == 1; }));
  EXPECT_EQ(group.all<ElectionComplete>(3).at(0).why, "no candidate had enough votes in time");
}

TEST_F(VoteDoubtOfThree, where_no_majority_is_needed_who_is_late_may_decide) {
  group.rule = QuorumRule::kPlurality;
  split_votes(group);
  group.forget();
  const auto votes = [&] { return group.sent<Vote>(2) > 0 && group.sent<Vote>(3) > 0; };
  ASSERT_TRUE(group.run_until(Duration::seconds(30), votes));
  group.run(kLan.election / 2);
  EXPECT_TRUE(group.all<ElectionComplete>(3).empty());
}

// After split votes each candidate steps back by chance: sometimes all of them do.
TEST(VoteDoubt, an_election_in_which_nobody_stands_is_over_soon) {
  std::size_t without_candidate = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    VoteGroup group(3, kLan, seed);
    split_votes(group);
    Instant since = group.now;
    std::size_t over = 0;
    bool stood = true;
    ASSERT_TRUE(group.run_until(Duration::minutes(1), [&] {
      const std::size_t ended = group.all<ElectionComplete>(3).size();
      if (group[3].state() != State::kElecting || std::exchange(over, ended) != ended) {
        without_candidate += !std::exchange(stood, true);
        since = group.now;
      } else if (group.now - since > kLan.gather) {
        stood = group[3].ballot()->anybody_stands();
      }
      EXPECT_LE(group.now - since, kLan.election / 2);
      return group.admin() != 0;
    }));
  }
  EXPECT_GT(without_candidate, 3u);
}

// What was read late makes all that is said later look like a lie.
TEST_F(VoteDoubtOfThree, a_doubt_wears_off) {
  group.claims[3].capabilities = {};
  ASSERT_EQ(group.lead(), 1u);
  Claim claim = group.claims[2];
  claim.experience += kClaimSlack + kLan.heartbeat_timeout * 10;
  group.say(2, Measured{claim});
  group.stop(1);
  group.forget();
  EXPECT_TRUE(group.run_until(Duration::minutes(1), [&] { return group.admin() == 2; }));
  std::size_t doubts = 0;
  for (const Note& one : group.all<Note>(3))
    doubts += one.text.starts_with("does not vote for node 2: it claims a total uptime");
  EXPECT_EQ(doubts, 4u) << "1, 3, 7 and 15 heartbeat timeouts are forgiven";
}

TEST_F(VoteDoubtOfThree, what_a_candidate_says_of_itself_is_as_old_as_its_word) {
  ASSERT_EQ(group.lead(), 1u);
  const Instant measured = Instant::from_ns(1'000'000'000);
  group.run(Duration::minutes(10));
  group.stop(1);
  group.forget();
  ASSERT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.sent<Candidacy>(2) == 1; }));
  for (const Broadcast& one : group.all<Broadcast>(2)) {
    const auto* candidacy = std::get_if<Candidacy>(&one.message.body);
    if (candidacy == nullptr) continue;
    const Duration since = group.now - measured;
    EXPECT_GE(candidacy->claim.experience, group.claims[2].experience + since - Duration::millis(1));
    EXPECT_GE(candidacy->claim.uptime, group.claims[2].uptime + since - Duration::millis(1));
  }
}

}  // namespace
}  // namespace bellwether::vote
