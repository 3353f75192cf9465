#include "sim/node.h"

#include <gmock/gmock.h>

#include "core/runtime/scope.h"
#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::Cancellation;
using runtime::File;
using runtime::Runtime;
using runtime::Scope;
using runtime::task;
using testing::ElementsAre;

// Notes the local time once a second.
struct Diary {
  std::vector<Instant> entries;
  int started = 0;
  int destroyed = 0;
};

class Farewell {
 public:
  explicit Farewell(Diary& diary) : diary_(diary) { ++diary_.started; }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  ~Farewell() { ++diary_.destroyed; }

 private:
  Diary& diary_;
};

task<void> keep_diary(Runtime& runtime, void* context) {
  auto& diary = *static_cast<Diary*>(context);
  const Farewell farewell(diary);
  while (true) {
    diary.entries.push_back(runtime.now());
    co_await runtime.sleep(Duration::seconds(1));
  }
}

class NodeTest : public testing::Test {
 protected:
  Diary diary_;  // outlives the world, in which its writer may live to the end
  Diary slow_;
  World world_{3};
  Node& node_ = world_.add_node("node");
};

TEST_F(NodeTest, a_process_lives_in_virtual_time) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::hours(1));
  EXPECT_EQ(diary_.entries.size(), 3601u);
  EXPECT_EQ(diary_.entries.back() - diary_.entries.front(), Duration::hours(1));
}

TEST_F(NodeTest, a_killed_process_is_destroyed_in_the_middle_and_starts_anew) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(2500));
  node_.kill();
  EXPECT_EQ(diary_.destroyed, 1);
  EXPECT_FALSE(node_.is_running());
  EXPECT_TRUE(node_.has_power());
  world_.run_for(Duration::seconds(10));
  EXPECT_EQ(diary_.entries.size(), 3u);
  node_.restart();
  world_.run_for(Duration::millis(1500));
  EXPECT_EQ(diary_.started, 2);
  EXPECT_EQ(diary_.entries.size(), 5u);
  EXPECT_EQ(diary_.entries[3] - diary_.entries[0], Duration::millis(12'500)) << "the machine's clock went on";
}

TEST_F(NodeTest, a_loss_of_power_ends_the_process_and_its_clocks) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::seconds(1));
  const WallTime before = node_.clock().wall(world_.now());
  node_.lose_power();
  EXPECT_EQ(diary_.destroyed, 1);
  EXPECT_FALSE(node_.has_power());
  world_.run_for(Duration::seconds(5));
  node_.restart();
  world_.run_for(Duration::millis(1));
  EXPECT_NE(diary_.entries.back() - diary_.entries.front(), Duration::seconds(6));
  EXPECT_EQ(node_.clock().wall(world_.now()).unix_ns - before.unix_ns, Duration::millis(5001).ns());
}

TEST_F(NodeTest, a_paused_process_misses_its_time) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(1500));
  node_.pause();
  world_.run_for(Duration::seconds(10));
  EXPECT_EQ(diary_.entries.size(), 2u);
  node_.resume();
  world_.run_for(Duration::millis(1));
  ASSERT_EQ(diary_.entries.size(), 3u);
  EXPECT_EQ(diary_.entries[2] - diary_.entries[1], Duration::millis(10'500));
}

TEST_F(NodeTest, clocks_drift_apart) {
  Node& other = world_.add_node("other");
  other.set_drift(-500'000);
  node_.start(&keep_diary, &diary_);
  other.start(&keep_diary, &slow_);
  world_.run_for(Duration::seconds(100));
  EXPECT_EQ(diary_.entries.size(), 101u);
  EXPECT_EQ(slow_.entries.size(), 51u);
}

TEST_F(NodeTest, a_change_of_drift_moves_a_timer_that_is_set) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(100));
  node_.set_drift(9'000'000);  // ten times as fast
  world_.run_for(Duration::millis(91));
  EXPECT_EQ(diary_.entries.size(), 2u);
}

TEST_F(NodeTest, stepping_the_wall_clock_moves_no_timer) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(100));
  const WallTime before = node_.runtime().wall_now();
  node_.step_wall(Duration::hours(-2));
  EXPECT_EQ(node_.runtime().wall_now().unix_ns - before.unix_ns, Duration::hours(-2).ns());
  world_.run_for(Duration::seconds(10));
  EXPECT_EQ(diary_.entries.size(), 11u);
}

