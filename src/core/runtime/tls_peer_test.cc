#include <gmock/gmock.h>

#include "core/runtime/certificates_testing.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/tls.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using StreamResult = Result<std::unique_ptr<Stream>>;

// How a handshake ended at both ends.
struct Outcome {
  StreamResult client = fail(Errc::kCancelled, "");
  StreamResult server = fail(Errc::kCancelled, "");
};

class TlsPeerTest : public testing::Test {
 protected:
  std::shared_ptr<TlsContext> server(const Certified& own, const TestAuthority& trusted) {
    auto made = TlsContext::server(
        {.certificate_file = own.certificate, .key_file = own.key, .alpn = {}, .client_ca_file = trusted.ca_file()});
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  std::shared_ptr<TlsContext> client(const Certified* own, const TestAuthority& trusted, bool check_name) {
    TlsClientOptions options;
    options.ca_file = trusted.ca_file();
    options.check_name = check_name;
    if (own != nullptr) {
      options.certificate_file = own->certificate;
      options.key_file = own->key;
    }
    auto made = TlsContext::client(options);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  task<Outcome> shake_hands(std::shared_ptr<TlsContext> ours, std::shared_ptr<TlsContext> theirs) {
    Connected raw = co_await connect_loopback(*runtime_);
    Outcome outcome;
    auto accepting = tls_accept(*runtime_, std::move(raw.server), theirs, kPlenty, nullptr);
    outcome.client = co_await tls_connect(*runtime_, std::move(raw.client), ours, "there.test", kPlenty, nullptr);
    outcome.server = co_await accepting;
    co_return outcome;
  }
  Outcome outcome(const std::shared_ptr<TlsContext>& ours, const std::shared_ptr<TlsContext>& theirs) {
    return runtime_->run(shake_hands(ours, theirs));
  }

  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;
  TestAuthority authority_{folder_};
  Certified worker_ = authority_.issue("worker", "URI:bellwether://c/e/d/role/worker,DNS:w.test");
  Certified manager_ = authority_.issue("manager", "DNS:m.test,URI:bellwether://c/e/d/role/manager,URI:other:x");
};

TEST_F(TlsPeerTest, each_end_sees_the_uris_of_the_other) {
  const Outcome done = outcome(client(&worker_, authority_, false), server(manager_, authority_));
  ASSERT_TRUE(done.client && done.server);
  EXPECT_THAT(tls_peer_uris(**done.server), ElementsAre("bellwether://c/e/d/role/worker"));
  EXPECT_THAT(tls_peer_uris(**done.client), ElementsAre("bellwether://c/e/d/role/manager", "other:x"));
}

TEST_F(TlsPeerTest, a_client_without_a_certificate_is_refused) {
  const Outcome done = outcome(client(nullptr, authority_, false), server(manager_, authority_));
  ASSERT_FALSE(done.server);
  EXPECT_EQ(done.server.error().code, Errc::kTls);
}

TEST_F(TlsPeerTest, a_client_of_another_authority_is_refused_in_words) {
  const TestAuthority other(folder_, "other");
  const Certified stranger = other.issue("stranger", "URI:bellwether://c/e/d/role/worker");
  const Outcome done = outcome(client(&stranger, authority_, false), server(manager_, authority_));
  ASSERT_FALSE(done.server);
  EXPECT_THAT(done.server.error().message, HasSubstr("the certificate of the client cannot be trusted"));
}

TEST_F(TlsPeerTest, the_name_is_checked_unless_told_not_to) {
  const Outcome done = outcome(client(&worker_, authority_, true), server(manager_, authority_));
  ASSERT_FALSE(done.client);
  EXPECT_THAT(done.client.error().message, HasSubstr("hostname mismatch"));
}

TEST_F(TlsPeerTest, a_server_of_another_authority_is_refused_even_without_a_name) {
  const TestAuthority other(folder_, "other");
  const Certified stranger = other.issue("stranger", "DNS:there.test");
  const Outcome done = outcome(client(&worker_, authority_, false), server(stranger, authority_));
  ASSERT_FALSE(done.client);
  EXPECT_THAT(done.client.error().message, HasSubstr("cannot be trusted"));
}

TEST_F(TlsPeerTest, a_server_that_asks_for_no_certificate_knows_no_uris) {
  auto open = TlsContext::server({.certificate_file = manager_.certificate, .key_file = manager_.key, .alpn = {}});
  ASSERT_TRUE(open);
  const Outcome done = outcome(client(&worker_, authority_, false), *open);
  ASSERT_TRUE(done.client && done.server);
  EXPECT_TRUE(tls_peer_uris(**done.server).empty());
}

}  // namespace
}  // namespace bellwether::runtime
