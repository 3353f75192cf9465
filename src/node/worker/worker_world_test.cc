// A worker and three managers in a simulated world, in virtual time: owners die and come back, others take over,
// networks break. What the shares measured is counted once, all of it, and the load goes on whatever happens.
#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "node/worker/worker_testing.h"
#include "sim/world.h"

namespace bellwether::node {
namespace {

using runtime::task;

constexpr std::size_t kManagers = 3;
constexpr uint16_t kPort = 9000;

// What the test decides, and what it sees from outside. Outlives all processes.
struct Stage {
  SafeAccount safe;                                    // what a quorum would keep
  metrics::Window measured = account::empty_window();  // by all shares
  std::size_t owner = 0;                               // a manager
  uint64_t fence = 1;
  std::set<uint32_t> to_run;
  std::set<uint32_t> begun;  // as owners have written down
  std::map<uint32_t, int> started;
  std::map<uint32_t, uint64_t> seconds;  // that each share lived through
  uint64_t length = 30;                  // of a share, in seconds
  Duration isolation_limit = Duration::minutes(10);
  std::size_t stream_bytes_most = std::size_t{1} << 20;
  double loses_answers = 0;
  Prng prng{1};
  std::vector<cluster::PeerAddress> managers;
  cluster::PeerAddress worker;
  std::array<FakeManager*, kManagers> at_work{};  // nullptr: does not run
  WorkerService* service = nullptr;
};
struct Place {
  Stage* stage = nullptr;
  std::size_t index = 0;
};

// A process that lives its seconds.
class ScheduledShare final : public ShareProcess {
 public:
  ScheduledShare(runtime::Runtime& runtime, Stage& stage, const ChildOrder& order, Listener& listener)
      : runtime_(runtime), stage_(stage), share_(order.first), listener_(listener), tell_end_(&ended, this) {
    ++stage_.started[share_];
    life_ = live();
  }
  void begin(Instant start, Duration) override {
    start_ = start;
    begun_.set();
  }
  void stop(bool) override { end(ShareEnd::How::kStopped); }
  void hand_over(Duration) override {}
  void save() override {}
  void kill() override { end(ShareEnd::How::kKilled); }
  int64_t pid() const override { return 1; }

 private:
  static void ended(void* self) {
    auto* share = static_cast<ScheduledShare*>(self);
    share->listener_.on_ended({share->how_, {}, share->runtime_.now() - share->start_});
  }
  void end(ShareEnd::How how) {
    how_ = how;
    over_.cancel();
    begun_.set();
  }
  task<void> live() {
    co_await runtime_.sleep(Duration::millis(20));
    listener_.on_prepared({});
    co_await begun_.wait();
    for (uint64_t second = 0; second < stage_.length && !over_.cancelled(); ++second) {
      const Instant border = start_ + Duration::seconds(static_cast<int64_t>(second) + 1);
      co_await runtime_.sleep_until(border, &over_);
      const metrics::Window window = account::random_window(stage_.prng, second);
      stage_.measured.merge(window);
      ++stage_.seconds[share_];
      listener_.on_counters({{.requests = stage_.seconds[share_]}});
      listener_.on_second(second, account::encode_window(window), Duration::seconds(1));
    }
    runtime_.timers().arm(tell_end_, runtime_.now());
  }

  runtime::Runtime& runtime_;
  Stage& stage_;
  uint32_t share_;
  Listener& listener_;
  Instant start_;
  ShareEnd::How how_ = ShareEnd::How::kCompleted;
  runtime::Cancellation over_;
  runtime::Event begun_;
  runtime::Timer tell_end_;
  task<void> life_;
};

class ScheduledShares final : public ShareFactory {
 public:
  ScheduledShares(runtime::Runtime& runtime, Stage& stage) : runtime_(runtime), stage_(stage) {}
  std::unique_ptr<ShareProcess> start(ChildOrder order, ShareProcess::Listener& listener) override {
    return std::make_unique<ScheduledShare>(runtime_, stage_, order, listener);
  }

 private:
  runtime::Runtime& runtime_;
  Stage& stage_;
};

// Is there for as long as its process.
template <class What>
class Shown {
 public:
  Shown(What*& place, What& what) : place_(place) { place_ = &what; }
  Shown(const Shown&) = delete;
  ~Shown() { place_ = nullptr; }

