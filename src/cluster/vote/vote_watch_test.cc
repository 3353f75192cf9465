#include "cluster/vote/vote_watch.h"

#include <gmock/gmock.h>

namespace bellwether::cluster {
namespace {

using namespace vote;  // NOLINT(google-build-using-namespace)

constexpr WallTime kAt{1};

Instant vote_watch_at(int64_t seconds) { return Instant() + Duration::seconds(1000 + seconds); }
Message say(uint64_t from, Body body, uint64_t sequence = 1) {
  return {NodeId(from), 1, 1, sequence, Term(1), std::move(body)};
}

class VoteWatchTest : public testing::Test {
 protected:
  VoteWatch watch{{{NodeId(1), "a"}, {NodeId(2), "b"}, {NodeId(3), "c"}}, NodeId(1)};

  void send_beat(uint64_t term, uint64_t round, int64_t when = 0) {
    watch.sent(vote_watch_at(when), kAt, say(1, Heartbeat{Term(term), round}), kNobody);
  }
  void answer(uint64_t from, uint64_t term, uint64_t round, std::optional<Refusal> refusal = {}) {
    watch.heard(kAt, say(from, HeartbeatAnswer{Term(term), round, 1, false, 0, {}}), refusal);
  }
  BeatCounts beats(std::size_t i) const { return watch.status(vote_watch_at(0)).followers.at(i).beats; }
  VoteCounts counts() const { return watch.status(vote_watch_at(0)).counts; }
};

TEST_F(VoteWatchTest, a_heartbeat_is_missed_when_the_next_one_comes_first) {
  watch.sent(vote_watch_at(0), kAt, say(1, Winner{Term(5), 1, {}}), kNobody);
  answer(2, 5, 1);
  EXPECT_EQ(beats(0).answered, 0u) << "which is known when the next one is sent";
  send_beat(5, 2);
  EXPECT_EQ(beats(0).answered, 1u);
  EXPECT_EQ(beats(1).missed, 1u);
  answer(3, 5, 2);
  answer(2, 5, 2, Refusal::kReplay);
  answer(2, 4, 9);
  answer(2, 5, 9);
  watch.sent(vote_watch_at(0), kAt, say(1, Heartbeat{Term(5), 2}), NodeId(2));  // said again
  send_beat(5, 3);
  EXPECT_EQ(beats(0).missed, 1u) << "what is refused, of another term, or of no heartbeat answers nothing";
  EXPECT_EQ(beats(1).answered, 1u);
  EXPECT_EQ(counts().beats_sent, 3u);
  answer(2, 5, 3);
  send_beat(7, 1);
  send_beat(7, 2);
  EXPECT_EQ(beats(0).missed, 2u) << "answers of an earlier term count for none of this";
}

TEST_F(VoteWatchTest, what_was_missed_lately_is_of_the_last_64) {
  send_beat(5, 1);
  for (uint64_t round = 1; round <= 100; ++round) {
    if (round > 30) answer(2, 5, round);
    send_beat(5, round + 1);
  }
  EXPECT_EQ(beats(0).missed, 30u);
  EXPECT_EQ(beats(0).lately, 64u);
  EXPECT_EQ(beats(0).missed_lately, 0u);
  EXPECT_EQ(beats(1).missed_lately, 64u);
}

TEST_F(VoteWatchTest, lost_heartbeats_show_in_the_numbers_of_those_that_came) {
  watch.heard_admin(vote_watch_at(0), say(2, Heartbeat{Term(5), 1}));
  watch.heard_admin(vote_watch_at(1), say(2, Heartbeat{Term(5), 2}));
  watch.heard_admin(vote_watch_at(1), say(2, Heartbeat{Term(5), 2}));
  watch.heard_admin(vote_watch_at(3), say(2, Heartbeat{Term(5), 6}, 40));
  EXPECT_EQ(counts().beats_heard, 3u);
  EXPECT_EQ(counts().beats_lost, 3u);
  const auto last = watch.status(vote_watch_at(5)).heartbeat;
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->sent);
  EXPECT_EQ(last->age, Duration::seconds(2));
  EXPECT_EQ(std::tuple(last->term, last->round, last->sequence), std::tuple(5u, 6u, 40u));
  watch.heard_admin(vote_watch_at(6), say(3, Heartbeat{Term(6), 90}));
  watch.heard_admin(vote_watch_at(7), say(3, Vote{Term(6), NodeId(2)}));
  EXPECT_EQ(counts().beats_lost, 3u) << "those of another admin were for others";
  EXPECT_EQ(counts().beats_heard, 4u);
}

TEST_F(VoteWatchTest, elections_count_by_trigger_and_result_with_their_length) {
  watch.election_began(vote_watch_at(0), Term(1), Trigger::kManual);
  watch.election_ended(vote_watch_at(2), Term(9), true, 1);
  watch.election_ended(vote_watch_at(3), Term(1), true, 0.5);
  watch.election_ended(vote_watch_at(3), Term(1), true, 1);
  watch.election_began(vote_watch_at(4), Term(2), Trigger::kHeartbeatTimeout);
  watch.election_ended(vote_watch_at(4) + Duration::millis(100), Term(2), false, {});
  const VoteCounts counted = counts();
  EXPECT_EQ(counted.elections[static_cast<std::size_t>(Trigger::kManual)].elected, 1u);
  EXPECT_EQ(counted.elections[static_cast<std::size_t>(Trigger::kHeartbeatTimeout)].nobody, 1u);
  EXPECT_EQ(counted.participation, 0.5);
  EXPECT_EQ(counted.lengths.count, 2u);
  EXPECT_EQ(counted.lengths.at_most, (std::array<uint64_t, 10>{0, 1, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_NEAR(counted.lengths.sum, 3.1, 1e-9);
  EXPECT_EQ(watch.status(vote_watch_at(3602)).elections_last_hour, 2u);
  EXPECT_EQ(watch.status(vote_watch_at(3604)).elections_last_hour, 1u);
  EXPECT_EQ(watch.status(vote_watch_at(3604)).failed_last_hour, 1u);
}

TEST_F(VoteWatchTest, the_last_messages_are_kept_and_no_more) {
  watch.sent(vote_watch_at(0), kAt, say(1, DiscoveryRequest{}), kNobody);
  watch.heard(kAt, say(2, Vote{Term(5), NodeId(1)}, 8), Refusal::kReplay);
  EXPECT_TRUE(watch.unheard(kAt, "b", Unheard::kUnsigned));
  EXPECT_FALSE(watch.unheard(kAt, "stranger", Unheard::kUnsigned));
  EXPECT_TRUE(watch.unheard(kAt, "b", Unheard::kImpostor));
  auto messages = watch.messages();
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(std::tuple(messages[0].sent, messages[0].peer, messages[0].kind),
            std::tuple(true, "", "discovery_request"));
  EXPECT_EQ(std::tuple(messages[1].peer, messages[1].kind, messages[1].term, messages[1].sequence, messages[1].refused),
            std::tuple("b", "vote", 5u, 8u, "heard_before"));
  EXPECT_THAT(messages[1].json, testing::HasSubstr("\"candidate\":\"a\""));
  EXPECT_EQ(std::tuple(messages[2].peer, messages[2].kind, messages[2].refused), std::tuple("b", "", "not_signed"));
  EXPECT_EQ(counts().unheard, (std::array<uint64_t, 3>{2, 0, 1}));
  EXPECT_EQ(counts().unsigned_of, (std::map<std::string, uint64_t>{{"b", 1}})) << "strangers could be many";
  for (uint64_t i = 0; i < VoteWatch::kMessages; ++i) watch.sent(vote_watch_at(0), kAt, say(1, Vote{}, i), kNobody);
  messages = watch.messages();
  EXPECT_EQ(messages.size(), VoteWatch::kMessages);
  EXPECT_EQ(messages.front().sequence, 0u);
  EXPECT_EQ(counts().sent.at("vote"), VoteWatch::kMessages);
}

}  // namespace
}  // namespace bellwether::cluster
