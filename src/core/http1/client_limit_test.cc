// A client whose sending may end while it works.
#include <gtest/gtest.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

class ClientLimit : public ClientTest {
 protected:
  ClientLimit() { client_ = std::make_unique<Client>(*runtime_, nullptr, &limit_); }
  bool is_over(Instant) {
    ++asked_;
    return server_->requests.size() >= requests_ || asked_ > questions_;
  }
  std::size_t requests_ = 1;  // those that may be sent
  std::size_t questions_ = SIZE_MAX;
  std::size_t asked_ = 0;
  SendLimit limit_{Instant::from_ns(0), callback_to<&ClientLimit::is_over>(*this)};
};

TEST_F(ClientLimit, is_not_asked_before_its_time) {
  limit_.until = Instant::never();
  EXPECT_EQ(get().status, 200);
  EXPECT_EQ(get().status, 200);
  EXPECT_EQ(asked_, 0u);
}

TEST_F(ClientLimit, that_is_over_opens_no_connection) {
  requests_ = 0;
  const Response response = get();
  EXPECT_EQ(response.error, ErrorKind::kInterrupted);
  EXPECT_EQ(response.attempts, 0);
  EXPECT_EQ(response.connections, 0);
}

TEST_F(ClientLimit, that_is_over_sends_nothing_on_a_kept_connection) {
  EXPECT_EQ(get().status, 200);
  EXPECT_EQ(get().error, ErrorKind::kInterrupted);
  EXPECT_EQ(server_->requests.size(), 1u);
}

TEST_F(ClientLimit, that_is_over_when_a_connection_is_there_sends_nothing_on_it) {
  questions_ = 1;
  const Response response = get();
  EXPECT_EQ(response.error, ErrorKind::kInterrupted);
  EXPECT_EQ(response.connections, 1);
  EXPECT_EQ(response.attempts, 0);
}

TEST_F(ClientLimit, that_is_over_ends_a_chain_of_redirects) {
  server_->answer("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(get().error, ErrorKind::kInterrupted);
  EXPECT_EQ(server_->requests.size(), 1u);
}

TEST_F(ClientLimit, that_is_over_lets_no_challenge_be_answered) {
  server_->answer(
      "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"n\"\r\nContent-Length: "
      "0\r\n\r\n");
  const DigestUser user{"ann", "secret"};
  Request what = request("GET", "/");
  what.digest = &user;
  EXPECT_EQ(call(what).error, ErrorKind::kInterrupted);
  EXPECT_EQ(server_->requests.size(), 1u);
}

TEST_F(ClientLimit, that_is_over_lets_nothing_be_sent_again) {
  requests_ = 2;
  EXPECT_EQ(get().status, 200);
  server_->answer("", Answer::Then::kReset);  // the kept connection
  EXPECT_EQ(get().error, ErrorKind::kInterrupted);
  EXPECT_EQ(server_->requests.size(), 2u);
}

}  // namespace
}  // namespace bellwether::http1
