#include "cluster/discovery/pool.h"

#include <gmock/gmock.h>
#include <set>

#include "base/time_testing.h"

namespace bellwether::discovery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PoolTest : public testing::Test {
 protected:
  // A pool of `count` peers m-00, m-01, …, connected as far as it wants to be.
  void open(int count) {
    for (int i = 0; i < count; ++i) add("m-" + std::string(i < 10 ? "0" : "") + std::to_string(i));
    pool_.emplace(settings_, at_ms(0), Prng(1), metrics_);
    pool_->peers_changed(at_ms(0), peers_, SetChange::kPeerAdded, effects_);
    connect_all(0);
  }
  void add(const std::string& id, Locality where = {}) { peers_.push_back({id, {id + ".example", 9000}, where}); }
  // Connects whoever the pool wants to; gives whom.
  std::vector<std::string> connect_all(int64_t ms) {
    std::vector<std::string> ids;
    const auto wanted = take();
    for (const PoolEffect& effect : wanted) {
      if (const auto* connect = std::get_if<effect::Connect>(&effect)) ids.push_back(connect->peer.id);
    }
    for (const std::string& id : ids) pool_->connected(at_ms(ms), id, effects_);
    return ids;
  }
  std::vector<PoolEffect> take() {
    auto taken = std::move(effects_);
    effects_.clear();
    return taken;
  }
  std::vector<std::pair<std::string, std::optional<Eviction>>> closed() {
    std::vector<std::pair<std::string, std::optional<Eviction>>> all;
    for (const PoolEffect& effect : effects_) {
      if (const auto* gone = std::get_if<effect::Disconnect>(&effect)) all.emplace_back(gone->peer, gone->reason);
    }
    return all;
  }
  void fail(int64_t ms, const std::string& id, int times) {
    for (int i = 0; i < times; ++i) pool_->failed(at_ms(ms), id, effects_);
  }
  void answer(int64_t ms, const std::string& id, Duration latency, int times = 1) {
    for (int i = 0; i < times; ++i) pool_->succeeded(at_ms(ms), id, latency, effects_);
  }
  int64_t deadline() { return (pool_->next_deadline() - at_ms(0)).ms() + 1; }

  PoolSettings settings_{.self = "worker-1", .role = "manager"};
  Metrics metrics_;
  std::vector<Peer> peers_;
  std::optional<Pool> pool_;
  std::vector<PoolEffect> effects_;
};

struct PoolOfTwenty : PoolTest {
  PoolOfTwenty() { open(20); }
};

TEST_F(PoolOfTwenty, it_keeps_three_primaries_and_two_backups_out_of_eight_candidates) {
  EXPECT_THAT(pool_->primaries(), SizeIs(3));
  EXPECT_THAT(pool_->backups(), SizeIs(2));
  EXPECT_EQ(metrics_.candidate_set_size, 8);
  EXPECT_THAT(metrics_.pool_connections, ElementsAre(3, 2));
}

TEST_F(PoolOfTwenty, requests_go_to_the_primaries_in_turn) {
  std::map<std::string, int> got;
  for (int i = 0; i < 300; ++i) ++got[*pool_->next()];
  EXPECT_THAT(got, SizeIs(3));
  for (const auto& [id, count] : got) EXPECT_EQ(count, 100) << id;
}

TEST_F(PoolTest, without_peers_there_is_nobody_to_ask_and_the_node_itself_is_no_peer) {
  add("worker-1");
  open(0);
  EXPECT_EQ(pool_->next(), std::nullopt);
  EXPECT_EQ(metrics_.candidate_set_size, 0);
}

TEST_F(PoolOfTwenty, the_fourth_failure_in_a_row_evicts_and_a_backup_takes_the_place_a_moment_later) {
  const std::string bad = pool_->primaries()[1];
  fail(1000, bad, 3);
  EXPECT_EQ(pool_->standing(bad), Standing::kPrimary);
  fail(1000, bad, 1);
  EXPECT_THAT(closed(), ElementsAre(std::pair(bad, std::optional(Eviction::kConsecutiveFailures))));
  EXPECT_THAT(pool_->primaries(), SizeIs(2)) << "not at once: all nodes that had it would turn to the same backups";
  take();
  EXPECT_GT(deadline(), 1100);
  pool_->tick(at_ms(1501), effects_);
  EXPECT_THAT(pool_->primaries(), SizeIs(3));
  EXPECT_EQ(metrics_.pool_promotions, 1);
  EXPECT_THAT(connect_all(1510), SizeIs(1)) << "the gap is filled";
  EXPECT_THAT(pool_->backups(), SizeIs(2));
  EXPECT_EQ(pool_->standing(bad), Standing::kKnown);
}

