#include "cluster/discovery/selection.h"

#include <gmock/gmock.h>
#include <map>
#include <rapidcheck/gtest.h>
#include <set>

#include "cluster/discovery/health.h"

namespace bellwether::discovery {
namespace {

std::vector<std::string> ids(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back("manager-" + std::to_string(i));
  return all;
}

std::vector<Weighed> weighed(const std::vector<std::string>& ids, Tier tier = Tier::kSameDatacenter) {
  std::vector<Weighed> all;
  for (const std::string& id : ids) all.push_back({id, tier, 1});
  return all;
}

std::set<std::string> chosen(const std::vector<std::string>& ids, std::string_view selector) {
  std::set<std::string> names;
  for (const Ranked& ranked : select_candidates(weighed(ids), selector, "worker", 8, 3).ranked) {
    names.insert(ids[ranked.index]);
  }
  return names;
}

TEST(Selection, tiers_follow_what_peers_say_of_where_they_are) {
  LocalitySettings settings;
  settings.self = {"fra1", "eu"};
  EXPECT_EQ(tier_of(settings, {"fra1", "eu"}, {}), Tier::kSameDatacenter);
  EXPECT_EQ(tier_of(settings, {"ams1", "eu"}, {}), Tier::kSameRegion);
  EXPECT_EQ(tier_of(settings, {"", "eu"}, {}), Tier::kSameRegion);
  EXPECT_EQ(tier_of(settings, {"nyc1", "us"}, Duration::micros(100)), Tier::kGlobal) << "what it says comes first";
  EXPECT_EQ(tier_of(settings, {}, Duration::millis(1)), Tier::kSameDatacenter) << "it says nothing, and is near";
  EXPECT_EQ(tier_of(settings, {}, Duration::millis(2)), Tier::kSameRegion);
  EXPECT_EQ(tier_of(settings, {}, Duration::millis(50)), Tier::kGlobal);
  EXPECT_EQ(tier_of(settings, {}, {}), Tier::kSameDatacenter) << "it was not measured yet";
  EXPECT_EQ(tier_of({}, {"nyc1", "us"}, Duration::seconds(1)), Tier::kSameDatacenter) << "near and far mean nothing";
  settings.prefer_same_datacenter = false;
  EXPECT_EQ(tier_of(settings, {"fra1", "eu"}, {}), Tier::kSameRegion);
  settings.prefer_same_region = false;
  EXPECT_EQ(tier_of(settings, {"fra1", "eu"}, {}), Tier::kGlobal);
}

TEST(Selection, the_next_tier_is_taken_in_only_when_the_nearer_ones_are_too_few) {
  std::vector<Weighed> peers = {
      {"far", Tier::kGlobal, 1}, {"b", Tier::kSameRegion, 1}, {"a", Tier::kSameDatacenter, 1}};
  auto set = select_candidates(peers, "me", "worker", 8, 1);
  ASSERT_EQ(set.ranked.size(), 1);
  EXPECT_EQ(set.ranked[0].index, 2);
  EXPECT_EQ(set.widest, Tier::kSameDatacenter);
  EXPECT_EQ(select_candidates(peers, "me", "worker", 8, 2).ranked.size(), 2);
  set = select_candidates(peers, "me", "worker", 8, 3);
  EXPECT_EQ(set.ranked.size(), 3);
  EXPECT_EQ(set.widest, Tier::kGlobal);
  EXPECT_TRUE(select_candidates({}, "me", "worker", 8, 3).ranked.empty());
}

TEST(Selection, one_node_always_gets_the_same_peers_and_others_get_others) {
  const auto all = ids(100);
  EXPECT_EQ(chosen(all, "worker-1"), chosen(all, "worker-1"));
  EXPECT_EQ(chosen(all, "worker-1").size(), 8);
  EXPECT_NE(chosen(all, "worker-1"), chosen(all, "worker-2"));
}

TEST(Selection, every_machine_computes_the_same_score) {
  EXPECT_NEAR(rendezvous_score("manager-1", "worker-1", "worker", 1), 13.526956221784108, 1e-9);
}

RC_GTEST_PROP(Selection, a_peer_that_goes_changes_only_who_had_it, (uint64_t seed)) {
  Prng prng(seed);
  auto all = ids(30);
  const std::string selector = "worker-" + std::to_string(prng.below(1000));
  const auto before = chosen(all, selector);
  const std::string gone = all[prng.below(all.size())];
  std::erase(all, gone);
  auto after = chosen(all, selector);
  auto kept = before;
  kept.erase(gone);
  for (const std::string& peer : kept) RC_ASSERT(after.count(peer) == 1);
  if (before.count(gone) == 0) RC_ASSERT(after == before);
}

TEST(Selection, peers_are_chosen_in_proportion_to_their_weights) {
  const std::vector<Weighed> peers = {{"a", Tier::kGlobal, 1}, {"b", Tier::kGlobal, 0.5}, {"c", Tier::kGlobal, 0.5}};
  std::map<std::size_t, int> first;
  for (int i = 0; i < 20'000; ++i) {
    ++first[select_candidates(peers, "worker-" + std::to_string(i), "worker", 1, 1).ranked[0].index];
  }
  EXPECT_NEAR(first[0], 10'000, 300);
  EXPECT_NEAR(first[1], 5'000, 300);
  EXPECT_NEAR(first[2], 5'000, 300);
}

TEST(Selection, weights_follow_errors_and_latency_down_to_a_tenth) {
  EXPECT_DOUBLE_EQ(health_weight(0, 0), 1);
  EXPECT_DOUBLE_EQ(health_weight(0.1, 0), 0.8);
  EXPECT_DOUBLE_EQ(health_weight(0, 1), 0.5);
  EXPECT_DOUBLE_EQ(health_weight(0.1, 0.5), 0.55);
  EXPECT_DOUBLE_EQ(health_weight(0.9, 5), 0.1);
  EXPECT_DOUBLE_EQ(health_weight(0.01, 0), health_weight(0, 0)) << "small changes move nobody";
}

TEST(Selection, the_better_of_two_is_never_the_worst_and_not_always_the_best) {
  const std::vector<Duration> latencies = {Duration::millis(5), Duration::millis(1), Duration::millis(9)};
  Prng prng(1);
  std::map<std::size_t, int> taken;
  for (int i = 0; i < 3000; ++i) ++taken[*better_of_two(latencies, prng)];
  EXPECT_EQ(taken[2], 0);
  EXPECT_NEAR(taken[1], 2000, 150);
  EXPECT_NEAR(taken[0], 1000, 150);
  EXPECT_EQ(better_of_two({}, prng), std::nullopt);
  EXPECT_EQ(better_of_two({Duration::seconds(1)}, prng), 0);
  EXPECT_EQ(better_of_two({Duration::millis(1), Duration::zero()}, prng), 1) << "who is unknown is tried";
}

TEST(PeerHealth, the_latency_is_smoothed_by_a_fifth_of_each_new_one) {
  PeerHealth health(0.2);
  EXPECT_EQ(health.ewma(), Duration::zero());
  health.succeeded(Duration::millis(10));
  EXPECT_EQ(health.ewma(), Duration::millis(10)) << "the first one is all that is known";
  health.succeeded(Duration::millis(20));
  EXPECT_EQ(health.ewma(), Duration::millis(12));
}

TEST(PeerHealth, the_error_rate_is_that_of_the_last_hundred_once_there_are_twenty) {
  PeerHealth health(0.2);
  for (int i = 0; i < 19; ++i) health.failed();
  EXPECT_EQ(health.error_rate(), 0);
  EXPECT_EQ(health.consecutive_failures(), 19);
  health.succeeded(Duration::millis(1));
  EXPECT_DOUBLE_EQ(health.error_rate(), 0.95);
  EXPECT_EQ(health.consecutive_failures(), 0);
  for (int i = 0; i < 90; ++i) health.succeeded(Duration::millis(1));
  EXPECT_DOUBLE_EQ(health.error_rate(), 0.09);
  for (int i = 0; i < 10; ++i) health.succeeded(Duration::millis(1));
  EXPECT_DOUBLE_EQ(health.error_rate(), 0);
}

TEST(PeerHealth, the_percentile_is_of_the_last_hundred) {
  PeerHealth health(0.2);
  for (int i = 0; i < 19; ++i) health.succeeded(Duration::millis(500));
  EXPECT_EQ(health.p99(), std::nullopt);
  for (int i = 1; i <= 100; ++i) health.succeeded(Duration::millis(i));
  EXPECT_EQ(health.p99(), Duration::millis(99));
}

}  // namespace
}  // namespace bellwether::discovery
