// A worker between two managers in virtual time, for tests: m1 owns the job, m2 names it.
#pragma once

#include <gmock/gmock.h>

#include "jobs/worker/worker_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::node {

inline const runtime::Endpoint kAnyPort{runtime::IpAddress::loopback(), 0};

class WorkerServiceTest : public sim::MachineTest {
 protected:
  WorkerServiceTest() {
    managers_.all = {m1_.address(), m2_.address()};
    one_.own();
    dispatch::Refusal other;
    other.owner = "m1";
    other.fence = dispatch::JobFence(1);
    two_.disown(other);
    WorkerSettings settings;
    settings.cpus = {4, 6, 7};
    settings.files = &files_;
    service_ = std::make_unique<WorkerService>(runtime_, *worker_.links, worker_.router, managers_, workers_,
                                               assignments_, settings, notes_);
    running_.spawn(service_->run(running_.cancellation()));
  }
  void TearDown() override {
    running_.cancel();
    machine_.run(joining(running_));
    EXPECT_TRUE(assignments_.alive.empty()) << "no process outlives the worker";
    machine_.run(worker_.close());
    machine_.run(m1_.close());
    machine_.run(m2_.close());
  }

  static runtime::task<void> joining(runtime::Scope& scope) { co_await scope.join(); }
  void turn() { machine_.run_for(Duration::millis(1)); }

  dispatch::Response ask(FakeManager& manager, dispatch::JobMessage message) {
    auto answer = machine_.run(manager.ask(worker_.address(), std::move(message)));
    check(answer.has_value(), "the worker answers");
    return std::move(*answer);
  }
  static bool noted(const dispatch::Response& response) { return std::holds_alternative<dispatch::Noted>(response); }
  static dispatch::Refusal refusal(const dispatch::Response& response) {
    const auto* found = std::get_if<dispatch::Refusal>(&response);
    return found == nullptr ? dispatch::Refusal{} : *found;
  }

  struct Asking {
    std::optional<dispatch::Response> answer;
    bool over = false;
  };
  static runtime::task<void> asking(FakeManager* manager, cluster::PeerAddress worker, dispatch::JobMessage message,
                                    Asking* out) {
    auto answer = co_await manager->ask(std::move(worker), std::move(message));
    if (answer) out->answer = std::move(*answer);
    out->over = true;
  }
  void bring_bundle() {
    ASSERT_TRUE(noted(ask(one_, dispatch::BundleMessage{"j1", dispatch::bundle_hash(test_bundle()), test_bundle()})));
  }
  // Offered, prepared and begun; its clock begins now.
  FakeProcess* run_assignment(uint32_t assignment, uint64_t from = 0) {
    return run_assignment(test_order(assignment), from);
  }
  FakeProcess* run_assignment(const dispatch::AssignmentOrder& order, uint64_t from = 0) {
    const uint32_t assignment = order.assignment.value();
    bring_bundle();
    until([&] { return service_->state() == health::WorkerState::kHealthy; });
    Asking offer;
    running_.spawn(asking(&one_, worker_.address(), dispatch::Offer{order}, &offer));
    until([&] { return assignments_.of(assignment) != nullptr; });
    assignments_.of(assignment)->to.on_prepared({});
    until([&] { return offer.answer.has_value(); });
    EXPECT_TRUE(noted(*offer.answer));
    EXPECT_TRUE(noted(ask(one_, dispatch::BeginMessage{"j1", dispatch::JobFence(1), dispatch::AssignmentId(assignment),
                                                       Duration::zero(), false, from})));
    EXPECT_TRUE(assignments_.of(assignment)->start.has_value());
    return assignments_.of(assignment);
  }
  void measure(FakeProcess& process, uint64_t second) {
    const metrics::Window window = ingest::random_window(prng_, second);
    measured_.merge(window);
    process.to.on_second(second, ingest::encode_window(window), Duration::seconds(1));
  }
  // The durable ingest equals the measurements.
  void expect_all_counted(FakeManager& owner) {
    owner.make_safe();
    EXPECT_TRUE(same(safe_.sum, measured_));
  }
  uint64_t applied(uint32_t assignment) {
    one_.owns() ? one_.make_safe() : two_.make_safe();
    return safe_.applied[assignment];
  }

  Prng prng_{7};
  SafeIngest safe_;
  metrics::Window measured_ = ingest::empty_window();
  TestNode worker_{runtime_, "w1", wire::Role::kWorker, kAnyPort, kJobMessages};
  TestNode m1_{runtime_, "m1", wire::Role::kManager, kAnyPort, kJobMessages};
  TestNode m2_{runtime_, "m2", wire::Role::kManager, kAnyPort, kJobMessages};
  FakeManager one_{m1_, safe_};
  FakeManager two_{m2_, safe_};
  TestManagers managers_;
  TestWorkers workers_;
  FakeAssignments assignments_;
  WorkerNotes notes_;
  FileStore files_{runtime_, {.folder = "/data/files", .bytes_most = 1 << 30}};
  std::unique_ptr<WorkerService> service_;
  runtime::Scope running_;
};

}  // namespace bellwether::node
