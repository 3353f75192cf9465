#include "cluster/membership/gossip_buffer.h"

#include <gtest/gtest.h>

namespace bellwether::membership {
namespace {

Update about(UpdateKind kind, uint64_t node) {
  Update update{.kind = kind, .node = NodeId(node), .incarnation = 1};
  if (kind == UpdateKind::kJoin || kind == UpdateKind::kAlive) {
    update.name = "n" + std::to_string(node);
    update.node = node_id(update.name);
  }
  return update;
}

std::vector<UpdateKind> kinds(const std::string& bytes) {
  PacketReader in(bytes);
  Update update;
  std::vector<UpdateKind> found;
  while (in.update(update)) found.push_back(update.kind);
  return found;
}

TEST(GossipBuffer, fills_packets_by_urgency) {
  GossipBuffer buffer(10);
  for (const int kind : {4, 2, 0, 3, 1})
    buffer.push(about(static_cast<UpdateKind>(kind), static_cast<uint64_t>(kind + 1)));
  std::string out;
  EXPECT_EQ(buffer.fill(out, 1400, 3, NodeId()), 5);
  EXPECT_EQ(kinds(out), (std::vector{UpdateKind::kJoin, UpdateKind::kLeave, UpdateKind::kAlive, UpdateKind::kSuspect,
                                     UpdateKind::kDead}));
}

TEST(GossipBuffer, forgets_what_was_sent_often_enough) {
  GossipBuffer buffer(10);
  buffer.push(about(UpdateKind::kDead, 1));
  for (int i = 0; i < 3; ++i) {
    std::string out;
    EXPECT_EQ(buffer.fill(out, 1400, 3, NodeId()), 1);
  }
  EXPECT_TRUE(buffer.empty());
}

TEST(GossipBuffer, never_fills_beyond_the_limit_and_sends_the_rest_next) {
  GossipBuffer buffer(200);
  for (uint64_t i = 1; i <= 150; ++i) buffer.push(about(UpdateKind::kDead, i));
  std::string first;
  const int sent = buffer.fill(first, 1400, 1, NodeId());
  EXPECT_LE(first.size(), 1400U);
  EXPECT_GT(sent, 100);
  std::string second;
  EXPECT_EQ(buffer.fill(second, 1400, 1, NodeId()), 150 - sent);
}

TEST(GossipBuffer, newer_news_about_a_member_replaces_older) {
  GossipBuffer buffer(10);
  buffer.push(about(UpdateKind::kSuspect, 1));
  buffer.push(about(UpdateKind::kDead, 1));
  std::string out;
  buffer.fill(out, 1400, 3, NodeId());
  EXPECT_EQ(kinds(out), std::vector{UpdateKind::kDead});
}

TEST(GossipBuffer, gives_up_the_least_urgent_when_full_and_says_so) {
  GossipBuffer buffer(2);
  EXPECT_FALSE(buffer.push(about(UpdateKind::kDead, 1)).dropped);
  EXPECT_FALSE(buffer.push(about(UpdateKind::kJoin, 2)).dropped);
  const auto pushed = buffer.push(about(UpdateKind::kAlive, 3));
  EXPECT_TRUE(pushed.dropped);
  EXPECT_EQ(pushed.kind, UpdateKind::kDead);
  EXPECT_EQ(buffer.size(), 2U);
}

TEST(GossipBuffer, leaves_out_what_the_receiver_is_told_otherwise) {
  GossipBuffer buffer(2);
  buffer.push(about(UpdateKind::kDead, 1));
  std::string out;
  EXPECT_EQ(buffer.fill(out, 1400, 3, NodeId(1)), 0);
}

TEST(GossipBuffer, transmissions_grow_with_the_logarithm_of_the_group) {
  EXPECT_EQ(transmissions(4, 9), 4);
  EXPECT_EQ(transmissions(4, 100), 12);
  EXPECT_EQ(transmissions(3, 10'000), 15);
}

}  // namespace
}  // namespace bellwether::membership
