// A worker and three managers in a simulated world, in virtual time: owners die and come back, others take over,
// networks break.
#pragma once

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jobs/worker/worker_testing.h"
#include "sim/world.h"

namespace bellwether::node {

inline constexpr std::size_t kManagers = 3;
inline constexpr uint16_t kPort = 9000;

// The decisions of the test, and its outside view. Outlives all processes.
struct Stage {
  SafeIngest safe;                                    // the durable ingest of a quorum
  metrics::Window measured = ingest::empty_window();  // by all assignments
  std::size_t owner = 0;                              // a manager
  uint64_t fence = 1;
  std::set<uint32_t> to_run;
  std::set<uint32_t> begun;  // according to owners' records
  std::map<uint32_t, int> started;
  std::map<uint32_t, uint64_t> seconds;  // that each assignment ran
  uint64_t length = 30;                  // of an assignment, in seconds
  Duration isolation_limit = Duration::minutes(10);
  Duration permit = Duration::seconds(3);
  bool has_witness = true;  // the worker itself
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

// A process that runs its seconds.
class ScheduledAssignment final : public AssignmentProcess {
 public:
  ScheduledAssignment(runtime::Runtime& runtime, Stage& stage, const ChildOrder& order, Listener listener)
      : runtime_(runtime), stage_(stage), assignment_(order.first), listener_(listener), tell_end_(&ended, this) {
    ++stage_.started[assignment_];
    life_ = live();
  }
  void permit(Instant until) override { permit_ = until; }
  void begin(Instant start, Duration, plan::RowPoint) override {
    start_ = start;
    begun_.set();
  }
  void stop(bool) override { end(AssignmentEnd::How::kStopped); }
  void applied(uint64_t) override {}
  void scale(uint32_t) override {}
  void hand_over(Duration) override {}
  void save() override {}
  void kill() override { end(AssignmentEnd::How::kKilled); }
  int64_t pid() const override { return 1; }

 private:
  static void ended(void* self) {
    auto* assignment = static_cast<ScheduledAssignment*>(self);
    assignment->listener_.on_ended({assignment->how_, {}, assignment->runtime_.now() - assignment->start_});
  }
  void end(AssignmentEnd::How how) {
    how_ = how;
    over_.cancel();
    begun_.set();
  }
  runtime::task<void> live() {
    co_await runtime_.sleep(Duration::millis(20));
    listener_.on_prepared({});
    co_await begun_.wait();
    for (uint64_t second = 0; second < stage_.length && !over_.cancelled(); ++second) {
      const Instant border = start_ + Duration::seconds(static_cast<int64_t>(second) + 1);
      co_await runtime_.sleep_until(border, &over_);
      if (permit_ <= runtime_.boot_now()) end(AssignmentEnd::How::kFenced);
      const metrics::Window window = ingest::random_window(stage_.prng, second);
      stage_.measured.merge(window);
      ++stage_.seconds[assignment_];
      listener_.on_counters({{.requests = stage_.seconds[assignment_]}});
      listener_.on_second(second, ingest::encode_window(window), Duration::seconds(1));
    }
    runtime_.timers().arm(tell_end_, runtime_.now());
  }

  runtime::Runtime& runtime_;
  Stage& stage_;
  uint32_t assignment_;
  Listener listener_;
  Instant start_;
  Instant permit_ = Instant::never();
  AssignmentEnd::How how_ = AssignmentEnd::How::kCompleted;
  runtime::Cancellation over_;
  runtime::Event begun_;
  runtime::Timer tell_end_;
  runtime::task<void> life_;
};

class ScheduledAssignments final : public AssignmentFactory {
 public:
  ScheduledAssignments(runtime::Runtime& runtime, Stage& stage) : runtime_(runtime), stage_(stage) {}
  std::unique_ptr<AssignmentProcess> start(ChildOrder order, AssignmentProcess::Listener listener) override {
    return std::make_unique<ScheduledAssignment>(runtime_, stage_, order, listener);
  }

 private:
  runtime::Runtime& runtime_;
  Stage& stage_;
};

// Exists while its process does.
template <class What>
class Shown {
 public:
  Shown(What*& place, What& what) : place_(place) { place_ = &what; }
  Shown(const Shown&) = delete;
  ~Shown() { place_ = nullptr; }

