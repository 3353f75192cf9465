#include <gmock/gmock.h>

#include "cluster/node/admin_messages.h"
#include "cluster/node/control_testing.h"
#include "cluster/node/node_admin.h"
#include "core/base/prng.h"
#include "core/message/message_testing.h"

namespace bellwether::node {
namespace {

using namespace std::literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AdminServiceTest : public testing::Test {
 protected:
  Result<AdminAnswer> ask(const AdminRequest& asked) {
    BW_TRY(const auto bytes, service.answer(message::encode(asked), "ops"));
    return message::decode<AdminAnswer>(bytes);
  }
  template <class Answer>
  Answer answer(const AdminRequest& asked) {
    return only<Answer>(ask(asked)).value();
  }
  std::string refusal(const AdminRequest& asked) {
    const auto answer = ask(asked);
    return answer ? "it was taken" : answer.error().message;
  }

  FakeControl kernel;
  AdminService service{kernel, "a", kernel.audit()};
};

TEST(AdminMessages, what_holds_for_all_messages) {
  message::expect_sound<AdminRequest>();
  message::expect_sound<AdminAnswer>();
}

// Bytes that protoc's own code makes of the same values.
TEST(AdminMessages, the_bytes_are_those_of_protocol_buffers) {
  EXPECT_EQ(message::encode(AdminRequest(AskMembers())), "\x0a\0"s);
  EXPECT_EQ(message::encode(AdminRequest(Transfer{"b"})),
            "\x2a\x03\x0a\x01"
            "b");
  EXPECT_EQ(message::encode(AdminRequest(AskSecrets{.act = AskSecrets::Act::kUse, .id = 7})),
            "\x3a\x04\x08\x02\x18\x07");
  EXPECT_EQ(message::encode(AdminAnswer("done")),
            "\x2a\x04"
            "done");
}

TEST_F(AdminServiceTest, questions_change_nothing_and_are_not_audited) {
  EXPECT_EQ(answer<LeaderView>(AskLeader()).term, 7u);
  EXPECT_EQ(answer<LeaderView>(AskLeader()).answered_by, "a");
  EXPECT_EQ(answer<MembersAnswer>(AskMembers()).members.at(0).name, "a");
  EXPECT_EQ(answer<QuorumView>(AskQuorum()).voters.size(), 1u);
  EXPECT_EQ(answer<VotesAnswer>(AskVotes()).view.winner, "a");
  EXPECT_TRUE(answer<ManagersView>(AskManagers()).managers.at(0).keeps);
  EXPECT_THAT(answer<SecretsAnswer>(AskSecrets()).ids, ElementsAre(1, 2));
  EXPECT_THAT(kernel.acts, IsEmpty());
  EXPECT_THAT(kernel.audited, IsEmpty());
  EXPECT_THAT(only<QuorumView>(ask(AskLeader())).error().message, HasSubstr("does not match the request"));
}

TEST_F(AdminServiceTest, an_act_is_audited_with_who_wanted_it_and_what_came_of_it) {
  EXPECT_EQ(answer<std::string>(Transfer{"b"}), "transfer to b");
  kernel.refuses = "not now";
  EXPECT_EQ(refusal(Transfer{"b"}), "not now");
  EXPECT_THAT(kernel.audited,
              ElementsAre("ops: transfer to 'b': transfer to b", "ops: transfer to 'b': refused: not now"));
}

TEST_F(AdminServiceTest, a_secret_is_learned_and_appears_nowhere) {
  EXPECT_TRUE(ask(AskSecrets{.act = AskSecrets::Act::kLearn, .text = "a secret of some length"}));
  EXPECT_EQ(kernel.learned, "a secret of some length");
  EXPECT_THAT(kernel.audited, ElementsAre("ops: learn a secret: learn"));
}

TEST_F(AdminServiceTest, invalid_requests_reach_no_control) {
  EXPECT_THAT(refusal(Transfer{"b\nand more"}), HasSubstr("is not a valid name of a node"));
  EXPECT_THAT(refusal(Transfer{"b\nand more"}), testing::Not(HasSubstr("\n")))
      << "nor does it reach a terminal as it is";
  EXPECT_THAT(refusal(ChangeVoters{}), HasSubstr("name has 0 bytes"));
  EXPECT_THAT(refusal(ChangeManagers{}), HasSubstr("name has 0 bytes"));
  AskSecrets secret{.act = AskSecrets::Act::kUse};
  EXPECT_THAT(refusal(secret), HasSubstr("no id of a secret"));
  secret.id = 7;
  secret.text = "a secret of some length";
  EXPECT_THAT(refusal(secret), HasSubstr("a secret text that the act does not need"));
  secret.act = AskSecrets::Act::kLearn;
  secret.text = "short";
  EXPECT_THAT(refusal(secret), HasSubstr("16 to 1024"));
  secret.text = "";
  EXPECT_THAT(refusal(secret), HasSubstr("no text"));
  secret.act = static_cast<AskSecrets::Act>(9);
  EXPECT_THAT(refusal(secret), HasSubstr("expected 0 to 3"));
  EXPECT_THAT(service.answer("", "ops").error().message, HasSubstr("does not know"));
  EXPECT_FALSE(service.answer("\xff\xff", "ops"));
  EXPECT_THAT(service.answer(std::string(kMaxAdminRequest + 1, 'x'), "ops").error().message,
              HasSubstr("the limit is 4096"));
  EXPECT_THAT(kernel.acts, IsEmpty());
  EXPECT_THAT(kernel.audited, IsEmpty());
}

// The kernel checks that nothing reaches it that must not.
TEST(AdminService, whatever_is_asked_is_answered_and_every_act_is_audited_and_nothing_else) {
  Prng prng(1);
  for (int i = 0; i < 2'000; ++i) {
    FakeControl kernel;
    if (prng.chance(0.2)) kernel.refuses = "not now";
    AdminService service(kernel, "a", kernel.audit());
    std::string asked = message::encode(message::random_value<AdminRequest>(prng));
    if (prng.chance(0.5)) asked[prng.below(asked.size())] = static_cast<char>(prng.below(256));
    const auto bytes = service.answer(asked, "ops");
    if (!message::decode<AdminRequest>(asked)) {
      EXPECT_TRUE(!bytes && !bytes.error().message.empty());
      EXPECT_TRUE(kernel.acts.empty() && kernel.audited.empty());
      continue;
    }
    ASSERT_TRUE(bytes || !kernel.refuses.empty());
    const bool is_act = !bytes || only<std::string>(message::decode<AdminAnswer>(*bytes));
    EXPECT_EQ(kernel.audited.size(), is_act ? 1u : 0u);
  }
}

}  // namespace
}  // namespace bellwether::node