 private:
  What*& place_;
};

task<void> live_as_worker(runtime::Runtime& runtime, void* context) {
  Stage& stage = *static_cast<Place*>(context)->stage;
  TestNode node(runtime, "w1", wire::Role::kWorker, stage.worker.endpoint);
  TestManagers managers;
  managers.all = stage.managers;
  ScheduledShares shares(runtime, stage);
  WorkerNotes notes;
  WorkerSettings settings;
  settings.cpus = {0, 1, 2, 3};
  settings.stream_bytes_most = stage.stream_bytes_most;
  WorkerService service(runtime, *node.links, node.switchboard, managers, shares, settings, notes);
  const Shown<WorkerService> shown(stage.service, service);
  co_await service.run(node.scope.cancellation());
}

bool is_noted(const Result<dispatch::Response>& response) {
  return response && std::holds_alternative<dispatch::Noted>(*response);
}

// Gives the shares to the worker, once each, whoever began with it.
task<void> hand_out(FakeManager& manager, Stage& stage, uint64_t fence) {
  for (const uint32_t share : stage.to_run) {
    if (stage.begun.contains(share)) continue;
    dispatch::ShareOrder order = test_order(share, fence);
    order.isolation_limit = stage.isolation_limit;
    auto offered = co_await manager.ask(stage.worker, dispatch::Offer{order});
    const auto* refusal = offered ? std::get_if<dispatch::Refusal>(&*offered) : nullptr;
    if (refusal != nullptr && refusal->kind == dispatch::Refusal::Kind::kUnknown) {
      const dispatch::BundleLetter bundle{"j1", order.bundle, test_bundle()};
      co_await manager.ask(stage.worker, bundle);
      co_return;
    }
    if (!is_noted(offered)) co_return;
    const dispatch::BeginLetter begin{"j1", order.fence, order.share, Duration::zero(), false, 0};
    const auto begun = co_await manager.ask(stage.worker, begin);
    if (is_noted(begun)) stage.begun.insert(share);
  }
}

task<void> live_as_manager(runtime::Runtime& runtime, void* context) {
  const Place place = *static_cast<Place*>(context);
  Stage& stage = *place.stage;
  TestNode node(runtime, stage.managers[place.index].name, wire::Role::kManager, stage.managers[place.index].endpoint);
  FakeManager manager(node, stage.safe);
  const Shown<FakeManager> shown(stage.at_work[place.index], manager);
  uint64_t fence = 0;  // under which it owns the job; 0: it does not
  bool adopted = false;
  Instant copied;
  while (true) {
    manager.loses_answers = stage.loses_answers;
    const bool chosen = stage.owner == place.index;
    if (chosen && fence != stage.fence) {
      fence = stage.fence;
      adopted = false;
      manager.own();
    } else if (!chosen && fence != stage.fence) {
      // One that was replaced believes in itself until it hears of its successor.
      if (fence != 0 && stage.prng.chance(0.9)) {
        co_await runtime.sleep(Duration::millis(200));
        continue;
      }
      fence = 0;
      dispatch::Refusal other;
      other.owner = stage.managers[stage.owner].name;
      other.fence = dispatch::JobFence(stage.fence);
      manager.disown(other);
    }
    if (chosen && !adopted) {
      const auto answer = co_await manager.ask(stage.worker, manager.adoption(fence));
      adopted = answer && std::holds_alternative<dispatch::Adopted>(*answer);
    }
    if (chosen && adopted) co_await hand_out(manager, stage, fence);
    // A quorum takes nothing from an owner that was replaced.
    if (fence == stage.fence && stage.owner == place.index && runtime.now() - copied > Duration::seconds(2)) {
      manager.make_safe();
      copied = runtime.now();
    }
    co_await runtime.sleep(Duration::millis(200));
  }
}

class WorkerWorld {
 public:
  explicit WorkerWorld(uint64_t seed) : world_(seed) {
    stage.prng = world_.prng().fork();
    stage.to_run = {1, 2};
    for (std::size_t i = 0; i < kManagers; ++i) {
      sim::Node& node = world_.add_node("m" + std::to_string(i + 1));
      stage.managers.push_back({node.name(), {node.address(), kPort}});
      places_[i] = {&stage, i};
    }
    sim::Node& worker = world_.add_node("w1");
    stage.worker = {"w1", {worker.address(), kPort}};
    places_[kManagers] = {&stage, kManagers};
    for (std::size_t i = 0; i < kManagers; ++i) start(i);
    worker.start(&live_as_worker, &places_[kManagers]);
  }

