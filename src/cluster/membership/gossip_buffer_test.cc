#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <vector>

#include "cluster/membership/gossip.h"

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

// Those that a packet of `limit` bytes is filled with.
std::vector<uint64_t> sent(GossipBuffer& buffer, std::size_t limit, int times = 3, uint64_t except = 0) {
  std::string out;
  buffer.fill(out, limit, times, NodeId(except));
  PacketReader in(out);
  Update update;
  std::vector<uint64_t> nodes;
  while (in.update(update)) nodes.push_back(update.node.value());
  return nodes;
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

TEST(GossipBuffer, sends_first_what_was_sent_least_often_and_of_that_what_came_last) {
  GossipBuffer buffer(10);
  const std::size_t two = 2 * size_of(about(UpdateKind::kDead, 1));
  for (const uint64_t node : {1, 2, 3}) buffer.push(about(UpdateKind::kDead, node));
  EXPECT_EQ(sent(buffer, two), (std::vector<uint64_t>{3, 2}));
  buffer.push(about(UpdateKind::kDead, 4));
  EXPECT_EQ(sent(buffer, two), (std::vector<uint64_t>{4, 1}));
  EXPECT_EQ(sent(buffer, 2 * two), (std::vector<uint64_t>{4, 1, 3, 2}));
}

// The order of a list that is sorted anew by times sent after each packet.
RC_GTEST_PROP(GossipBuffer, keeps_the_order_of_a_sorted_list, ()) {
  struct Waiting {
    uint64_t node;
    int times;
  };
  std::vector<Waiting> list;
  const auto drop = [&](const auto& which) { list.erase(std::remove_if(list.begin(), list.end(), which), list.end()); };
  GossipBuffer buffer(100);
  const std::size_t one = size_of(about(UpdateKind::kDead, 1));
  const int times = *rc::gen::inRange(1, 6);
  for (int i = 0; i < 60; ++i) {
    const auto node = *rc::gen::inRange<uint64_t>(1, 20);
    if (*rc::gen::arbitrary<bool>()) {
      drop([&](const Waiting& w) { return w.node == node; });
      list.insert(list.begin(), {node, 0});
      buffer.push(about(UpdateKind::kDead, node));
      continue;
    }
    const auto fit = *rc::gen::inRange<std::size_t>(0, 8);
    std::vector<uint64_t> expected;
    for (Waiting& w : list) {
      if (w.node == node || expected.size() == fit) continue;
      expected.push_back(w.node);
      ++w.times;
    }
    drop([&](const Waiting& w) { return w.times >= times; });
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.times < b.times; });
    RC_ASSERT(sent(buffer, fit * one, times, node) == expected);
    RC_ASSERT(buffer.size() == list.size());
  }
}

TEST(GossipBuffer, fills_the_rest_of_a_packet_with_smaller_news_but_tries_only_a_few) {
  GossipBuffer buffer(100);
  const auto accused = [](uint64_t node) {
    Update update = about(UpdateKind::kSuspect, node);
    update.accusers.add(1);
    return update;
  };
  buffer.push(about(UpdateKind::kSuspect, 1));
  for (uint64_t node = 2; node < 9; ++node) buffer.push(accused(node));
  const std::size_t room = 2 * size_of(accused(1)) - 1;
  EXPECT_EQ(sent(buffer, room), (std::vector<uint64_t>{8, 1}));
  for (uint64_t node = 10; node < 30; ++node) buffer.push(accused(node));
  EXPECT_EQ(sent(buffer, room), (std::vector<uint64_t>{29}));
}

TEST(GossipBuffer, news_that_no_packet_can_hold_just_now_does_not_keep_smaller_news_waiting) {
  GossipBuffer buffer(100);
  buffer.push(about(UpdateKind::kAlive, 1));
  for (uint64_t node = 2; node < 30; ++node) {
    Update update = about(UpdateKind::kAlive, node);
    update.profile.meta.assign(200, 'x');
    buffer.push(update);
  }
  EXPECT_EQ(sent(buffer, 100), (std::vector<uint64_t>{node_id("n1").value()}));
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
