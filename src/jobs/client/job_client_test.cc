#include <gmock/gmock.h>

#include "cluster/wire/link/link_testing.h"
#include "jobs/client/job_follower.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "load/plan/load_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;
using testing::Not;

// Takes requests, and answers them with this; without it, never.
class Manager final : public cluster::Service {
 public:
  std::optional<dispatch::Response> answer;
  int asked = 0;
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    ++asked;
    if (answer) connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(dispatch::encode(*answer)));
  }
  void on_message(link::Connection&, const wire::Inbound&) override {}
};

class JobClientTest : public sim::MachineTest {
 protected:
  static constexpr std::size_t kManagers = 3;

  JobClientTest() {
    cluster::NodeConfig config;
    const auto as = link::test_node("client", wire::Role::kClient).self.identity;
    config.cluster = as.cluster;
    config.environment = as.environment;
    config.datacenter = as.datacenter;
    JobClient::Settings settings{{}, "client", wire::Role::kClient};
    for (std::size_t i = 0; i < kManagers; ++i) {
      routers_[i].connect(cluster::message_type::kDispatch, managers[i]);
      link::ServerSettings serving;
      serving.handshake = link::test_node("m" + std::to_string(i), wire::Role::kManager);
      serving.handshake.has_gates = false;
      auto made =
          link::Server::listen(runtime_, {runtime::IpAddress::loopback(), 0}, serving, keys_, routers_[i], refusals_);
      servers_[i] = std::move(*made);
      scope_.spawn(servers_[i]->serve(scope_.cancellation()));
      settings.managers.push_back({"127.0.0.1", servers_[i]->local().port});
    }
    auto made = JobClient::make(runtime_, config, link::test_keyring(), std::move(settings));
    check(made.has_value(), "these settings are valid");
    client_ = std::move(*made);
  }
  static runtime::task<void> close(JobClient& client, runtime::Scope& scope) {
    co_await client.close();
    scope.cancel();
    co_await scope.join();
  }
  void TearDown() override { machine_.run(close(*client_, scope_)); }

  Result<dispatch::Response> ask() {
    const Instant now = runtime_.read_clock();
    return machine_.run(
        client_->ask(dispatch::ListJobs{}, now + Duration::seconds(5), nullptr, now + Duration::seconds(3)));
  }

  Manager managers[kManagers];
  std::unique_ptr<JobClient> client_;

 private:
  cluster::MessageRouter routers_[kManagers] = {router(), router(), router()};
  static cluster::MessageRouter router() {
    return cluster::MessageRouter(cluster::MessageClasses(&message::message_of<dispatch::JobMessage>()));
  }
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  std::unique_ptr<link::Server> servers_[kManagers];
  runtime::Scope scope_;
};

TEST_F(JobClientTest, one_that_answers_is_asked_before_those_that_are_silent) {
  dispatch::Refusal no_owner;
  no_owner.kind = dispatch::Refusal::Kind::kUnavailable;
  no_owner.why = "no manager owns the job";
  no_owner.again_after = Duration::millis(200);
  managers[2].answer = no_owner;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask().error().code, Errc::kTimeout) << "each takes all of the time";
  for (int i = 0; i < 6; ++i) {
    const auto answer = ask();
    EXPECT_EQ(answer.error().code, Errc::kExhausted) << i;
    EXPECT_THAT(answer.error().message, HasSubstr("no manager owns the job; no answer from 127.0.0.1:")) << i;
    EXPECT_THAT(answer.error().message, HasSubstr("start these again")) << i;
    EXPECT_THAT(answer.error().message, Not(HasSubstr("or correct"))) << i;
  }
  // A silent one that is back is asked after it.
  managers[1].answer = dispatch::JobList{};
  managers[0].answer = dispatch::JobList{};
  EXPECT_TRUE(ask());
}

// Without a quorum, one manager says what it knows.
TEST_F(JobClientTest, an_unconfirmed_answer_replaces_only_what_is_less) {
  const plan::Plan plan = plan::plan_from(R"yaml(
workflows:
  buy: {vus: 1, duration: 10s, steps: {pay: {http: {get: "http://127.0.0.1:1/"}}}}
)yaml");
  JobFollower follower(*client_, plan, "j1");
  const auto answer = [&](uint64_t iterations, uint64_t revision, bool final) {
    metrics::Window window(aggregate::shape_of(plan));
    window.workflows[0].iterations = iterations;
    aggregate::Totals totals(plan);
    totals.add(window);
    dispatch::Watched watched;
    watched.record.id = "j1";
    watched.record.name = "buy";
    watched.record.bundle = std::string(64, 'a');
    watched.record.workflows.resize(1);
    watched.record.revision = revision;
    watched.totals = *ingest::encode_totals(totals.save());
    watched.final = final;
    managers[0].answer = std::move(watched);
    const Instant deadline = runtime_.read_clock() + Duration::seconds(20);
    const Status fetched = machine_.run(follower.fetch_unconfirmed(deadline, nullptr));
    EXPECT_TRUE(fetched) << fetched.error().message;
    return std::pair(follower.totals().counts().iterations, follower.record().revision);
  };
  using Has = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(answer(5, 7, false), Has(5, 7));
  EXPECT_EQ(answer(4, 9, false), Has(5, 7)) << "of an older copy";
  EXPECT_EQ(answer(6, 6, false), Has(6, 7)) << "of an older record, with more of the workers";
  EXPECT_FALSE(follower.final());
  EXPECT_EQ(answer(3, 8, true), Has(3, 8)) << "a majority is back, and the job has ended";
  EXPECT_TRUE(follower.final());
}

}  // namespace
}  // namespace bellwether::node
