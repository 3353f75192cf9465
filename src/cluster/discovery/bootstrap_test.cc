#include "cluster/discovery/bootstrap.h"

#include <gmock/gmock.h>

#include "core/base/time_testing.h"

namespace bellwether::discovery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

HostPort place(std::string_view text) { return *parse_host_port(text, 9000); }

// What an effect says, in a few words.
std::string words(const BootstrapEffect& effect) {
  struct Words {
    std::string operator()(const effect::Resolve& e) const { return "resolve " + e.question.name; }
    std::string operator()(const effect::Probe& e) const { return "probe " + to_string(e.place); }
    std::string operator()(const effect::CancelProbe& e) const { return "cancel " + to_string(e.place); }
    std::string operator()(const effect::Join& e) const { return "join " + to_string(e.place); }
    std::string operator()(const effect::CancelJoin& e) const { return "cancel join " + to_string(e.place); }
    std::string operator()(const effect::Joined& e) const { return e.through ? "joined" : "founded"; }
    std::string operator()(const effect::Failed&) const { return "failed"; }
  };
  return std::visit(Words{}, effect);
}

class BootstrapTest : public testing::Test {
 protected:
  std::vector<std::string> step(int64_t ms, const BootstrapEvent& event) {
    if (!node_) node_.emplace(settings_, Prng(1), metrics_);
    last_.clear();
    node_->step(at_ms(ms), event, last_);
    std::vector<std::string> said;
    for (const BootstrapEffect& effect : last_) said.push_back(words(effect));
    return said;
  }
  std::vector<std::string> start(std::vector<HostPort> cached = {}, std::vector<HostPort> stale = {}) {
    return step(0, event::Start{std::move(cached), std::move(stale)});
  }
  std::vector<std::string> fails(int64_t ms, std::string_view who) {
    return step(ms, event::ProbeFailed{place(who), "connection refused"});
  }
  void seeds(std::initializer_list<std::string_view> all) {
    for (const std::string_view one : all) settings_.seeds.push_back(place(one));
  }
  int64_t deadline() { return (node_->wake() - at_ms(0)).ms(); }

  BootstrapSettings settings_;
  Metrics metrics_;
  std::optional<Bootstrap> node_;
  std::vector<BootstrapEffect> last_;
};

