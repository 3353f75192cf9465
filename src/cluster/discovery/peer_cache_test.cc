#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "cluster/discovery/bootstrap.h"

namespace bellwether::discovery {
namespace {

using testing::ElementsAre;

WallTime at(int64_t seconds) { return {(1'700'000'000 + seconds) * 1'000'000'000}; }
HostPort peer(int number) { return {"10.0.0." + std::to_string(number), 9000}; }

TEST(PeerCache, a_peer_is_healthy_for_a_minute_and_then_a_last_resort) {
  PeerCache cache;
  cache.succeeded(at(0), peer(1));
  cache.succeeded(at(10), peer(2));
  EXPECT_THAT(cache.healthy(at(60)), ElementsAre(peer(2), peer(1))) << "the latest first";
  EXPECT_THAT(cache.healthy(at(65)), ElementsAre(peer(2)));
  EXPECT_THAT(cache.stale(at(65)), ElementsAre(peer(1)));
  EXPECT_THAT(cache.stale(at(8 * 24 * 3600)), testing::IsEmpty());
  cache.evict_expired(at(8 * 24 * 3600));
  EXPECT_EQ(cache.size(), 0);
}

TEST(PeerCache, failures_outweigh_successes_until_a_peer_is_forgotten) {
  PeerCache cache;
  cache.succeeded(at(0), peer(1));
  cache.succeeded(at(1), peer(1));
  cache.failed(peer(1));
  EXPECT_EQ(cache.size(), 1);
  cache.failed(peer(1));
  cache.failed(peer(1));
  EXPECT_EQ(cache.size(), 0);
}

TEST(PeerCache, a_clock_that_was_set_back_forgets_nobody) {
  PeerCache cache;
  cache.succeeded(at(1000), peer(1));
  EXPECT_THAT(cache.healthy(at(0)), ElementsAre(peer(1)));
}

TEST(PeerCache, it_survives_a_restart) {
  PeerCache cache;
  cache.succeeded(at(0), peer(1));
  cache.succeeded(at(3), {"fd00::1", 9001});
  cache.succeeded(at(4), {"manager.example", 9002});
  EXPECT_EQ(cache.encode(),
            "bellwether-peers 1\n10.0.0.1:9000 1700000000000 1\n[fd00::1]:9001 1700000003000 1\n"
            "manager.example:9002 1700000004000 1\nend 3\n");
  const auto again = PeerCache::decode(cache.encode());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->healthy(at(30)), cache.healthy(at(30)));
}

TEST(PeerCache, a_torn_foreign_or_wrong_text_is_refused_whole) {
  const std::string good = "bellwether-peers 1\n10.0.0.1:9000 1700000000000 1\nend 1\n";
  ASSERT_TRUE(PeerCache::decode(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(PeerCache::decode(good.substr(0, size))) << size;
  }
  EXPECT_EQ(PeerCache::decode("bellwether-peers 2\nend 0\n").error().code, Errc::kUnsupported);
  for (const char* wrong :
       {"bellwether-peers 1\n10.0.0.1:9000 x 1\nend 1\n", "bellwether-peers 1\n10.0.0.1:9000 1 1 1\nend 1\n",
        "bellwether-peers 1\n10.0.0.1:0 1 1\nend 1\n", "bellwether-peers 1\n10.0.0.1:9000 1 0\nend 1\n",
        "bellwether-peers 1\n10.0.0.1:9000 99999999999999999 1\nend 1\n", "bellwether-peers 1\nend 1\n",
        "bellwether-peers 1\na:1 1 1\na:1 1 1\nend 2\n", "bellwether-peers 1\nend 0\nmore\n"}) {
    const auto decoded = PeerCache::decode(wrong);
    ASSERT_FALSE(decoded) << wrong;
    EXPECT_EQ(decoded.error().code, Errc::kProtocol) << wrong;
  }
}

TEST(PeerCache, it_is_bounded_and_forgets_who_was_seen_longest_ago) {
  PeerCache cache;
  for (int i = 0; i < 300; ++i) cache.succeeded(at(i), {"host-" + std::to_string(i), 9000});
  cache.succeeded(at(300), {std::string(300, 'x'), 9000});
  cache.succeeded(at(300), {"two\nlines", 9000});
  EXPECT_EQ(cache.size(), PeerCache::kMaxPeers);
  EXPECT_EQ(cache.stale(at(100'000)).back().host, "host-44");
  EXPECT_TRUE(PeerCache::decode(cache.encode()));
}

TEST(PeerCache, a_peer_that_is_seen_again_is_young_again) {
  PeerCache cache;
  cache.succeeded(at(0), {"again", 9000});
  for (int i = 1; i < 256; ++i) cache.succeeded(at(i), {"host-" + std::to_string(i), 9000});
  cache.succeeded(at(256), {"again", 9000});
  cache.succeeded(at(257), {"new", 9000});
  EXPECT_EQ(cache.size(), PeerCache::kMaxPeers);
  EXPECT_EQ(cache.stale(at(100'000)).back().host, "host-2");
}

RC_GTEST_PROP(PeerCache, whatever_is_kept_is_read_back, (const std::vector<std::pair<std::string, uint16_t>>& peers)) {
  PeerCache cache;
  int64_t second = 0;
  for (const auto& [host, port] : peers) cache.succeeded(at(++second), {host, port});
  const auto again = PeerCache::decode(cache.encode());
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->healthy(at(second)) == cache.healthy(at(second)));
}

}  // namespace
}  // namespace bellwether::discovery
