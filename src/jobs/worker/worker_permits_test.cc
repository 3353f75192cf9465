// Permits of a worker: from the owner of the job, and from its witnesses.
#include "jobs/worker/worker_service_testing.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using dispatch::AssignmentOutcome;
using dispatch::Refusal;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kPermit = Duration::seconds(3);

// Takes requests and answers none.
struct MuteService final : cluster::Service {
  void on_request(link::Connection&, const wire::Inbound&) override { ++requests; }
  int64_t requests = 0;
};

// Another worker, which is a witness too.
class WorkerPermits : public WorkerServiceTest {
 protected:
  WorkerPermits() {
    WorkerSettings settings;
    settings.cpus = {0};
    other_ = std::make_unique<WorkerService>(runtime_, *w2_.links, w2_.router, managers_, workers_, assignments_,
                                             settings, notes_);
    running_.spawn(other_->run(running_.cancellation()));
    workers_.all = {{"w1", worker_.address()}, {"w2", w2_.address()}, {"w3", w3_.address()}};
    order_.permit = kPermit;
    order_.witnesses = {{"w1", service_->life()}, {"w2", other_->life()}, {"w3", 3}};
  }
  void TearDown() override {
    WorkerServiceTest::TearDown();
    machine_.run(w2_.close());
    machine_.run(w3_.close());
  }
  void managers_die() { one_.silent = two_.silent = true; }
  bool grows(FakeProcess& process, Duration within) {
    const std::size_t before = process.permits.size();
    machine_.run_for(within);
    return process.permits.size() > before;
  }
  dispatch::DenyMessage denial(uint32_t last) const {
    return {"j1", dispatch::JobFence(1), other_->life(), {"w1", service_->life()}, AssignmentId(last)};
  }
  dispatch::Response ask_other(dispatch::JobMessage message) {
    auto answer = machine_.run(one_.ask(w2_.address(), std::move(message)));
    check(answer.has_value(), "the witness answers");
    return std::move(*answer);
  }

  TestNode w2_{runtime_, "w2", wire::Role::kWorker, kAnyPort, kJobMessages};
  TestNode w3_{runtime_, "w3", wire::Role::kWorker, kAnyPort, kJobMessages};  // answers nothing
  std::unique_ptr<WorkerService> other_;
  dispatch::AssignmentOrder order_ = test_order(1);
};

TEST_F(WorkerPermits, each_answer_of_the_owner_counts_from_before_the_report) {
  FakeProcess& process = *run_assignment(order_);
  EXPECT_FALSE(process.permits.empty()) << "before it began";
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(grows(process, Duration::millis(1'100)));
    EXPECT_LT(process.permits.back(), runtime_.boot_now() + kPermit);
    EXPECT_GT(process.permits.back(), runtime_.boot_now() + kPermit / 2);
  }
  EXPECT_THAT(process.stops, IsEmpty());
}

TEST_F(WorkerPermits, without_permits_the_load_stops) {
  order_.witnesses.clear();
  FakeProcess& process = *run_assignment(order_);
  one_.gives_permits = false;
  const Instant asked = runtime_.boot_now();
  until([&] { return !process.stops.empty(); });
  EXPECT_LE(runtime_.boot_now(), asked + kPermit + Duration::millis(2)) << "until() looks each millisecond";
  EXPECT_LE(process.permits.back(), runtime_.boot_now());
  process.to.on_ended({AssignmentEnd::How::kStopped, {}, Duration::seconds(2)});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, AssignmentOutcome::kIsolated);
  EXPECT_THAT(one_.ends[0].end.detail, HasSubstr("no permit"));
}

TEST_F(WorkerPermits, what_the_owner_denies_is_stopped_and_reports_its_seconds_and_the_reason) {
  FakeProcess& process = *run_assignment(order_);
  one_.denied = {AssignmentId(1)};
  until([&] { return !process.stops.empty(); });
  const std::size_t permits = process.permits.size();
  machine_.run_for(Duration::seconds(2));
  EXPECT_EQ(process.permits.size(), permits);
  measure(process, 0);
  process.to.on_ended({AssignmentEnd::How::kFenced, {}, Duration::seconds(2)});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, AssignmentOutcome::kIsolated);
  EXPECT_THAT(one_.ends[0].end.detail, HasSubstr("denied its permit"));
  EXPECT_EQ(one_.windows, 1u) << "no quorum may know yet that nobody wants it";
}

