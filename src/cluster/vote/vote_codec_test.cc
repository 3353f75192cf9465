#include "cluster/vote/vote_codec.h"

#include <gmock/gmock.h>

#include "core/message/message_testing.h"

namespace bellwether::cluster {
namespace {

using namespace vote;

TEST(VoteCodec, messages_travel_within_their_limits) { message::expect_sound<vote::Message>(1'000); }
TEST(VoteCodec, records_are_kept_within_their_limits) { message::expect_sound<Record>(); }

TEST(VoteCodec, who_does_not_stand_claims_nothing) {
  const Claim claim{{"admin_election"}, Duration::hours(3), Duration::hours(70), {0.1, 0.2, 0.3, 0.9}, 0.77, 0.4, "a"};
  const auto heard = [&](bool stands) {
    const auto read = message::decode<vote::Message>(
        message::encode(vote::Message{NodeId(7), 5, 6, 42, Term(12), Candidacy{Term(8), stands, claim}}));
    return std::get<Candidacy>(read->body);
  };
  EXPECT_TRUE(heard(true).stands);
  EXPECT_EQ(heard(true).claim, claim);
  EXPECT_FALSE(heard(false).stands);
  EXPECT_EQ(heard(false).claim, Claim{});
}

}  // namespace
}  // namespace bellwether::cluster
