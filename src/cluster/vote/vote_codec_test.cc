#include "cluster/vote/vote_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "election/vote/vote_timing.h"

namespace bellwether::cluster {
namespace {

using namespace vote;

Claim claim() {
  return {
      {"admin_election", "project_manager"}, Duration::hours(3), Duration::hours(70), {0.1, 0.2, 0.3, 0.9}, 0.77, 0.4,
      "what an operator has signed"};
}

// One of each kind, with no field at its default.
std::vector<Body> bodies() {
  return {DiscoveryRequest{},
          DiscoveryResponse{NodeId(3), Term(4), 5, 6},
          ElectionStarted{Term(7), Trigger::kQuorumRestored, Permission{Term(6), NodeId(2)}},
          ElectionStarted{Term(7), Trigger::kDiscoveryFailure, std::nullopt},
          Candidacy{Term(8), true, claim()},
          Candidacy{Term(8), false, {}},
          Vote{Term(9), NodeId(UINT64_MAX)},
          Winner{Term(10), 1, {NodeId(1), NodeId(2)}},
          Heartbeat{Term(11), 99},
          HeartbeatAnswer{Term(12), 98, 0xfedcba9876543210, true, 0.5}};
}

Message message(Body body) { return {NodeId(77), 5, 0xfedcba9876543210, 42, Term(12), std::move(body)}; }

TEST(VoteCodec, each_message_comes_back_as_it_was) {
  for (const Body& body : bodies()) {
    const Message sent = message(body);
    const std::string bytes = encode_vote_message(sent);
    const auto read = decode_vote_message(bytes);
    ASSERT_TRUE(read) << read.error().message << ", kind " << body.index();
    EXPECT_EQ(read->from, sent.from);
    EXPECT_EQ(read->start, sent.start);
    EXPECT_EQ(read->mark, sent.mark);
    EXPECT_EQ(read->sequence, sent.sequence);
    EXPECT_EQ(read->term, sent.term);
    EXPECT_EQ(read->body.index(), body.index());
    EXPECT_EQ(encode_vote_message(*read), bytes) << "kind " << body.index();
  }
  const auto read = decode_vote_message(encode_vote_message(message(Candidacy{Term(8), true, claim()})));
  EXPECT_EQ(std::get<Candidacy>(read->body).claim, claim());
}

TEST(VoteCodec, a_record_comes_back_as_it_was) {
  const Record record{3, 2, Term(9), NodeId(2), Term(8), 0xabcdef, Duration::millis(15'150), true};
  const auto read = decode_vote_record(encode_vote_record(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, record);
  EXPECT_FALSE(decode_vote_record(""));
  EXPECT_FALSE(decode_vote_record("no record"));
}

TEST(VoteCodec, what_no_node_could_have_said_is_refused) {
  const auto refuses = [](const Body& body) { return !decode_vote_message(encode_vote_message(message(body))); };
  const auto claims = [&](auto change) {
    Claim wrong = claim();
    change(wrong);
    return refuses(Candidacy{Term(1), true, wrong});
  };
  EXPECT_TRUE(claims([](Claim& c) { c.uptime = Duration::nanos(-1); }));
  EXPECT_TRUE(claims([](Claim& c) { c.experience = kLongestExperience + Duration::nanos(1); }));
  EXPECT_TRUE(claims([](Claim& c) { c.capabilities.assign(kMostCapabilities + 1, "a"); }));
  EXPECT_FALSE(claims([](Claim& c) { c.attestation.assign(kMostAttestationBytes, 'a'); }));
  EXPECT_TRUE(claims([](Claim& c) { c.attestation.assign(kMostAttestationBytes + 1, 'a'); }));
  EXPECT_TRUE(claims([](Claim& c) { c.capabilities = {""}; }));
  EXPECT_TRUE(claims([](Claim& c) { c.capabilities = {std::string(kMostCapabilityBytes + 1, 'a')}; }));
  const Term beyond((uint64_t{1} << 48) + 1);
  EXPECT_TRUE(refuses(DiscoveryResponse{NodeId(1), beyond, 1, 1}));
  EXPECT_TRUE(refuses(ElectionStarted{beyond, Trigger::kManual, {}}));
  EXPECT_TRUE(refuses(ElectionStarted{Term(1), Trigger::kManual, Permission{beyond, NodeId(1)}}));
  EXPECT_TRUE(refuses(Candidacy{beyond, false, {}}));
  EXPECT_TRUE(refuses(Vote{beyond, NodeId(1)}));
  EXPECT_TRUE(refuses(Winner{beyond, 1, {}}));
  EXPECT_TRUE(refuses(Heartbeat{beyond, 1}));
  EXPECT_TRUE(refuses(HeartbeatAnswer{beyond, 1, 1, true, 0.5}));
  EXPECT_FALSE(decode_vote_message(encode_vote_message({NodeId(1), 1, 1, 1, beyond, DiscoveryRequest{}})));
  EXPECT_TRUE(refuses(ElectionStarted{Term(1), static_cast<Trigger>(kTriggers), {}}));
  std::vector<NodeId> many;
  for (uint64_t i = 1; i <= kMostNodes + 1; ++i) many.emplace_back(i);
  EXPECT_TRUE(refuses(Winner{Term(1), 1, many}));
  EXPECT_FALSE(decode_vote_message(encode_vote_message({kNobody, 1, 1, 1, Term(1), DiscoveryRequest{}})));
  EXPECT_FALSE(decode_vote_message(encode_vote_message({NodeId(1), 0, 1, 1, Term(1), DiscoveryRequest{}})));
  EXPECT_FALSE(decode_vote_message(encode_vote_message({NodeId(1), 1, 0, 1, Term(1), DiscoveryRequest{}})));
  EXPECT_FALSE(decode_vote_message(encode_vote_message({NodeId(1), 1, 1, 0, Term(1), DiscoveryRequest{}})));
  EXPECT_FALSE(decode_vote_message(""));
}

TEST(VoteCodec, a_record_out_of_its_bounds_is_refused) {
  const auto refuses = [](auto change) {
    Record record{3, 2, Term(9), NodeId(2), Term(8), 0xabcdef, Duration::seconds(15), false};
    change(record);
    return !decode_vote_record(encode_vote_record(record));
  };
  EXPECT_FALSE(refuses([](Record&) {}));
  EXPECT_TRUE(refuses([](Record& r) { r.version = 0; }));
  EXPECT_TRUE(refuses([](Record& r) { r.start = 0; }));
  EXPECT_TRUE(refuses([](Record& r) { r.term = Term(UINT64_MAX); }));
  EXPECT_TRUE(refuses([](Record& r) { r.promised = Term(UINT64_MAX); }));
  EXPECT_TRUE(refuses([](Record& r) { r.longest_promise = Duration::nanos(-1); }));
  EXPECT_TRUE(refuses([](Record& r) { r.longest_promise = kLongestHeartbeatTimeout * 3; }));
}

TEST(VoteCodec, what_was_torn_or_changed_on_the_way_does_no_harm) {
  Prng prng(7);
  for (const Body& body : bodies()) {
    const std::string good = encode_vote_message(message(body));
    for (int i = 0; i < 500; ++i) {
      std::string bad = good.substr(0, prng.below(good.size() + 1));
      if (!bad.empty()) bad[prng.below(bad.size())] = static_cast<char>(prng.below(256));
      if (const auto read = decode_vote_message(bad)) static_cast<void>(encode_vote_message(*read));
    }
  }
}

}  // namespace
}  // namespace bellwether::cluster
