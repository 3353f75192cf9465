// A manager that is its cluster's only voter, with a client and a worker on the loopback interface: what it does when
// no quorum confirms jobs, and when it is told more than it has copied.
#include "node/manager/manager_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/copies/copy_keeper.h"
#include "cluster/jobs/job_keeper.h"
#include "cluster/jobs/quorum_job_store.h"
#include "node/worker/worker_testing.h"
#include "runtime/stream_testing.h"
#include "signature/signature.h"

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
    for (const cluster::KvChange& one : changes) {
      kept_.erase(one.key);
      if (one.value) kept_[one.key] = *one.value;
    }
    co_return Status();
  }
  bool full = false;

 private:
  std::map<std::string, std::string> kept_;
};

// Registers that nobody can be asked for while the test says so.
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

class Around final : public Surroundings {
 public:
  std::optional<cluster::PeerAddress> find(const std::string& name) const override {
    const auto found = places.find(name);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
  std::string self() const override { return "m1"; }
  std::string leader_name() const override { return leader; }
  bool leads() const override { return true; }
  std::vector<std::string> manager_names() const override { return {"m1"}; }
  bool is_gone(const std::string&) const override { return false; }
  std::vector<Neighbour> neighbours() const override {
    return {{.name = "w1", .datacenter = "d", .manager = false, .there = true}};
  }
  bool is_suspect(const std::string&) const override { return false; }
  std::map<std::string, cluster::PeerAddress> places;
  std::string leader = "m1";
};

// A worker that does whatever it is told.
class WillingWorker final : public cluster::Service {
 public:
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    auto letter = dispatch::decode_letter(as_text(request.body));
    check(letter.has_value(), "a manager sends letters");
    if (const auto* begin = std::get_if<dispatch::BeginLetter>(&*letter)) begun = *begin;
    const std::string body = dispatch::encode(dispatch::Response(dispatch::Noted{}));
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(body), true);
  }
  void on_closed(link::Connection&) override {}
  std::optional<dispatch::BeginLetter> begun;
};

