#include "cluster/peer_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/certificates_testing.h"
#include "runtime/stream_testing.h"
#include "wire/link/link_testing.h"

namespace bellwether::cluster {
namespace {

using runtime::IpAddress;
using runtime::task;
using testing::ElementsAre;
using wire::Priority;

constexpr uint16_t kQuestion = 7;
constexpr uint16_t kNews = 8;

// Answers with what it was asked, but "wrong", and "slow" only when it is told to; writes down what it is told.
class Echo final : public Service {
 public:
  std::vector<std::string> told;
  link::Connection* slow_one = nullptr;  // and who waits for it:
  wire::RequestId slow_id = 0;
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    if (as_text(request.body) == "slow") {
      slow_one = &connection;
      slow_id = request.id;
      return;
    }
    const bool wrong = as_text(request.body) == "wrong";
    connection.respond(request.id, wrong ? wire::ReplyStatus::kFailed : wire::ReplyStatus::kOk, request.body);
  }
  void on_message(link::Connection&, const wire::Inbound& message) override {
    told.emplace_back(as_text(message.body));
  }
};

// m1, which talks, and m2, which listens and may be stopped.
class PeerLinksTest : public testing::Test, public PeerLinks::Listener {
 protected:
  PeerLinksTest() {
    dialling_.handshake = link::test_node("m1", wire::Role::kManager);
    dialling_.connect_timeout = Duration::seconds(1);
    serving_.handshake = link::test_node("m2", wire::Role::kManager);
    theirs_.connect(kQuestion, echo_);
    theirs_.connect(kNews, echo_);
    auto made = link::Server::listen(*runtime_, {IpAddress::loopback(), 0}, serving_, keys_, theirs_, refusals_);
    at_ = (*made)->local();
    server_ = std::move(*made);
    serve();
  }
  void on_refused(const PeerAddress& peer) override { refused.push_back(peer.name); }
  void on_trouble(const PeerAddress&, const Error& why) override { troubles.push_back(why.message); }

  void serve() { server_scope_->spawn(server_->serve(server_scope_->cancellation())); }
  task<void> stopping() {
    server_scope_->cancel();
    co_await server_scope_->join();
  }
  void stop_m2() {
    runtime_->run(stopping());
    server_.reset();
  }
  void start_m2() {
    auto made = link::Server::listen(*runtime_, at_, serving_, keys_, theirs_, refusals_);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    server_scope_ = std::make_unique<runtime::Scope>();
    serve();
  }
  Result<std::string> ask(std::string text, PeerAddress peer, Duration timeout = Duration::seconds(20)) {
    return runtime_->run(
        links_->request(std::move(peer), kQuestion, Priority::kNormal, std::move(text), timeout, nullptr));
  }
  Result<std::string> ask(std::string text) { return ask(std::move(text), m2()); }
  PeerAddress m2() const { return {"m2", at_}; }
  task<void> waiting(Duration step) { co_await runtime_->sleep(step); }
  static task<void> joining(runtime::Scope& scope) { co_await scope.join(); }
  static task<void> ask_slowly(PeerLinks& links, PeerAddress peer, std::optional<Result<std::string>>& out) {
    auto answer = co_await links.request(std::move(peer), kQuestion, Priority::kNormal, std::string("slow"),
                                         Duration::seconds(20), nullptr);
    out = std::move(answer);
  }
  template <class Holds>
  void until(Holds holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) runtime_->run(waiting(Duration::millis(1)));
    ASSERT_TRUE(holds());
  }
  void TearDown() override {
    runtime_->run(links_->close(Duration::seconds(5)));
    if (server_ != nullptr) stop_m2();
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_{nullptr};
  link::DialSettings dialling_;
  link::ServerSettings serving_;
  Switchboard ours_;
  Switchboard theirs_;
  Echo echo_;
  runtime::Endpoint at_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<runtime::Scope> server_scope_ = std::make_unique<runtime::Scope>();
  std::vector<std::string> refused;
  std::vector<std::string> troubles;
  std::unique_ptr<PeerLinks> links_ = std::make_unique<PeerLinks>(*runtime_, dialling_, keys_, ours_, refusals_, *this);
};

TEST_F(PeerLinksTest, connects_when_something_is_asked_and_keeps_the_connection) {
  EXPECT_EQ(links_->open_connections(), 0u);
  EXPECT_EQ(ask("one"), "one");
  EXPECT_EQ(ask("two"), "two");
  EXPECT_EQ(links_->open_connections(), 1u);
  EXPECT_EQ(server_->connections().size(), 1u);
}

TEST_F(PeerLinksTest, what_the_peer_refuses_is_an_error_with_its_words) {
  const auto answer = ask("wrong");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kRefused);
  EXPECT_EQ(answer.error().message, "wrong");
}

