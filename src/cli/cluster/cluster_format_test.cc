#include "cli/cluster/cluster_format.h"

#include <gtest/gtest.h>

namespace bellwether::cli {
namespace {

node::MembersAnswer members() {
  node::MembersAnswer out;
  out.members = {{.name = "m1",
                  .state = "alive",
                  .role = "manager",
                  .datacenter = "dc1",
                  .address = "10.0.0.1:9000",
                  .incarnation = 2,
                  .since = Duration::millis(1500),
                  .leads = true,
                  .self = true},
                 {.name = "w1", .state = "suspect", .role = "worker", .address = "10.0.0.2:9000", .incarnation = 1}};
  return out;
}

TEST(ClusterWords, members_are_a_row_each) {
  EXPECT_EQ(text_of(members()),
            "NAME  STATE    FOR    ROLE     DATACENTER  ADDRESS        INCARNATION\n"
            "m1    alive    1.50s  manager  dc1         10.0.0.1:9000  2            leads, answers\n"
            "w1    suspect  0ns    worker               10.0.0.2:9000  1\n");
}

TEST(ClusterWords, whoever_leads_does_so_as_somebody_sees_it) {
  node::LeaderView leader{.name = "m1", .term = 7, .since = Duration::seconds(90), .valid_for = Duration::millis(800)};
  leader.evidence = "3 of 3 voters promised";
  leader.answered_by = "m2";
  EXPECT_EQ(text_of(leader),
            "m1 leads, term 7, for 1m30s as m2 sees it: 3 of 3 voters promised\n"
            "its lease runs 800ms more, and is renewed\n");
  leader.name = "";
  EXPECT_EQ(text_of(leader), "nobody leads, as m2 sees it: 3 of 3 voters promised\n");
}

TEST(ClusterWords, managers_who_votes_keeps_jobs_and_has_read) {
  node::ManagersView view;
  view.managers = {
      {.name = "m1", .alive = true, .self = true, .leads = true, .manager = true, .votes = true, .keeps = true},
      {.name = "m2", .alive = true, .manager = true, .keeps = true, .joining = true}};
  view.managers.front().read = true;
  view.changing = true;
  view.doing = "'m2' has not read the jobs";
  EXPECT_EQ(text_of(view),
            "MANAGER  ALIVE  VOTES  KEEPS JOBS  HAS READ\n"
            "m1       yes    yes    yes         yes       leads, answers\n"
            "m2       yes    no     yes         no        joins\n"
            "a change is under way\n"
            "'m2' has not read the jobs\n");
  EXPECT_NE(json_of(view).find("\"keeps\": true"), std::string::npos);
}

TEST(ClusterWords, a_quorum_says_what_is_needed_and_what_is_there) {
  node::QuorumView quorum;
  quorum.voters = {{.name = "m1", .alive = true, .leads = true, .self = true}, {.name = "m2"}};
  quorum.alive = 1;
  quorum.needed = 2;
  EXPECT_EQ(text_of(quorum),
            "VOTER  ALIVE\n"
            "m1     yes    leads, answers\n"
            "m2     no\n"
            "1 of 2 voters alive, 2 needed: NO QUORUM\n");
}

TEST(ClusterWords, what_was_done_is_a_sentence_for_people_and_for_programs) {
  EXPECT_EQ(text_of(std::string("m1 hands over\x1b[0m")), "m1 hands over?[0m\n");
  EXPECT_NE(json_of(std::string("m1 hands over")).find("\"m1 hands over\""), std::string::npos);
  EXPECT_NE(json_of(node::SecretsAnswer{{1, 2}}).find("\"keys\": ["), std::string::npos);
}

TEST(ClusterWords, without_an_election_there_is_nothing_to_show_of_one) {
  node::VotesAnswer votes;
  votes.answered_by = "m1";
  votes.view.rule = "majority";
  EXPECT_EQ(text_of(votes), "no election since m1 was started: `bellwether cluster leader` says whom it follows\n");
  EXPECT_NE(json_of(votes).find("\"weights\": {"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::cli
