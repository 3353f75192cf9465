// Two nodes on a simulated machine, for tests of links between peers: m1, which asks, and m2, which may be stopped and
// started.
#pragma once

#include <gtest/gtest.h>

#include "cluster/net/message_classes.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/link/link_testing.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {

// Of an operator neither is urgent.
inline constexpr uint16_t kQuestion = message_type::kContext;
inline constexpr uint16_t kNews = kQuestion;

// Answers with the request, but "wrong", and "slow" only on command; writes down what it receives.
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

// m1, an operator, which talks, and m2, which listens and may be stopped.
class PeerLinksTest : public sim::MachineTest {
 protected:
  PeerLinksTest() {
    dialling_.handshake = link::test_node("m1", wire::Role::kOperator);
    dialling_.connect_timeout = Duration::seconds(1);
    serving_.handshake = link::test_node("m2", wire::Role::kManager);
    theirs_.connect(kQuestion, echo_);
    auto made =
        link::Server::listen(runtime_, {runtime::IpAddress::loopback(), 0}, serving_, keys_, theirs_, refusals_);
    at_ = (*made)->local();
    server_ = std::move(*made);
    serve();
  }
  void on_refused(const PeerAddress& peer) { refused.push_back(peer.name); }
  void on_trouble(const PeerAddress&, const Error& why) { troubles.push_back(why.message); }
  PeerLinks::Listener listener() {
    return {callback_to<&PeerLinksTest::on_refused>(*this), callback_to<&PeerLinksTest::on_trouble>(*this)};
  }

  void serve() { server_scope_->spawn(server_->serve(server_scope_->cancellation())); }
  runtime::task<void> stopping() {
    server_scope_->cancel();
    co_await server_scope_->join();
  }
  void stop_m2() {
    machine_.run(stopping());
    server_.reset();
  }
  void start_m2() {
    auto made = link::Server::listen(runtime_, at_, serving_, keys_, theirs_, refusals_);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    server_scope_ = std::make_unique<runtime::Scope>();
    serve();
  }
  Result<std::string> ask(std::string text, PeerAddress peer, Duration timeout = Duration::seconds(20)) {
    return machine_.run(
        links_->request(std::move(peer), kQuestion, wire::Priority::kNormal, std::move(text), timeout, nullptr));
  }
  Result<std::string> ask(std::string text) { return ask(std::move(text), m2()); }
  PeerAddress m2() const { return {"m2", at_}; }
  static runtime::task<void> joining(runtime::Scope& scope) { co_await scope.join(); }
  static runtime::task<void> ask_slowly(PeerLinks& links, PeerAddress peer, std::optional<Result<std::string>>& out) {
    auto answer = co_await links.request(std::move(peer), kQuestion, wire::Priority::kNormal, std::string("slow"),
                                         Duration::seconds(20), nullptr);
    out = std::move(answer);
  }
  void TearDown() override {
    machine_.run(links_->close(Duration::seconds(5)));
    if (server_ != nullptr) stop_m2();
  }

  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  link::DialSettings dialling_;
  link::ServerSettings serving_;
  MessageRouter ours_{MessageClasses(&message::message_of<dispatch::JobMessage>())};
  MessageRouter theirs_{MessageClasses(&message::message_of<dispatch::JobMessage>())};
  Echo echo_;
  runtime::Endpoint at_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<runtime::Scope> server_scope_ = std::make_unique<runtime::Scope>();
  std::vector<std::string> refused;
  std::vector<std::string> troubles;
  std::unique_ptr<PeerLinks> links_ =
      std::make_unique<PeerLinks>(runtime_, dialling_, keys_, ours_, refusals_, listener());
};

}  // namespace bellwether::cluster