TEST_F(PoolOfTwenty, failures_between_answers_evict_above_a_rate_of_five_in_a_hundred) {
  const std::string bad = pool_->primaries()[0];
  for (int i = 0; i < 5; ++i) {
    answer(1000, bad, Duration::millis(1), 19);
    fail(1000, bad, 1);
  }
  EXPECT_EQ(pool_->standing(bad), Standing::kPrimary) << "five in a hundred are not above it";
  answer(1000, bad, Duration::millis(1), 15);
  fail(1000, bad, 1);
  EXPECT_THAT(closed(), ElementsAre(std::pair(bad, std::optional(Eviction::kErrorRate))));
}

TEST_F(PoolOfTwenty,
       a_peer_that_is_three_times_slower_than_usual_is_evicted_and_one_that_is_slow_with_all_others_is_not) {
  const auto three = pool_->primaries();
  for (const std::string& id : three) answer(1000, id, Duration::millis(10), 30);
  answer(1000, three[0], Duration::millis(29), 50);
  EXPECT_THAT(closed(), IsEmpty());
  answer(1000, three[0], Duration::millis(60), 50);
  EXPECT_THAT(closed(), ElementsAre(std::pair(three[0], std::optional(Eviction::kLatency))));
  take();
  for (int i = 0; i < 100; ++i) {
    for (const std::string& id : {three[1], three[2]}) answer(1000, id, Duration::millis(10 + i * 10));
  }
  EXPECT_THAT(closed(), IsEmpty()) << "all are slow: another peer would help nobody";
}

TEST_F(PoolOfTwenty, a_slow_peer_has_no_part_in_what_it_is_measured_by) {
  const auto three = pool_->primaries();
  for (int i = 0; i < 100; ++i) {
    for (const std::string& id : {three[0], three[1]}) answer(1000, id, Duration::millis(10 + i));
  }
  answer(1000, three[2], Duration::millis(10), 30);
  answer(1000, three[0], Duration::millis(109));
  EXPECT_EQ(pool_->standing(three[0]), Standing::kKnown) << "two of three are slow, and the third shows it";
}

TEST_F(PoolOfTwenty, three_times_next_to_nothing_is_nothing) {
  const auto three = pool_->primaries();
  for (const std::string& id : three) answer(1000, id, Duration::micros(100), 30);
  answer(1000, three[0], Duration::micros(4900), 100);
  EXPECT_THAT(closed(), IsEmpty());
}

TEST_F(PoolOfTwenty, when_the_last_primary_goes_a_backup_takes_its_place_at_once) {
  for (const std::string& id : pool_->primaries()) pool_->disconnected(at_ms(1000), id, effects_);
  EXPECT_THAT(pool_->primaries(), SizeIs(2));
  EXPECT_TRUE(pool_->next());
}

TEST_F(PoolOfTwenty, a_connection_of_an_hour_is_made_anew_elsewhere_one_at_a_time) {
  const auto before = pool_->primaries();
  std::set<int64_t> when;
  int64_t now = 0;
  while (now < 3'900'000) {
    now = deadline();
    const auto stale = metrics_.pool_evictions[static_cast<std::size_t>(Eviction::kStale)];
    pool_->tick(at_ms(now), effects_);
    EXPECT_LE(metrics_.pool_evictions[static_cast<std::size_t>(Eviction::kStale)], stale + 1);
    if (metrics_.pool_evictions[static_cast<std::size_t>(Eviction::kStale)] > stale) when.insert(now);
    connect_all(now);
  }
  EXPECT_THAT(when, SizeIs(5));
  EXPECT_GE(*when.begin(), 3'600'000);
  EXPECT_NE(pool_->primaries(), before);
  EXPECT_THAT(pool_->primaries(), SizeIs(3));
}

TEST_F(PoolTest, the_only_peer_is_kept_however_old_and_tried_again_however_bad_but_not_without_end) {
  open(1);
  pool_->tick(at_ms(5'000'000), effects_);
  EXPECT_THAT(pool_->primaries(), ElementsAre("m-00"));
  take();
  int attempts = 0;
  int64_t now = 5'000'000;
  pool_->disconnected(at_ms(now), "m-00", effects_);
  while (now < 5'060'000) {
    for (const PoolEffect& effect : take()) {
      if (!std::holds_alternative<effect::Connect>(effect)) continue;
      ++attempts;
      pool_->disconnected(at_ms(now), "m-00", effects_);
    }
    now = std::max(now + 1, deadline());
    pool_->tick(at_ms(now), effects_);
  }
  EXPECT_GT(attempts, 5);
  EXPECT_LT(attempts, 300);
}

