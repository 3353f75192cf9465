// A manager that is its cluster's only voter, with a client and a worker in virtual time: its behaviour when no quorum
// confirms jobs, and when it has received more than it has copied.
#include "jobs/manager/manager_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/register/small.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/replication/quorum_job_store.h"
#include "cluster/replication/register_replica.h"
#include "core/base/encoding.h"
#include "core/runtime/event.h"
#include "core/signature/signature.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/worker/worker_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::node {
namespace {

using runtime::task;
using testing::HasSubstr;
using testing::StartsWith;

const runtime::Endpoint kAnyPort{runtime::IpAddress::loopback(), 0};

class MemoryKv final : public cluster::Kv {
 public:
  task<Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = kept_.find(key);
    co_return found == kept_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, value] : kept_) {
      if (key.starts_with(prefix)) found.emplace_back(key, value);
    }
    co_return found;
  }
  task<Status> put(std::vector<cluster::KvChange> changes) override {
    if (full) co_return fail(Errc::kNoSpace, "the disk of the test is full");
    if (slow != nullptr) co_await slow->wait();
    for (const cluster::KvChange& one : changes) {
      kept_.erase(one.key);
      if (one.value) kept_[one.key] = *one.value;
    }
    co_return Status();
  }
  bool full = false;
  runtime::Event* slow = nullptr;  // it writes nothing before that

 private:
  std::map<std::string, std::string> kept_;
};

// Registers that do not answer while the test says so.
class TestStore final : public jobs::JobStore {
 public:
  explicit TestStore(jobs::JobStore& store) : store_(store) {}
  std::string describe() const override { return store_.describe(); }
  Result<std::unique_ptr<jobs::JobHandle>> open(std::string key, jobs::JobHandle::Listener& listener) override {
    ++asked;
    if (away) return fail(Errc::kTimeout, "nobody answers");
    return store_.open(std::move(key), listener);
  }
  task<void> close(Duration most) override { co_await store_.close(most); }
  bool away = false;
  int asked = 0;

 private:
  jobs::JobStore& store_;
};

class Around final : public ClusterView {
 public:
  std::optional<cluster::PeerAddress> find(const std::string& name) const override {
    const auto found = places.find(name);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
  std::string self() const override { return "m1"; }
  std::string leader_name() const override { return leader; }
  bool leads() const override { return true; }
  bool keeps_jobs() const override { return keeps; }
  std::vector<std::string> keepers() const override { return {"m1"}; }
  std::vector<std::string> manager_names() const override { return {"m1"}; }
  bool is_gone(const std::string&) const override { return false; }
  std::vector<Neighbour> neighbours() const override {
    return {{.name = "m2", .datacenter = "d", .manager = true, .there = false},
            {.name = "w1", .datacenter = "d", .manager = false, .there = true}};
  }
  bool is_suspect(const std::string&) const override { return false; }
  std::map<std::string, cluster::PeerAddress> places;
  std::string leader = "m1";
  bool keeps = true;
};

// A worker that executes every order.
class WillingWorker final : public cluster::Service {
 public:
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    auto message = dispatch::decode_message(as_text(request.body));
    check(message.has_value(), "a manager sends messages");
    if (const auto* begin = std::get_if<dispatch::BeginMessage>(&*message)) begun = *begin;
    if (const auto* stop = std::get_if<dispatch::StopMessage>(&*message)) stopped = *stop;
    dispatch::Response response = dispatch::Noted{};
    if (std::holds_alternative<dispatch::AdoptMessage>(*message)) response = runs;
    const std::string body = dispatch::encode(response);
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(body), true);
  }
  void on_closed(link::Connection&) override {}
  dispatch::Adopted runs;
  std::optional<dispatch::BeginMessage> begun;
  std::optional<dispatch::StopMessage> stopped;
};

class Inattentive final : public jobs::JobHandle::Listener {
  void on_lost(const jobs::LostJob&) override {}
};

