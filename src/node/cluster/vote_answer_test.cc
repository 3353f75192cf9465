#include "node/cluster/vote_answer.h"

#include <gtest/gtest.h>

#include "proto/admin.pb.h"

namespace bellwether::node {
namespace {

TEST(VoteAnswer, what_is_known_of_heartbeats_promises_and_refusals_is_told) {
  cluster::VoteStatus status;
  status.heartbeat = cluster::VoteStatus::Heartbeat{true, Duration::millis(250), 4, 9, 31};
  status.promises = {{"b", "a", Duration::millis(-20)}};
  status.followers = {{"b", {7, 2, 6, 1}}};
  status.counts.unheard[static_cast<std::size_t>(cluster::Unheard::kUnsigned)] = 3;
  status.counts.refusals[static_cast<std::size_t>(vote::Refusal::kReplay)] = 5;
  status.counts.unsigned_of = {{"c", 3}};
  status.counts.beats_heard = 11;
  status.counts.beats_lost = 12;
  status.elections_last_hour = 6;
  status.failed_last_hour = 1;
  wire::AdminAnswer answer;
  put_vote_status(status, answer);
  const wire::AdminAnswer::Votes& out = answer.votes();
  EXPECT_TRUE(out.heartbeat().sent());
  EXPECT_EQ(out.heartbeat().age_ms(), 250u);
  EXPECT_EQ(out.heartbeat().term(), 4u);
  EXPECT_EQ(out.heartbeat().round(), 9u);
  EXPECT_EQ(out.heartbeat().sequence(), 31u);
  ASSERT_EQ(out.promises_size(), 1);
  EXPECT_EQ(out.promises(0).by(), "b");
  EXPECT_EQ(out.promises(0).to(), "a");
  EXPECT_EQ(out.promises(0).ends_in_ms(), -20);
  EXPECT_EQ(out.followers(0).name(), "b");
  EXPECT_EQ(out.followers(0).answered(), 7u);
  EXPECT_EQ(out.followers(0).missed(), 2u);
  EXPECT_EQ(out.followers(0).lately(), 6u);
  EXPECT_EQ(out.followers(0).missed_lately(), 1u);
  ASSERT_EQ(out.refused_size(), 2);
  EXPECT_EQ(out.refused(0).reason(), "not_signed");
  EXPECT_EQ(out.refused(1).reason(), "heard_before");
  EXPECT_EQ(out.refused(1).count(), 5u);
  EXPECT_EQ(out.unsigned_of(0), "c");
  EXPECT_EQ(out.beats_heard(), 11u);
  EXPECT_EQ(out.beats_lost(), 12u);
  EXPECT_EQ(out.elections_last_hour(), 6u);
  EXPECT_EQ(out.failed_last_hour(), 1u);
}

TEST(VoteAnswer, of_messages_that_do_not_fit_the_newest_are_told) {
  std::vector<cluster::VoteMessageView> messages(200);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].sequence = i;
    messages[i].json = std::string(10'000, 'x');
  }
  wire::AdminAnswer answer;
  put_vote_messages(messages, answer);
  const wire::AdminAnswer::Votes& out = answer.votes();
  ASSERT_GT(out.messages_size(), 10);
  EXPECT_LE(out.ByteSizeLong(), kVoteMessageBytes);
  EXPECT_EQ(out.messages(out.messages_size() - 1).sequence(), 199u);
  for (auto& one : messages) one.json = "{}";
  answer.mutable_votes()->clear_messages();
  put_vote_messages(messages, answer);
  EXPECT_EQ(out.messages_size(), 200);
  EXPECT_EQ(out.messages(0).sequence(), 0u);
}

}  // namespace
}  // namespace bellwether::node
