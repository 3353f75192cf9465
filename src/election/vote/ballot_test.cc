#include "election/vote/ballot.h"

#include <gtest/gtest.h>

namespace bellwether::vote {
namespace {

using BallotKind = Ballot::Outcome::Kind;

Ballot::Candidate candidate(double score, std::string doubt = {}) {
  Claim claim;
  claim.score = score;
  return {claim, std::move(doubt)};
}

void vote(Ballot& ballot, uint64_t voter, uint64_t candidate) { ballot.vote(NodeId(voter), NodeId(candidate)); }

TEST(Ballot, the_best_is_the_highest_score_that_is_believed_and_among_equals_the_lowest_id) {
  Ballot ballot(QuorumRule::kMajority, 5);
  EXPECT_EQ(ballot.best(), kNobody);
  ballot.announce(NodeId(5), std::nullopt);
  EXPECT_EQ(ballot.best(), kNobody) << "it takes part, and does not stand";
  ballot.announce(NodeId(4), candidate(0.5));
  ballot.announce(NodeId(3), candidate(0.5));
  EXPECT_EQ(ballot.best(), NodeId(3));
  ballot.announce(NodeId(2), candidate(0.9, "it is not so"));
  EXPECT_EQ(ballot.best(), NodeId(3));
  ballot.announce(NodeId(1), candidate(0.6));
  EXPECT_EQ(ballot.best(), NodeId(1));
  ballot.announce(NodeId(1), candidate(0.1));
  EXPECT_EQ(ballot.best(), NodeId(1)) << "what was said first counts";
}

TEST(Ballot, a_majority_of_the_members_wins_as_soon_as_it_is_certain) {
  Ballot ballot(QuorumRule::kMajority, 5);
  vote(ballot, 1, 2);
  vote(ballot, 2, 2);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen);
  vote(ballot, 3, 2);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kWon);
  EXPECT_EQ(ballot.outcome(false).winner, NodeId(2));
  EXPECT_EQ(ballot.voters_of(NodeId(2)), (std::vector<NodeId>{NodeId(1), NodeId(2), NodeId(3)}));
}

TEST(Ballot, it_is_over_when_nobody_can_get_a_majority) {
  Ballot ballot(QuorumRule::kMajority, 5);
  vote(ballot, 1, 1);
  vote(ballot, 2, 2);
  vote(ballot, 3, 1);
  vote(ballot, 4, 2);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen);
  vote(ballot, 5, 5);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kNobody);
}

TEST(Ballot, who_is_silent_counts_for_nobody_when_it_closes) {
  Ballot ballot(QuorumRule::kMajority, 5);
  vote(ballot, 1, 1);
  vote(ballot, 2, 1);
  EXPECT_EQ(ballot.outcome(true).kind, BallotKind::kNobody);
}

TEST(Ballot, who_votes_twice_counts_for_nobody) {
  Ballot ballot(QuorumRule::kMajority, 3);
  EXPECT_EQ(ballot.vote(NodeId(1), NodeId(1)), Ballot::Heard::kNew);
  EXPECT_EQ(ballot.vote(NodeId(1), NodeId(1)), Ballot::Heard::kKnown);
  EXPECT_EQ(ballot.vote(NodeId(1), NodeId(2)), Ballot::Heard::kSecond);
  EXPECT_EQ(ballot.votes_for(NodeId(1)), 0u);
  EXPECT_EQ(ballot.votes_for(NodeId(2)), 0u);
  EXPECT_TRUE(ballot.has_voted(NodeId(1)));
  vote(ballot, 2, 2);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen);
  vote(ballot, 3, 2);
  EXPECT_EQ(ballot.outcome(false).winner, NodeId(2));
}

TEST(Ballot, without_a_quorum_most_votes_win_when_it_closes_and_before_when_nobody_can_catch_up) {
  Ballot ballot(QuorumRule::kPlurality, 5);
  EXPECT_EQ(ballot.outcome(true).kind, BallotKind::kNobody);
  vote(ballot, 1, 1);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen);
  EXPECT_EQ(ballot.outcome(true).winner, NodeId(1));
  vote(ballot, 2, 2);
  vote(ballot, 3, 2);
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen) << "one behind, and two are still to vote";
  vote(ballot, 4, 2);
  EXPECT_EQ(ballot.outcome(false).winner, NodeId(2));
}

TEST(Ballot, ties_go_to_the_higher_score_and_then_to_the_lower_id) {
  Ballot ballot(QuorumRule::kPlurality, 4);
  vote(ballot, 1, 3);
  vote(ballot, 2, 4);
  EXPECT_EQ(ballot.outcome(true).winner, NodeId(3));
  ballot.announce(NodeId(3), candidate(0.3));
  ballot.announce(NodeId(4), candidate(0.4));
  EXPECT_EQ(ballot.outcome(true).winner, NodeId(4));
}

TEST(Ballot, the_highest_score_wins_where_that_is_the_rule_and_nobody_has_voted) {
  Ballot ballot(QuorumRule::kHighestScore, 3);
  EXPECT_EQ(ballot.outcome(true).kind, BallotKind::kNobody);
  ballot.announce(NodeId(3), candidate(0.3));
  ballot.announce(NodeId(2), candidate(0.2));
  EXPECT_EQ(ballot.outcome(false).kind, BallotKind::kOpen);
  EXPECT_EQ(ballot.outcome(true).winner, NodeId(3));
  vote(ballot, 1, 2);
  EXPECT_EQ(ballot.outcome(true).winner, NodeId(2)) << "votes go before scores";
}

}  // namespace
}  // namespace bellwether::vote
