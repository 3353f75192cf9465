#include <gtest/gtest.h>

#include "cluster/vote/vote_watch.h"

namespace bellwether::cluster {
namespace {

using namespace vote;  // NOLINT(google-build-using-namespace)

const std::map<NodeId, std::string> kVoterNames{{NodeId(1), "a"}, {NodeId(2), "b"}};

Message say(Body body) { return {NodeId(1), 2, 77, 9, Term(4), std::move(body)}; }

TEST(VoteWords, each_kind_of_message_has_its_words) {
  EXPECT_EQ(json_of(say(DiscoveryRequest{}), kVoterNames),
            R"({"type":"discovery_request","from":"a","start":2,"sequence":9,"term":4})");
  EXPECT_EQ(json_of(say(DiscoveryResponse{NodeId(2), Term(3), 5, 6}), kVoterNames),
            R"({"type":"discovery_response","from":"a","start":2,"sequence":9,"term":4,"admin":"b","admin_term":3})");
  EXPECT_EQ(json_of(say(ElectionStarted{Term(5), Trigger::kManual, Permission{Term(4), NodeId(2)}}), kVoterNames),
            R"({"type":"election_started","from":"a","start":2,"sequence":9,"term":5,"trigger":"manual_trigger",)"
            R"("permission":{"term":4,"heir":"b"}})");
  Claim claim{.capabilities = {"admin_election"},
              .uptime = Duration::millis(1500),
              .experience = Duration::seconds(3),
              .resources = {0.25, 0.5, 0.75, 1},
              .score = 0.5};
  EXPECT_EQ(json_of(say(Candidacy{Term(5), true, claim}), kVoterNames),
            R"({"type":"candidacy","from":"a","start":2,"sequence":9,"term":5,"stands":true,)"
            R"("capabilities":["admin_election"],"uptime_s":1.5,"experience_s":3.0,"resources":{"cpu_usage":0.25,)"
            R"("memory_usage":0.5,"disk_usage":0.75,"network_quality":1.0},"score":0.5})");
  EXPECT_EQ(json_of(say(Candidacy{Term(5), false, {}}), kVoterNames),
            R"({"type":"candidacy","from":"a","start":2,"sequence":9,"term":5,"stands":false})");
  EXPECT_EQ(json_of(say(Vote{Term(5), NodeId(2)}), kVoterNames),
            R"({"type":"vote","from":"a","start":2,"sequence":9,"term":5,"candidate":"b"})");
  EXPECT_EQ(json_of(say(Winner{Term(5), 1, {NodeId(1), NodeId(7)}}), kVoterNames),
            R"({"type":"winner","from":"a","start":2,"sequence":9,"term":5,"round":1,"voters":["a","7"]})");
  EXPECT_EQ(json_of(say(Heartbeat{Term(5), 3}), kVoterNames),
            R"({"type":"heartbeat","from":"a","start":2,"sequence":9,"term":5,"round":3})");
  EXPECT_EQ(json_of(say(HeartbeatAnswer{Term(5), 3, 77, true, 0.5, Duration::seconds(15)}), kVoterNames),
            R"({"type":"heartbeat_answer","from":"a","start":2,"sequence":9,"term":5,"round":3,"stands":true,)"
            R"("score":0.5,"promise_ms":15000})");
}

TEST(VoteWords, what_a_stranger_writes_stays_valid) {
  Claim claim{.capabilities = {"\xff\"", "b"}};
  const std::string text = json_of(say(Candidacy{Term(1), true, claim}), kVoterNames);
  EXPECT_NE(text.find("\\\""), std::string::npos) << text;
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

}  // namespace
}  // namespace bellwether::cluster
