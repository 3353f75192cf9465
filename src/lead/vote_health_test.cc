#include <gmock/gmock.h>

#include "lead/health.h"

namespace bellwether::node {
namespace {

using lead::Finding;
using lead::Severity;
using testing::HasSubstr;

class VoteHealth : public testing::Test {
 protected:
  VoteHealth() {
    for (const char* name : {"a", "b", "c"}) {
      NodeReport one;
      one.name = name;
      one.leader = "a";
      one.term = 3;
      one.alive = 3;
      one.needed = 2;
      one.rule = "majority";
      nodes.push_back(one);
    }
    nodes[0].acts = true;
    nodes[0].followers = {{"b", 64, 0}, {"c", 64, 0}};
  }
  lead::Findings judge() const {
    lead::Findings out;
    judge_votes(nodes, "m1.yaml", {}, out);
    return out;
  }
  // REQUIRES such a finding.
  Finding the(const std::string& what) const {
    const lead::Findings all = judge();
    EXPECT_EQ(all.size(), 1u);
    EXPECT_FALSE(all.empty() || all[0].why.empty() || all[0].command.empty());
    EXPECT_EQ(all.empty() ? "" : all[0].what, what);
    return all.empty() ? Finding() : all[0];
  }

  std::vector<NodeReport> nodes;
};

TEST_F(VoteHealth, one_leader_and_few_elections_are_healthy) {
  nodes[1].elections_last_hour = 4;
  nodes[0].followers[0] = {"b", 64, 6};
  nodes[0].followers[1] = {"c", 19, 19};
  EXPECT_TRUE(judge().empty());
}

TEST_F(VoteHealth, too_many_elections_are_told_with_their_number) {
  nodes[1].elections_last_hour = 5;
  nodes[1].failed_last_hour = 2;
  EXPECT_EQ(the("there are too many elections").severity, Severity::kWarning);
  nodes[1].elections_last_hour = 10;
  const Finding finding = the("there are too many elections");
  EXPECT_EQ(finding.severity, Severity::kCritical);
  EXPECT_THAT(finding.evidence,
              HasSubstr("b took part in 10 elections within the last hour, 2 of them without a winner"));
  EXPECT_THAT(finding.command, HasSubstr("heartbeat_timeout"));
}

TEST_F(VoteHealth, two_who_act_are_told_with_what_permits_it) {
  nodes[1].acts = true;
  nodes[1].term = 4;
  const Finding finding = the("two nodes lead at once");
  EXPECT_EQ(finding.severity, Severity::kCritical);
  EXPECT_EQ(finding.evidence, "a in term 3; b in term 4");
  EXPECT_THAT(finding.why, HasSubstr("a node votes twice"));
  nodes[1].rule = "plurality";
  EXPECT_THAT(the("two nodes lead at once").why, HasSubstr("vote.quorum: majority prevents it"));
}

TEST_F(VoteHealth, that_nobody_leads_is_told_with_its_causes) {
  nodes[0].acts = false;
  EXPECT_THAT(the("no node leads").evidence, HasSubstr("an election may be in progress"));
  nodes[1].last_end = "no candidate can get enough votes";
  nodes[1].doubts = {"c: a score of 2"};
  EXPECT_EQ(the("no node leads").evidence,
            "b, last election: no candidate can get enough votes; b does not believe c: a score of 2");
  for (NodeReport& one : nodes) one.stands_back = "it has no capability that permits a candidacy";
  EXPECT_THAT(the("no node leads").command, HasSubstr("agent.capabilities"));
  nodes[2].alive = 1;
  const Finding finding = the("no node leads");
  EXPECT_EQ(finding.severity, Severity::kCritical);
  EXPECT_THAT(finding.evidence, HasSubstr("c sees 1 voter alive; 2 are needed"));
  EXPECT_THAT(finding.command, HasSubstr("start the missing voters"));
}

TEST_F(VoteHealth, keys_that_do_not_fit_are_told_also_when_somebody_leads) {
  nodes[0].unsigned_of = {"c"};
  const Finding finding = the("keys of voters do not match");
  EXPECT_EQ(finding.evidence, "a refuses the messages of c");
  EXPECT_THAT(finding.command, HasSubstr("openssl pkey"));
}

TEST_F(VoteHealth, heartbeats_that_are_lost_are_told_of_who_can_be_asked) {
  nodes[0].followers = {{"b", 64, 7}, {"c", 64, 64}};
  nodes[2].trouble = "refused";
  lead::Findings all = judge();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].what, "voters do not answer");
  EXPECT_EQ(all[0].evidence, "c: refused");
  EXPECT_EQ(all[1].what, "heartbeats are lost");
  EXPECT_EQ(all[1].severity, Severity::kWarning);
  EXPECT_EQ(all[1].evidence, "b has not answered 7 of the last 64 heartbeats of a in time");
  nodes[0].followers[0].missed_lately = 32;
  EXPECT_EQ(judge()[1].severity, Severity::kCritical);
}

TEST_F(VoteHealth, nobody_to_ask_is_nobody_who_leads) {
  for (NodeReport& one : nodes) one.trouble = "no way";
  const lead::Findings all = judge();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].evidence, "no voter could be asked");
}

}  // namespace
}  // namespace bellwether::node