 private:
  What*& place_;
};

inline runtime::task<void> live_as_worker(runtime::Runtime& runtime, void* context) {
  Stage& stage = *static_cast<Place*>(context)->stage;
  TestNode node(runtime, "w1", wire::Role::kWorker, stage.worker.endpoint, kJobMessages);
  TestManagers managers;
  managers.all = stage.managers;
  TestWorkers workers;
  ScheduledAssignments assignments(runtime, stage);
  WorkerNotes notes;
  WorkerSettings settings;
  settings.cpus = {0, 1, 2, 3};
  settings.stream_bytes_most = stage.stream_bytes_most;
  WorkerService service(runtime, *node.links, node.router, managers, workers, assignments, settings, notes);
  const Shown<WorkerService> shown(stage.service, service);
  co_await service.run(node.scope.cancellation());
}

inline bool is_noted(const Result<dispatch::Response>& response) {
  return response && std::holds_alternative<dispatch::Noted>(*response);
}

// Gives the assignments to the worker, once each in all, under any owner.
inline runtime::task<void> hand_out(FakeManager& manager, Stage& stage, uint64_t fence) {
  for (const uint32_t assignment : stage.to_run) {
    if (stage.begun.contains(assignment)) continue;
    dispatch::AssignmentOrder order = test_order(assignment, fence);
    order.isolation_limit = stage.isolation_limit;
    order.permit = stage.permit;
    if (stage.has_witness && stage.service != nullptr) order.witnesses = {{"w1", stage.service->life()}};
    auto offered = co_await manager.ask(stage.worker, dispatch::Offer{order});
    const auto* refusal = offered ? std::get_if<dispatch::Refusal>(&*offered) : nullptr;
    if (refusal != nullptr && refusal->kind == dispatch::Refusal::Kind::kUnknown) {
      const dispatch::BundleMessage bundle{"j1", order.bundle, test_bundle()};
      co_await manager.ask(stage.worker, bundle);
      co_return;
    }
    if (!is_noted(offered)) co_return;
    const dispatch::BeginMessage begin{"j1", order.fence, order.assignment, Duration::zero(), false, 0};
    const auto begun = co_await manager.ask(stage.worker, begin);
    if (is_noted(begun)) stage.begun.insert(assignment);
  }
}

inline runtime::task<void> live_as_manager(runtime::Runtime& runtime, void* context) {
  const Place place = *static_cast<Place*>(context);
  Stage& stage = *place.stage;
  TestNode node(runtime, stage.managers[place.index].name, wire::Role::kManager, stage.managers[place.index].endpoint,
                kJobMessages);
  FakeManager manager(node, stage.safe);
  const Shown<FakeManager> shown(stage.at_work[place.index], manager);
  uint64_t fence = 0;  // of its ownership of the job; 0: it does not own it
  bool adopted = false;
  Instant copied;
  while (true) {
    manager.loses_answers = stage.loses_answers;
    const bool chosen = stage.owner == place.index;
    if (chosen && fence != stage.fence) {
      fence = stage.fence;
      adopted = false;
      manager.own();
      manager.permit_fence = fence;
    } else if (!chosen && fence != stage.fence) {
      // A former owner acts as owner until it learns of its successor.
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
    // A quorum accepts nothing from a former owner.
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
  void inject_fault() {
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
    return std::all_of(stage.to_run.begin(), stage.to_run.end(), [this](uint32_t assignment) {
      const auto end = stage.safe.ends.find(assignment);
      const auto applied = stage.safe.applied.find(assignment);
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
    for (const uint32_t assignment : stage.to_run) {
      EXPECT_EQ(stage.started[assignment], 1) << "assignment " << assignment;
      EXPECT_EQ(stage.safe.ends[assignment].last_number, stage.seconds[assignment]);
    }
  }
  Prng& prng() { return world_.prng(); }

  Stage stage;

 private:
  std::array<Place, kManagers + 1> places_;
  sim::World world_;
};

}  // namespace bellwether::node
