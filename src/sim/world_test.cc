#include "sim/world.h"

#include <gtest/gtest.h>
#include <set>

#include "core/base/probe.h"
#include "core/runtime/scope.h"
#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::Runtime;
using runtime::Scope;
using runtime::Stream;
using runtime::task;

task<void> echo(std::unique_ptr<Stream> stream) {
  const Received received = co_await read_all(*stream);
  co_await write_all(*stream, received.text);
}

task<void> world_serve(Runtime& runtime, void*) {
  auto listener = runtime.listen({runtime::IpAddress::any(), 7}, {});
  Scope scope;
  while (true) {
    auto stream = co_await (*listener)->accept(nullptr);
    scope.spawn(echo(std::move(*stream)));
  }
}

task<void> chat(Runtime& runtime, void* context) {
  while (true) {
    co_await runtime.sleep(runtime.prng().between(Duration::millis(1), Duration::millis(50)));
    auto addresses = co_await runtime.resolve("server", nullptr);
    if (!addresses) continue;
    auto stream = co_await runtime.connect({addresses->front(), 7}, {.timeout = Duration::seconds(1)}, nullptr);
    if (!stream) continue;
    co_await write_all(**stream, pattern(3000));
    (*stream)->finish_writing();
    const Received answer = co_await read_all(**stream);
    if (answer.text == pattern(3000)) ++*static_cast<int*>(context);
  }
}

struct Outcome {
  uint64_t fingerprint;
  int chats;
  bool operator==(const Outcome&) const = default;
};

// A world in which much happens.
Outcome live(uint64_t seed) {
  World world(seed);
  Node& server = world.add_node("server");
  int chats = 0;
  server.start(&world_serve, nullptr);
  for (const char* name : {"a", "b", "c"}) world.add_node(name).start(&chat, &chats);
  world.network().set_links({.loss = 0.02, .duplicate = 0.01, .reorder = 0.05, .bytes_per_second = 10'000'000});
  for (int i = 0; i < 5; ++i) {
    world.run_for(world.prng().between(Duration::millis(10), Duration::seconds(2)));
    world.network().block_both_ways(server, world.node(1));
    world.node(2).pause();
    world.run_for(Duration::millis(300));
    world.network().heal();
    world.node(2).resume();
    world.node(3).kill();
    world.node(3).restart();
    i % 2 == 0 ? server.kill() : server.lose_power();
    world.run_for(Duration::millis(100));
    server.restart();
  }
  world.run_for(Duration::seconds(5));
  return {world.fingerprint(), chats};
}

TEST(World, one_seed_gives_one_run) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Outcome first = live(seed);
    EXPECT_EQ(live(seed), first) << "seed " << seed;
    EXPECT_GT(first.chats, 20) << "seed " << seed;
  }
}

TEST(World, another_seed_gives_another_run) {
  std::set<uint64_t> fingerprints;
  for (uint64_t seed = 0; seed < 10; ++seed) fingerprints.insert(live(seed).fingerprint);
  EXPECT_EQ(fingerprints.size(), 10u);
}

TEST(World, the_fingerprint_sees_a_single_packet) {
  const auto run = [](Duration chat_for) {
    World world(1);
    int chats = 0;
    world.add_node("server").start(&world_serve, nullptr);
    world.add_node("a").start(&chat, &chats);
    world.run_for(chat_for);
    world.node(1).kill();
    world.run_for(Duration::seconds(1) - chat_for);
    return world.fingerprint();
  };
  EXPECT_NE(run(Duration::millis(400)), run(Duration::millis(500)));
}

TEST(World, waiting_ends_when_the_condition_holds_or_the_time_is_over) {
  World world(1);
  bool rang = false;
  world.after(Duration::seconds(3), [&rang] { rang = true; });
  EXPECT_FALSE(world.run_while_waiting(Duration::seconds(1), [&rang] { return rang; }));
  EXPECT_EQ(world.now(), Instant() + Duration::seconds(1));
  EXPECT_TRUE(world.run_while_waiting(Duration::minutes(1), [&rang] { return rang; }));
  EXPECT_EQ(world.now(), Instant() + Duration::seconds(3));
}

TEST(World, rare_paths_are_taken) {
  for (uint64_t seed = 0; seed < 30; ++seed) live(seed);
  for (const char* probe : {"sim: a packet is lost", "sim: a packet is duplicated", "sim: a packet is overtaken",
                            "sim: bytes are sent again", "sim: a segment is overtaken", "sim: a connection is refused",
                            "sim: a process comes late to its turn because it was paused",
                            "sim: a packet comes for a connection that is not there"}) {
    EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
  }
}

}  // namespace
}  // namespace bellwether::sim
