// A manager when no quorum confirms jobs, and when it has received more than it has copied.
#include "jobs/manager/manager_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/signature/signature.h"
#include "jobs/manager/manager_service_testing.h"
#include "load/aggregate/totals.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(ManagerServiceTest, when_no_quorum_was_to_be_had_three_times_a_job_is_refused_before_anything_is_done_for_it) {
  start({});
  store_.away = true;
  EXPECT_EQ(refusal_of(submit("broken", "no bundle at all")).kind, dispatch::Refusal::Kind::kBroken);
  for (const char* job : {"j1", "j2", "j3"}) {
    EXPECT_EQ(service_->quorum_breaker(), resilience::BreakerState::kClosed);
    EXPECT_THAT(refusal_of(submit(job, test_bundle())).why, StartsWith("QuorumTimeout"));
  }
  EXPECT_EQ(service_->quorum_breaker(), resilience::BreakerState::kOpen);
  EXPECT_EQ(store_.asked, 3);

  store_.away = false;
  for (const std::string& bundle : {test_bundle(), std::string("no bundle at all")}) {
    const dispatch::Refusal refused = refusal_of(submit("j4", bundle));
    EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable) << "it was not even read";
    EXPECT_THAT(refused.why, StartsWith("QuorumCircuitOpen"));
    EXPECT_GT(refused.again_after, Duration::zero());
    EXPECT_LE(refused.again_after, Duration::seconds(10));
  }
  EXPECT_EQ(store_.asked, 3) << "nobody was asked";
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, a_job_that_is_not_known_here_may_be_known_to_others_for_as_long_as_nobody_leads) {
  start({});
  dispatch::Watch message;
  message.job = "j9";
  EXPECT_EQ(refusal_of(ask(c1_, message)).kind, dispatch::Refusal::Kind::kUnknown);
  around_.leader.clear();
  const dispatch::Refusal refused = refusal_of(ask(c1_, message));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_GT(refused.again_after, Duration::zero());
  EXPECT_THAT(refused.why, HasSubstr("no manager is the leader at the moment; gone are 'm2'"));
}

TEST_F(ManagerServiceTest, jobs_are_listed_only_by_a_manager_with_a_leader) {
  start({});
  EXPECT_TRUE(std::holds_alternative<dispatch::JobList>(ask(c1_, dispatch::ListJobs{})));
  around_.leader.clear();
  const dispatch::Refusal refused = refusal_of(ask(c1_, dispatch::ListJobs{}));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_THAT(refused.why, HasSubstr("gone are 'm2'"));
}

TEST_F(ManagerServiceTest, a_manager_that_keeps_jobs_no_longer_gives_its_jobs_away_and_refuses_clients) {
  start({});
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
  ASSERT_EQ(service_->jobs(), 1u);
  around_.keeps = false;
  until([&] { return service_->jobs() == 0; });
  until([&] { return !register_replica_.is_leased("j1"); });
  const dispatch::Refusal refused = refusal_of(ask(c1_, dispatch::ListJobs{}));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_THAT(refused.why, HasSubstr("this manager keeps no jobs"));
  around_.keeps = true;
  until([&] { return service_->jobs() == 1; });
}

