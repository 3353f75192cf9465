#include "cluster/leadership_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::cluster {
namespace {

using namespace quorum;

constexpr Standing kStanding{.health = 3, .priority = 200, .electable = false, .active = true, .state = 99};
constexpr ConfigurationStamp kStamp{Term(7), 2};

Configuration members(std::vector<MemberId> voters, std::vector<MemberId> next) { return {kStamp, voters, next}; }

// One of each kind, with no field at its default.
std::vector<Body> bodies() {
  return {Greeting{5},
          GreetingAnswer{1, 2, 3},
          Superseded{9},
          WhoAreYou{},
          PreVote{4, Term(8), kStamp, kStanding},
          PreVoteAnswer{4, Refusal::kPromised, Duration::millis(3)},
          Vote{5, kStamp, kStanding, Permission{MemberId(3), Term(6)}},
          Vote{5, kStamp, kStanding, std::nullopt},
          VoteAnswer{6, Refusal::kNone, Duration::zero()},
          Heartbeat{10, Duration::millis(500), kStamp},
          HeartbeatAnswer{10, 11, true, kStamp, kStanding},
          StandNow{},
          Resigned{},
          Configure{members({MemberId(1), MemberId(UINT64_MAX)}, {MemberId(2)})}};
}

std::size_t pick(Prng& prng, std::size_t most) {
  return static_cast<std::size_t>(prng.between(int64_t{0}, static_cast<int64_t>(most)));
}

TEST(LeadershipCodec, each_message_comes_back_as_it_was) {
  for (const Body& body : bodies()) {
    const Message sent{MemberId(77), Term(12), 0xfedcba9876543210, 4, body};
    const std::string bytes = encode_message(sent);
    const auto read = decode_message(bytes);
    ASSERT_TRUE(read) << read.error().message << ", kind " << body.index();
    EXPECT_EQ(read->from, sent.from);
    EXPECT_EQ(read->term, sent.term);
    EXPECT_EQ(read->life, sent.life);
    EXPECT_EQ(read->record, sent.record);
    EXPECT_EQ(read->body.index(), body.index());
    EXPECT_EQ(encode_message(*read), bytes) << "kind " << body.index();
  }
}

// A voter that once had no record must know that also after its next start: it may have voted before.
TEST(LeadershipCodec, a_record_that_was_lost_stays_lost) {
  const Record record{.version = 1, .lost = true};
  const auto read = decode_record(encode_record(record));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->lost);
  EXPECT_EQ(*read, record);
}

TEST(LeadershipCodec, a_record_comes_back_as_it_was) {
  const Record record{.version = 3,
                      .term = Term(9),
                      .vote = MemberId(2),
                      .longest_lease = Duration::millis(500),
                      .members = members({MemberId(1), MemberId(2), MemberId(3)}, {})};
  const auto read = decode_record(encode_record(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, record);
  EXPECT_FALSE(decode_record(""));
  EXPECT_FALSE(decode_record("no record"));
}

TEST(LeadershipCodec, what_no_member_could_have_said_is_refused) {
  const auto refuses = [](const Body& body) {
    return !decode_message(encode_message({MemberId(1), Term(1), 1, 1, body}));
  };
  EXPECT_TRUE(refuses(Heartbeat{1, Duration::seconds(-1), kStamp}));
  EXPECT_TRUE(refuses(Heartbeat{1, kLongestLease + Duration::nanos(1), kStamp}));
  EXPECT_TRUE(refuses(Configure{members({MemberId(2), MemberId(1)}, {})}));
  EXPECT_TRUE(refuses(Configure{members({MemberId(1), MemberId(1)}, {})}));
  EXPECT_TRUE(refuses(Configure{members({kNobody}, {})}));
  std::vector<MemberId> many;
  for (uint64_t i = 1; i <= kMostMembers + 1; ++i) many.emplace_back(i);
  EXPECT_TRUE(refuses(Configure{members(many, {})}));
  Standing sick = kStanding;
  sick.health = 9;
  EXPECT_TRUE(refuses(PreVote{1, Term(1), kStamp, sick}));
  EXPECT_FALSE(decode_message(encode_message({kNobody, Term(1), 1, 1, Resigned{}})));
  EXPECT_FALSE(decode_message(""));
  EXPECT_EQ(decode_message(std::string_view("\x09\x01\0\0\0\0\0\0\0", 9)).error().code, Errc::kUnsupported)
      << "no body";
}

TEST(LeadershipCodec, what_was_torn_or_changed_on_the_way_does_no_harm) {
  Prng prng(7);
  for (const Body& body : bodies()) {
    const std::string good = encode_message({MemberId(77), Term(12), 5, 4, body});
    for (int i = 0; i < 500; ++i) {
      std::string bad = good.substr(0, pick(prng, good.size()));
      if (!bad.empty()) bad[pick(prng, bad.size() - 1)] = static_cast<char>(pick(prng, 255));
      if (const auto read = decode_message(bad)) static_cast<void>(encode_message(*read));
    }
  }
}

}  // namespace
}  // namespace bellwether::cluster
