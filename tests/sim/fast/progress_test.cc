// Whether a worker makes progress, as a manager sees it, in virtual time: the product's worker with the real engine in
// its assignments, the product's test server, and the manager's judgement of the reports that come over the simulated
// network.
#include <gtest/gtest.h>

#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/manager/worker_registry.h"
#include "jobs/worker/worker_testing.h"
#include "load/plan/load.h"
#include "sim/world.h"
#include "target/routes.h"
#include "tests/sim/fast/http_server.h"

namespace bellwether::sim {
namespace {

using health::Progress;
using runtime::task;

constexpr uint16_t kPort = 9000;
constexpr Duration kLook = Duration::millis(50);

// What both processes are told, and what is seen of them.
struct Stage {
  std::string load;  // how the one workflow makes it
  std::string bundle;
  cluster::PeerAddress worker;
  cluster::PeerAddress manager;
  bool stopped = false;  // the processes of assignments do nothing
  node::WorkerRegistry registry;
  std::map<Progress, int> seen;  // seconds in which the worker was said to be so
  std::vector<std::string> evicted;
  uint64_t stood_still_for = 0;  // seconds from the stop until the first eviction
  uint64_t requests = 0;
  uint64_t dropped = 0;
};

std::string make_bundle(const std::string& load) {
  return node::bundle_of(R"yaml(
workflows:
  buy: {graceful_stop: 3s, )yaml" +
                         load + R"yaml(, steps: {
    pay: {http: {get: "http://server/json"}, check: {status: 200}},
    home: {http: {get: "http://server/json"}}}}
)yaml");
}

// An assignment without a process of its own: the engine runs in the worker's loop.
class EngineAssignment final : public node::AssignmentProcess, public vuser::WindowSink {
 public:
  EngineAssignment(runtime::Runtime& runtime, Stage& stage, const node::ChildOrder& order, Listener listener)
      : runtime_(runtime), stage_(stage), listener_(listener) {
    const auto bundle = dispatch::decode_bundle(order.bundle);
    plan_ = *plan::plan_of(*bundle);
    window_ = std::make_unique<metrics::Window>(ingest::kShape);
    engine_ = std::make_unique<vuser::Engine>(
        runtime_, plan_, vuser::EngineAssignment{.part = order.first, .parts = order.of, .workflows = {order.workflow}},
        *this, window_.get());
    life_ = live();
  }
  void permit(Instant) override {}  // the manager of this test gives none
  void begin(Instant start, Duration, plan::RowPoint) override {
    start_ = start;
    begun_.set();
  }
  void stop(bool) override { engine_->kill(); }
  void applied(uint64_t) override {}
  void scale(uint32_t) override {}
  void hand_over(Duration) override {}
  void save() override {}
  void kill() override { engine_->kill(); }
  int64_t pid() const override { return 1; }

  metrics::Window* exchange(metrics::Window* full, bool) override {
    for (; !stage_.stopped && next_ <= full->second; ++next_) {  // one that was stopped makes up for it
      metrics::Window told = ingest::empty_window();
      if (next_ == full->second) told.merge(*full);
      told.second = next_;
      listener_.on_second(next_, ingest::encode_window(told), Duration::seconds(1));
    }
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override {}
  void note(std::string_view, std::string_view) override {}
  void timed_out(uint16_t) override {}

 private:
  task<void> live() {
    co_await runtime_.sleep(Duration::millis(1));
    const Status prepared = engine_->prepare();
    listener_.on_prepared(prepared);
    co_await begun_.wait();
    runtime::Scope beside;
    beside.spawn(tell(beside.cancellation()));
    co_await engine_->run(start_);
    beside.cancel();
    co_await beside.join();
  }
  task<void> tell(runtime::Cancellation* cancel) {
    while (true) {
      const bool due = co_await runtime_.sleep(kLook, cancel);
      if (!due) co_return;
      if (stage_.stopped) continue;
      const vuser::Tally tally = engine_->tally();
      stage_.requests = tally.requests;
      stage_.dropped = tally.dropped;
      listener_.on_counters({tally, 1, engine_->look()});
    }
  }

  runtime::Runtime& runtime_;
  Stage& stage_;
  Listener listener_;
  plan::Plan plan_;
  std::unique_ptr<metrics::Window> window_;
  std::unique_ptr<vuser::Engine> engine_;
  Instant start_;
  uint64_t next_ = 0;  // second to be told
  runtime::Event begun_;
  task<void> life_;
};

class EngineAssignments final : public node::AssignmentFactory {
 public:
  EngineAssignments(runtime::Runtime& runtime, Stage& stage) : runtime_(runtime), stage_(stage) {}
  std::unique_ptr<node::AssignmentProcess> start(node::ChildOrder order,
                                                 node::AssignmentProcess::Listener listener) override {
    return std::make_unique<EngineAssignment>(runtime_, stage_, order, listener);
  }

