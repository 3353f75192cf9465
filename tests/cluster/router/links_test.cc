#include "router/links.h"

#include <gmock/gmock.h>

#include "router/devices.h"
#include "router/script.h"

namespace bellwether::router {
namespace {

using testing::ElementsAre;

Instant at(int64_t ms) { return Instant() + Duration::millis(ms); }

class LinksTest : public testing::Test {
 protected:
  LinksTest() {
    for (const char* name : {"a", "b", "c"}) script_.add_node(name);
  }
  void tell(std::string_view line) {
    const auto done = script_.run(line);
    ASSERT_TRUE(done) << line << ": " << done.error().message;
  }
  void send(int64_t ms, std::string_view text, std::size_t from = 0, std::size_t to = 1) {
    links_.offer(at(ms), from, to, as_bytes(text));
  }
  std::vector<std::string> arrived(int64_t ms) {
    std::vector<std::string> all;
    while (auto delivery = links_.take(at(ms))) all.push_back(delivery->packet);
    return all;
  }
  const Counters& counted(std::size_t from = 0, std::size_t to = 1) { return links_.link(from, to).counters; }

  Links links_{1};
  Script script_{links_};
};

TEST_F(LinksTest, a_link_without_faults_delivers_at_once_and_in_order) {
  send(5, "one");
  send(5, "two");
  EXPECT_EQ(links_.next_due(), at(5));
  EXPECT_THAT(arrived(5), ElementsAre("one", "two"));
  EXPECT_EQ(links_.next_due(), Instant::never());
}

TEST_F(LinksTest, a_delay_holds_one_direction_only) {
  tell("set a > b delay 20ms");
  send(0, "there");
  send(0, "back", 1, 0);
  EXPECT_THAT(arrived(19), ElementsAre("back"));
  EXPECT_THAT(arrived(20), ElementsAre("there"));
}

TEST_F(LinksTest, jitter_spreads_and_keeps_the_order) {
  tell("set a <> b delay 10ms jitter 40ms");
  std::vector<std::string> sent;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(std::to_string(i));
    send(i, sent.back());
  }
  EXPECT_THAT(arrived(9), testing::IsEmpty());
  EXPECT_THAT(arrived(149), testing::ElementsAreArray(sent));
}

TEST_F(LinksTest, a_delay_that_has_ended_holds_nobody_up_who_comes_later) {
  tell("set a > b delay 1h");
  send(0, "slow");
  tell("clear a > b");
  send(1, "quick");
  EXPECT_THAT(arrived(1), ElementsAre("quick"));
  EXPECT_THAT(arrived(3'600'000), ElementsAre("slow"));
}

TEST_F(LinksTest, what_is_reordered_is_overtaken) {
  tell("set a > b reorder 100% reorder_by 5ms");
  send(0, "first");
  tell("set a > b reorder 0");
  send(1, "second");
  EXPECT_THAT(arrived(1), ElementsAre("second"));
  EXPECT_THAT(arrived(5), ElementsAre("first"));
  EXPECT_EQ(counted().reordered, 1);
}

TEST_F(LinksTest, loss_and_duplicates_come_at_their_rates) {
  tell("set a > b loss 25%");
  tell("set a > c duplicate 0.5");
  for (int i = 0; i < 4000; ++i) {
    send(0, "x");
    send(0, "x", 0, 2);
  }
  EXPECT_NEAR(static_cast<double>(counted().lost), 1000, 120);
  EXPECT_NEAR(static_cast<double>(counted(0, 2).duplicated), 2000, 150);
  EXPECT_EQ(arrived(0).size(), 4000 - counted().lost + 4000 + counted(0, 2).duplicated);
}

TEST_F(LinksTest, a_rate_makes_packets_wait_and_a_full_queue_drops_them) {
  tell("set a > b rate 1000 queue 3");
  for (int i = 0; i < 5; ++i) send(0, std::string(100, 'x'));
  EXPECT_EQ(counted().overflow, 2);
  EXPECT_EQ(arrived(99).size(), 0);
  EXPECT_EQ(arrived(100).size(), 1);
  EXPECT_EQ(arrived(300).size(), 2);
}

TEST_F(LinksTest, a_cut_is_one_way_and_loses_what_is_under_way) {
  tell("set a <> b delay 10ms");
  send(0, "under way");
  tell("cut a > b");
  send(5, "later");
  send(5, "back", 1, 0);
  EXPECT_THAT(arrived(100), ElementsAre("back"));
  EXPECT_EQ(counted().cut, 2);
  tell("heal a > b");
  send(200, "again");
  EXPECT_THAT(arrived(300), ElementsAre("again"));
}

TEST_F(LinksTest, groups_and_everyone_have_their_links_set) {
  tell("cut a,b <> c");
  EXPECT_TRUE(links_.link(0, 2).faults.cut && links_.link(2, 1).faults.cut);
  EXPECT_FALSE(links_.link(0, 1).faults.cut);
  tell("clear * > *");
  EXPECT_FALSE(links_.link(0, 2).faults.cut || links_.link(2, 1).faults.cut);
}

TEST_F(LinksTest, one_seed_gives_one_run) {
  Links again(1);
  for (int i = 0; i < 3; ++i) again.add_node();
  again.link(0, 1).faults.loss = 0.5;
  tell("set a > b loss 50%");
  for (int i = 0; i < 200; ++i) {
    send(i, "x");
    again.offer(at(i), 0, 1, as_bytes("x"));
    EXPECT_EQ(again.link(0, 1).counters.lost, counted().lost);
  }
}

TEST_F(LinksTest, a_wrong_line_changes_nothing_and_says_why) {
  for (const auto& [line, why] :
       std::vector<std::pair<const char*, const char*>>{{"set a > b delay 20ms loss 200%", "assignment"},
                                                        {"set a > b delay", "one value"},
                                                        {"set a > b colour blue", "'colour'"},
                                                        {"set a - b delay 1ms", "> or <>"},
                                                        {"cut a > d", "no node 'd'"},
                                                        {"paint a > b", "'paint'"},
                                                        {"cut a > b now", "'now'"},
                                                        {"hello", "show"}}) {
    const auto done = script_.run(line);
    ASSERT_FALSE(done) << line;
    EXPECT_THAT(done.error().message, testing::HasSubstr(why)) << line;
  }
  EXPECT_EQ(links_.link(0, 1).faults.delay, Duration::zero());
}

TEST_F(LinksTest, what_happened_is_shown) {
  tell("cut a > b");
  send(0, "lost");
  const auto shown = script_.run("show");
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, "a > b packets 1 bytes 4 delivered 0 cut 1 lost 0 overflow 0 duplicated 0 reordered 0\n");
}

