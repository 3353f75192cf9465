#include "node/cluster/admin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/cluster/admin_request.h"
#include "node/cluster/desk_testing.h"
#include "node/cluster/quiet_protobuf.h"
#include "proto/admin.pb.h"

namespace bellwether::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AdminServiceTest : public testing::Test {
 protected:
  Result<wire::AdminAnswer> ask(const wire::AdminRequest& asked) {
    const auto bytes = service.answer(asked.SerializeAsString(), "ops");
    if (!bytes) return tl::unexpected(bytes.error());
    wire::AdminAnswer answer;
    EXPECT_TRUE(answer.ParseFromString(*bytes));
    return answer;
  }
  std::string refusal(const wire::AdminRequest& asked) {
    const auto answer = ask(asked);
    return answer ? "done: " + answer->done() : answer.error().message;
  }

  FakeDesk desk;
  AdminService service{desk, "a", desk};
  wire::AdminRequest request;
};

TEST_F(AdminServiceTest, questions_change_nothing_and_are_not_audited) {
  request.mutable_leader();
  EXPECT_EQ(ask(request)->leader().term(), 7u);
  request.mutable_members();
  EXPECT_EQ(ask(request)->members().members(0).name(), "a");
  request.mutable_quorum();
  EXPECT_EQ(ask(request)->quorum().voters_size(), 1);
  request.mutable_keys();
  EXPECT_THAT(ask(request)->keys().ids(), ElementsAre(1, 2));
  EXPECT_THAT(desk.acts, IsEmpty());
  EXPECT_THAT(desk.audited, IsEmpty());
}

TEST_F(AdminServiceTest, an_act_is_audited_with_who_wanted_it_and_what_came_of_it) {
  request.mutable_transfer()->set_to("b");
  EXPECT_EQ(ask(request)->done(), "transfer to b");
  desk.refuses = "not now";
  EXPECT_EQ(refusal(request), "not now");
  EXPECT_THAT(desk.audited,
              ElementsAre("ops: transfer to 'b': transfer to b", "ops: transfer to 'b': refused: not now"));
}

TEST_F(AdminServiceTest, a_secret_is_learned_and_appears_nowhere) {
  request.mutable_keys()->set_act(wire::AdminRequest::Keys::LEARN);
  request.mutable_keys()->set_secret("a secret of some length");
  EXPECT_TRUE(ask(request));
  EXPECT_EQ(desk.learned, "a secret of some length");
  EXPECT_THAT(desk.audited, ElementsAre("ops: learn a secret: learn"));
}

TEST_F(AdminServiceTest, what_cannot_be_meant_reaches_no_desk) {
  request.mutable_transfer()->set_to("b\nand more");
  EXPECT_THAT(refusal(request), HasSubstr("is no name of a node"));
  EXPECT_THAT(refusal(request), testing::Not(HasSubstr("\n"))) << "nor does it reach a terminal as it is";
  request.mutable_voters()->set_name("");
  EXPECT_THAT(refusal(request), HasSubstr("is no name of a node"));
  request.mutable_keys()->set_act(wire::AdminRequest::Keys::USE);
  EXPECT_THAT(refusal(request), HasSubstr("id is missing"));
  request.mutable_keys()->set_id(7);
  request.mutable_keys()->set_secret("a secret of some length");
  EXPECT_THAT(refusal(request), HasSubstr("nothing that is to be learned"));
  request.mutable_keys()->set_act(wire::AdminRequest::Keys::LEARN);
  request.mutable_keys()->set_secret("short");
  EXPECT_THAT(refusal(request), HasSubstr("from 16 to 1024"));
  request.mutable_keys()->clear_secret();
  request.mutable_keys()->set_act(static_cast<wire::AdminRequest::Keys::Act>(9));
  EXPECT_THAT(refusal(request), HasSubstr("does not know"));
  EXPECT_THAT(refusal({}), HasSubstr("does not know"));
  EXPECT_FALSE(service.answer("\xff\xff", "ops"));
  EXPECT_THAT(service.answer(std::string(kAdminRequestMax + 1, 'x'), "ops").error().message, HasSubstr("at most 4096"));
  EXPECT_THAT(desk.acts, IsEmpty());
  EXPECT_THAT(desk.audited, IsEmpty());
}

// A string of protobuf is UTF-8, or does not decode.
TEST_F(AdminServiceTest, what_cannot_be_read_is_refused_and_nothing_is_written_for_it) {
  quiet_protobuf();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(service.answer("\x2a\x03\x0a\x01\xff", "ops"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "a peer could fill the log";
}

}  // namespace
}  // namespace bellwether::node
