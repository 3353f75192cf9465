// Challenges of a server, answered within an exchange.
#include <gmock/gmock.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

constexpr DigestUser kUser{"ann", "secret"};

std::string challenge(const std::string& nonce, const std::string& more = "") {
  return "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"" + nonce + "\"" + more +
         "\r\nContent-Length: 0\r\n\r\n";
}

class ClientDigest : public ClientTest {
 protected:
  Response call_as(const DigestUser* user, const std::string& target = "/") {
    Request what = request("GET", target);
    what.digest = user;
    return call(what);
  }
  std::string head(std::size_t i) { return std::string(server_->requests[i].head); }
};

TEST_F(ClientDigest, a_challenge_is_answered_and_from_then_on_forestalled) {
  server_->answer(challenge("n1"));
  const Response first = call_as(&kUser);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.attempts, 2);
  EXPECT_EQ(call_as(&kUser, "/second").attempts, 1);
  ASSERT_EQ(server_->requests.size(), 3u);
  EXPECT_THAT(head(0), testing::Not(testing::HasSubstr("Authorization")));
  EXPECT_THAT(head(1),
              testing::HasSubstr("Authorization: Digest username=\"ann\", realm=\"r\", nonce=\"n1\", uri=\"/\""));
  EXPECT_THAT(head(1), testing::HasSubstr("nc=00000001"));
  EXPECT_THAT(head(2), testing::AllOf(testing::HasSubstr("uri=\"/second\""), testing::HasSubstr("nc=00000002")));
  EXPECT_EQ(first.bytes_sent, head(0).size() + head(1).size());
}

TEST_F(ClientDigest, a_refusal_is_the_response) {
  server_->answer(challenge("n1"));
  server_->answer(challenge("n1"));
  const Response response = call_as(&kUser);
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.attempts, 2);
  server_->answer(challenge("n1"));
  EXPECT_EQ(call_as(&kUser).attempts, 1) << "the same answer again is no better";
}

TEST_F(ClientDigest, a_nonce_that_has_become_too_old_is_replaced) {
  server_->answer(challenge("n1"));
  call_as(&kUser);
  server_->answer(challenge("n2", ", stale=true"));
  const Response response = call_as(&kUser);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(head(3), testing::AllOf(testing::HasSubstr("nonce=\"n2\""), testing::HasSubstr("nc=00000001")));
}

TEST_F(ClientDigest, without_credentials_or_a_challenge_a_401_is_a_response) {
  server_->answer(challenge("n1"));
  EXPECT_EQ(call_as(nullptr).attempts, 1);
  server_->answer("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(call_as(&kUser).attempts, 1);
}

}  // namespace
}  // namespace bellwether::http1
