#include "jobs/worker/worker_service.h"

#include "core/base/encoding.h"
#include "jobs/worker/worker_service_testing.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using dispatch::Refusal;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(WorkerServiceTest, tells_every_manager_how_it_is_and_takes_work_once_it_is_known) {
  until([&] { return !one_.reports.empty() && !two_.reports.empty(); });
  EXPECT_EQ(one_.reports.front().state, "registering");
  EXPECT_FALSE(one_.reports.front().takes_work);
  EXPECT_EQ(one_.reports.front().cores, 3u);
  EXPECT_NE(one_.reports.front().life, 0u);
  until([&] { return one_.reports.back().takes_work && two_.reports.back().takes_work; });
  EXPECT_EQ(one_.reports.back().state, "healthy");
  EXPECT_TRUE(one_.reports.back().healthy);
}

TEST_F(WorkerServiceTest, tells_of_its_cores_and_assignments_as_they_change) {
  run_assignment(1);
  until([&] { return one_.reports.back().held.size() == 1 && one_.reports.back().free == 2; });
  until([&] { return one_.reports.back().held[0].phase == dispatch::AssignmentPhase::kRunning; });
  assignments_.of(1)->to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return one_.reports.back().free == 3; });
  EXPECT_EQ(one_.reports.back().held[0].phase, dispatch::AssignmentPhase::kEnded);
}

TEST_F(WorkerServiceTest, what_a_process_that_stands_still_could_do_is_counted_by_the_time_that_passes) {
  FakeProcess& process = *run_assignment(1);
  const auto headway = [&] {
    const auto& held = one_.reports.back().held;
    return held.empty() ? dispatch::Headway() : held[0].headway;
  };
  until([&] { return headway().could_turn >= 3; });
  EXPECT_EQ(headway().turned, 0u);
  process.to.on_counters({.tally = {}, .loops = 1, .headway = {7, 6, 5, 4, 3}});
  until([&] { return headway().turned == 7; });
  EXPECT_EQ(headway().could_begin, 6u);
  EXPECT_EQ(headway().begun, 5u);
  EXPECT_EQ(headway().due, 4u);
  EXPECT_EQ(headway().served, 3u);
  process.to.on_counters({});
  const std::size_t told = one_.reports.size();
  until([&] { return one_.reports.size() > told + 1; });
  const uint64_t could_turn = headway().could_turn;
  const std::size_t again = one_.reports.size();
  until([&] { return one_.reports.size() > again + 1; });
  EXPECT_EQ(headway().could_turn, could_turn) << "of loops that have ended nothing is expected";
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return headway() == dispatch::Headway(); });
}

TEST_F(WorkerServiceTest, a_worker_that_nobody_knows_any_more_takes_no_work_until_somebody_does) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  WorkerSettings impatient;
  impatient.cpus = {0};
  impatient.unknown_after = Duration::millis(50);
  running_.cancel();
  machine_.run(joining(running_));
  service_.reset();
  service_ = std::make_unique<WorkerService>(runtime_, *worker_.links, worker_.router, managers_, workers_,
                                             assignments_, impatient, notes_);
  runtime::Scope again;
  again.spawn(service_->run(again.cancellation()));
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  one_.silent = two_.silent = true;
  until([&] { return service_->state() == health::WorkerState::kRegistering; });
  one_.silent = two_.silent = false;
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  again.cancel();
  machine_.run(joining(again));
}

TEST_F(WorkerServiceTest, an_owner_that_the_members_take_for_dead_gets_reports_while_its_assignment_runs) {
  run_assignment(1);
  managers_.all = {m2_.address()};
  const std::size_t told = one_.reports.size();
  until([&] { return one_.reports.size() > told + 2; });
}