TEST_F(PeerLinksTest, what_nobody_is_for_is_said_to_be_unknown) {
  theirs_.disconnect(kQuestion);
  EXPECT_EQ(ask("x").error().code, Errc::kUnsupported);
  EXPECT_EQ(theirs_.unknown(), 1u);
}

TEST_F(PeerLinksTest, what_is_said_before_there_is_a_connection_arrives_in_order) {
  for (const char* text : {"a", "b", "c"}) {
    links_->send(m2(), kNews, Priority::kLeadership, text, Duration::seconds(20));
  }
  until([&] { return echo_.told.size() == 3; });
  EXPECT_THAT(echo_.told, ElementsAre("a", "b", "c"));
}

TEST_F(PeerLinksTest, a_peer_that_is_started_again_is_connected_to_again) {
  ASSERT_EQ(ask("one"), "one");
  stop_m2();
  until([&] { return links_->open_connections() == 0; });
  start_m2();
  EXPECT_EQ(ask("two"), "two");
}

TEST_F(PeerLinksTest, a_peer_whose_port_is_gone_is_told_of_once) {
  ASSERT_EQ(ask("one"), "one");
  stop_m2();
  until([&] { return !refused.empty(); });
  EXPECT_FALSE(ask("two"));
  EXPECT_FALSE(ask("three"));
  EXPECT_THAT(refused, ElementsAre("m2"));
}

TEST_F(PeerLinksTest, one_that_drops_connections_without_a_word_is_there_until_its_port_is_gone) {
  stop_m2();
  wire::Keyring changed = link::test_keyring();
  server_ = *link::Server::listen(*runtime_, at_, serving_, changed, theirs_, refusals_);
  server_scope_ = std::make_unique<runtime::Scope>();
  serve();
  ASSERT_EQ(ask("one"), "one");
  changed = link::test_keyring("a secret of somebody else, 3W");
  server_->connections().front()->close({Errc::kClosed, "the test ends it"});
  until([&] { return refusals_.counts().of(wire::Refusal::kUnknownKey) > 0 && !troubles.empty(); });
  EXPECT_THAT(refused, ElementsAre());
  stop_m2();
  EXPECT_FALSE(ask("two"));
  EXPECT_FALSE(ask("three"));
  EXPECT_THAT(refused, ElementsAre("m2"));
}

TEST_F(PeerLinksTest, one_that_refuses_this_node_with_reasons_is_there) {
  ASSERT_EQ(ask("one"), "one");
  dialling_.handshake.self.identity.cluster = "herd";
  server_->connections().front()->close({Errc::kClosed, "the test ends it"});
  until([&] { return !troubles.empty(); });
  EXPECT_THAT(troubles.front(), testing::HasSubstr("this is the cluster 'flock', not 'herd'"));
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, one_that_never_answered_is_no_proof_of_anything) {
  stop_m2();
  EXPECT_FALSE(ask("one"));
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, somebody_else_at_the_address_is_not_taken_for_the_peer) {
  const auto answer = ask("one", {"m3", at_});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("is 'm2', and not 'm3'"));
}

TEST_F(PeerLinksTest, a_peer_that_has_moved_is_found_at_its_new_address) {
  const runtime::Endpoint elsewhere{IpAddress::loopback(), 1};
  EXPECT_FALSE(ask("one", {"m2", elsewhere}));
  EXPECT_EQ(ask("two"), "two");
}

TEST_F(PeerLinksTest, whoever_is_at_an_address_can_be_asked) { EXPECT_EQ(ask("one", {"", at_}), "one"); }

