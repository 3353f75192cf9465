#include <gmock/gmock.h>

#include "cluster/net/election_driver.h"
#include "core/message/message_testing.h"

namespace bellwether::cluster {
namespace {

using namespace quorum;
using testing::HasSubstr;

TEST(LeadershipCodec, messages_travel_within_their_limits) { message::expect_sound<quorum::Message>(1'000); }
TEST(LeadershipCodec, records_are_kept_within_their_limits) { message::expect_sound<Record>(); }

// A voter that once had no record must know that also after its next start: it may have voted before.
TEST(LeadershipCodec, a_record_that_was_lost_stays_lost) {
  const Record record{.version = 1, .lost = true};
  EXPECT_EQ(*message::decode<quorum::Record>(message::encode(record)), record);
  EXPECT_EQ(message::decode<quorum::Record>("").error().code, Errc::kInvalid);
}

TEST(LeadershipCodec, members_are_a_set) {
  const auto says = [](std::vector<MemberId> voters, std::vector<MemberId> next) {
    const Configure body{{{Term(7), 2}, std::move(voters), std::move(next)}};
    const auto read =
        message::decode<quorum::Message>(message::encode(quorum::Message{MemberId(1), Term(1), 1, 1, body}));
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(says({MemberId(1), MemberId(UINT64_MAX)}, {MemberId(2)}), "");
  EXPECT_THAT(says({MemberId(2), MemberId(1)}, {}), HasSubstr("members out of order or listed twice"));
  EXPECT_THAT(says({}, {MemberId(1), MemberId(1)}), HasSubstr("members out of order or listed twice"));
  EXPECT_THAT(says({kNobody}, {}), HasSubstr("members out of order or listed twice"));
}

TEST(LeadershipCodec, a_refusal_of_a_newer_version_is_one_all_the_same) {
  const VoteAnswer answer{1, static_cast<Refusal>(77), {}};
  const auto read =
      message::decode<quorum::Message>(message::encode(quorum::Message{MemberId(1), Term(1), 1, 1, answer}));
  EXPECT_EQ(std::get<VoteAnswer>(read->body).refusal, Refusal::kVoted);
  EXPECT_EQ(message::decode<quorum::Message>(std::string_view("\x09\x01\0\0\0\0\0\0\0", 9)).error().code,
            Errc::kUnsupported)
      << "no body";
}

}  // namespace
}  // namespace bellwether::cluster