TEST_F(BootstrapTest, all_seeds_are_probed_at_once_and_the_first_that_answers_is_joined) {
  seeds({"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  EXPECT_THAT(start(), ElementsAre("probe 10.0.0.1:9000", "probe 10.0.0.2:9000", "probe 10.0.0.3:9000"));
  EXPECT_EQ(node_->state(), BootstrapState::kProbing);
  EXPECT_EQ(std::get<effect::Probe>(last_[0]).at, at_ms(0)) << "the first round waits for nothing";
  EXPECT_THAT(step(3, event::ProbeAnswered{place("10.0.0.2")}),
              ElementsAre("cancel 10.0.0.1:9000", "cancel 10.0.0.3:9000", "join 10.0.0.2:9000"));
  EXPECT_THAT(step(4, event::ProbeAnswered{place("10.0.0.1")}), IsEmpty()) << "the second one is too late";
  EXPECT_THAT(step(5, event::JoinAccepted{place("10.0.0.2")}), ElementsAre("joined"));
  EXPECT_EQ(node_->state(), BootstrapState::kJoined);
  EXPECT_EQ(node_->wake(), Instant::never());
}

TEST_F(BootstrapTest, candidates_are_tried_in_their_order_each_once_and_never_the_node_itself) {
  seeds({"10.0.0.1", "10.0.0.2", "10.0.0.1"});
  settings_.self = {place("10.0.0.2"), place("Me.example")};
  EXPECT_THAT(
      start({place("10.0.0.9"), place("10.0.0.1"), place("me.EXAMPLE")}, {place("10.0.0.8"), place("10.0.0.9")}),
      ElementsAre("probe 10.0.0.9:9000", "probe 10.0.0.1:9000", "probe 10.0.0.8:9000"));
}

TEST_F(BootstrapTest, no_more_than_ten_probes_are_under_way) {
  for (int i = 1; i <= 15; ++i) settings_.seeds.push_back(place("10.0.0." + std::to_string(i)));
  EXPECT_EQ(start().size(), 10);
  EXPECT_THAT(fails(1, "10.0.0.4"), ElementsAre("probe 10.0.0.11:9000"));
  EXPECT_EQ(step(500, event::Tick{}).size(), 9 + 4) << "nine were cancelled, the last four begin";
}

TEST_F(BootstrapTest, one_that_does_not_answer_is_given_up_after_half_a_second) {
  seeds({"10.0.0.1"});
  start();
  EXPECT_EQ(deadline(), 500);
  EXPECT_THAT(step(499, event::Tick{}), IsEmpty());
  EXPECT_THAT(step(500, event::Tick{}), ElementsAre("cancel 10.0.0.1:9000"));
  EXPECT_EQ(node_->state(), BootstrapState::kBackoff);
}

TEST_F(BootstrapTest, one_that_refuses_is_set_aside_for_the_round_and_the_others_go_on) {
  seeds({"10.0.0.1", "10.0.0.2"});
  start();
  step(1, event::ProbeAnswered{place("10.0.0.1")});
  EXPECT_THAT(step(2, event::JoinRefused{place("10.0.0.1"), "draining"}), ElementsAre("probe 10.0.0.2:9000"));
  EXPECT_THAT(step(3, event::ProbeAnswered{place("10.0.0.1")}), IsEmpty()) << "it cannot win again";
  fails(4, "10.0.0.2");
  EXPECT_EQ(node_->state(), BootstrapState::kBackoff);
  EXPECT_THAT(step(deadline() + 1, event::Tick{}), Contains("probe 10.0.0.1:9000")) << "but in the next round it may";
}

TEST_F(BootstrapTest, one_that_answers_the_probe_but_never_the_join_does_not_hold_the_node_up) {
  seeds({"10.0.0.1", "10.0.0.2"});
  start();
  step(1, event::ProbeAnswered{place("10.0.0.1")});
  EXPECT_EQ(deadline(), 2001);
  EXPECT_THAT(step(2001, event::Tick{}), ElementsAre("cancel join 10.0.0.1:9000", "probe 10.0.0.2:9000"));
  EXPECT_THAT(step(2002, event::JoinAccepted{place("10.0.0.1")}), IsEmpty());
}

TEST_F(BootstrapTest, rounds_wait_longer_each_time_up_to_fifteen_seconds_and_a_quarter) {
  seeds({"10.0.0.1"});
  start();
  int64_t now = 0;
  Duration apart;
  for (const int64_t base : {500, 1000, 2000, 4000, 8000, 15000, 15000, 15000}) {
    fails(now, "10.0.0.1");
    ASSERT_EQ(node_->state(), BootstrapState::kBackoff);
    const int64_t waits = deadline() - now;
    EXPECT_GE(waits, base - 1);
    EXPECT_LE(waits, base + base / 4);
    now = deadline() + 1;
    step(now, event::Tick{});
    ASSERT_EQ(node_->state(), BootstrapState::kProbing);
    const Duration wait = std::get<effect::Probe>(last_.at(0)).at - at_ms(now);
    EXPECT_LE(wait, Duration::millis(100));
    apart = std::max(apart, wait);
  }
  EXPECT_GT(apart, Duration::millis(20)) << "nodes that failed together do not probe together";
}

TEST_F(BootstrapTest, names_are_resolved_while_known_candidates_are_probed) {
  seeds({"10.0.0.1", "managers.example"});
  settings_.names = {{"_bellwether._tcp.example", 0}};
  EXPECT_THAT(start(), testing::UnorderedElementsAre("resolve managers.example", "resolve _bellwether._tcp.example",
                                                     "probe 10.0.0.1:9000"));
  EXPECT_THAT(step(20, event::Resolved{{"managers.example", 9000}, {place("10.0.0.1"), place("10.0.0.5")}, {}}),
              ElementsAre("probe 10.0.0.5:9000"));
  EXPECT_THAT(step(30, event::Resolved{{"_bellwether._tcp.example", 0}, {place("10.0.0.6:9100")}, {}}),
              ElementsAre("probe 10.0.0.6:9100"));
  EXPECT_EQ(metrics_.dns_lookups[0], 2);
  EXPECT_EQ(metrics_.dns_resolution.sum, Duration::millis(50));
}

TEST_F(BootstrapTest, without_a_name_server_the_seeds_do) {
  seeds({"10.0.0.1", "managers.example"});
  start();
  step(1, event::ProbeAnswered{place("10.0.0.1")});
  EXPECT_THAT(step(2, event::JoinAccepted{place("10.0.0.1")}), ElementsAre("joined"));
}

TEST_F(BootstrapTest, a_name_server_that_is_silent_is_given_up_after_two_seconds_and_not_asked_for_half_a_minute) {
  seeds({"managers.example"});
  EXPECT_THAT(start(), ElementsAre("resolve managers.example"));
  EXPECT_EQ(node_->state(), BootstrapState::kResolving);
  EXPECT_EQ(deadline(), 2000);
  EXPECT_THAT(step(2000, event::Tick{}), IsEmpty());
  EXPECT_EQ(node_->state(), BootstrapState::kBackoff);
  EXPECT_EQ(metrics_.dns_lookups[static_cast<std::size_t>(LookupResult::kTimeout)], 1);
  int64_t asked = 0;
  while (asked == 0) {
    const int64_t now = deadline() + 1;
    if (!step(now, event::Tick{}).empty()) asked = now;
  }
  EXPECT_GE(asked, 32'000);
  EXPECT_GT(metrics_.dns_cache_hits[1], 2);
}

TEST_F(BootstrapTest, an_answer_is_believed_as_long_as_it_says) {
  seeds({"managers.example"});
  start();
  step(1, event::Resolved{{"managers.example", 9000}, {place("10.0.0.5")}, Duration::seconds(2)});
  fails(2, "10.0.0.5");
  EXPECT_THAT(step(700, event::Tick{}), ElementsAre("probe 10.0.0.5:9000"));
  fails(701, "10.0.0.5");
  EXPECT_THAT(step(2100, event::Tick{}), ElementsAre("resolve managers.example"));
}

TEST_F(BootstrapTest, a_limit_of_rounds_ends_in_failure_that_names_all_that_was_tried) {
  seeds({"10.0.0.1", "10.0.0.2"});
  settings_.rounds_max = 2;
  start();
  fails(1, "10.0.0.1");
  EXPECT_THAT(fails(2, "10.0.0.2"), IsEmpty());
  step(700, event::Tick{});
  step(800, event::ProbeAnswered{place("10.0.0.1")});
  EXPECT_THAT(step(801, event::JoinRefused{place("10.0.0.1"), "another cluster"}), ElementsAre("probe 10.0.0.2:9000"));
  EXPECT_THAT(step(1500, event::Tick{}), ElementsAre("cancel 10.0.0.2:9000", "failed"));
  const auto& tried = std::get<effect::Failed>(last_.back()).tried;
  ASSERT_EQ(tried.size(), 2);
  EXPECT_EQ(tried[0].outcome, "refused: another cluster");
  EXPECT_THAT(tried[1].outcome, testing::HasSubstr("no answer in 500ms"));
}

TEST_F(BootstrapTest, a_name_that_is_not_resolved_is_among_all_that_was_tried) {
  seeds({"10.0.0.1", "seed.example:7"});
  start();
  step(1, event::NotResolved{{"seed.example", 7}, "no such host"});
  fails(2, "10.0.0.1");
  const std::vector<Tried> tried = node_->tried();
  ASSERT_EQ(tried.size(), 2);
  EXPECT_EQ(to_string(tried[1].place), "seed.example:7");
  EXPECT_EQ(tried[1].outcome, "the name is not resolved: no such host");
}

TEST_F(BootstrapTest, a_limit_of_time_ends_in_failure_wherever_it_stands) {
  seeds({"10.0.0.1"});
  settings_.give_up_after = Duration::millis(600);
  start();
  step(1, event::ProbeAnswered{place("10.0.0.1")});
  EXPECT_EQ(deadline(), 600);
  EXPECT_THAT(step(600, event::Tick{}), ElementsAre("cancel join 10.0.0.1:9000", "failed"));
  EXPECT_THAT(step(601, event::JoinAccepted{place("10.0.0.1")}), IsEmpty());
}

TEST_F(BootstrapTest, it_tries_for_ever_by_default_and_founds_nothing) {
  seeds({"10.0.0.1"});
  start();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = deadline() + 1;
    EXPECT_THAT(step(now, event::Tick{}), testing::Not(Contains("failed")));
  }
  EXPECT_GT(node_->round(), 400);
}

TEST_F(BootstrapTest, a_node_whose_seeds_are_itself_begins_a_cluster_when_it_may) {
  seeds({"10.0.0.1"});
  settings_.self = {place("10.0.0.1")};
  settings_.founding = Founding::kWhenAlone;
  EXPECT_THAT(start(), ElementsAre("founded"));
}

TEST_F(BootstrapTest, a_node_with_other_seeds_does_not_begin_a_cluster_because_they_are_silent) {
  seeds({"10.0.0.1", "10.0.0.2"});
  settings_.self = {place("10.0.0.1")};
  settings_.founding = Founding::kWhenAlone;
  start();
  fails(1, "10.0.0.2");
  EXPECT_EQ(node_->state(), BootstrapState::kBackoff);
}

TEST_F(BootstrapTest, the_first_node_begins_after_one_round_unless_somebody_refused_it) {
  seeds({"10.0.0.2"});
  settings_.founding = Founding::kAtOnce;
  start();
  EXPECT_THAT(fails(1, "10.0.0.2"), ElementsAre("founded"));
  node_.reset();
  start();
  step(1, event::ProbeAnswered{place("10.0.0.2")});
  EXPECT_THAT(step(2, event::JoinRefused{place("10.0.0.2"), "wrong secret"}), IsEmpty());
  EXPECT_EQ(node_->state(), BootstrapState::kBackoff) << "there is a cluster, which does not want it";
}

}  // namespace
}  // namespace bellwether::discovery