// Seconds and ends would wait; the time of the assignment does not.
TEST_F(WorkerServiceTest, an_owner_that_the_members_take_for_dead_gets_seconds_and_requests_for_time) {
  dispatch::AssignmentOrder order = test_order(1);
  order.execution_limit = Duration::seconds(20);
  FakeProcess& process = *run_assignment(order);
  managers_.all = {m2_.address()};
  measure(process, 0);
  until([&] { return applied(1) == 1; });
  until([&] { return !one_.extends.empty(); });
  machine_.run_for(Duration::minutes(1));
  EXPECT_EQ(process.saves, 0) << "its time has not ended";
  EXPECT_TRUE(process.stops.empty());
}

TEST_F(WorkerServiceTest, after_a_silence_another_report_follows_the_first_answer_of_this_manager_at_once) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  one_.silent = true;
  machine_.run_for(Duration::seconds(4));
  one_.silent = false;
  const std::size_t first = one_.reports.size();
  until([&] { return one_.reports.size() > first; });
  const Instant first_at = runtime_.now();
  until([&] { return one_.reports.size() > first + 1; });
  EXPECT_LE(runtime_.now(), first_at + Duration::millis(150));
  EXPECT_EQ(one_.reports[first + 1].heard, one_.reports[first].number);
  machine_.run_for(Duration::millis(20));
  const std::size_t to_other = two_.reports.size();
  machine_.run_for(Duration::millis(300));
  EXPECT_EQ(two_.reports.size(), to_other) << "it was not silent";
}

TEST_F(WorkerServiceTest, a_worker_that_knows_of_no_live_manager_takes_no_work_until_it_does) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  managers_.all.clear();
  until([&] { return service_->state() == health::WorkerState::kRegistering; });
  managers_.all = {m1_.address(), m2_.address()};
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
}

TEST_F(WorkerServiceTest, runs_an_assignment_and_brings_what_it_measures_to_the_owner) {
  FakeProcess& process = *run_assignment(1, 5);
  EXPECT_EQ(process.order.bundle, test_bundle());
  EXPECT_THAT(process.order.cpus, ElementsAre(4));
  for (uint64_t second = 0; second < 5; ++second) measure(process, second);
  process.to.on_ended({AssignmentEnd::How::kAborted, "pay", Duration::millis(4500)});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, dispatch::AssignmentOutcome::kAborted);
  EXPECT_EQ(one_.ends[0].end.detail, "pay");
  EXPECT_EQ(one_.ends[0].end.last_number, 5u);
  EXPECT_EQ(one_.ends[0].end.ran, Duration::millis(4500));
  EXPECT_EQ(safe_.from[1], 5u);
  expect_all_counted(one_);
  until([&] { return service_->kernel().report().held.size() == 1; });
  EXPECT_TRUE(noted(ask(one_, dispatch::RetireMessage{"j1", dispatch::JobFence(1)})));
  EXPECT_TRUE(service_->kernel().report().held.empty());
}

TEST_F(WorkerServiceTest, an_assignment_in_the_place_of_another_one_begins_where_that_one_was) {
  bring_bundle();
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  dispatch::AssignmentOrder order = test_order(1);
  order.base_second = 10;
  Asking offer;
  running_.spawn(asking(&one_, worker_.address(), dispatch::Offer{order}, &offer));
  until([&] { return assignments_.of(1) != nullptr; });
  FakeProcess& process = *assignments_.of(1);
  process.to.on_prepared({});
  const dispatch::BeginMessage begin{"j1", dispatch::JobFence(1), AssignmentId(1), Duration::millis(2500), true, 12};
  ASSERT_TRUE(noted(ask(one_, begin)));
  EXPECT_GE(process.resume_at, Duration::millis(2500));
  EXPECT_LT(*process.start, runtime_.now() - Duration::millis(2500) + Duration::nanos(1));
  measure(process, 2);
  until([&] { return applied(1) == 1; });
  EXPECT_EQ(safe_.from[1], 12u);
}