  void start(std::size_t manager) {
    if (!world_.node(manager).is_running()) world_.node(manager).start(&live_as_manager, &places_[manager]);
  }
  void lose_power_of_managers() {
    for (std::size_t i = 0; i < kManagers; ++i) world_.node(i).lose_power();
  }
  void make_whole() {
    world_.network().heal();
    world_.network().set_links({});
    stage.loses_answers = 0;
    for (std::size_t i = 0; i < kManagers; ++i) {
      world_.node(i).resume();
      start(i);
    }
    ++stage.fence;
  }
  void something_goes_wrong() {
    Prng& prng = world_.prng();
    sim::Node& manager = world_.node(prng.below(kManagers));
    switch (prng.below(8)) {
      case 0: return manager.kill();
      case 1: return manager.lose_power();
      case 2: return start(manager.index());
      case 3: return manager.is_paused() ? manager.resume() : manager.pause();
      case 4: return world_.network().block_both_ways(manager, world_.node(kManagers));
      case 5: return world_.network().heal();
      case 6: stage.loses_answers = prng.chance(0.5) ? 0.3 : 0; return;
      default: ++stage.fence; stage.owner = prng.below(kManagers);
    }
  }
  bool is_over() const {
    return std::all_of(stage.to_run.begin(), stage.to_run.end(), [this](uint32_t share) {
      const auto end = stage.safe.ends.find(share);
      const auto applied = stage.safe.applied.find(share);
      return end != stage.safe.ends.end() && applied != stage.safe.applied.end() &&
             applied->second == end->second.last_number;
    });
  }
  bool run_until_over(Duration at_most) {
    return world_.run_while_waiting(at_most, [this] { return is_over(); });
  }
  void run_for(Duration span) { world_.run_for(span); }
  void expect_whole() {
    EXPECT_TRUE(same(stage.safe.sum, stage.measured)) << "something was lost, or counted twice";
    for (const uint32_t share : stage.to_run) {
      EXPECT_EQ(stage.started[share], 1) << "share " << share;
      EXPECT_EQ(stage.safe.ends[share].last_number, stage.seconds[share]);
    }
  }
  Prng& prng() { return world_.prng(); }

  Stage stage;

 private:
  std::array<Place, kManagers + 1> places_;
  sim::World world_;
};

TEST(WorkerWorld, all_is_counted_once_whatever_becomes_of_the_owners) {
  std::vector<uint64_t> seeds(40);
  std::iota(seeds.begin(), seeds.end(), 1);
  seeds.push_back(219);  // an owner that was replaced takes the end of a share
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WorkerWorld world(seed);
    for (int i = 0; i < 40; ++i) {
      world.run_for(world.prng().between(Duration::millis(50), Duration::seconds(2)));
      world.something_goes_wrong();
    }
    world.make_whole();
    ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
    world.expect_whole();
    for (const auto& [share, end] : world.stage.safe.ends) {
      EXPECT_EQ(end.outcome, dispatch::ShareOutcome::kCompleted);
      EXPECT_EQ(end.last_number, world.stage.length);
    }
  }
}

TEST(WorkerWorld, without_any_manager_for_a_minute_the_load_does_not_change_and_nothing_is_lost) {
  WorkerWorld world(1);
  world.stage.length = 90;
  world.stage.isolation_limit = Duration::seconds(60);
  world.run_for(Duration::seconds(10));
  ASSERT_EQ(world.stage.begun.size(), 2u);
  const uint64_t before = world.stage.seconds[1];
  world.lose_power_of_managers();
  world.run_for(Duration::seconds(58));
  EXPECT_EQ(world.stage.seconds[1], before + 58);
  EXPECT_EQ(world.stage.seconds[2], world.stage.seconds[1]);
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].outcome, dispatch::ShareOutcome::kCompleted);
  EXPECT_EQ(world.stage.safe.ends[1].last_number, 90u);
}

