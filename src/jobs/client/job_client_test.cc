#include <gmock/gmock.h>

#include "cluster/wire/link/link_testing.h"
#include "jobs/client/job_follower.h"
#include "jobs/dispatch/codec/messages_codec.h"
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

 private:
  cluster::MessageRouter routers_[kManagers] = {router(), router(), router()};
  static cluster::MessageRouter router() {
    return cluster::MessageRouter(cluster::MessageClasses(&message::message_of<dispatch::JobMessage>()));
  }
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  std::unique_ptr<link::Server> servers_[kManagers];
  runtime::Scope scope_;
  std::unique_ptr<JobClient> client_;
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

}  // namespace
}  // namespace bellwether::node