TEST(Addresses, packets_go_to_whom_they_name) {
  Addresses addresses;
  ASSERT_TRUE(addresses.add("10.0.0.2", 1));
  ASSERT_TRUE(addresses.add("fd00::2", 1));
  EXPECT_EQ(addresses.add("10.0.0.2", 2).error().code, Errc::kExists);
  EXPECT_EQ(addresses.add("somewhere", 2).error().code, Errc::kInvalid);
  std::string v4(20, '\0');
  v4[0] = 0x45;
  v4.replace(16, 4, "\x0a\x00\x00\x02", 4);
  EXPECT_EQ(addresses.destination(as_bytes(v4)), 1);
  EXPECT_EQ(addresses.destination(as_bytes(v4).first(19)), std::nullopt) << "cut short";
  v4[19] = 9;
  EXPECT_EQ(addresses.destination(as_bytes(v4)), std::nullopt) << "nobody's";
  std::string v6(40, '\0');
  v6[0] = 0x60;
  v6.replace(24, 16, std::string("\xfd", 1) + std::string(14, '\0') + "\x02");
  EXPECT_EQ(addresses.destination(as_bytes(v6)), 1);
  EXPECT_EQ(addresses.destination({}), std::nullopt);
}

}  // namespace
}  // namespace bellwether::router