TEST(WorkerWorld, a_worker_that_is_cut_off_for_longer_stops_its_load_and_keeps_what_it_measured) {
  WorkerWorld world(2);
  world.stage.length = 300;
  world.stage.isolation_limit = Duration::seconds(60);
  world.run_for(Duration::seconds(10));
  const uint64_t before = world.stage.seconds[1];
  world.lose_power_of_managers();
  world.run_for(Duration::minutes(3));
  EXPECT_LE(world.stage.seconds[1], before + 61);
  EXPECT_GE(world.stage.seconds[1], before + 58);
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(1)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].outcome, dispatch::ShareOutcome::kIsolated);
  EXPECT_EQ(world.stage.safe.ends[2].outcome, dispatch::ShareOutcome::kIsolated);
}

TEST(WorkerWorld, long_times_without_an_owner_cost_no_more_memory_than_is_allowed_and_no_count) {
  WorkerWorld world(3);
  world.stage.length = 900;
  world.stage.isolation_limit = Duration::hours(24);
  world.stage.stream_bytes_most = 10'000;
  world.run_for(Duration::seconds(5));
  world.lose_power_of_managers();
  world.run_for(Duration::minutes(20));
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].last_number, 900u);
}

TEST(WorkerWorld, a_manager_that_is_nearly_full_gets_batches_and_nothing_that_it_can_do_without) {
  WorkerWorld world(4);
  world.stage.length = 90;
  world.run_for(Duration::seconds(10));
  ASSERT_NE(world.stage.at_work[0], nullptr);
  FakeManager& manager = *world.stage.at_work[0];
  ASSERT_FALSE(manager.lives.empty());
  manager.pressure = resilience::Backpressure::kReject;
  world.run_for(Duration::seconds(3));  // it is heard with the next answers
  const uint64_t windows = manager.windows;
  const std::size_t lives = manager.lives.size();
  const std::size_t reports = manager.reports.size();
  world.run_for(Duration::seconds(30));
  EXPECT_LE(manager.windows - windows, 22u) << "two shares, three seconds at a time";
  EXPECT_GE(manager.windows - windows, 18u) << "what was measured is never dropped";
  EXPECT_EQ(manager.lives.size(), lives);
  EXPECT_GE(manager.reports.size() - reports, 20u) << "nor is what says that a worker is there";

  manager.pressure = resilience::Backpressure::kBatch;
  world.run_for(Duration::seconds(13));
  EXPECT_LE(manager.windows - windows, 32u);
  EXPECT_GT(manager.lives.size(), lives) << "one letter for all shares";

  manager.pressure = resilience::Backpressure::kNone;
  world.run_for(Duration::seconds(4));
  const uint64_t relieved = manager.windows;
  world.run_for(Duration::seconds(10));
  EXPECT_GE(manager.windows - relieved, 18u);
  manager.pressure = resilience::Backpressure::kReject;
  ASSERT_TRUE(world.run_until_over(Duration::minutes(1))) << "ends are told whatever waits";
  world.expect_whole();
}

TEST(WorkerWorld, a_new_owner_with_room_gets_all_at_once) {
  WorkerWorld world(4);
  world.stage.length = 60;
  world.run_for(Duration::seconds(5));
  ASSERT_NE(world.stage.at_work[0], nullptr);
  ASSERT_NE(world.stage.at_work[1], nullptr);
  world.stage.at_work[0]->pressure = resilience::Backpressure::kReject;
  world.run_for(Duration::seconds(5));
  ++world.stage.fence;
  world.stage.owner = 1;
  world.run_for(Duration::seconds(2));
  const uint64_t before = world.stage.at_work[1]->windows;
  EXPECT_GT(before, 0u);
  world.run_for(Duration::seconds(10));
  EXPECT_GE(world.stage.at_work[1]->windows - before, 18u) << "second by second";
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
}

TEST(WorkerWorld, the_same_seed_gives_the_same_account) {
  const auto live = [](uint64_t seed) {
    WorkerWorld world(seed);
    world.run_until_over(Duration::minutes(2));
    return account::encode_window(world.stage.safe.sum);
  };
  EXPECT_EQ(live(5), live(5));
  EXPECT_NE(live(5), live(6));
}

}  // namespace
}  // namespace bellwether::node