TEST_F(WorkerServiceTest, an_offer_needs_its_bundle_and_the_bundle_its_hash) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  EXPECT_EQ(refusal(ask(one_, dispatch::Offer{test_order(1)})).kind, Refusal::Kind::kUnknown);
  const auto answer = ask(one_, dispatch::BundleMessage{"j1", dispatch::bundle_hash("other bytes"), test_bundle()});
  EXPECT_EQ(refusal(answer).kind, Refusal::Kind::kInvalid);
  EXPECT_THAT(refusal(answer).why, HasSubstr("do not match its hash"));
}

TEST_F(WorkerServiceTest, what_no_plan_can_be_made_of_is_broken) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  const std::string garbage = "no bundle";
  ASSERT_TRUE(noted(ask(one_, dispatch::BundleMessage{"j1", dispatch::bundle_hash(garbage), garbage})));
  dispatch::AssignmentOrder order = test_order(1);
  order.bundle = dispatch::bundle_hash(garbage);
  EXPECT_EQ(refusal(ask(one_, dispatch::Offer{order})).kind, Refusal::Kind::kBroken);
  bring_bundle();
  order = test_order(2);
  order.workflow = 7;
  EXPECT_THAT(refusal(ask(one_, dispatch::Offer{order})).why,
              HasSubstr("the order is for workflow 7, but the plan has 1 workflows"));
  order = test_order(3);
  order.parts = {0, kMaxAssignmentThreads + 1, 4096};
  EXPECT_THAT(refusal(ask(one_, dispatch::Offer{order})).why, HasSubstr("1025 parts for one process"));
  EXPECT_TRUE(assignments_.alive.empty());
  EXPECT_EQ(service_->kernel().free_cores(), 3u);
}

TEST_F(WorkerServiceTest, an_assignment_that_cannot_be_prepared_is_broken_with_its_words) {
  bring_bundle();
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  Asking offer;
  running_.spawn(asking(&one_, worker_.address(), dispatch::Offer{test_order(1)}, &offer));
  until([&] { return assignments_.of(1) != nullptr; });
  FakeProcess& process = *assignments_.of(1);
  process.to.on_prepared(fail(Errc::kInvalid, "the URL of 'pay' is wrong"));
  EXPECT_EQ(process.kills, 1);
  process.to.on_ended({AssignmentEnd::How::kNotPrepared, "the URL of 'pay' is wrong", {}});
  until([&] { return offer.answer.has_value(); });
  EXPECT_EQ(refusal(*offer.answer).kind, Refusal::Kind::kBroken);
  EXPECT_THAT(refusal(*offer.answer).why, HasSubstr("URL of 'pay'"));
  EXPECT_TRUE(assignments_.alive.empty());
}

TEST_F(WorkerServiceTest, a_process_that_says_what_makes_no_sense_is_killed_and_has_crashed) {
  FakeProcess& process = *run_assignment(1);
  process.to.on_second(0, "garbage", Duration::seconds(1));
  EXPECT_EQ(process.kills, 1);
  process.to.on_ended({AssignmentEnd::How::kKilled, {}, {}});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, dispatch::AssignmentOutcome::kCrashed);
  EXPECT_THAT(one_.ends[0].end.detail, HasSubstr("invalid message"));
}

TEST_F(WorkerServiceTest, is_told_to_stop_gracefully_or_at_once) {
  FakeProcess& process = *run_assignment(1);
  dispatch::StopMessage stop{"j1", dispatch::JobFence(1), AssignmentId(1), dispatch::StopHow::kGraceful, "enough"};
  EXPECT_TRUE(noted(ask(one_, stop)));
  stop.how = dispatch::StopHow::kAtOnce;
  EXPECT_TRUE(noted(ask(one_, stop)));
  EXPECT_THAT(process.stops, ElementsAre(true, false));
  process.to.on_ended({AssignmentEnd::How::kStopped, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.detail, "enough");
}

TEST_F(WorkerServiceTest, pressure_makes_it_refuse_work_and_say_why) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  cluster::ResourceUsage signs;
  signs.memory = 99;
  signs.memory_most = 100;
  service_->sample(signs, 0);
  service_->sample(signs, 0);
  until([&] { return one_.reports.back().state == "draining"; });
  EXPECT_EQ(one_.reports.back().reason, "memory");
  EXPECT_FALSE(one_.reports.back().takes_work);
  EXPECT_THAT(refusal(ask(one_, dispatch::Offer{test_order(1)})).why, HasSubstr("draining, memory"));
}