TEST_F(NodeTest, a_process_that_returns_has_ended) {
  const auto short_life = [](Runtime& runtime, void*) -> task<void> { co_await runtime.sleep(Duration::seconds(1)); };
  node_.start(short_life, nullptr);
  world_.run_for(Duration::millis(999));
  EXPECT_TRUE(node_.is_running());
  world_.run_for(Duration::millis(1));
  EXPECT_FALSE(node_.is_running());
  EXPECT_EQ(node_.ended(), 1u);
}

// --- the runtime's primitives ----------------------------------------------------------------------------------------

struct NodeLog {
  std::vector<std::string> lines;
};

task<void> nap(Runtime& runtime, NodeLog& log, Duration span, std::string name, Cancellation* cancel) {
  const bool slept = co_await runtime.sleep(span, cancel);
  log.lines.push_back(name + (slept ? " slept" : " was woken"));
}

task<void> three_naps(Runtime& runtime, void* context) {
  auto& log = *static_cast<NodeLog*>(context);
  Scope scope;
  scope.spawn(nap(runtime, log, Duration::seconds(1), "short", scope.cancellation()));
  scope.spawn(nap(runtime, log, Duration::hours(1), "long", scope.cancellation()));
  scope.spawn(nap(runtime, log, Duration::millis(1), "tiny", scope.cancellation()));
  co_await runtime.sleep(Duration::seconds(2));
  scope.cancel();
  co_await scope.join();
  log.lines.emplace_back("joined");
}

TEST_F(NodeTest, scopes_sleep_and_are_cancelled) {
  NodeLog log;
  node_.start(&three_naps, &log);
  world_.run_for(Duration::seconds(3));
  EXPECT_THAT(log.lines, ElementsAre("tiny slept", "short slept", "long was woken", "joined"));
}

TEST_F(NodeTest, a_scope_disappears_with_its_process) {
  NodeLog log;
  node_.start(&three_naps, &log);
  world_.run_for(Duration::millis(1500));
  node_.kill();
  world_.run_for(Duration::seconds(3));
  EXPECT_THAT(log.lines, ElementsAre("tiny slept", "short slept"));
}

TEST_F(NodeTest, posts_run_in_a_turn) {
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(10));
  int posted = 0;
  const auto call = [](void* context) { ++*static_cast<int*>(context); };
  EXPECT_TRUE(node_.runtime().post(call, &posted));
  EXPECT_EQ(posted, 0);
  world_.run_for(Duration::millis(1));
  EXPECT_EQ(posted, 1);
}

// Two that go on and on, and never wait for anything.
task<void> spin(Runtime& runtime, uint64_t& rounds, Instant until) {
  while (runtime.now() < until) {
    ++rounds;
    co_await runtime.yield();
  }
}

task<void> spin_for_a_second(Runtime& runtime, void* context) {
  auto& rounds = *static_cast<std::array<uint64_t, 2>*>(context);
  const Instant until = runtime.now() + Duration::seconds(1);
  task<void> first = spin(runtime, rounds[0], until);
  task<void> second = spin(runtime, rounds[1], until);
  co_await first;
  co_await second;
}

TEST_F(NodeTest, a_process_that_never_waits_takes_time_and_keeps_nobody_from_his_turn) {
  std::array<uint64_t, 2> rounds{};
  Node& busy = world_.add_node("busy");
  busy.start(&spin_for_a_second, &rounds);
  node_.start(&keep_diary, &diary_);
  world_.run_for(Duration::millis(999));
  EXPECT_EQ(busy.ended(), 0u);
  world_.run_for(Duration::millis(2));
  EXPECT_EQ(busy.ended(), 1u);
  EXPECT_GT(rounds[0], 1000u);
  EXPECT_EQ(rounds[0], rounds[1]);
  EXPECT_EQ(diary_.entries.size(), 2u);
}

TEST_F(NodeTest, a_process_may_be_killed_while_it_is_busy) {
  std::array<uint64_t, 2> rounds{};
  node_.start(&spin_for_a_second, &rounds);
  world_.run_for(Duration::millis(1));
  node_.kill();
  const auto at_death = rounds;
  world_.run_for(Duration::millis(1));
  EXPECT_EQ(rounds, at_death);
}