 private:
  runtime::Runtime& runtime_;
  Stage& stage_;
};

task<void> live_as_worker(runtime::Runtime& runtime, void* context) {
  Stage& stage = *static_cast<Stage*>(context);
  node::TestNode node(runtime, "w1", wire::Role::kWorker, stage.worker.endpoint, node::kJobMessages);
  node::TestManagers managers;
  managers.all = {stage.manager};
  node::TestWorkers workers;
  EngineAssignments assignments(runtime, stage);
  node::WorkerNotes notes;
  node::WorkerSettings settings;
  settings.cpus = {0, 1};
  node::WorkerService service(runtime, *node.links, node.router, managers, workers, assignments, settings, notes);
  co_await service.run(node.scope.cancellation());
}

// Hands out one assignment, hears the reports, and judges them as a manager does.
task<void> live_as_manager(runtime::Runtime& runtime, void* context) {
  Stage& stage = *static_cast<Stage*>(context);
  node::TestNode node(runtime, "m1", wire::Role::kManager, stage.manager.endpoint, node::kJobMessages);
  node::SafeIngest safe;
  node::FakeManager manager(node, safe);
  manager.own();
  bool begun = false;
  std::size_t heard = 0;
  Instant second = runtime.now();
  while (true) {
    if (!begun && !manager.reports.empty() && manager.reports.back().takes_work) {
      dispatch::AssignmentOrder order = node::test_order(1);
      order.parts = {0, 1, 1};
      order.bundle = dispatch::bundle_hash(stage.bundle);
      order.isolation_limit = Duration::hours(24);
      co_await manager.ask(stage.worker, dispatch::BundleMessage{"j1", order.bundle, stage.bundle});
      co_await manager.ask(stage.worker, dispatch::Offer{order});
      const dispatch::BeginMessage begin{"j1", order.fence, order.assignment, Duration::zero(), false, 0};
      const auto answer = co_await manager.ask(stage.worker, begin);
      begun = answer && std::holds_alternative<dispatch::Noted>(*answer);
    }
    for (; heard < manager.reports.size(); ++heard) {
      const Instant now = runtime.now();
      check(stage.registry.heard(now, "w1", manager.reports[heard]), "there is room for one");
      for (const auto& one : stage.registry.find("w1")->progress.to_evict(now)) stage.evicted.push_back(one.job);
    }
    if (begun && runtime.now() - second >= Duration::seconds(1)) {
      second = runtime.now();
      ++stage.seen[stage.registry.find("w1")->progress.progress(second)];
      if (stage.stopped && stage.evicted.empty()) ++stage.stood_still_for;
    }
    co_await runtime.sleep(Duration::millis(100));
  }
}

class ProgressWorld {
 public:
  explicit ProgressWorld(const std::string& load) : world_(1) {
    stage.bundle = make_bundle(load);
    Node& manager = world_.add_node("manager");
    Node& worker = world_.add_node("worker");
    Node& server = world_.add_node("server");
    server_ = &server;
    stage.manager = {"m1", {manager.address(), kPort}};
    stage.worker = {"w1", {worker.address(), kPort}};
    server.start(&http_server, &faults_);
    world_.run_for(Duration::millis(1));
    manager.start(&live_as_manager, &stage);
    worker.start(&live_as_worker, &stage);
  }
  void run_for(Duration span) { world_.run_for(span); }
  void freeze_target() { server_->pause(); }
  void thaw_target() { server_->resume(); }
  int seconds_of(Progress progress) const {
    const auto found = stage.seen.find(progress);
    return found == stage.seen.end() ? 0 : found->second;
  }
  dispatch::WorkerSight sight() const {
    const auto at = stage.registry.find("w1")->heard;
    return stage.registry.sights(at, {}).at(0);
  }