// A job that w1 runs, after 10,000 assignments that did not get far with it.
dispatch::JobRecord moved_10000_times(const std::string& bundle) {
  dispatch::JobRecord record;
  record.id = "j1";
  record.name = "buy";
  record.by = "ann";
  record.bundle = dispatch::bundle_hash(bundle);
  record.revision = 50'000;
  record.submitted = record.started = WallTime{1'800'000'000'000'000'000};
  record.state = dispatch::JobState::kRunning;
  record.workflows.push_back({dispatch::WorkflowState::kRunning, "", 1, 10'000, 0, true});
  Prng prng(7);
  while (record.last_assignment <= 10'000) {
    dispatch::AssignmentRecord assignment;
    assignment.id = dispatch::AssignmentId(++record.last_assignment);
    assignment.worker = "w2";
    assignment.life = prng.next();
    assignment.parts = {0, 1, 1};
    assignment.state = dispatch::AssignmentState::kGone;
    assignment.end = dispatch::AssignmentEnd{dispatch::AssignmentOutcome::kAborted, std::to_string(prng.next()), 0, {}};
    record.assignments.push_back(assignment);
  }
  dispatch::AssignmentRecord& last = record.assignments.back();
  last.worker = "w1";
  last.life = 1;
  last.state = dispatch::AssignmentState::kRunning;
  last.streams = true;
  last.end.reset();
  return record;
}

class ManagerServiceTest : public testing::Test {
 protected:
  void start(ManagerSettings settings) {
    around_.places = {{"m1", m1_.address()}, {"w1", w1_.address()}};
    w1_.router.connect(cluster::message_type::kDispatch, worker_);
    keeping_.spawn(register_replica_.run(keeping_.cancellation()));
    keeping_.spawn(blob_replica_.run(keeping_.cancellation()));
    serve(settings);
  }
  void serve(ManagerSettings settings) {
    serving_ = std::make_unique<runtime::Scope>();
    service_ = std::make_unique<ManagerService>(
        ManagerService::Parts{runtime_, *m1_.links, m1_.router, around_, store_, register_replica_, blobs_,
                              callback_to<&ManagerServiceTest::on_job_says>(*this), files_},
        settings);
    serving_->spawn(service_->run(serving_->cancellation()));
  }
  void TearDown() override {
    machine_.run(ending(this));
    w1_.router.disconnect(cluster::message_type::kDispatch);
    for (TestNode* node : {&m1_, &w1_, &w2_, &c1_}) machine_.run(node->close());
  }
  template <class Holds>
  void until(Holds holds) {
    ASSERT_TRUE(machine_.until(holds));
  }
  dispatch::Response ask(TestNode& from, const dispatch::JobMessage& message) {
    const auto answer =
        machine_.run(from.links->request(m1_.address(), cluster::message_type::kDispatch, wire::Priority::kControl,
                                         dispatch::encode(message), Duration::seconds(20), nullptr));
    check(answer.has_value(), answer ? "" : answer.error().message.c_str());
    auto response = dispatch::decode_response(*answer);
    check(response.has_value(), "it answers what can be read");
    return std::move(*response);
  }
  dispatch::Response submit(const std::string& job, const std::string& bundle) {
    return ask(c1_, dispatch::Submit{job, "ann", bundle, 1});
  }
  static dispatch::WorkerReport willing() {
    dispatch::WorkerReport report;
    report.life = 1;
    report.cores = report.free = 1;
    report.takes_work = report.healthy = true;
    report.state = "healthy";
    return report;
  }
  // Job j1 runs on w1, which has reported this.
  dispatch::WorkerReport begin_job() {
    dispatch::WorkerReport report = willing();
    ask(w1_, report);
    EXPECT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
    until([&] { return worker_.begun.has_value(); });
    return report;
  }
  // The state that its owner leaves: after an end in order; after a death between the blob of a record with a
  // cancellation and its register; or in a register that has missed the deletion of the job.
  enum class Left { kWhole, kHalf, kForgotten };
  void leave_behind(const dispatch::JobRecord& record, const std::string& bundle, Left how) {
    machine_.run(leaving(this, record, bundle, how));
  }
  void restart() {
    machine_.run(stopping(this));
    serve({});
  }
  static dispatch::Refusal refusal_of(const dispatch::Response& response) {
    const auto* found = std::get_if<dispatch::Refusal>(&response);
    return found == nullptr ? dispatch::Refusal{} : *found;
  }

  sim::TestMachine machine_;
  runtime::Runtime& runtime_ = machine_.runtime();
  Prng prng_{1};
  TestNode m1_{runtime_, "m1", wire::Role::kManager, kAnyPort, kJobMessages};
  TestNode w1_{runtime_, "w1", wire::Role::kWorker, kAnyPort, kJobMessages};
  TestNode w2_{runtime_, "w2", wire::Role::kWorker, kAnyPort, kJobMessages};
  TestNode c1_{runtime_, "c1", wire::Role::kOperator, kAnyPort, kJobMessages};
  Around around_;
  WillingWorker worker_;
  MemoryKv jobs_kv_;
  MemoryKv blobs_kv_;
  static constexpr auto deaf_ = [](bool, const std::string&) {};
  registers::Lines lines_{*m1_.links, m1_.router, callback_to<&Around::find>(around_), "m1", {"m1"}};
  jobs::RegisterReplica register_replica_{runtime_, jobs_kv_, lines_, {.first_start = true}, deaf_};
  jobs::QuorumJobStore registers_{runtime_, lines_, jobs::JobSettings{}, 1};
  TestStore store_{registers_};
  blobs::BlobReplica blob_replica_{runtime_, blobs_kv_, lines_, {.first_start = true}, deaf_};
  blobs::Blobs blobs_{runtime_, lines_, {}, 1};
  FileStore files_{runtime_, {.folder = "/data/files", .bytes_most = 1 << 30}};
  std::unique_ptr<ManagerService> service_;
  std::vector<std::string> said_;

 private:
  static task<void> leaving(ManagerServiceTest* self, dispatch::JobRecord record, std::string bundle, Left how) {
    Inattentive deaf;
    auto encoded = dispatch::encode_record(record);
    check(encoded.has_value() && dispatch::is_summary(encoded->value), "it is larger than a register's value");
    const Instant deadline = self->runtime_.read_clock() + Duration::seconds(60);
    auto handle = self->store_.open(record.id, deaf);
    const auto taken = co_await (*handle)->take(deadline, nullptr);
    const jobs::JobFence fence = (*handle)->fence();
    Status kept = co_await self->blobs_.put({record.id, kBundleBlob}, {fence, 1}, bundle, deadline, nullptr);
    if (kept) kept = co_await self->blobs_.put({record.id, kRecordBlob}, {fence, 1}, encoded->large, deadline, nullptr);
    const auto written = co_await (*handle)->write(encoded->value, deadline, nullptr);
    if (how == Left::kForgotten) kept = co_await self->blobs_.drop(record.id, deadline, nullptr);
    if (how == Left::kHalf) {
      ++record.revision;
      record.state = dispatch::JobState::kCancelled;
      encoded = dispatch::encode_record(record);
      kept = co_await self->blobs_.put({record.id, kRecordBlob}, {fence, 2}, encoded->large, deadline, nullptr);
    }
    check(taken && kept && written, "it is kept");
    const Status given = co_await (*handle)->give_back(deadline, nullptr);
    check(given.has_value(), "and nobody has it");
  }
  static task<void> ending(ManagerServiceTest* self) {
    co_await stopping(self);
    co_await self->store_.close(Duration::seconds(1));
    co_await self->blobs_.close();
    self->keeping_.cancel();
    co_await self->keeping_.join();
    co_await self->lines_.close();
  }
  static task<void> stopping(ManagerServiceTest* self) {
    self->serving_->cancel();
    co_await self->serving_->join();
    self->service_.reset();
  }
  void on_job_says(const std::string&, const std::string& event, const std::string&, bool) { said_.push_back(event); }

  runtime::Scope keeping_;
  std::unique_ptr<runtime::Scope> serving_;
};

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
  EXPECT_THAT(refused.why, testing::HasSubstr("no manager is the leader at the moment; gone are 'm2'"));
}

TEST_F(ManagerServiceTest, jobs_are_listed_only_by_a_manager_with_a_leader) {
  start({});
  EXPECT_TRUE(std::holds_alternative<dispatch::JobList>(ask(c1_, dispatch::ListJobs{})));
  around_.leader.clear();
  const dispatch::Refusal refused = refusal_of(ask(c1_, dispatch::ListJobs{}));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_THAT(refused.why, testing::HasSubstr("gone are 'm2'"));
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
  EXPECT_THAT(refused.why, testing::HasSubstr("this manager keeps no jobs"));
  around_.keeps = true;
  until([&] { return service_->jobs() == 1; });
}

TEST_F(ManagerServiceTest, a_compiled_program_in_place_of_a_scenario_is_refused) {
  start({});
  scenario::Bundle bundle = *dispatch::decode_bundle(test_bundle());
  std::get<scenario::RecordedScenario>(bundle).text = std::string("\x7f\x45LF\x02\x01\x01\x00", 8);
  const dispatch::Refusal refused = refusal_of(submit("j1", *dispatch::encode_bundle(bundle)));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBroken);
  EXPECT_THAT(refused.why, testing::HasSubstr("this is a compiled program"));
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
  EXPECT_THAT(refused.why, testing::HasSubstr("without a signature"));
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, whoever_tells_more_than_is_copied_is_asked_for_less_until_it_is) {
  ManagerSettings settings;
  settings.coordinator.unsafe_bytes_most = 1;
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

// An order to begin may still be on its way: a worker that has a permit could begin what others run.
TEST_F(ManagerServiceTest, an_assignment_that_its_worker_does_not_start_moves_when_the_worker_has_dropped_it) {
  start({});
  dispatch::WorkerReport report = willing();
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
  EXPECT_EQ(denied(6), std::vector{first});
  EXPECT_EQ(worker_.begun->assignment, first);
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

// Its record exceeds the value of a register.
TEST_F(ManagerServiceTest, a_job_of_which_10000_assignments_have_ended_is_taken_over_cancelled_and_shown) {
  start({});
  const std::string bundle = bundle_of(R"yaml(
workflows:
  buy: {vus: 1, duration: 1h, steps: {pay: {http: {get: "http://127.0.0.1:1/"}}}}
)yaml");
  const dispatch::JobRecord left = moved_10000_times(bundle);
  const dispatch::AssignmentId last = left.assignments.back().id;
  worker_.runs.assignments = {{last, dispatch::AssignmentPhase::kRunning, Duration::seconds(1), 0, 0, 0, {}}};
  leave_behind(left, bundle, Left::kWhole);
  until([&] { return service_->jobs() == 1; });

  dispatch::Cancel cancel;
  cancel.job = "j1";
  cancel.by = "ann";
  cancel.number = 1;
  const auto answer = ask(c1_, cancel);
  EXPECT_TRUE(std::holds_alternative<dispatch::Noted>(answer)) << refusal_of(answer).why;
  until([&] { return worker_.stopped.has_value(); });
  EXPECT_EQ(worker_.stopped->assignment, last);
  const dispatch::AssignmentEnd end{dispatch::AssignmentOutcome::kStopped, "", 0, Duration::seconds(2)};
  EXPECT_TRUE(std::holds_alternative<dispatch::Noted>(ask(w1_, dispatch::EndMessage{"j1", last, end, 0})));
  until([&] { return std::count(said_.begin(), said_.end(), "job_over") == 1; });

  // Another manager, which was not its owner, shows the whole of it.
  restart();
  dispatch::Watch watch;
  watch.job = "j1";
  const auto shown = ask(c1_, watch);
  const auto* watched = std::get_if<dispatch::Watched>(&shown);
  ASSERT_NE(watched, nullptr) << refusal_of(shown).why;
  EXPECT_EQ(watched->record.state, dispatch::JobState::kCancelled);
  ASSERT_EQ(watched->record.assignments.size(), left.assignments.size());
  EXPECT_EQ(watched->record.assignments[4'000], left.assignments[4'000]);
  EXPECT_EQ(watched->record.assignments.back().state, dispatch::AssignmentState::kEnded);
  const auto listed = ask(c1_, dispatch::ListJobs{});
  ASSERT_EQ(std::get<dispatch::JobList>(listed).jobs.size(), 1u);
  EXPECT_EQ(std::get<dispatch::JobList>(listed).jobs[0].name, "buy");
}

TEST_F(ManagerServiceTest, a_large_record_that_its_register_does_not_name_yet_is_where_the_next_owner_goes_on_from) {
  start({});
  leave_behind(moved_10000_times(test_bundle()), test_bundle(), Left::kHalf);
  const auto state = [&] {
    const auto content = registers::parse_content(register_replica_.find("j1")->value);
    return dispatch::read_record(*content->value)->state;
  };
  EXPECT_EQ(state(), dispatch::JobState::kRunning);
  until([&] { return state() == dispatch::JobState::kCancelled; });
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, a_register_that_missed_that_its_job_was_forgotten_is_retired_by_whoever_takes_it) {
  start({});
  const dispatch::JobRecord left = moved_10000_times(test_bundle());
  leave_behind(left, test_bundle(), Left::kForgotten);
  until([&] {
    return register_replica_.find("j1") != nullptr && registers::is_retired(register_replica_.find("j1")->value);
  });
  EXPECT_EQ(service_->jobs(), 0u);
}

// Its owner died when one replica had accepted the end: the next owner may end the job with another record.
TEST_F(ManagerServiceTest, an_end_of_which_nobody_knows_whether_a_majority_has_it_is_not_shown_before_that_is_known) {
  start({});
  until([&] { return register_replica_.has_read(); });
  dispatch::JobRecord record;
  record.id = "j1";
  record.state = dispatch::JobState::kCompleted;
  record.name = "buy";
  record.by = "ann";
  record.bundle = dispatch::bundle_hash(test_bundle());
  record.workflows.push_back({dispatch::WorkflowState::kCompleted, "", 1, 1, 0, true});
  record.revision = 9;
  record.submitted = record.ended = runtime_.wall_now();
  const auto bytes = dispatch::encode_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const registers::Claim claim{jobs::JobFence(7), lines_.self_id(), 99};
  const registers::Accept last{1, registers::bytes_of_value(bytes->value)};
  lines_.send(lines_.self_id(), registers::Ask{"j1", 1, Duration::seconds(5), claim, last});
  until([&] { return register_replica_.find("j1") != nullptr; });

  dispatch::Watch watch;
  watch.job = "j1";
  dispatch::Cancel cancel;
  cancel.job = "j1";
  const auto listed = [&] { return std::get<dispatch::JobList>(ask(c1_, dispatch::ListJobs{})).jobs.at(0); };
  EXPECT_EQ(refusal_of(ask(c1_, watch)).kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_EQ(refusal_of(ask(c1_, cancel)).kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_EQ(listed().state, dispatch::JobState::kCompleting);
  EXPECT_EQ(listed().ended, client::Moment());

  const auto takeovers = [&] { return std::count(said_.begin(), said_.end(), "job_not_taken"); };
  until([&] { return takeovers() == 1; });
  const auto shown = ask(c1_, watch);
  const auto* const watched = std::get_if<dispatch::Watched>(&shown);
  ASSERT_NE(watched, nullptr) << refusal_of(shown).why;
  EXPECT_TRUE(watched->final);
  EXPECT_EQ(watched->record, record);
  EXPECT_EQ(refusal_of(ask(c1_, cancel)).kind, dispatch::Refusal::Kind::kConflict);
  EXPECT_EQ(listed().state, dispatch::JobState::kCompleted);
  machine_.run_for(Duration::minutes(2));
  EXPECT_EQ(takeovers(), 1) << "once is enough";
}

TEST_F(ManagerServiceTest, a_job_with_a_data_file_is_accepted_once_a_majority_has_the_file) {
  ManagerSettings settings;
  settings.coordinator.rules.worker_wait = Duration::hours(5);
  start(settings);
  std::string rows = "name\n";
  while (rows.size() <= dispatch::kMaxFileChunk) rows += "ann\n";
  const FileRef file{sha256_hex(rows), rows.size()};
  scenario::Bundle bundle = *dispatch::decode_bundle(test_bundle());
  std::get<scenario::RecordedScenario>(bundle).apart[{"users.csv", 1 << 30}] = file;
  const std::string bytes = *dispatch::encode_bundle(bundle);
  dispatch::Refusal refused = refusal_of(submit("j1", bytes));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBusy) << "a client asks again";
  EXPECT_THAT(refused.why, HasSubstr("a majority of the managers does not have the data file"));

  const auto put = [&](uint64_t offset, const std::string& chunk) {
    return std::get<dispatch::FileState>(ask(c1_, dispatch::PutFile{file, offset, chunk}));
  };
  EXPECT_EQ(put(0, {}), (dispatch::FileState{0, false}));
  const std::string first = rows.substr(0, dispatch::kMaxFileChunk);
  EXPECT_EQ(put(0, first), (dispatch::FileState{first.size(), false}));
  EXPECT_EQ(refusal_of(submit("j1", bytes)).kind, dispatch::Refusal::Kind::kBusy);
  EXPECT_EQ(put(first.size(), rows.substr(first.size())), (dispatch::FileState{rows.size(), true}));
  EXPECT_EQ(put(0, {}), (dispatch::FileState{rows.size(), true})) << "a second upload sends nothing";
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", bytes)));

  const auto chunk = ask(w1_, dispatch::FetchFile{file, first.size()});
  EXPECT_EQ(std::get<dispatch::FileChunk>(chunk).bytes, rows.substr(first.size()));
  EXPECT_EQ(refusal_of(ask(w1_, dispatch::FetchFile{{std::string(64, 'a'), 5}, 0})).kind,
            dispatch::Refusal::Kind::kUnknown);
  machine_.run_for(Duration::hours(2));
  EXPECT_FALSE(std::holds_alternative<dispatch::Refusal>(ask(w1_, dispatch::FetchFile{file, 0})))
      << "the job waits, and needs it";
  dispatch::Cancel cancel;
  cancel.job = "j1";
  ASSERT_TRUE(std::holds_alternative<dispatch::Noted>(ask(c1_, cancel)));
  machine_.run_for(Duration::hours(2));
  EXPECT_EQ(refusal_of(ask(w1_, dispatch::FetchFile{file, 0})).kind, dispatch::Refusal::Kind::kUnknown);
}

}  // namespace
}  // namespace bellwether::node
