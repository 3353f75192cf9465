#include <gmock/gmock.h>

#include "cluster/node/admin_messages.h"

namespace bellwether::node {
namespace {

using testing::ElementsAre;

VotesAnswer sent(const VotesAnswer& answer) {
  const auto read = message::decode<AdminAnswer>(message::encode(AdminAnswer(answer)));
  EXPECT_TRUE(read) << read.error().message;
  return std::get<VotesAnswer>(*read);
}

TEST(VoteAnswer, what_is_known_of_heartbeats_promises_and_refusals_is_told) {
  cluster::VoteView view;
  cluster::VoteStatus& status = view.status;
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
  const VotesAnswer out = sent(votes_answer(view, {}, "a"));
  const cluster::VoteStatus& told = out.view.status;
  EXPECT_EQ(out.answered_by, "a");
  EXPECT_THAT(out.weights, ElementsAre(0.30, 0.20, 0.20, 0.15, 0.15, 0.30));
  EXPECT_THAT(*told.heartbeat, testing::FieldsAre(true, Duration::millis(250), 4, 9, 31));
  EXPECT_THAT(told.promises, ElementsAre(testing::FieldsAre("b", "a", Duration::millis(-20))));
  EXPECT_THAT(told.followers, ElementsAre(testing::FieldsAre("b", testing::FieldsAre(7, 2, 6, 1))));
  EXPECT_THAT(out.refused, ElementsAre(testing::FieldsAre("not_signed", 3), testing::FieldsAre("heard_before", 5)));
  EXPECT_THAT(out.unsigned_of, ElementsAre("c"));
  EXPECT_EQ(told.counts.beats_heard, 11u);
  EXPECT_EQ(told.counts.beats_lost, 12u);
  EXPECT_EQ(told.elections_last_hour, 6u);
  EXPECT_EQ(told.failed_last_hour, 1u);
}

TEST(VoteAnswer, of_messages_that_do_not_fit_the_newest_are_told) {
  std::vector<cluster::VoteMessageView> messages(200);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].sequence = i;
    messages[i].json = std::string(10'000, 'x');
  }
  const VotesAnswer out = votes_answer({}, messages, "a");
  ASSERT_GT(out.messages.size(), 10u);
  EXPECT_LE(message::encode(AdminAnswer(out)).size(), kVoteMessageBytes);
  EXPECT_EQ(sent(out).messages.back().sequence, 199u);
  for (auto& one : messages) one.json = "{}";
  const VotesAnswer all = sent(votes_answer({}, messages, "a"));
  ASSERT_EQ(all.messages.size(), 200u);
  EXPECT_EQ(all.messages[0].sequence, 0u);
}

}  // namespace
}  // namespace bellwether::node
