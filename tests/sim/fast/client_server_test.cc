// Clients that increment a counter on a server while everything around them breaks: no acknowledged increment is lost,
// none counts twice, and when all is whole again everyone gets on. The same world with a mistake in the server must be
// judged bad, or the judgement is worth nothing.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/base/probe.h"
#include "tests/sim/fast/counter.h"
#include "tests/sim/faults.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

constexpr uint64_t kClients = 3;
constexpr int kFaults = 25;
constexpr uint64_t kMoreIncrements = 5;
constexpr uint64_t kCanarySeeds = 100;
constexpr uint64_t kProbeSeeds = 300;

struct Life {
  Judgement judgement;
  uint64_t fingerprint = 0;
};

Life live_with(uint64_t seed, Mistake mistake) {
  CounterChecker checker;
  CounterServerContext server_context{checker, mistake};
  std::vector<CounterClientContext> clients;
  for (uint64_t number = 0; number < kClients; ++number) clients.push_back({checker, number});
  World world(seed);
  Node& server = world.add_node("server");
  server.start(&counter_server, &server_context);
  for (CounterClientContext& client : clients) {
    world.add_node("client" + std::to_string(client.number)).start(&counter_client, &client);
  }

  Faults faults(world);
  world.run_for(Duration::seconds(1));
  faults.happen(kFaults);
  faults.end();

  std::vector<uint64_t> goals;
  for (uint64_t i = 0; i < kClients; ++i) goals.push_back(checker.acknowledged_of(i) + kMoreIncrements);
  const bool all_get_on = world.run_while_waiting(Duration::minutes(2), [&] {
    for (uint64_t i = 0; i < kClients; ++i) {
      if (checker.acknowledged_of(i) < goals[i]) return false;
    }
    return true;
  });
  checker.recovered(read_log(server.disk().text_of(kCounterLog)));

  Life life{checker.violation(), world.fingerprint()};
  if (life.judgement.empty() && !all_get_on) life.judgement = "nothing is broken any more, and not all clients get on";
  return life;
}

Judgement live(uint64_t seed) { return live_with(seed, Mistake::kNone).judgement; }

TEST(ClientServer, loses_and_repeats_nothing_whatever_breaks) { expect_good(&live); }

TEST(ClientServer, one_seed_gives_one_run) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const uint64_t first = live_with(seed, Mistake::kNone).fingerprint;
    EXPECT_EQ(live_with(seed, Mistake::kNone).fingerprint, first) << "seed " << seed;
    EXPECT_NE(live_with(seed + 1, Mistake::kNone).fingerprint, first) << "seed " << seed;
  }
}

class Canary : public testing::TestWithParam<Mistake> {};

TEST_P(Canary, is_found_out) {
  uint64_t seed = 1;
  while (seed <= kCanarySeeds && live_with(seed, GetParam()).judgement.empty()) ++seed;
  EXPECT_LE(seed, kCanarySeeds) << "the checker does not see what is wrong with this server";
}

INSTANTIATE_TEST_SUITE_P(ClientServer, Canary,
                         testing::Values(Mistake::kAnswersBeforeSync, Mistake::kForgetsRequests,
                                         Mistake::kTrustsLogAfterFailedSync));

constexpr const char* kProbes[] = {"sim: a packet is lost",
                                   "sim: a packet is duplicated",
                                   "sim: a packet is overtaken",
                                   "sim: a segment is overtaken",
                                   "sim: bytes are sent again",
                                   "sim: a connection is refused",
                                   "sim: the backlog of a listener is full",
                                   "sim: a packet comes for a connection that is not there",
                                   "sim: nobody answers when a name is asked for",
                                   "sim: a process comes late to its turn because it was paused",
                                   "sim: reading a file fails",
                                   "sim: writing a file fails",
                                   "sim: the disk is full",
                                   "sim: a sync fails",
                                   "sim: syncing a folder fails",
                                   "sim: a write that was not synced is lost",
                                   "sim: a write that was not synced is torn",
                                   "sim: a change of a name that was not synced is lost"};

// The worlds of the tests before it may have reached all of them already.
TEST(ClientServer, reaches_every_kind_of_fault) {
  const auto reached = [](const char* probe) { return Probe::hits_of(probe) > 0; };
  for (uint64_t seed = 1; seed <= kProbeSeeds && !std::ranges::all_of(kProbes, reached); ++seed) live(seed);
  for (const char* probe : kProbes) EXPECT_TRUE(reached(probe)) << probe;
}

}  // namespace
}  // namespace bellwether::sim
