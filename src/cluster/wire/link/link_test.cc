#include <gmock/gmock.h>

#include "cluster/wire/link/link_testing.h"
#include "core/runtime/stream_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::link {
namespace {

using runtime::IpAddress;
using runtime::task;
using testing::HasSubstr;
using wire::Refusal;
using wire::Role;

// A manager that listens on the loopback interface, and a worker that connects to it.
class LinkTest : public sim::MachineTest {
 protected:
  LinkTest() {
    dialling_.handshake = test_node("w1", Role::kWorker);
    serving_.handshake = test_node("m1", Role::kManager);
  }
  void start() {
    auto made =
        Server::listen(runtime_, {IpAddress::loopback(), 0}, serving_, server_keys_, server_handler_, server_refusals_);
    ASSERT_TRUE(made);
    server_ = std::move(*made);
    scope_.spawn(server_->serve(scope_.cancellation()));
  }
  task<void> connect() {
    auto made = co_await dial(runtime_, server_->local(), "m1", dialling_, client_keys_, client_handler_,
                              client_refusals_, nullptr);
    if (made) {
      client_ = std::move(*made);
      scope_.spawn(run(*client_));
    } else {
      failure_ = made.error();
    }
  }
  static task<void> run(Connection& connection) {
    const Error why = co_await connection.run(nullptr);
    static_cast<void>(why);
  }
  void connected() {
    start();
    machine_.run(connect());
    ASSERT_NE(client_, nullptr) << failure_.error.message;
  }
  task<Result<wire::ReplyStatus>> asking(std::string body, Duration timeout) {
    const Instant deadline = runtime_.now() + timeout;
    const wire::Outgoing message{.type = 7, .body = as_bytes(body)};
    auto status = co_await client_->request(message, deadline, answer_);
    co_return status;
  }
  Result<wire::ReplyStatus> ask(const std::string& body, Duration timeout = Duration::seconds(30)) {
    return machine_.run(asking(body, timeout));
  }
  task<Result<wire::ReplyStatus>> asked_back(Connection& connection) {
    auto status = co_await connection.request({.type = 8, .body = as_bytes("back")},
                                              runtime_.now() + Duration::seconds(30), answer_);
    co_return status;
  }
  task<Result<wire::ReplyStatus>> asking_with(runtime::Cancellation* cancel) {
    auto status = co_await client_->request({.type = 7, .body = as_bytes("x")}, runtime_.now() + Duration::seconds(30),
                                            answer_, cancel);
    co_return status;
  }
  task<Result<wire::ReplyStatus>> asking_bulk() {
    const wire::Outgoing message{.type = 7, .priority = wire::Priority::kBulk, .body = as_bytes("x")};
    auto status = co_await client_->request(message, runtime_.now() + Duration::seconds(30), answer_);
    co_return status;
  }
  task<Result<wire::ReplyStatus>> cancelling(runtime::Cancellation& cancel) {
    auto asked = asking_with(&cancel);
    while (server_handler_.waiting.empty()) co_await runtime_.yield();
    cancel.cancel();
    auto status = co_await asked;
    while (server_handler_.cancelled.empty()) co_await runtime_.yield();
    co_return status;
  }
  task<Result<wire::ReplyStatus>> losing_the_server() {
    auto asked = asking_with(nullptr);
    while (server_handler_.waiting.empty()) co_await runtime_.yield();
    server_handler_.opened[0]->close({Errc::kClosed, "gone"});
    auto status = co_await asked;
    co_return status;
  }
  task<void> asking_one(std::size_t size, std::vector<std::byte>& answer) {
    const std::string body = runtime::pattern(size, size);
    const auto priority = size % 2 == 0 ? wire::Priority::kNormal : wire::Priority::kBulk;
    const wire::Outgoing message{.type = 7, .priority = priority, .body = as_bytes(body)};
    const auto status = co_await client_->request(message, runtime_.now() + Duration::seconds(60), answer);
    EXPECT_TRUE(status && as_text(answer) == body) << size;
  }
  task<void> asking_all(std::vector<std::vector<std::byte>>& answers) {
    runtime::Scope asks;
    for (std::size_t i = 0; i < answers.size(); ++i) asks.spawn(asking_one(i * i * i * 10 + i % 4, answers[i]));
    co_await asks.join();
  }
  task<void> until_closed() {
    while (client_handler_.closed.empty() || server_handler_.closed.empty()) co_await runtime_.yield();
  }
  task<void> ending() {
    if (client_ != nullptr) client_->close({Errc::kClosed, "the test ends"});
    scope_.cancel();
    co_await scope_.join();
  }
  void TearDown() override { machine_.run(ending()); }