TEST_F(ManagerServiceTest, a_compiled_program_in_place_of_a_scenario_is_refused) {
  start({});
  scenario::Bundle bundle = *dispatch::decode_bundle(test_bundle());
  std::get<scenario::RecordedScenario>(bundle).text = std::string("\x7f\x45LF\x02\x01\x01\x00", 8);
  const dispatch::Refusal refused = refusal_of(submit("j1", *dispatch::encode_bundle(bundle)));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBroken);
  EXPECT_THAT(refused.why, HasSubstr("this is a compiled program"));
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, a_compiled_program_that_nobody_has_signed_is_refused_before_it_is_kept) {
  start({});
  scenario::RecordedScenario record;
  record.file_name = "shop.yaml";
  record.text = "workflows: {w: {vus: 1, duration: 1s, steps: {s: {native: {file: shop.bw, call: w.s}}}}}";
  record.files.emplace(scenario::RecordedScenario::FileQuestion{"shop.bw", signature::kMaxProgramBytes},
                       Result<std::string>("\x7f\x45LF"));
  const dispatch::Refusal refused = refusal_of(submit("j1", *dispatch::encode_bundle(record)));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBroken);
  EXPECT_THAT(refused.why, HasSubstr("without a signature"));
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, whoever_tells_more_than_is_copied_is_asked_for_less_until_it_is) {
  ManagerSettings settings;
  settings.coordinator.unsafe_most = {1, 0};
  settings.coordinator.copy_every = Duration::millis(1);
  start(settings);
  dispatch::WorkerReport report = willing();
  EXPECT_EQ(std::get<dispatch::Noted>(ask(w1_, report)).pressure, resilience::Backpressure::kNone);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
  until([&] { return worker_.begun.has_value(); });
  EXPECT_THAT(said_, testing::Contains("manager_active")) << "before that nobody gets anything";

  blobs_kv_.full = true;
  const auto tell = [&](uint64_t number) {
    const std::string window = ingest::encode_window(ingest::random_window(prng_, number - 1));
    const auto answer =
        ask(w1_, dispatch::WindowMessage{"j1", worker_.begun->assignment, worker_.begun->from, number, number, window});
    const auto* applied = std::get_if<dispatch::Applied>(&answer);
    EXPECT_NE(applied, nullptr) << refusal_of(answer).why;
    return applied == nullptr ? dispatch::Applied{} : *applied;
  };
  EXPECT_EQ(tell(1).pressure, resilience::Backpressure::kReject);
  EXPECT_EQ(tell(2).applied, 2u) << "it takes what it is told all the same";
  EXPECT_THAT(said_, testing::Contains("backpressure"));
  const auto levels = [&] { return std::count(said_.begin(), said_.end(), "backpressure"); };
  EXPECT_EQ(levels(), 1) << "said once, not each second";
  blobs_kv_.full = false;
  until([&] { return levels() == 2; });
  EXPECT_EQ(tell(2).pressure, resilience::Backpressure::kNone);
}

// A node that takes no offers for a while.
struct BusyNode {
  Duration again_after = Duration::seconds(5);
  int turned_away = 0;
  bool over = false;
  std::optional<wire::Busy> turns_away(const link::Connection&, const wire::Inbound& inbound) {
    const auto message = dispatch::decode_message(as_text(inbound.body));
    if (over || !message || !std::holds_alternative<dispatch::Offer>(*message)) return std::nullopt;
    return wire::Busy{again_after + Duration::millis(++turned_away), "the node is overloaded"};
  }
};

TEST_F(ManagerServiceTest, what_a_busy_node_does_not_take_another_worker_runs_and_the_busy_one_is_left_alone) {
  BusyNode node;
  WillingWorker other;
  start({});
  w1_.router.guard(callback_to<&BusyNode::turns_away>(node));
  w2_.router.connect(cluster::message_type::kDispatch, other);
  around_.places.emplace("w2", w2_.address());
  dispatch::WorkerReport report = willing();
  report.life = 2;
  ask(w2_, report);
  report.life = 1;
  report.cores = report.free = 2;  // more than w2, so it is asked first
  ask(w1_, report);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
  machine_.run_for(Duration::seconds(2));
  EXPECT_TRUE(other.begun.has_value()) << "before w1 wants to be asked again";
  EXPECT_EQ(node.turned_away, 1);

  ask(w1_, report);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j2", test_bundle())));
  machine_.run_for(Duration::millis(100));
  const auto states = [&] { return std::count(said_.begin(), said_.end(), "job_state"); };
  const auto before = states();
  ask(w1_, report);
  machine_.run_for(Duration::seconds(1));
  EXPECT_EQ(states(), before) << "it waits, and is offered to nobody";
  node.over = true;
  ask(w1_, report);
  until([&] { return worker_.begun.has_value(); });
  EXPECT_EQ(worker_.begun->job, "j2");
  EXPECT_EQ(node.turned_away, 1);
  w1_.router.guard({});
  w2_.router.disconnect(cluster::message_type::kDispatch);
}

