// A pool among peers that come, go, fail and are slow at random: what must hold at every moment, and that it is whole
// again soon after the world is.
#include <gtest/gtest.h>
#include <set>

#include "base/time_testing.h"
#include "cluster/discovery/pool.h"

namespace bellwether::discovery {
namespace {

class Chaos {
 public:
  explicit Chaos(uint64_t seed)
      : prng_(seed), pool_({.self = "worker-1", .role = "manager"}, at_ms(0), Prng(seed), metrics_) {
    for (int i = 0; i < 12; ++i) peers_.push_back({"m-" + std::to_string(i), {"m", static_cast<uint16_t>(i + 1)}, {}});
    there_ = peers_;
    pool_.peers_changed(at_ms(0), there_, SetChange::kPeerAdded, effects_);
  }

  void run(int64_t until, bool faults) {
    while (now_ < until) {
      now_ += prng_.between(1, 50);
      if (faults && prng_.chance(0.02)) change_members();
      if (faults && prng_.chance(0.05)) change_health();
      if (pool_.next_deadline() <= at_ms(now_)) pool_.tick(at_ms(now_), effects_);
      obey();
      request();
      obey();
      hold();
    }
  }
  void mend() {
    down_.clear();
    slow_.clear();
    there_ = peers_;
    pool_.peers_changed(at_ms(now_), there_, SetChange::kPeerAdded, effects_);
  }
  const Pool& pool() const { return pool_; }
  int64_t now() const { return now_; }

 private:
  void change_members() {
    there_.clear();
    for (const Peer& peer : peers_) {
      if (prng_.chance(0.8)) there_.push_back(peer);
    }
    pool_.peers_changed(at_ms(now_), there_, SetChange::kPeerRemoved, effects_);
  }
  void change_health() {
    const std::string id = peers_[prng_.below(peers_.size())].id;
    std::set<std::string>& which = prng_.chance(0.5) ? down_ : slow_;
    if (which.erase(id) == 0) which.insert(id);
  }
  void obey() {
    while (!effects_.empty()) {
      const auto effects = std::move(effects_);
      effects_.clear();
      for (const PoolEffect& effect : effects) {
        if (const auto* gone = std::get_if<effect::Disconnect>(&effect)) open_.erase(gone->peer);
        const auto* connect = std::get_if<effect::Connect>(&effect);
        if (connect == nullptr) continue;
        ASSERT_TRUE(open_.insert(connect->peer.id).second) << "one connection to each";
        if (down_.count(connect->peer.id) > 0) {
          pool_.disconnected(at_ms(now_), connect->peer.id, effects_);
        } else {
          pool_.connected(at_ms(now_), connect->peer.id, effects_);
        }
      }
    }
  }
  void request() {
    const auto to = pool_.next();
    if (!to) return;
    ASSERT_TRUE(open_.count(*to) > 0) << "requests go where there is a connection";
    if (down_.count(*to) > 0) {
      pool_.failed(at_ms(now_), *to, effects_);
    } else {
      pool_.succeeded(at_ms(now_), *to, Duration::millis(slow_.count(*to) > 0 ? 200 : 2), effects_);
    }
  }
  void hold() {
    const auto primaries = pool_.primaries();
    const auto backups = pool_.backups();
    ASSERT_LE(primaries.size(), 3);
    ASSERT_LE(primaries.size() + backups.size(), 5);
    ASSERT_TRUE(!primaries.empty() || backups.empty()) << "backups do not stand by while nobody serves";
    std::set<std::string> all(primaries.begin(), primaries.end());
    all.insert(backups.begin(), backups.end());
    ASSERT_EQ(all, open_) << "each connection serves or stands by, and there are no others";
    ASSERT_GT(pool_.next_deadline(), at_ms(now_));
  }

  Prng prng_;
  Metrics metrics_;
  Pool pool_;
  std::vector<Peer> peers_;
  std::vector<Peer> there_;
  std::set<std::string> down_;
  std::set<std::string> slow_;
  std::set<std::string> open_;
  std::vector<PoolEffect> effects_;
  int64_t now_ = 0;
};

TEST(PoolInChaos, holds_at_every_moment_and_is_whole_a_minute_after_the_world_is) {
  for (uint64_t seed = 0; seed < 100 && !testing::Test::HasFailure(); ++seed) {
    Chaos chaos(seed);
    chaos.run(60'000, true);
    chaos.mend();
    chaos.run(chaos.now() + 70'000, false);
    EXPECT_EQ(chaos.pool().primaries().size(), 3) << seed;
    EXPECT_EQ(chaos.pool().backups().size(), 2) << seed;
  }
}

}  // namespace
}  // namespace bellwether::discovery
