// How long it takes to join, in virtual time, over many seeds: networks in which seeds are down, names are stale or
// name servers are silent, and herds of nodes that start at once.
#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <queue>

#include "cluster/discovery/bootstrap.h"
#include "core/base/time_testing.h"

namespace bellwether::discovery {
namespace {

constexpr int kRuns = 1000;

HostPort place(int number) { return {"10.0.0." + std::to_string(number), 9000}; }

// One starting node and what surrounds it. Messages take 0.2 to 2 ms each way; who is not alive never answers.
class Network {
 public:
  explicit Network(uint64_t seed) : prng_(seed) {}

  Network& alive(int number, Instant from = Instant()) {
    alive_[place(number)] = from;
    return *this;
  }
  Network& name(std::string host, std::vector<HostPort> places) {
    names_[std::move(host)] = std::move(places);
    return *this;
  }

  // When the node has joined; nothing when it has not after `limit`.
  std::optional<Duration> join(BootstrapSettings settings, Duration limit, std::vector<HostPort> cached = {}) {
    Metrics metrics;
    Bootstrap node(std::move(settings), prng_.fork(), metrics);
    schedule(at_ms(0), event::Start{std::move(cached), {}});
    while (true) {
      const Instant now = events_.empty() ? node.wake() : std::min(events_.top().at, node.wake());
      if (now - at_ms(0) > limit) return std::nullopt;
      BootstrapEvent event = event::Tick{};
      if (!events_.empty() && events_.top().at <= now) {
        event = events_.top().event;
        events_.pop();
      }
      std::vector<BootstrapEffect> effects;
      node.step(now, event, effects);
      for (const BootstrapEffect& effect : effects) {
        if (std::holds_alternative<effect::Joined>(effect)) return now - at_ms(0);
        answer(now, effect);
      }
    }
  }
  // The times and receivers of probes.
  const std::vector<Instant>& probes() const { return probes_; }

 private:
  struct Scheduled {
    Instant at;
    uint64_t number;
    BootstrapEvent event;
    bool operator<(const Scheduled& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  void schedule(Instant when, BootstrapEvent event) { events_.push({when, numbered_++, std::move(event)}); }
  Duration round_trip() { return prng_.between(Duration::micros(400), Duration::millis(4)); }
  bool answers(const HostPort& who, Instant when) {
    const auto found = alive_.find(who);
    return found != alive_.end() && found->second <= when;
  }
  void answer(Instant now, const BootstrapEffect& effect) {
    if (const auto* probe = std::get_if<effect::Probe>(&effect)) {
      probes_.push_back(probe->at);
      if (answers(probe->place, probe->at)) schedule(probe->at + round_trip(), event::ProbeAnswered{probe->place});
    } else if (const auto* join = std::get_if<effect::Join>(&effect)) {
      if (answers(join->place, now)) schedule(now + round_trip(), event::JoinAccepted{join->place});
    } else if (const auto* resolve = std::get_if<effect::Resolve>(&effect)) {
      const auto found = names_.find(resolve->question.name);
      if (found == names_.end()) return;  // the name server is silent
      schedule(now + round_trip(), event::Resolved{resolve->question, found->second, Duration::seconds(5)});
    }
  }

  Prng prng_;
  std::map<HostPort, Instant> alive_;
  std::map<std::string, std::vector<HostPort>> names_;
  std::priority_queue<Scheduled> events_;
  uint64_t numbered_ = 0;
  std::vector<Instant> probes_;
};

BootstrapSettings with_seeds(std::initializer_list<int> numbers) {
  BootstrapSettings settings;
  for (const int number : numbers) settings.seeds.push_back(place(number));
  return settings;
}

TEST(BootstrapNetwork, a_node_joins_within_a_tenth_of_a_second_although_a_seed_is_down) {
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto took = Network(seed).alive(2).alive(3).join(with_seeds({1, 2, 3}), Duration::seconds(10));
    ASSERT_TRUE(took) << seed;
    EXPECT_LT(*took, Duration::millis(100)) << seed;
  }
}

TEST(BootstrapNetwork, without_a_name_server_seeds_are_enough_at_once) {
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    BootstrapSettings settings = with_seeds({1});
    settings.names = {{"managers.example", 9000}};
    const auto took = Network(seed).alive(1).join(settings, Duration::seconds(10));
    ASSERT_TRUE(took) << seed;
    EXPECT_LT(*took, Duration::millis(100)) << seed;
  }
}

TEST(BootstrapNetwork, stale_addresses_cost_nothing_while_ten_are_probed_and_half_a_second_beyond) {
  std::vector<HostPort> few, many;
  for (int i = 100; i < 109; ++i) few.push_back(place(i));
  for (int i = 100; i < 110; ++i) many.push_back(place(i));
  few.push_back(place(1));
  many.push_back(place(1));
  BootstrapSettings settings;
  settings.names = {{"managers.example", 9000}};
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto at_once = Network(seed).alive(1).name("managers.example", few).join(settings, Duration::seconds(10));
    ASSERT_TRUE(at_once);
    EXPECT_LT(*at_once, Duration::millis(100));
    const auto later = Network(seed).alive(1).name("managers.example", many).join(settings, Duration::seconds(10));
    ASSERT_TRUE(later);
    EXPECT_LT(*later, Duration::millis(600));
  }
}

TEST(BootstrapNetwork, a_node_joins_soon_after_the_first_seed_comes_back) {
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const int64_t back = 1000 * static_cast<int64_t>(seed % 120);
    const auto took = Network(seed).alive(2, at_ms(back)).join(with_seeds({1, 2}), Duration::minutes(10));
    ASSERT_TRUE(took) << seed;
    // The longest wait between two rounds, and the probes of one that began before.
    EXPECT_LT(*took - Duration::millis(back), Duration::millis(18'750 + 1'200)) << seed;
  }
}

TEST(BootstrapNetwork, a_herd_that_starts_at_once_does_not_stay_together) {
  std::map<int64_t, int> probes_of_slot;  // of 100 ms
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    Network network(seed);
    EXPECT_FALSE(network.join(with_seeds({1}), Duration::seconds(120)));
    for (const Instant probe : network.probes()) ++probes_of_slot[(probe - at_ms(0)).ms() / 100];
  }
  EXPECT_EQ(probes_of_slot[0], kRuns) << "the first probe of each is at once";
  for (const auto& [slot, count] : probes_of_slot) {
    if (slot > 0) EXPECT_LT(count, kRuns) << slot;
    // After a minute of back-off less than a tenth of them fall into any tenth of a second.
    if (slot > 600) EXPECT_LT(count, kRuns / 10) << slot;
  }
}

}  // namespace
}  // namespace bellwether::discovery
