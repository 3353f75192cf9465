#include "load/vuser/tokens.h"

#include <gmock/gmock.h>

namespace bellwether::vuser {
namespace {

TEST(TokenAnswer, has_a_token_and_says_how_long_it_lasts) {
  const auto answer = read_token(200, R"({"token_type": "bearer", "access_token": "abc.d-_~", "expires_in": 3600})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->token, "abc.d-_~");
  EXPECT_EQ(answer->good_for, Duration::seconds(3600));
  EXPECT_EQ(read_token(200, R"({"access_token": "a", "expires_in": "60"})")->good_for, Duration::seconds(60));
  EXPECT_EQ(read_token(200, R"({"access_token": "a"})")->good_for, std::nullopt);
  EXPECT_GT(*read_token(200, R"({"access_token": "a", "expires_in": -5})")->good_for, Duration::zero());
}

TEST(TokenAnswer, what_cannot_be_sent_is_no_token) {
  for (const std::string body :
       {R"({"access_token": ""})", R"({"access_token": "a b"})", R"({"access_token": "a\r\nX: y"})",
        R"({"token": "a"})", "", "<html>", R"({"access_token": "a", "token_type": "mac"})"}) {
    EXPECT_EQ(read_token(200, body).error().code, Errc::kProtocol) << body;
  }
  EXPECT_FALSE(read_token(200, R"({"access_token": ")" + std::string(70'000, 'a') + R"("})"));
}

TEST(TokenAnswer, a_refusal_is_told_in_the_words_of_the_server) {
  const auto refused =
      read_token(401, R"({"error": "invalid_client", "error_description": "nobody\u0007 of that name"})");
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_EQ(refused.error().message, "status 401, invalid_client (nobody? of that name)");
  EXPECT_EQ(read_token(503, "busy").error().message, "status 503");
  EXPECT_THAT(read_token(302, "").error().message, testing::HasSubstr("302"));
}

}  // namespace
}  // namespace bellwether::vuser