  runtime::Scope scope_;
  wire::Keyring client_keys_ = test_keyring();
  wire::Keyring server_keys_ = test_keyring();
  EchoHandler client_handler_;
  EchoHandler server_handler_;
  RefusalWatch client_refusals_;
  RefusalWatch server_refusals_;
  DialSettings dialling_;
  ServerSettings serving_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Connection> client_;
  DialFailure failure_;
  std::vector<std::byte> answer_;
};

TEST_F(LinkTest, a_request_is_answered) {
  connected();
  const auto status = ask("hello");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, wire::ReplyStatus::kOk);
  EXPECT_EQ(as_text(answer_), "hello");
  EXPECT_EQ(client_->peer().identity.node, "m1");
}

TEST_F(LinkTest, the_other_end_may_ask_too) {
  connected();
  ASSERT_TRUE(ask("first"));
  ASSERT_EQ(server_handler_.opened.size(), 1U);
  const auto status = machine_.run(asked_back(*server_handler_.opened[0]));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(as_text(answer_), "back");
  EXPECT_EQ(client_handler_.requests, 1U);
}

TEST_F(LinkTest, many_requests_share_the_connection_whatever_their_size) {
  connected();
  std::vector<std::vector<std::byte>> answers(40);
  machine_.run(asking_all(answers));
  EXPECT_EQ(server_handler_.requests, answers.size());
}

TEST_F(LinkTest, a_request_without_an_answer_ends_at_its_deadline_and_the_other_end_is_told) {
  server_handler_.answers = false;
  connected();
  const auto status = ask("what?", Duration::millis(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kTimeout);
  server_handler_.answers = true;
  ASSERT_TRUE(ask("and now?"));
  EXPECT_EQ(server_handler_.cancelled.size() + (server_handler_.waiting.empty() ? 1 : 0), 1U);
  EXPECT_EQ(client_->session().asking(), 0U);
}

TEST_F(LinkTest, a_request_can_be_cancelled) {
  server_handler_.answers = false;
  connected();
  runtime::Cancellation cancel;
  const auto outcome = machine_.run(cancelling(cancel));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kCancelled);
  cancel.cancel();
  const auto at_once = machine_.run(asking_with(&cancel));
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().code, Errc::kCancelled) << "and is not even sent when it was cancelled before";
}

TEST_F(LinkTest, a_request_that_nobody_waits_for_any_more_is_withdrawn) {
  server_handler_.answers = false;
  connected();
  {
    const auto abandoned = asking("what?", Duration::seconds(30));
    EXPECT_EQ(client_->session().asking(), 1U);
  }
  EXPECT_EQ(client_->session().asking(), 0U);
}

TEST_F(LinkTest, when_the_connection_ends_what_is_under_way_fails_and_says_that_it_is_unknown) {
  server_handler_.answers = false;
  connected();
  const auto status = machine_.run(losing_the_server());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kReset);
  const auto later = ask("later");
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Errc::kClosed);
}

TEST_F(LinkTest, one_way_messages_arrive) {
  connected();
  ASSERT_TRUE(client_->send({.type = 3, .priority = wire::Priority::kBulk, .body = as_bytes("news")}));
  ASSERT_TRUE(client_->send({.type = 4, .body = as_bytes("more news")}));
  // Bulk is what goes last: when its answer is there, both have gone before.
  ASSERT_TRUE(machine_.run(asking_bulk()));
  EXPECT_THAT(server_handler_.messages,
              testing::UnorderedElementsAre(std::pair<uint16_t, std::string>(3, "news"),
                                            std::pair<uint16_t, std::string>(4, "more news")));
}

TEST_F(LinkTest, after_goodbyes_both_ends_close) {
  connected();
  ASSERT_TRUE(ask("last"));
  client_->say_goodbye();
  EXPECT_EQ(ask("too late").error().code, Errc::kClosed);
  machine_.run(until_closed());
  EXPECT_EQ(client_handler_.closed[0].code, Errc::kClosed);
  EXPECT_EQ(server_handler_.closed[0].code, Errc::kClosed);
}

TEST_F(LinkTest, an_end_asks_for_no_more_at_a_time_than_the_other_one_takes) {
  serving_.handshake.self.requests_max = 2;
  server_handler_.answers = false;
  connected();
  const auto first = asking("1", Duration::seconds(30));
  const auto second = asking("2", Duration::seconds(30));
  EXPECT_EQ(ask("3").error().code, Errc::kExhausted);
}

// --- refusals ---

