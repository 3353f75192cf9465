#include "sim/network.h"

#include <gtest/gtest.h>

#include "sim/world.h"

namespace bellwether::sim {
namespace {

runtime::task<void> idle(runtime::Runtime& runtime, void*) { co_await runtime.sleep_until(Instant::never()); }

class NetworkTest : public testing::Test {
 protected:
  Node& add(std::string name) {
    Node& node = world_.add_node(std::move(name));
    node.start(&idle, nullptr);
    return node;
  }
  void send(Node& from, Node& to, std::size_t size = 100) {
    network_.send(from, to, size, [this] { arrivals_.push_back(world_.now()); });
  }
  // How many of 1000 packets arrive within a minute.
  std::size_t arriving(Node& from, Node& to) {
    arrivals_.clear();
    for (int i = 0; i < 1000; ++i) send(from, to);
    world_.run_for(Duration::minutes(1));
    return arrivals_.size();
  }

  World world_{1};
  Network& network_ = world_.network();
  Node& a_ = add("a");
  Node& b_ = add("b");
  std::vector<Instant> arrivals_;
};

TEST_F(NetworkTest, a_packet_takes_as_long_as_its_link_says) {
  network_.set_links({.latency_min = Duration::millis(30), .latency_max = Duration::millis(40)});
  const Instant sent = world_.now();
  ASSERT_EQ(arriving(a_, b_), 1000u);
  for (const Instant arrival : arrivals_) {
    EXPECT_GE(arrival - sent, Duration::millis(30));
    EXPECT_LE(arrival - sent, Duration::millis(40));
  }
}

TEST_F(NetworkTest, one_direction_may_differ_from_the_other) {
  network_.set_link(a_, b_, {.loss = 1});
  EXPECT_EQ(arriving(a_, b_), 0u);
  EXPECT_EQ(arriving(b_, a_), 1000u);
}

TEST_F(NetworkTest, loss_and_repetition_come_as_often_as_they_are_told_to) {
  network_.set_links({.loss = 0.25});
  EXPECT_NEAR(static_cast<double>(arriving(a_, b_)), 750, 60);
  network_.set_links({.duplicate = 0.25});
  EXPECT_NEAR(static_cast<double>(arriving(a_, b_)), 1250, 60);
}

TEST_F(NetworkTest, a_narrow_link_makes_packets_queue) {
  network_.set_links({.latency_min = Duration::zero(), .latency_max = Duration::zero(), .bytes_per_second = 100'000});
  const Instant sent = world_.now();
  ASSERT_EQ(arriving(a_, b_), 1000u);
  EXPECT_EQ(arrivals_.front() - sent, Duration::millis(1));
  EXPECT_EQ(arrivals_.back() - sent, Duration::seconds(1));
}

TEST_F(NetworkTest, a_block_works_one_way_until_it_is_lifted) {
  network_.block(a_, b_);
  EXPECT_EQ(arriving(a_, b_), 0u);
  EXPECT_EQ(arriving(b_, a_), 1000u);
  network_.unblock(a_, b_);
  EXPECT_EQ(arriving(a_, b_), 1000u);
}

TEST_F(NetworkTest, a_block_catches_what_is_on_its_way) {
  network_.set_links({.latency_min = Duration::millis(10), .latency_max = Duration::millis(10)});
  send(a_, b_);
  world_.run_for(Duration::millis(5));
  network_.block(a_, b_);
  world_.run_for(Duration::millis(20));
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(NetworkTest, what_is_sent_into_a_block_is_lost_though_it_be_lifted) {
  network_.set_links({.latency_min = Duration::millis(10), .latency_max = Duration::millis(10)});
  network_.block(a_, b_);
  send(a_, b_);
  world_.run_for(Duration::millis(5));
  network_.heal();
  world_.run_for(Duration::millis(20));
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(NetworkTest, isolation_cuts_off_from_all_and_from_those_who_join_later) {
  network_.isolate(a_);
  Node& late = add("late");
  EXPECT_EQ(arriving(a_, b_), 0u);
  EXPECT_EQ(arriving(late, a_), 0u);
  EXPECT_EQ(arriving(late, b_), 1000u);
  EXPECT_EQ(arriving(a_, a_), 1000u) << "a machine always reaches itself";
  network_.heal();
  EXPECT_EQ(arriving(late, a_), 1000u);
}

TEST_F(NetworkTest, nothing_arrives_where_there_is_no_power) {
  b_.lose_power();
  EXPECT_EQ(arriving(a_, b_), 0u);
}

TEST_F(NetworkTest, addresses_and_names_lead_to_their_owners) {
  EXPECT_EQ(network_.owner(a_, b_.address()), &b_);
  EXPECT_EQ(network_.owner(a_, runtime::IpAddress::loopback()), &a_);
  EXPECT_EQ(network_.owner(a_, *runtime::IpAddress::parse("::1")), &a_);
  EXPECT_EQ(network_.owner(a_, *runtime::IpAddress::parse("192.0.2.1")), nullptr);
  const auto second = *runtime::IpAddress::parse("2001:db8::1");
  network_.add_address(b_, second);
  EXPECT_EQ(network_.owner(a_, second), &b_);
  EXPECT_EQ(network_.look_up("b")->front(), b_.address());
  EXPECT_EQ(network_.look_up("192.0.2.1")->front().to_string(), "192.0.2.1");
  EXPECT_EQ(network_.look_up("c").error().code, Errc::kDns);
  network_.fail_name("b", true);
  EXPECT_EQ(network_.look_up("b").error().code, Errc::kDns);
  network_.fail_name("b", false);
  EXPECT_TRUE(network_.look_up("b"));
}

}  // namespace
}  // namespace bellwether::sim