TEST_F(PoolTest, who_was_evicted_is_not_chosen_again_for_a_minute_while_there_are_others) {
  open(6);
  const std::string bad = pool_->primaries()[0];
  fail(1000, bad, 4);
  int64_t now = 1000;
  while (now < 60'000) {
    for (const std::string& id : connect_all(now)) EXPECT_NE(id, bad);
    now = deadline();
    pool_->tick(at_ms(now), effects_);
  }
  EXPECT_THAT(pool_->primaries(), SizeIs(3));
}

TEST_F(PoolOfTwenty, peers_that_leave_the_cluster_are_replaced_and_others_keep_their_connections) {
  const auto kept = pool_->primaries();
  const std::string gone = kept[0];
  std::erase_if(peers_, [&](const Peer& peer) { return peer.id == gone; });
  pool_->peers_changed(at_ms(1000), peers_, SetChange::kPeerRemoved, effects_);
  EXPECT_THAT(closed(), ElementsAre(std::pair(gone, std::optional<Eviction>())));
  pool_->tick(at_ms(1501), effects_);
  connect_all(1501);
  const auto now = pool_->primaries();
  EXPECT_THAT(now, testing::AllOf(SizeIs(3), testing::Contains(kept[1]), testing::Contains(kept[2])));
  EXPECT_EQ(metrics_.candidate_set_changes[static_cast<std::size_t>(SetChange::kPeerRemoved)], 1);
}

TEST_F(PoolTest, near_peers_come_first) {
  settings_.locality.self = {"fra1", "eu"};
  for (int i = 0; i < 5; ++i) add("near-" + std::to_string(i), {"fra1", "eu"});
  for (int i = 0; i < 50; ++i) add("far-" + std::to_string(i), {"nyc1", "us"});
  open(0);
  for (const std::string& id : pool_->primaries()) EXPECT_TRUE(id.starts_with("near")) << id;
  EXPECT_EQ(metrics_.locality_tier_selected[0], 1);
}

TEST_F(PoolOfTwenty, what_is_refreshed_is_refreshed_each_minute_and_a_little) {
  EXPECT_GE(deadline(), 60'000);
  EXPECT_LE(deadline(), 65'001);
}

TEST_F(PoolTest, its_figures_have_the_names_that_dashboards_know) {
  open(3);
  answer(1, "m-00", Duration::millis(4));
  metrics_.cluster_id_rejections.add("prod", "sta\"ging\n");
  std::map<std::string, double> seen;
  for (const Sample& s : samples(metrics_, pool_->figures(), "worker", "fra1")) {
    seen[std::string(s.name) + "{" + s.labels + "}"] = s.value;
  }
  EXPECT_EQ(seen.at("bellwether_discovery_pool_connections{role=\"worker\",state=\"primary\"}"), 3);
  EXPECT_EQ(seen.at("bellwether_discovery_candidate_set_size{role=\"worker\",datacenter=\"fra1\"}"), 3);
  EXPECT_EQ(seen.at("bellwether_discovery_peer_ewma_latency_ms{peer_id=\"m-00\",datacenter=\"\"}"), 4);
  EXPECT_EQ(seen.at("bellwether_discovery_cluster_id_rejections_total{expected=\"prod\",received=\"sta\\\"ging\\n\"}"),
            1);
  EXPECT_EQ(seen.count("bellwether_discovery_dns_lookups_total{datacenter=\"fra1\",result=\"negative_cached\"}"), 1);
  EXPECT_EQ(seen.count("bellwether_discovery_pool_evictions_total{reason=\"stale\"}"), 1);
}

TEST(PairCounts, strangers_cannot_make_a_node_count_without_end) {
  PairCounts pairs;
  for (int i = 0; i < 1000; ++i) pairs.add("prod", std::to_string(i) + std::string(1000, 'x'));
  EXPECT_EQ(pairs.counts().size(), PairCounts::kPairsMax + 1);
  EXPECT_EQ(pairs.counts().at({"other", "other"}), 1000 - PairCounts::kPairsMax);
}

}  // namespace
}  // namespace bellwether::discovery