TEST_F(LinkTest, a_role_that_may_not_connect_is_told_why) {
  dialling_.handshake = test_node("c1", Role::kClient);
  start();
  machine_.run(connect());
  ASSERT_EQ(client_, nullptr);
  EXPECT_EQ(failure_.refusal, Refusal::kRole);
  EXPECT_THAT(failure_.error.message, HasSubstr("a client may not connect to a manager of a cluster with gates"));
  EXPECT_EQ(server_refusals_.counts().of(Refusal::kRole), 1U);
  EXPECT_TRUE(server_handler_.opened.empty());
}

TEST_F(LinkTest, another_cluster_is_told_why) {
  dialling_.handshake.self.identity.cluster = "herd";
  start();
  machine_.run(connect());
  EXPECT_EQ(failure_.refusal, Refusal::kCluster);
  EXPECT_EQ(server_refusals_.counts().of(Refusal::kCluster), 1U);
}

TEST_F(LinkTest, another_secret_is_told_nothing) {
  client_keys_ = test_keyring("another secret, 9Z!");
  start();
  machine_.run(connect());
  ASSERT_EQ(client_, nullptr);
  EXPECT_THAT(failure_.error.message, HasSubstr("closed the connection during the handshake"));
  EXPECT_THAT(failure_.error.message,
              HasSubstr("its secret differs from this node's (give both the same secret.file)"));
  EXPECT_EQ(server_refusals_.counts().of(Refusal::kUnknownKey), 1U);
  EXPECT_TRUE(server_handler_.opened.empty());
}

TEST_F(LinkTest, a_probe_is_answered_without_a_handshake) {
  start();
  const auto probed = machine_.run(probe(runtime_, server_->local(), Duration::seconds(5), nullptr));
  EXPECT_TRUE(probed) << probed.error().message;
  EXPECT_EQ(server_->probes(), 1U);
  EXPECT_EQ(server_refusals_.counts().total(), 0U);
}

TEST_F(LinkTest, probes_and_connections_have_a_rate) {
  serving_.rate = {.per_source = 0.001, .burst = 2, .in_all = 100, .burst_in_all = 100, .sources = 16};
  start();
  EXPECT_TRUE(machine_.run(probe(runtime_, server_->local(), Duration::seconds(5), nullptr)));
  EXPECT_TRUE(machine_.run(probe(runtime_, server_->local(), Duration::seconds(5), nullptr)));
  EXPECT_FALSE(machine_.run(probe(runtime_, server_->local(), Duration::seconds(5), nullptr)));
  EXPECT_EQ(server_refusals_.counts().of(Refusal::kRateLimited), 1U);
}

// --- rotation ---

TEST_F(LinkTest, the_secret_changes_under_a_running_connection_and_nothing_is_lost) {
  connected();
  const std::string next = "the next secret, 2b!";
  const auto learn = [&](wire::Keyring& ring) { return *ring.learn(*wire::Secret::take(std::string(next))); };
  const wire::KeyId old = client_keys_.in_use();
  const wire::KeyId id = learn(server_keys_);
  EXPECT_TRUE(ask("the server has learnt it"));
  learn(client_keys_);
  ASSERT_TRUE(client_keys_.use(id));
  EXPECT_TRUE(ask("the client uses it"));
  ASSERT_TRUE(server_keys_.use(id));
  ASSERT_TRUE(server_keys_.forget(old));
  ASSERT_TRUE(client_keys_.forget(old));
  EXPECT_TRUE(ask("the old one is forgotten")) << "a connection keeps the keys that it was made with";
  EXPECT_EQ(client_->agreement().key, old) << "and tells which those are, for whoever wants it to end";
  auto first = std::move(client_);
  machine_.run(connect());
  ASSERT_NE(client_, nullptr) << failure_.error.message;
  EXPECT_EQ(client_->agreement().key, id);
  EXPECT_TRUE(ask("a new connection"));
  first->close({Errc::kClosed, "the test ends"});
  machine_.run(until_closed());
  EXPECT_NE(server_handler_.closed[0].code, Errc::kTimeout) << "an end tells the other one, though its object is kept";
}

TEST_F(LinkTest, who_still_uses_a_forgotten_secret_is_told_nothing) {
  const wire::KeyId old = server_keys_.in_use();
  ASSERT_TRUE(server_keys_.use(*server_keys_.learn(*wire::Secret::take("the next secret, 2b!"))));
  ASSERT_TRUE(server_keys_.forget(old));
  start();
  machine_.run(connect());
  EXPECT_EQ(client_, nullptr);
  EXPECT_EQ(server_refusals_.counts().of(Refusal::kUnknownKey), 1U);
}

}  // namespace
}  // namespace bellwether::link