TEST_F(PeerLinksTest, certificates_are_for_the_name_of_a_peer_and_for_the_address_of_one_without_a_name) {
  const runtime::TemporaryFolder folder;
  const runtime::TestAuthority authority(folder);
  const auto own = authority.issue("m1", "URI:bellwether://flock/test/*/role/manager");
  const auto theirs = authority.issue("m2", "DNS:m2,IP:127.0.0.1,URI:bellwether://flock/test/*/role/manager");
  stop_m2();
  serving_.tls = *runtime::TlsContext::server({theirs.certificate, theirs.key, {}, authority.ca_file()});
  runtime::TlsClientOptions options;
  options.ca_file = authority.ca_file();
  options.certificate_file = own.certificate;
  options.key_file = own.key;
  dialling_.tls = *runtime::TlsContext::client(options);
  start_m2();
  EXPECT_EQ(ask("one"), "one");
  EXPECT_EQ(ask("two", {"", at_}), "two");
  EXPECT_FALSE(ask("three", {"m3", at_}));
}

TEST_F(PeerLinksTest, a_connection_that_nobody_uses_is_closed_and_made_again_when_it_is_needed) {
  runtime_->run(links_->close(Duration::seconds(5)));
  links_ = std::make_unique<PeerLinks>(*runtime_, dialling_, keys_, ours_, refusals_, *this, Duration::millis(40));
  ASSERT_EQ(ask("one"), "one");
  until([&] { return links_->open_connections() == 0; });
  EXPECT_EQ(ask("two"), "two");
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, a_connection_that_is_renewed_ends_its_work_while_a_new_one_takes_what_comes) {
  std::optional<Result<std::string>> slow;
  runtime::Scope scope;
  scope.spawn(ask_slowly(*links_, m2(), slow));
  until([&] { return echo_.slow_one != nullptr; });
  const wire::KeyId old = keys_.in_use();
  const wire::KeyId next = *keys_.learn(*wire::Secret::take("the next secret for tests, 8R"));
  ASSERT_TRUE(keys_.use(next));
  links_->renew(old);
  links_->send(m2(), kNews, Priority::kLeadership, "news", Duration::seconds(20));
  EXPECT_EQ(ask("at once"), "at once");
  EXPECT_THAT(echo_.told, ElementsAre("news"));
  EXPECT_FALSE(slow) << "nobody has answered it yet";
  EXPECT_EQ(links_->open_connections(), 2u);
  echo_.slow_one->respond(echo_.slow_id, wire::ReplyStatus::kOk, as_bytes("slow"));
  until([&] { return slow.has_value() && links_->open_connections() == 1; });
  EXPECT_EQ(*slow, "slow");
  EXPECT_EQ(links_->connections().front()->agreement().key, next);
  EXPECT_THAT(refused, ElementsAre());
  runtime_->run(joining(scope));
}

TEST_F(PeerLinksTest, what_is_asked_after_the_goodbye_of_the_peer_goes_over_a_new_connection) {
  std::optional<Result<std::string>> slow;
  runtime::Scope scope;
  scope.spawn(ask_slowly(*links_, m2(), slow));
  until([&] { return echo_.slow_one != nullptr; });
  echo_.slow_one->say_goodbye();
  until([&] { return links_->connections().front()->session().closing(); });
  EXPECT_EQ(ask("at once"), "at once");
  EXPECT_FALSE(slow) << "nobody has answered it yet";
  echo_.slow_one->respond(echo_.slow_id, wire::ReplyStatus::kOk, as_bytes("slow"));
  until([&] { return slow.has_value() && links_->open_connections() == 1; });
  EXPECT_EQ(*slow, "slow");
  runtime_->run(joining(scope));
}

TEST_F(PeerLinksTest, news_that_nobody_took_in_time_is_lost_and_holds_up_nothing) {
  stop_m2();
  links_->send(m2(), kNews, Priority::kLeadership, "late", Duration::zero());
  until([&] { return !troubles.empty(); });
  start_m2();
  links_->send(m2(), kNews, Priority::kLeadership, "in time", Duration::seconds(20));
  until([&] { return !echo_.told.empty(); });
  EXPECT_THAT(echo_.told, ElementsAre("in time"));
}

}  // namespace
}  // namespace bellwether::cluster