TEST_F(ManagerServiceTest, a_busy_node_that_turns_a_missing_part_away_again_and_again_is_in_the_record_once) {
  BusyNode node{.again_after = Duration::millis(500)};
  start({});
  dispatch::WorkerReport report = begin_job();
  machine_.run_for(Duration::seconds(1));
  w1_.router.guard(callback_to<&BusyNode::turns_away>(node));
  // Its reports lack the assignment.
  for (report.number = 5; report.number < 20 && node.turned_away < 3; ++report.number) {
    report.heard = report.number - 1;
    ask(w1_, report);
    machine_.run_for(Duration::millis(500));
  }
  w1_.router.guard({});
  ASSERT_EQ(node.turned_away, 3);
  dispatch::Watch watch;
  watch.job = "j1";
  const auto shown = ask(c1_, watch);
  std::vector<std::string> told;
  for (const dispatch::JobEvent& event : std::get<dispatch::Watched>(shown).record.events) {
    if (event.kind == "assignment_refused") told.push_back(event.detail);
  }
  EXPECT_EQ(told, std::vector<std::string>{"worker 'w1': its node is busy"});
}

// A second waits for two assignments, and is closed without the second one. Then that one reports failures, which a
// copy takes along before their time, and nothing comes after them.
TEST_F(ManagerServiceTest, a_threshold_judges_what_only_a_copy_took_into_the_totals) {
  const std::string bundle = bundle_of(R"yaml(
workflows:
  buy: {vus: 1, duration: 1h, steps: {pay: {http: {get: "http://127.0.0.1:1/"}}}}
  look: {vus: 1, duration: 1h, steps: {home: {http: {get: "http://127.0.0.1:1/"}}}}
thresholds:
  http_req_failed: [{threshold: "rate<0.5", abort_on_fail: true}]
)yaml");
  ManagerSettings settings;
  settings.coordinator.copy_every = Duration::millis(1);
  start(settings);
  dispatch::WorkerReport report = willing();
  report.cores = report.free = 2;
  ask(w1_, report);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", bundle)));
  until([&] { return worker_.begun.has_value(); });
  machine_.run_for(Duration::seconds(2));
  const auto plan = plan::plan_of(*dispatch::decode_bundle(bundle));
  const auto tell = [&](uint32_t assignment, uint64_t requests, uint64_t failed) {
    metrics::Window window(aggregate::shape_of(*plan));
    window.steps[0].count = requests;
    window.steps[0].failed = failed;
    const dispatch::WindowMessage message{"j1", dispatch::AssignmentId(assignment), worker_.begun->from, 1,
                                          1,    ingest::encode_window(window)};
    const auto answer = ask(w1_, message);
    EXPECT_TRUE(std::holds_alternative<dispatch::Applied>(answer)) << refusal_of(answer).why;
  };
  tell(1, 1, 0);
  machine_.run_for(Duration::seconds(3));
  EXPECT_FALSE(worker_.stopped.has_value());
  tell(2, 9, 9);
  until([&] { return worker_.stopped.has_value(); });
  EXPECT_THAT(worker_.stopped->why, HasSubstr("threshold http_req_failed"));
}

// On that answer the worker deletes its seconds. If this owner died before the record says so, the next one would wait
// for them.
TEST_F(ManagerServiceTest, excess_is_said_only_when_the_record_that_gives_the_assignment_up_is_kept) {
  start({});
  dispatch::WorkerReport report = begin_job();
  const std::string window = ingest::encode_window(ingest::random_window(prng_, 0));
  const dispatch::WindowMessage message{"j1", worker_.begun->assignment, worker_.begun->from, 1, 1, window};
  const auto is_excess = [&] {
    const auto answer = ask(w1_, message);
    const auto* applied = std::get_if<dispatch::Applied>(&answer);
    EXPECT_NE(applied, nullptr) << refusal_of(answer).why;
    return applied != nullptr && applied->excess;
  };
  runtime::Event written;
  jobs_kv_.slow = &written;
  report.life = 2;  // the assignment is gone
  ask(w1_, report);
  machine_.run_for(Duration::seconds(1));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_excess());
  jobs_kv_.slow = nullptr;
  written.set();
  bool told = false;
  for (int i = 0; i < 100 && !told; ++i) told = is_excess();
  EXPECT_TRUE(told);
}

// Reports that the worker sent before the order to begin may arrive after its answer to the order.
TEST_F(ManagerServiceTest, an_assignment_is_lost_when_a_report_lacks_it_that_follows_the_answer_to_another_one) {
  start({});
  dispatch::WorkerReport report = begin_job();
  machine_.run_for(Duration::seconds(1));
  const dispatch::AssignmentId first = worker_.begun->assignment;
  const auto loses_it = [&](uint64_t number, uint64_t heard) {
    report.number = number;
    report.heard = heard;
    ask(w1_, report);
    machine_.run_for(Duration::seconds(1));
    return worker_.begun->assignment != first;
  };
  EXPECT_FALSE(loses_it(5, 3));
  EXPECT_FALSE(loses_it(6, 4)) << "made before the answer to the fifth";
  EXPECT_TRUE(loses_it(7, 5));
}