class ManagerServiceTest : public testing::Test,
                           private ManagerService::Listener,
                           private jobs::JobKeeper::Listener,
                           private copies::CopyKeeper::Listener {
 protected:
  void start(ManagerSettings settings) {
    around_.places = {{"m1", m1_.address()}, {"w1", w1_.address()}};
    w1_.switchboard.connect(cluster::message_type::kDispatch, worker_);
    keeping_.spawn(job_keeper_.run(keeping_.cancellation()));
    keeping_.spawn(copy_keeper_.run(keeping_.cancellation()));
    service_ = std::make_unique<ManagerService>(
        ManagerService::Parts{*runtime_, *m1_.links, m1_.switchboard, around_, store_, job_keeper_, copies_, *this},
        settings);
    serving_.spawn(service_->run(serving_.cancellation()));
  }
  void TearDown() override {
    runtime_->run(ending(this));
    w1_.switchboard.disconnect(cluster::message_type::kDispatch);
    for (TestNode* node : {&m1_, &w1_, &c1_}) runtime_->run(node->close());
  }
  template <class Holds>
  void until(Holds holds) {
    const auto turn = [](runtime::Runtime& runtime) -> task<void> { co_await runtime.sleep(Duration::millis(1)); };
    for (int i = 0; i < 20'000 && !holds(); ++i) runtime_->run(turn(*runtime_));
    ASSERT_TRUE(holds());
  }
  dispatch::Response ask(TestNode& from, const dispatch::Letter& letter) {
    const auto answer =
        runtime_->run(from.links->request(m1_.address(), cluster::message_type::kDispatch, wire::Priority::kControl,
                                          dispatch::encode(letter), Duration::seconds(20), nullptr));
    check(answer.has_value(), answer ? "" : answer.error().message.c_str());
    auto response = dispatch::decode_response(*answer);
    check(response.has_value(), "it answers what can be read");
    return std::move(*response);
  }
  dispatch::Response submit(const std::string& job, const std::string& bundle) {
    return ask(c1_, dispatch::Submit{job, "ann", bundle, 1});
  }
  static dispatch::Refusal refusal_of(const dispatch::Response& response) {
    const auto* found = std::get_if<dispatch::Refusal>(&response);
    return found == nullptr ? dispatch::Refusal{} : *found;
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  Prng prng_{1};
  TestNode m1_{*runtime_, "m1", wire::Role::kManager, kAnyPort};
  TestNode w1_{*runtime_, "w1", wire::Role::kWorker, kAnyPort};
  TestNode c1_{*runtime_, "c1", wire::Role::kOperator, kAnyPort};
  Around around_;
  WillingWorker worker_;
  MemoryKv jobs_kv_;
  MemoryKv copies_kv_;
  jobs::JobLines job_lines_{*m1_.links, m1_.switchboard, around_, "m1", {"m1"}};
  jobs::JobKeeper job_keeper_{*runtime_, jobs_kv_, job_lines_, {.first_start = true}, *this};
  jobs::QuorumJobStore registers_{*runtime_, job_lines_, jobs::JobSettings{}, 1};
  TestStore store_{registers_};
  copies::CopyLines copy_lines_{*runtime_, *m1_.links, m1_.switchboard, around_, "m1", {"m1"}};
  copies::CopyKeeper copy_keeper_{*runtime_, copies_kv_, copy_lines_, {.first_start = true}, *this};
  copies::Copies copies_{*runtime_, copy_lines_, {}, 1};
  std::unique_ptr<ManagerService> service_;
  std::vector<std::string> said_;

 private:
  static task<void> ending(ManagerServiceTest* self) {
    self->serving_.cancel();
    co_await self->serving_.join();
    co_await self->store_.close(Duration::seconds(1));
    co_await self->copies_.close();
    self->keeping_.cancel();
    co_await self->keeping_.join();
    co_await self->copy_lines_.close();
    self->service_.reset();
  }
  void on_job_says(const std::string&, const std::string& event, const std::string&, bool) override {
    said_.push_back(event);
  }
  void on_note(bool, const std::string&) override {}

  runtime::Scope keeping_;
  runtime::Scope serving_;
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
  dispatch::Watch letter;
  letter.job = "j9";
  EXPECT_EQ(refusal_of(ask(c1_, letter)).kind, dispatch::Refusal::Kind::kUnknown);
  around_.leader.clear();
  const dispatch::Refusal refused = refusal_of(ask(c1_, letter));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_GT(refused.again_after, Duration::zero());
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
  record.files.emplace(scenario::RecordedScenario::FileQuestion{"shop.bw", signature::kProgramBytesMax},
                       Result<std::string>("\x7f\x45LF"));
  const dispatch::Refusal refused = refusal_of(submit("j1", *dispatch::encode_bundle(record)));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBroken);
  EXPECT_THAT(refused.why, testing::HasSubstr("without a signature"));
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, whoever_tells_more_than_is_copied_is_asked_for_less_until_it_is) {
  ManagerSettings settings;
  settings.steward.unsafe_bytes_most = 1;
  settings.steward.copy_every = Duration::millis(1);
  start(settings);
  dispatch::WorkerReport report;
  report.life = 1;
  report.cores = report.free = 1;
  report.takes_work = report.healthy = true;
  report.state = "healthy";
  EXPECT_EQ(std::get<dispatch::Noted>(ask(w1_, report)).pressure, resilience::Backpressure::kNone);
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", test_bundle())));
  until([&] { return worker_.begun.has_value(); });
  EXPECT_THAT(said_, testing::Contains("manager_active")) << "before that nobody gets anything";

  copies_kv_.full = true;
  const auto tell = [&](uint64_t number) {
    const std::string window = account::encode_window(account::random_window(prng_, number - 1));
    const auto answer =
        ask(w1_, dispatch::WindowLetter{"j1", worker_.begun->share, worker_.begun->from, number, number, window});
    const auto* applied = std::get_if<dispatch::Applied>(&answer);
    EXPECT_NE(applied, nullptr) << refusal_of(answer).why;
    return applied == nullptr ? dispatch::Applied{} : *applied;
  };
  EXPECT_EQ(tell(1).pressure, resilience::Backpressure::kReject);
  EXPECT_EQ(tell(2).applied, 2u) << "it takes what it is told all the same";
  EXPECT_THAT(said_, testing::Contains("backpressure"));
  const auto levels = [&] { return std::count(said_.begin(), said_.end(), "backpressure"); };
  EXPECT_EQ(levels(), 1) << "said once, not each second";
  copies_kv_.full = false;
  until([&] { return levels() == 2; });
  EXPECT_EQ(tell(2).pressure, resilience::Backpressure::kNone);
}

}  // namespace
}  // namespace bellwether::node
