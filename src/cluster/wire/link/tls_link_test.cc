// Connections under TLS, where certificates and not words decide about roles.

#include <gmock/gmock.h>

#include "cluster/wire/link/link_testing.h"
#include "core/runtime/certificates_testing.h"
#include "core/runtime/stream_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::link {
namespace {

using runtime::IpAddress;
using runtime::task;
using testing::HasSubstr;
using wire::Refusal;
using wire::Role;

class TlsLinkTest : public sim::MachineTest {
 protected:
  TlsLinkTest() {
    dialling_.handshake = test_node("w1", Role::kWorker);
    serving_.handshake = test_node("m1", Role::kManager);
    dialling_.tls =
        client_tls(authority_.issue("worker", "URI:bellwether://flock/test/dc1/role/worker/node/w1"), authority_);
    serving_.tls = server_tls(authority_.issue("manager", "DNS:m1,URI:bellwether://flock/test/*/role/manager/node/m1"));
  }
  std::shared_ptr<runtime::TlsContext> server_tls(const runtime::Certified& own) {
    auto made = runtime::TlsContext::server(
        {.certificate_file = own.certificate, .key_file = own.key, .alpn = {}, .client_ca_file = authority_.ca_file()});
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  std::shared_ptr<runtime::TlsContext> client_tls(const runtime::Certified& own,
                                                  const runtime::TestAuthority& trusted) {
    runtime::TlsClientOptions options;
    options.ca_file = trusted.ca_file();
    options.certificate_file = own.certificate;
    options.key_file = own.key;
    auto made = runtime::TlsContext::client(options);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  static task<void> run(Connection& connection) {
    const Error why = co_await connection.run(nullptr);
    static_cast<void>(why);
  }
  // Connects, asks, and ends.
  task<void> visit() {
    auto made = Server::listen(runtime_, {IpAddress::loopback(), 0}, serving_, keys_, server_handler_, refusals_);
    server_ = std::move(*made);
    runtime::Scope scope;
    scope.spawn(server_->serve(scope.cancellation()));
    probed_ = co_await probe(runtime_, server_->local(), Duration::seconds(5), nullptr);
    auto connection =
        co_await dial(runtime_, server_->local(), "m1", dialling_, keys_, client_handler_, client_refusals_, nullptr);
    if (connection) {
      scope.spawn(run(**connection));
      std::vector<std::byte> answer;
      const std::string body = runtime::pattern(200'000);
      const Instant deadline = runtime_.now() + Duration::seconds(30);
      answered_ = co_await (*connection)->request({.type = 1, .body = as_bytes(body)}, deadline, answer);
      echoed_ = as_text(answer) == body;
      role_proven_ = (*connection)->agreement().role_proven && server_handler_.opened[0]->agreement().role_proven;
      (*connection)->close({Errc::kClosed, "the visit ends"});
    } else {
      failure_ = connection.error();
      // Who of the two has refused the other may have to be seen first.
      while (refusals_.counts().total() + client_refusals_.counts().total() == 0) co_await runtime_.yield();
    }
    scope.cancel();
    co_await scope.join();
  }

  runtime::TemporaryFolder folder_;
  runtime::TestAuthority authority_{folder_};
  wire::Keyring keys_ = test_keyring();
  EchoHandler client_handler_;
  EchoHandler server_handler_;
  RefusalWatch refusals_;
  RefusalWatch client_refusals_;
  DialSettings dialling_;
  ServerSettings serving_;
  std::unique_ptr<Server> server_;
  Status probed_;
  Result<wire::ReplyStatus> answered_ = fail(Errc::kCancelled, "");
  bool echoed_ = false;
  bool role_proven_ = false;
  DialFailure failure_;
};

TEST_F(TlsLinkTest, certificates_prove_the_roles_of_both_ends) {
  machine_.run(visit());
  EXPECT_TRUE(answered_) << failure_.error.message;
  EXPECT_TRUE(echoed_);
  EXPECT_TRUE(role_proven_);
  EXPECT_TRUE(probed_) << "a probe needs no TLS";
}

TEST_F(TlsLinkTest, a_worker_that_calls_itself_manager_is_refused) {
  dialling_.handshake = test_node("w1", Role::kManager);
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
  EXPECT_THAT(failure_.error.message, HasSubstr("does not permit its node to be a manager of flock/test/dc1"));
  EXPECT_EQ(refusals_.counts().of(Refusal::kCertificate), 1U);
}

TEST_F(TlsLinkTest, a_certificate_of_another_datacenter_is_refused) {
  dialling_.handshake.self.identity.datacenter = "dc2";
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
}

TEST_F(TlsLinkTest, a_certificate_without_claims_is_refused) {
  dialling_.tls = client_tls(authority_.issue("nobody", "DNS:w1"), authority_);
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
}

TEST_F(TlsLinkTest, a_node_under_the_name_of_another_one_is_refused_and_nobody_hears_of_it) {
  dialling_.handshake = test_node("w2", Role::kWorker);
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kName);
  EXPECT_THAT(failure_.error.message, HasSubstr("the certificate belongs to 'w1', but the node's name is 'w2'"));
  EXPECT_EQ(refusals_.counts().of(Refusal::kName), 1U);
  EXPECT_TRUE(server_handler_.opened.empty());
}

TEST_F(TlsLinkTest, an_acceptor_that_calls_itself_as_its_certificate_does_not_is_left_alone) {
  serving_.tls =
      server_tls(authority_.issue("other-node", "DNS:m1,URI:bellwether://flock/test/*/role/manager/node/m2"));
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kName);
  EXPECT_THAT(failure_.error.message, HasSubstr("the certificate belongs to 'm2', but the node's name is 'm1'"));
  EXPECT_EQ(client_refusals_.counts().of(Refusal::kName), 1U);
}

TEST_F(TlsLinkTest, a_certificate_that_names_no_node_is_refused_with_the_name_that_it_needs) {
  dialling_.tls = client_tls(authority_.issue("older", "URI:bellwether://flock/test/dc1/role/worker"), authority_);
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
  EXPECT_THAT(failure_.error.message, HasSubstr("URI:bellwether://flock/test/dc1/role/worker/node/w1"));
}

TEST_F(TlsLinkTest, a_certificate_of_another_authority_is_refused_before_the_handshake) {
  const runtime::TestAuthority other(folder_, "other");
  dialling_.tls =
      client_tls(other.issue("stranger", "URI:bellwether://flock/test/dc1/role/worker/node/w1"), authority_);
  machine_.run(visit());
  EXPECT_FALSE(answered_);
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
  EXPECT_THAT(failure_.error.message, HasSubstr("unknown ca"));
  EXPECT_EQ(refusals_.counts().of(Refusal::kCertificate), 1U);
  EXPECT_TRUE(server_handler_.opened.empty());
}

TEST_F(TlsLinkTest, an_acceptor_with_the_wrong_role_in_its_certificate_is_left_alone) {
  serving_.tls = server_tls(authority_.issue("liar", "DNS:m1,URI:bellwether://flock/test/dc1/role/worker/node/m1"));
  machine_.run(visit());
  EXPECT_EQ(failure_.refusal, Refusal::kCertificate);
  EXPECT_EQ(client_refusals_.counts().of(Refusal::kCertificate), 1U);
}

TEST_F(TlsLinkTest, an_acceptor_under_another_name_is_left_alone) {
  serving_.tls =
      server_tls(authority_.issue("other-name", "DNS:m2,URI:bellwether://flock/test/dc1/role/manager/node/m2"));
  machine_.run(visit());
  EXPECT_EQ(failure_.error.code, Errc::kTls);
}

TEST_F(TlsLinkTest, a_node_without_tls_is_refused_by_one_with_it) {
  dialling_.tls = nullptr;
  machine_.run(visit());
  EXPECT_FALSE(answered_);
  EXPECT_THAT(failure_.error.message, HasSubstr("a missing certificate (tls.certificate)"));
  EXPECT_EQ(refusals_.counts().of(Refusal::kCertificate), 1U);
}

TEST_F(TlsLinkTest, the_secret_is_needed_beside_the_certificate) {
  wire::Keyring other = test_keyring("another secret, 9Z!");
  std::swap(keys_, other);
  auto made = Server::listen(runtime_, {IpAddress::loopback(), 0}, serving_, other, server_handler_, refusals_);
  ASSERT_TRUE(made);
  const auto knock = [](runtime::Runtime& runtime, Server& server, const DialSettings& settings,
                        const wire::Keyring& keys, EchoHandler& handler, RefusalWatch& watch) -> task<Errc> {
    runtime::Scope scope;
    scope.spawn(server.serve(scope.cancellation()));
    const auto connection = co_await dial(runtime, server.local(), "m1", settings, keys, handler, watch, nullptr);
    const Errc code = connection ? Errc::kOk : connection.error().error.code;
    scope.cancel();
    co_await scope.join();
    co_return code;
  };
  EXPECT_NE(machine_.run(knock(runtime_, **made, dialling_, keys_, client_handler_, client_refusals_)), Errc::kOk);
  EXPECT_EQ(refusals_.counts().of(Refusal::kUnknownKey), 1U);
}

}  // namespace
}  // namespace bellwether::link