runtime::task<void> leaving(WorkerService* service, Instant deadline, runtime::Scope* scope,
                            std::optional<Status>* out) {
  Status left = co_await service->leave(deadline, scope->cancellation());
  *out = std::move(left);
}

TEST_F(WorkerServiceTest, a_worker_that_leaves_waits_until_others_have_gone_on_and_all_is_delivered) {
  FakeProcess& process = *run_assignment(1);
  Asking offer;
  running_.spawn(asking(&one_, worker_.address(), dispatch::Offer{test_order(2)}, &offer));
  until([&] { return assignments_.of(2) != nullptr; });
  std::optional<Status> left;
  running_.spawn(leaving(service_.get(), runtime_.now() + Duration::hours(1), &running_, &left));
  EXPECT_EQ(assignments_.of(2)->kills, 1) << "what has not begun is dropped";
  until([&] { return offer.answer.has_value(); });
  EXPECT_THAT(refusal(*offer.answer).why, HasSubstr("its worker leaves"));
  assignments_.of(2)->to.on_ended({AssignmentEnd::How::kKilled, "", {}});
  until([&] { return one_.reports.back().leaves; });
  EXPECT_FALSE(one_.reports.back().takes_work);
  EXPECT_TRUE(process.stops.empty()) << "what runs goes on";

  const dispatch::AssignmentId assignment(1);
  EXPECT_TRUE(noted(ask(one_, dispatch::HandOverMessage{"j1", dispatch::JobFence(1), assignment, 1'000})));
  EXPECT_EQ(process.handed_over, Duration::seconds(1'000));
  measure(process, 0);
  process.to.on_ended({AssignmentEnd::How::kCompleted, "", Duration::millis(700)});
  until([&] { return one_.ends.size() == 1; });
  EXPECT_EQ(one_.ends[0].end.outcome, dispatch::AssignmentOutcome::kCompleted);
  EXPECT_FALSE(left) << "what it measured would be lost with its owner";
  expect_all_counted(one_);
  until([&] { return left.has_value(); });
  EXPECT_TRUE(*left) << "it has nothing left to do";
}

TEST_F(WorkerServiceTest, what_nobody_goes_on_with_is_stopped_when_a_worker_has_to_be_gone) {
  FakeProcess& process = *run_assignment(1);
  std::optional<Status> left;
  running_.spawn(leaving(service_.get(), runtime_.now(), &running_, &left));
  EXPECT_THAT(process.stops, ElementsAre(false));
  until([&] { return process.kills == 1; });
  EXPECT_FALSE(left.has_value()) << "others would count its process as dead";
  process.to.on_ended({AssignmentEnd::How::kKilled, "", Duration::millis(700)});
  until([&] { return left.has_value(); });
  EXPECT_EQ(left->error().code, Errc::kTimeout);
  until([&] { return !one_.ends.empty(); });
  EXPECT_EQ(one_.ends[0].end.outcome, dispatch::AssignmentOutcome::kLost) << "it may have begun more than it reported";
}

TEST_F(WorkerServiceTest, one_that_runs_out_of_descriptors_or_waits_for_a_core_says_so) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  cluster::ResourceUsage signs;
  signs.descriptors = 90;
  signs.descriptors_most = 100;
  service_->sample(signs, 0);
  service_->sample(signs, 0);
  EXPECT_EQ(service_->state(), health::WorkerState::kDegraded);
  EXPECT_EQ(service_->state_reason(), "file descriptors");
  signs.descriptors = 10;
  signs.run_delay = Duration::millis(400);
  service_->sample(signs, 0);
  EXPECT_EQ(service_->state(), health::WorkerState::kDegraded);
  EXPECT_EQ(service_->state_reason(), "run queue delay");
  signs.run_delay = Duration::zero();
  for (int i = 0; i < 5; ++i) service_->sample(signs, 0);
  EXPECT_EQ(service_->state(), health::WorkerState::kHealthy);
}

TEST_F(WorkerServiceTest, who_is_no_manager_is_not_listened_to) {
  TestNode somebody(runtime_, "o1", wire::Role::kOperator, kAnyPort, kJobMessages);
  FakeManager as_manager(somebody, safe_);
  const auto answer =
      machine_.run(as_manager.ask(worker_.address(), dispatch::RetireMessage{"j1", dispatch::JobFence(9)}));
  EXPECT_FALSE(answer);
  EXPECT_EQ(service_->kernel().jobs(), 0u);
  machine_.run(somebody.close());
}

TEST_F(WorkerServiceTest, malformed_messages_are_refused_by_the_router) {
  const auto answer =
      machine_.run(m1_.links->request(worker_.address(), cluster::message_type::kDispatch, wire::Priority::kControl,
                                      std::string("\xff\xff garbage"), Duration::seconds(5), nullptr));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kUnsupported) << answer.error().message;
}

TEST_F(WorkerServiceTest, who_asked_and_went_away_is_not_answered) {
  bring_bundle();
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  Asking offer;
  running_.spawn(asking(&one_, worker_.address(), dispatch::Offer{test_order(1)}, &offer));
  until([&] { return assignments_.of(1) != nullptr; });
  for (link::Connection* connection : worker_.server->connections()) connection->close({Errc::kReset, "the test"});
  until([&] { return offer.over; });
  assignments_.of(1)->to.on_prepared({});
  turn();
  EXPECT_FALSE(offer.answer.has_value());
  EXPECT_TRUE(noted(ask(one_, dispatch::Offer{test_order(1)}))) << "it may ask again";
}

TEST_F(WorkerServiceTest, a_process_gets_the_files_beside_its_bundle_once_they_are_fetched) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  bring_bundle();
  two_.file = "name\n" + std::string(500, 'x');  // its owner has it not any more
  dispatch::AssignmentOrder order = test_order(1);
  order.files = {{sha256_hex(two_.file), two_.file.size()}};
  EXPECT_TRUE(std::holds_alternative<dispatch::FileState>(ask(one_, dispatch::Offer{order})));
  EXPECT_EQ(assignments_.of(1), nullptr);
  EXPECT_EQ(service_->kernel().free_cores(), 3u) << "it waits without a core";
  until([&] { return files_.is_whole(order.files[0]); });
  const FakeProcess* const process = run_assignment(order);
  EXPECT_THAT(process->order.files,
              ElementsAre(ChildFile{order.files[0].sha256, "/data/files/" + order.files[0].sha256}));
  EXPECT_EQ(files_.received(), two_.file.size());
}

TEST_F(WorkerServiceTest, an_offer_with_a_file_that_no_manager_has_is_refused_with_the_reason) {
  until([&] { return service_->state() == health::WorkerState::kHealthy; });
  bring_bundle();
  dispatch::AssignmentOrder order = test_order(1);
  order.files = {{std::string(64, 'a'), 5}};
  dispatch::Response answer = dispatch::FileState{};
  until([&] {
    answer = ask(one_, dispatch::Offer{order});
    return !std::holds_alternative<dispatch::FileState>(answer);
  });
  EXPECT_EQ(refusal(answer).kind, Refusal::Kind::kUnavailable);
  EXPECT_THAT(refusal(answer).why, HasSubstr("this manager does not have the file"));
}

}  // namespace
}  // namespace bellwether::node