// Whether its worker keeps permits.
class NotStarted : public ManagerServiceTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Permits, NotStarted, testing::Bool());

// An order to begin may still be on its way: a worker that has a permit could begin what others run. One that knows no
// permits reads no denial, and would keep the assignment for as long as it waits for an owner.
TEST_P(NotStarted, an_assignment_moves_when_its_worker_has_dropped_it) {
  start({});
  dispatch::WorkerReport report = willing();
  report.permits = GetParam();
  ask(w1_, report);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
  until([&] { return worker_.begun.has_value(); });
  machine_.run_for(Duration::seconds(1));
  const dispatch::AssignmentId first = worker_.begun->assignment;
  const auto denied = [&](uint64_t number) {
    report.number = number;
    report.heard = number - 1;
    const auto answer = std::get<dispatch::Noted>(ask(w1_, report));
    machine_.run_for(Duration::seconds(1));
    return answer.permits.empty() ? std::vector<dispatch::AssignmentId>() : answer.permits[0].denied;
  };
  report.held = {{"j1", dispatch::JobFence(1), first, dispatch::AssignmentPhase::kReady}};
  EXPECT_TRUE(denied(5).empty());
  EXPECT_FALSE(worker_.stopped.has_value());
  EXPECT_EQ(denied(6), std::vector{first});
  EXPECT_EQ(worker_.begun->assignment, first);
  EXPECT_EQ(worker_.stopped.has_value(), !GetParam());
  if (worker_.stopped) EXPECT_EQ(worker_.stopped->assignment, first);
  report.held.clear();
  denied(7);
  denied(8);
  EXPECT_NE(worker_.begun->assignment, first);
}

// With its own certificate, a worker reports about another one's assignment.
TEST_F(ManagerServiceTest, of_an_assignment_only_its_own_worker_is_heard) {
  start({});
  m1_.router.report_refusals(&m1_.refusals);
  leave_behind(moved_10000_times(test_bundle()), test_bundle(), Left::kWhole);
  const dispatch::AssignmentId assignment(10'001);
  worker_.runs.assignments = {{assignment, dispatch::AssignmentPhase::kRunning, Duration::seconds(1), 0, 0, 0, {}}};
  until([&] { return service_->jobs() == 1; });
  const std::string window = ingest::encode_window(ingest::random_window(prng_, 0));
  const dispatch::AssignmentEnd end{dispatch::AssignmentOutcome::kCompleted, "", 0, Duration::seconds(2)};
  dispatch::ExtendMessage extend;
  extend.job = "j1";
  extend.assignment = assignment;
  const dispatch::JobMessage forged[] = {dispatch::WindowMessage{"j1", assignment, 0, 1, 1, window},
                                         dispatch::EndMessage{"j1", assignment, end, 0}, extend};
  uint64_t refused = 0;
  for (const dispatch::JobMessage& message : forged) {
    EXPECT_EQ(refusal_of(ask(w2_, message)).kind, dispatch::Refusal::Kind::kUnknown) << message.index();
    EXPECT_EQ(m1_.router.refused(), ++refused) << message.index();
  }
  EXPECT_EQ(m1_.refusals.counts().of(wire::Refusal::kSender), refused);
  EXPECT_THAT(said_, testing::Not(testing::Contains("job_over")));
  const dispatch::WindowMessage unknown{"j1", dispatch::AssignmentId(99'999), 0, 1, 1, window};
  EXPECT_EQ(refusal_of(ask(w2_, unknown)).kind, dispatch::Refusal::Kind::kUnknown);
  EXPECT_EQ(m1_.router.refused(), refused) << "an assignment that was forgotten is nobody's";
  EXPECT_TRUE(std::holds_alternative<dispatch::Noted>(ask(w1_, dispatch::EndMessage{"j1", assignment, end, 0})));
  EXPECT_EQ(m1_.router.refused(), refused);
}

}  // namespace
}  // namespace bellwether::node
