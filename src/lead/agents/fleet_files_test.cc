#include "lead/agents/fleet_files.h"

#include <gmock/gmock.h>
#include <map>
#include <set>

#include "core/runtime/scope.h"
#include "sim/world.h"

namespace bellwether::lead {
namespace {

using election::Epoch;
using runtime::Runtime;
using runtime::task;

constexpr const char* kQueue = "/var/tasks.json";
constexpr const char* kRegistry = "/var/agents.json";
constexpr int kTasks = 5;

// What somebody outside has been told, and remembers over all crashes.
struct Fleet {
  uint64_t epoch = 0;
  std::map<std::string, uint64_t> added;
  std::map<uint64_t, std::set<std::pair<uint64_t, uint32_t>>> accepted;  // results of a task by epoch and attempt
  std::string wrong;
  bool finished = false;

  void blame(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
  }
};

task<void> add_all(Runtime& runtime, QueueFile& queue, Fleet& fleet) {
  for (int i = 0; i < kTasks;) {
    const std::string name = "t" + std::to_string(i);
    const auto number = co_await queue.add(name, "payload of " + name);
    if (!number) {
      co_await runtime.sleep(Duration::millis(1));
      continue;
    }
    const auto [known, is_new] = fleet.added.emplace(name, *number);
    if (!is_new && known->second != *number) fleet.blame(name + " was lost and added again");
    ++i;
  }
}

// An agent that does its tasks. Each has a separate file, as another process would.
task<void> work(Runtime& runtime, std::string agent, Epoch epoch, Fleet& fleet) {
  QueueFile queue(runtime, kQueue);
  while (true) {
    const auto given = co_await queue.hand_out(agent, epoch);
    if (!given) {
      if (given.error().code == Errc::kRefused) co_return;
      co_await runtime.sleep(Duration::millis(1));
      continue;
    }
    if (!given->has_value()) co_return;
    const Grant grant = **given;
    if (!fleet.accepted[grant.number].empty()) fleet.blame("a task was handed out after its result was accepted");
    Status done = co_await queue.finish(grant);
    while (!done && done.error().code != Errc::kRefused) {
      co_await runtime.sleep(Duration::millis(1));
      done = co_await queue.finish(grant);
    }
    if (done) fleet.accepted[grant.number].insert({grant.epoch.value(), grant.attempt});
  }
}

task<void> lead(Runtime& runtime, void* context) {
  Fleet& fleet = *static_cast<Fleet*>(context);
  const Epoch epoch(++fleet.epoch);
  QueueFile queue(runtime, kQueue);
  Result<std::size_t> taken = co_await queue.take_over(epoch);
  while (!taken) {
    co_await runtime.sleep(Duration::millis(1));
    taken = co_await queue.take_over(epoch);
  }
  co_await add_all(runtime, queue, fleet);
  runtime::Scope scope;
  scope.spawn(work(runtime, "x", epoch, fleet));
  scope.spawn(work(runtime, "y", epoch, fleet));
  co_await scope.join();
  Result<TaskQueue> left = co_await queue.read();
  while (!left) left = co_await queue.read();
  // A hand-out whose answer was lost leaves a running task behind; a new leader finds it.
  if (left->tasks().empty() && left->cursor() == kTasks + 1) fleet.finished = true;
}

void live(uint64_t seed, bool power_fails, double errors) {
  SCOPED_TRACE(seed);
  Fleet fleet;
  sim::World world(seed);
  sim::Node& node = world.add_node("host");
  node.disk().settings().write_error = errors;
  node.disk().settings().sync_error = errors;
  node.disk().settings().open_error = errors;
  node.disk().settings().read_error = errors;
  for (int life = 0; life < 400 && !fleet.finished; ++life) {
    node.start(&lead, &fleet);
    world.run_for(world.prng().between(Duration::zero(), Duration::millis(150)));
    if (power_fails) {
      node.lose_power();
    } else {
      node.kill();
    }
  }
  EXPECT_EQ(fleet.wrong, "");
  EXPECT_TRUE(fleet.finished) << "tasks were lost, or stay undone";
  EXPECT_EQ(fleet.added.size(), static_cast<std::size_t>(kTasks));
  for (const auto& [number, results] : fleet.accepted) EXPECT_LE(results.size(), 1u) << "task " << number;
}

TEST(QueueFile, no_task_is_lost_or_accepted_twice_when_the_power_fails_at_any_moment) {
  for (uint64_t seed = 1; seed <= 40; ++seed) live(seed, true, 0);
}

TEST(QueueFile, nor_when_processes_are_killed_at_any_moment) {
  for (uint64_t seed = 1; seed <= 40; ++seed) live(seed, false, 0);
}

TEST(QueueFile, nor_when_the_disk_fails_now_and_then_too) {
  for (uint64_t seed = 1; seed <= 40; ++seed) live(seed, true, 0.02);
}

// --- broken files ----------------------------------------------------------------------------------------------------

struct Broken {
  Errc heartbeat = Errc::kOk;
  bool quarantined = false;
  bool added = false;
  std::size_t agents = 0;
  Errc queue = Errc::kOk;
  std::string queue_error;
  std::size_t set_aside = 0;  // files of the registry
  std::string halted;
  Errc halted_add = Errc::kOk;
  bool tears_under_work = false;
  Errc under_work = Errc::kOk;
  std::string torn = "{\"format\": \"bellwether.ta";
  bool resumed = false;
};

task<std::size_t> count_aside(Runtime& runtime, std::string path) {
  const auto names = co_await runtime.list_directory("/var");
  check(names.has_value());
  std::size_t count = 0;
  for (const std::string& name : *names) count += ("/var/" + name).starts_with(path + ".quarantine-");
  co_return count;
}

task<void> write_file(Runtime& runtime, std::string path, std::string text) {
  const runtime::OpenOptions options{.create = true, .write = true};
  const auto file = co_await runtime.open(std::move(path), options);
  check(file.has_value());
  co_await (*file)->write_at(0, as_bytes(text));
}

task<void> meet_broken_files(Runtime& runtime, void* context) {
  Broken& seen = *static_cast<Broken*>(context);
  co_await write_file(runtime, kRegistry, "{\"format\": \"bellwether.ag");
  co_await write_file(runtime, kQueue, "{\"format\": \"bellwether.ta");
  RegistryFile registry(runtime, kRegistry, {});
  const Status heartbeat = co_await registry.heartbeat("a");
  seen.heartbeat = heartbeat ? Errc::kOk : heartbeat.error().code;
  seen.quarantined = registry.quarantined();
  seen.set_aside = co_await count_aside(runtime, kRegistry);
  const Status added = co_await registry.add("a", "worker", "host", 7);
  seen.added = added.has_value();
  const auto read = co_await registry.read();
  seen.agents = read ? read->agents().size() : 0;
  QueueFile queue(runtime, kQueue);
  const auto number = co_await queue.add("t", "");
  seen.queue = number ? Errc::kOk : number.error().code;
  if (!number) seen.queue_error = number.error().message;
}

TEST(FleetFiles, a_torn_registry_is_set_aside_and_begun_anew_and_a_torn_queue_is_an_error) {
  Broken seen;
  sim::World world(3);
  sim::Node& node = world.add_node("host");
  node.start(&meet_broken_files, &seen);
  world.run_for(Duration::seconds(5));
  EXPECT_EQ(seen.heartbeat, Errc::kNotFound) << "agents register again";
  EXPECT_TRUE(seen.quarantined);
  EXPECT_EQ(seen.set_aside, 1u);
  EXPECT_TRUE(seen.added);
  EXPECT_EQ(seen.agents, 1u);
  EXPECT_EQ(seen.queue, Errc::kProtocol);
  EXPECT_THAT(seen.queue_error, testing::HasSubstr("/var/tasks.json"));
  EXPECT_EQ(node.disk().text_of(kQueue), "{\"format\": \"bellwether.ta") << "nothing was changed";
}

task<void> lead_a_torn_queue(Runtime& runtime, void* context) {
  Broken& seen = *static_cast<Broken*>(context);
  co_await write_file(runtime, kQueue, seen.torn);
  QueueFile queue(runtime, kQueue, QueueFile::Who::kLeader);
  // It may be torn in the middle of a term too, and while a task is worked on.
  if (seen.tears_under_work) {
    const Grant begun{.number = 1, .agent = "a", .epoch = Epoch(7), .attempt = 1, .name = "t", .payload = {}};
    const Status done = co_await queue.finish(begun);
    seen.under_work = done ? Errc::kOk : done.error().code;
  } else {
    const auto nothing = co_await queue.hand_out("a", Epoch(7));
    check(nothing && !nothing->has_value());
  }
  seen.set_aside = co_await count_aside(runtime, kQueue);
  const auto read = co_await queue.read();
  seen.halted = read ? read->halted() : std::string();
  const auto number = co_await queue.add("t", "");
  seen.halted_add = number ? Errc::kOk : number.error().code;
  const Status resumed = co_await queue.resume();
  const auto again = co_await queue.add("t", "");
  const auto grant = co_await queue.hand_out("a", Epoch(7));
  seen.resumed = resumed && again && grant && grant->has_value();
}

TEST(FleetFiles, a_leader_sets_a_torn_queue_aside_and_does_nothing_until_it_is_told_to) {
  // The second would be quoted, the last is what a disk leaves that was full when the text was written.
  for (const std::string& torn : {std::string("{\"format\": \"bellwether.ta"), std::string("{\"\xff\xfe\n"),
                                  "\xff" + std::string(5000, '\xfe'), std::string()}) {
    const bool tears_under_work = torn.empty();
    SCOPED_TRACE(torn.substr(0, 30));
    Broken seen{.tears_under_work = tears_under_work, .torn = torn};
    sim::World world(5);
    sim::Node& node = world.add_node("host");
    node.start(&lead_a_torn_queue, &seen);
    world.run_for(Duration::seconds(5));
    EXPECT_EQ(seen.set_aside, 1u);
    EXPECT_THAT(seen.halted, testing::HasSubstr("agents tasks resume --queue /var/tasks.json"));
    EXPECT_LT(seen.halted.size(), 600u);
    EXPECT_EQ(seen.halted_add, Errc::kRefused);
    EXPECT_TRUE(seen.resumed);
    EXPECT_EQ(seen.under_work, tears_under_work ? Errc::kRefused : Errc::kOk) << "the result was not written down";
  }
}

// --- a disk that refuses ---------------------------------------------------------------------------------------------

task<void> finish_where_a_folder_is(Runtime& runtime, void* context) {
  const Status made = co_await runtime.make_directory("/var/folder", 0700);
  check(made.has_value());
  QueueFile queue(runtime, "/var/folder");
  const Status done = co_await queue.finish({.number = 1, .agent = "a", .epoch = Epoch(1), .attempt = 1});
  *static_cast<Status*>(context) = done;
}

TEST(FleetFiles, what_the_disk_refuses_is_not_refused_by_the_queue) {
  Status done;
  sim::World world(6);
  world.add_node("host").start(&finish_where_a_folder_is, &done);
  world.run_for(Duration::seconds(5));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kIo) << done.error().message << ": a result would be thrown away";
}

// A program that writes in place is seen in the middle of it; a moment later the file is whole.
task<void> mend_soon(Runtime& runtime, std::string text) {
  co_await runtime.sleep(Duration::millis(50));
  co_await write_file(runtime, kRegistry, std::move(text));
}

task<void> meet_a_write_in_progress(Runtime& runtime, void* context) {
  Broken& seen = *static_cast<Broken*>(context);
  AgentRegistry whole;
  check(whole.add("a", "worker", "host", 7, runtime.wall_now(), {}).has_value());
  co_await write_file(runtime, kRegistry, whole.to_json().substr(0, 30));
  runtime::Scope scope;
  scope.spawn(mend_soon(runtime, whole.to_json()));
  RegistryFile registry(runtime, kRegistry, {});
  const Status heartbeat = co_await registry.heartbeat("a");
  seen.heartbeat = heartbeat ? Errc::kOk : heartbeat.error().code;
  seen.quarantined = registry.quarantined();
  co_await scope.join();
}

TEST(FleetFiles, a_file_that_is_seen_in_the_middle_of_a_write_is_read_again_before_it_is_set_aside) {
  Broken seen;
  sim::World world(4);
  sim::Node& node = world.add_node("host");
  node.start(&meet_a_write_in_progress, &seen);
  world.run_for(Duration::seconds(5));
  EXPECT_EQ(seen.heartbeat, Errc::kOk);
  EXPECT_FALSE(seen.quarantined);
}

}  // namespace
}  // namespace bellwether::lead