  Stage stage;

 private:
  target::FaultOptions faults_;
  Node* server_ = nullptr;
  World world_;
};

class FrozenTarget : public testing::TestWithParam<const char*> {};

TEST_P(FrozenTarget, for_ten_minutes_drains_no_worker) {
  ProgressWorld world(GetParam());
  world.run_for(Duration::seconds(20));
  const uint64_t before = world.stage.requests;
  ASSERT_GT(before, 0u);
  world.freeze_target();
  world.run_for(Duration::minutes(10));
  const uint64_t frozen = world.stage.requests;
  EXPECT_TRUE(world.sight().takes_work);
  EXPECT_TRUE(world.sight().healthy);
  world.thaw_target();
  world.run_for(Duration::minutes(1));
  EXPECT_GT(world.stage.requests, frozen + 20) << "it goes on where it was";

  EXPECT_GE(world.seconds_of(Progress::kNormal), 670);
  for (const Progress bad : {Progress::kSlow, Progress::kDegraded, Progress::kStuck}) {
    EXPECT_EQ(world.seconds_of(bad), 0) << to_string(bad);
  }
  EXPECT_TRUE(world.stage.evicted.empty());
}

// With and without pacing; users that are all busy and arrivals that are dropped; arrivals that wait for a user.
INSTANTIATE_TEST_SUITE_P(
    Progress, FrozenTarget,
    testing::Values("vus: 5, duration: 15m, pacing: 2s", "vus: 3, duration: 15m, pacing: 500ms",
                    "executor: constant-arrival-rate, rate: 20/s, duration: 15m, vus: 4",
                    "executor: constant-arrival-rate, rate: 1/s, duration: 15m, vus: 2, max_wait: 30s"));

TEST(Progress, a_worker_whose_processes_are_stopped_is_drained_and_then_evicted) {
  ProgressWorld world("vus: 5, duration: 15m, pacing: 200ms");
  world.run_for(Duration::seconds(20));
  EXPECT_TRUE(world.sight().takes_work);
  world.stage.stopped = true;
  world.run_for(Duration::seconds(8));
  EXPECT_FALSE(world.sight().takes_work) << "it gets nothing new";
  EXPECT_GT(world.seconds_of(Progress::kStuck), 0);
  EXPECT_TRUE(world.stage.evicted.empty());
  world.run_for(Duration::seconds(70));
  ASSERT_FALSE(world.stage.evicted.empty());
  EXPECT_EQ(world.stage.evicted[0], "j1");
  EXPECT_GE(world.stage.stood_still_for, 60u);
  EXPECT_LE(world.stage.stood_still_for, 70u);
}

TEST(Progress, one_that_was_stopped_for_a_while_gets_work_again) {
  ProgressWorld world("vus: 5, duration: 15m, pacing: 200ms");
  world.run_for(Duration::seconds(20));
  world.stage.stopped = true;
  world.run_for(Duration::seconds(30));
  EXPECT_FALSE(world.sight().takes_work);
  world.stage.stopped = false;
  world.run_for(Duration::seconds(5));
  EXPECT_TRUE(world.sight().takes_work);
  world.run_for(Duration::minutes(2));
  EXPECT_TRUE(world.stage.evicted.empty());
}

}  // namespace
}  // namespace bellwether::sim
