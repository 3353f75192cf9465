// A voter votes by its own knowledge of others, and reports their acts for their reputation.
#include <gmock/gmock.h>

#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

// Nodes 2 and 3 have been told of node 1, which has the best score, before they hear of its candidacy.
class VoteTrust : public testing::Test {
 protected:
  uint64_t elect(const Event& of_first, double weight = 0) {
    for (uint64_t id = 1; id <= 3; ++id) {
      VoteConfig config = group_.config(id);
      config.reputation_weight = weight;
      group_.start(id, config);
      if (id != 1) group_.say(id, of_first);
    }
    group_.run_until(Duration::seconds(20), [this] { return group_.admin() != 0 && group_.admin() != 1; });
    return group_.admin();
  }
  std::size_t deeds(uint64_t by, uint64_t of, Deed deed) {
    const std::vector<Conduct> all = group_.all<Conduct>(by);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const Conduct& one) { return one.node == NodeId(of) && one.deed == deed; }));
  }
  std::string doubt_of_first() { return group_[2].ballot()->announcements().at(NodeId(1))->doubt; }

  VoteGroup group_{3};
};

TEST_F(VoteTrust, what_was_not_attested_is_not_voted_for_and_remembered) {
  EXPECT_NE(elect(PeerVetted{NodeId(1), std::vector<std::string>(), "its attestation is for the node 2"}), 1u);
  EXPECT_EQ(doubt_of_first(), "the capability 'admin_election', and its attestation is for the node 2");
  EXPECT_GT(deeds(2, 1, Deed::kWrongClaim), 0u);
  EXPECT_EQ(deeds(2, 3, Deed::kWrongClaim), 0u);
}

TEST_F(VoteTrust, a_candidate_says_what_it_was_attested) {
  group_.claims[1].attestation = "by an operator";
  group_.lead();
  EXPECT_EQ(group_[2].ballot()->announcements().at(NodeId(1))->claim.attestation, "by an operator");
}

TEST_F(VoteTrust, whom_membership_does_not_hold_is_not_voted_for_and_not_blamed) {
  EXPECT_NE(elect(PeerVetted{.node = NodeId(1), .absent = "membership does not hold it alive"}), 1u);
  EXPECT_EQ(doubt_of_first(), "membership does not hold it alive");
  EXPECT_EQ(deeds(2, 1, Deed::kWrongClaim), 0u);
}

TEST_F(VoteTrust, whose_network_was_measured_to_be_worse_is_not_voted_for_and_not_blamed) {
  EXPECT_NE(elect(PeerMeasured{NodeId(1), 0}), 1u);
  EXPECT_THAT(doubt_of_first(), testing::HasSubstr("it claims a network quality of 90 %; this node measures 0 %"));
  EXPECT_EQ(deeds(2, 1, Deed::kWrongClaim), 0u);
}

TEST_F(VoteTrust, a_bad_reputation_costs_its_weight) {
  EXPECT_EQ(elect(PeerReputation{NodeId(1), 0.5}, 0.2), 2u);
  const auto& first = *group_[2].ballot()->announcements().at(NodeId(1));
  EXPECT_EQ(first.doubt, "");
  EXPECT_DOUBLE_EQ(first.penalty, 0.1);
}

TEST_F(VoteTrust, a_reputation_counts_for_nothing_without_a_weight) {
  for (uint64_t id = 1; id <= 3; ++id) group_.start(id);
  for (const uint64_t id : {2, 3}) group_.say(id, PeerReputation{NodeId(1), 0});
  EXPECT_TRUE(group_.run_until(Duration::seconds(20), [this] { return group_.admin() == 1; }));
}

TEST_F(VoteTrust, voters_that_disagree_elect_somebody_in_the_end) {
  // Each of three believes another one to be the best.
  for (uint64_t id = 1; id <= 3; ++id) {
    VoteConfig config = group_.config(id);
    config.reputation_weight = 1;
    group_.start(id, config);
    for (uint64_t other = 1; other <= 3; ++other) {
      if (other != id && other != id % 3 + 1) group_.say(id, PeerReputation{NodeId(other), 0});
    }
  }
  EXPECT_TRUE(group_.run_until(Duration::seconds(60), [this] { return group_.admin() != 0; }));
}

TEST_F(VoteTrust, an_admin_hands_over_to_nobody_of_bad_reputation) {
  for (uint64_t id = 1; id <= 3; ++id) {
    VoteConfig config = group_.config(id);
    config.reputation_weight = 1;
    group_.start(id, config);
  }
  ASSERT_TRUE(group_.run_until(Duration::seconds(20), [this] { return group_.admin() == 1; }));
  group_.say(1, PeerReputation{NodeId(2), 0.5});
  group_.claims[2].uptime = kFullUptime;
  group_.say(2, Measured{group_.claims[2]});
  group_.run(Duration::seconds(20));
  EXPECT_EQ(group_.admin(), 1u);
  // Without a name, the node with the better score in the end.
  group_.say(1, Transfer{kNobody, "an operator wants it"});
  EXPECT_TRUE(group_.run_until(Duration::seconds(20), [this] { return group_.admin() == 3; }));
}

TEST_F(VoteTrust, who_knows_an_admin_from_hearsay_does_not_blame_it) {
  const uint64_t first = group_.lead();
  group_.stop(3);
  // Node 2 still says who is the admin; node 3 never hears it itself.
  group_.part(first, 3);
  group_.start(3);
  ASSERT_TRUE(group_.run_until(Duration::seconds(5), [&] { return group_[3].admin() == NodeId(first); }));
  group_.run(Duration::seconds(5));
  EXPECT_EQ(deeds(3, first, Deed::kLostHeartbeats), 0u);
}

TEST_F(VoteTrust, heartbeats_that_are_owed_and_terms_that_are_served_are_told) {
  const uint64_t first = group_.lead();
  group_.say(first, Transfer{NodeId(2), "an operator wants it"});
  ASSERT_TRUE(group_.run_until(Duration::seconds(20), [this] { return group_.admin() == 2; }));
  EXPECT_EQ(deeds(3, first, Deed::kServed), 1u);
  EXPECT_EQ(deeds(3, first, Deed::kLostHeartbeats), 0u);
  group_.stop(2);
  ASSERT_TRUE(group_.run_until(Duration::seconds(20), [this] { return group_.admin() != 0 && group_.admin() != 2; }));
  EXPECT_EQ(deeds(3, 2, Deed::kLostHeartbeats), 1u);
}

}  // namespace
}  // namespace bellwether::vote
