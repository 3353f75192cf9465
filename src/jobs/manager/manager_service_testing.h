// A manager that is its cluster's only voter, with a client and a worker in virtual time.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>

#include "cluster/register/small.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/replication/quorum_job_store.h"
#include "cluster/replication/register_replica.h"
#include "core/runtime/event.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/manager/manager_service.h"
#include "jobs/worker/worker_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::node {

inline const runtime::Endpoint kAnyPort{runtime::IpAddress::loopback(), 0};

class MemoryKv final : public cluster::Kv {
 public:
  runtime::task<Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = kept_.find(key);
    co_return found == kept_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, value] : kept_) {
      if (key.starts_with(prefix)) found.emplace_back(key, value);
    }
    co_return found;
  }
  runtime::task<Status> put(std::vector<cluster::KvChange> changes) override {
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
  runtime::task<void> close(Duration most) override { co_await store_.close(most); }
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
    if (const auto* fetched = std::get_if<dispatch::FetchKept>(&*message)) {
      const bool has_it = std::ranges::any_of(fetched->streams, [](const auto& one) { return one.applied > 0; });
      response = has_it ? dispatch::Kept{{}, kept.ends} : kept;
    }
    const std::string body = dispatch::encode(response);
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(body), true);
  }
  void on_closed(link::Connection&) override {}
  dispatch::Adopted runs;
  dispatch::Kept kept;
  std::optional<dispatch::BeginMessage> begun;
  std::optional<dispatch::StopMessage> stopped;
};

class Inattentive final : public jobs::JobHandle::Listener {
  void on_lost(const jobs::LostJob&) override {}
};

// A job that w1 runs, after 10,000 assignments that did not get far with it.
inline dispatch::JobRecord moved_10000_times(const std::string& bundle) {
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
  static runtime::task<void> leaving(ManagerServiceTest* self, dispatch::JobRecord record, std::string bundle,
                                     Left how) {
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
  static runtime::task<void> ending(ManagerServiceTest* self) {
    co_await stopping(self);
    co_await self->store_.close(Duration::seconds(1));
    co_await self->blobs_.close();
    self->keeping_.cancel();
    co_await self->keeping_.join();
    co_await self->lines_.close();
  }
  static runtime::task<void> stopping(ManagerServiceTest* self) {
    self->serving_->cancel();
    co_await self->serving_->join();
    self->service_.reset();
  }
  void on_job_says(const std::string&, const std::string& event, const std::string&, bool) { said_.push_back(event); }

  runtime::Scope keeping_;
  std::unique_ptr<runtime::Scope> serving_;
};

}  // namespace bellwether::node