TEST_F(WorkerPermits, without_a_manager_a_majority_of_the_witnesses_renews_until_it_denies) {
  FakeProcess& process = *run_assignment(order_);
  machine_.run_for(Duration::seconds(2));
  managers_die();
  machine_.run_for(kPermit);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(grows(process, Duration::millis(600)));
    EXPECT_LT(process.permits.back(), runtime_.boot_now() + kPermit / 2);
  }
  EXPECT_THAT(process.stops, IsEmpty());

  const auto answer = ask_other(denial(1));
  const auto* denied = std::get_if<dispatch::Denied>(&answer);
  ASSERT_NE(denied, nullptr);
  const Instant over = runtime_.boot_now() + denied->rest;
  EXPECT_LT(process.permits.back(), over) << "the witness knows when it ends";
  until([&] { return !process.stops.empty(); });
  EXPECT_LE(runtime_.boot_now(), over);
}

TEST_F(WorkerPermits, a_witness_of_another_life_is_none) {
  order_.witnesses[1].life = other_->life() - 1;
  FakeProcess& process = *run_assignment(order_);
  managers_die();
  until([&] { return !process.stops.empty(); });
  auto stale = denial(1);
  ++stale.life;
  EXPECT_EQ(refusal(ask_other(stale)).kind, Refusal::Kind::kUnknown);
}

TEST_F(WorkerPermits, a_permit_that_ended_while_the_machine_slept_is_not_renewed) {
  FakeProcess& process = *run_assignment(order_);
  ASSERT_TRUE(grows(process, Duration::millis(1'100)));
  machine_.world().node(0).step_boot(kPermit);
  EXPECT_FALSE(grows(process, Duration::seconds(2)));
}

TEST_F(WorkerPermits, a_request_that_was_under_way_while_the_machine_slept_counts_from_before) {
  order_.witnesses.clear();
  FakeProcess& process = *run_assignment(order_);
  one_.gives_permits = false;
  machine_.run_for(kPermit / 2);
  const Instant asked = runtime_.boot_now();
  machine_.world().node(0).step_boot(Duration::seconds(1));
  dispatch::Noted answer;
  answer.permits.push_back({"j1", dispatch::JobFence(1), {}});
  service_->on_report_noted("m1", asked, answer);
  EXPECT_EQ(process.permits.back(), asked + kPermit);
}

TEST_F(WorkerPermits, a_witness_that_does_not_answer_gets_one_request_at_a_time) {
  MuteService mute;
  w3_.router.connect(cluster::message_type::kDispatch, mute);
  run_assignment(order_);
  managers_die();
  until([&] { return mute.requests > 0; });
  machine_.run_for(kPermit * 3);
  EXPECT_GT(mute.requests, 3);
  EXPECT_LE(mute.requests, kPermit * 3 / (kPermit / 3) + 1) << "each waits for a third of the permit";
  w3_.router.disconnect(cluster::message_type::kDispatch);
}

TEST_F(WorkerPermits, the_end_of_a_process_that_somebody_killed_is_told) {
  FakeProcess& process = *run_assignment(order_);
  process.to.on_ended({AssignmentEnd::How::kLost, "it was killed", {}});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, AssignmentOutcome::kLost);
  EXPECT_EQ(one_.ends[0].end.detail, "it was killed");
}

TEST_F(WorkerPermits, a_worker_sends_another_one_nothing_else) {
  FakeManager as_manager(w3_, safe_);
  const auto answer =
      machine_.run(as_manager.ask(worker_.address(), dispatch::RetireMessage{"j1", dispatch::JobFence(9)}));
  EXPECT_FALSE(answer);
  EXPECT_EQ(service_->kernel().jobs(), 0u);
}

}  // namespace
}  // namespace bellwether::node