struct Names {
  std::vector<std::string> asked;
  std::vector<std::string> answers;
};

task<void> look_names_up(Runtime& runtime, void* context) {
  auto& names = *static_cast<Names*>(context);
  for (const std::string& name : names.asked) {
    auto addresses = co_await runtime.resolve(name, nullptr);
    names.answers.push_back(addresses ? addresses->front().to_string()
                                      : std::string(to_string(addresses.error().code)));
  }
}

TEST_F(NodeTest, names_are_resolved_unless_they_fail) {
  world_.add_node("other");
  world_.network().add_name("broken", {node_.address()});
  world_.network().fail_name("broken", true);
  Names names{{"other", "1.2.3.4", "nobody", "broken"}, {}};
  node_.start(&look_names_up, &names);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(names.answers, ElementsAre("10.0.0.2", "1.2.3.4", "dns", "dns"));
}

task<void> look_services_up(Runtime& runtime, void* context) {
  auto& names = *static_cast<Names*>(context);
  for (const std::string& name : names.asked) {
    auto places = co_await runtime.resolve_service(name, nullptr);
    names.answers.push_back(places ? places->front().host : std::string(to_string(places.error().code)));
  }
}

TEST_F(NodeTest, services_are_resolved_best_first_unless_they_fail) {
  world_.network().add_service("_a._tcp", {{2, 0, "second", 1}, {1, 0, "first", 1}});
  world_.network().add_service("_b._tcp", {{1, 0, "first", 1}});
  world_.network().fail_name("_b._tcp", true);
  Names names{{"_a._tcp", "_b._tcp", "_c._tcp", "node"}, {}};
  node_.start(&look_services_up, &names);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(names.answers, ElementsAre("first", "dns", "dns", "dns"));
}

TEST_F(NodeTest, an_isolated_machine_resolves_nothing) {
  world_.network().isolate(node_);
  Names names{{"node"}, {}};
  node_.start(&look_names_up, &names);
  world_.run_for(Duration::seconds(4));
  EXPECT_THAT(names.answers, ElementsAre());
  world_.run_for(Duration::seconds(2));
  EXPECT_THAT(names.answers, ElementsAre("dns"));
}

// --- files over losses -----------------------------------------------------------------------------------------------

// Writes one text, syncs when told to, and then idles.
struct SavedText {
  bool syncs = false;
  std::string found;
};

task<void> write_message(Runtime& runtime, void* context) {
  auto& text = *static_cast<SavedText*>(context);
  auto opened = co_await runtime.open("/data/text", {.create = true, .write = true});
  File& file = **opened;
  std::byte buffer[16];
  auto read = co_await file.read_at(0, buffer);
  text.found = as_text(Bytes(buffer).first(*read));
  co_await file.write_at(text.found.size(), as_bytes("x"));
  if (text.syncs) {
    co_await file.sync();
    co_await runtime.sync_directory("/data");
  }
  co_await runtime.sleep_until(Instant::never());
}

TEST_F(NodeTest, a_killed_process_loses_nothing_that_it_wrote) {
  SavedText text;
  node_.start(&write_message, &text);
  for (const std::string_view expected : {"", "x", "xx"}) {
    world_.run_for(Duration::seconds(1));
    EXPECT_EQ(text.found, expected);
    node_.kill();
    node_.restart();
  }
}

TEST_F(NodeTest, what_a_process_synced_survives_a_loss_of_power) {
  SavedText text{.syncs = true, .found = {}};
  node_.start(&write_message, &text);
  for (const std::string_view expected : {"", "x", "xx"}) {
    world_.run_for(Duration::seconds(1));
    EXPECT_EQ(text.found, expected);
    node_.lose_power();
    node_.restart();
  }
}

TEST(NodeSeeds, what_a_process_did_not_sync_is_sometimes_gone) {
  int gone = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    World world(seed);
    Node& node = world.add_node("node");
    SavedText text;
    node.start(&write_message, &text);
    world.run_for(Duration::seconds(1));
    node.lose_power();
    node.restart();
    world.run_for(Duration::seconds(1));
    if (text.found.empty()) ++gone;
  }
  EXPECT_GT(gone, 5);
  EXPECT_LT(gone, 50);
}

}  // namespace
}  // namespace bellwether::sim
