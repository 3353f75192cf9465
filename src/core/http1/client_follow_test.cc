#include <gmock/gmock.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using testing::HasSubstr;
using testing::Not;
using Then = Answer::Then;

std::string redirect(int status, const std::string& location, const std::string& fields = "") {
  return "HTTP/1.1 " + std::to_string(status) + " Go\r\nLocation: " + location + "\r\n" + fields +
         "Content-Length: 0\r\n\r\n";
}

TEST_F(ClientTest, redirects_are_followed) {
  server_->answer(redirect(302, "/two"));
  server_->answer(redirect(307, "three?x"));
  const Response response = get("/one");
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.redirects, 2);
  EXPECT_EQ(response.attempts, 3);
  EXPECT_EQ(response.repeats, 0) << "a redirect is another request";
  EXPECT_EQ(response.connections, 1);
  EXPECT_EQ(server_->requests[1].target, "/two");
  EXPECT_EQ(server_->requests[2].target, "/three?x");
}

TEST_F(ClientTest, see_other_turns_a_post_into_a_get) {
  server_->answer(redirect(303, "/result"));
  EXPECT_EQ(call(request("POST", "/form", "body")).status, 200);
  EXPECT_EQ(server_->requests[1].method, "GET");
  EXPECT_EQ(server_->requests[1].body, "");
}

TEST_F(ClientTest, a_temporary_redirect_repeats_the_post) {
  server_->answer(redirect(308, "/moved"));
  EXPECT_EQ(call(request("POST", "/form", "body")).status, 200);
  EXPECT_EQ(server_->requests[1].method, "POST");
  EXPECT_EQ(server_->requests[1].body, "body");
}

TEST_F(ClientTest, the_redirect_beyond_the_limit_is_the_response) {
  limits_.redirects_max = 2;
  for (int i = 0; i < 3; ++i) server_->answer(redirect(302, "/"));
  const Response many = get();
  EXPECT_EQ(many.error, ErrorKind::kNone);
  EXPECT_EQ(many.redirects, 2);
  EXPECT_EQ(many.status, 302);
  EXPECT_EQ(many.head().location, "/");

  limits_.redirects_max = 0;
  server_->answer(redirect(302, "/elsewhere"));
  const Response none = get();
  EXPECT_EQ(none.error, ErrorKind::kNone);
  EXPECT_EQ(none.status, 302);
}

TEST_F(ClientTest, a_redirect_that_leads_nowhere_is_told) {
  EXPECT_EQ(error_after(redirect(302, "ftp://h/")), ErrorKind::kRedirect);
  EXPECT_EQ(error_after("HTTP/1.1 302 Go\r\nContent-Length: 0\r\n\r\n"), ErrorKind::kNone);
  EXPECT_EQ(error_after(redirect(302, "http://127.0.0.2:" + std::to_string(server_->port()) + "/")),
            ErrorKind::kConnectRefused);
}

TEST_F(ClientTest, credentials_do_not_follow_to_another_origin) {
  TestServer other(*runtime_);
  server_->answer(redirect(302, "/here"));
  server_->answer(redirect(302, "http://127.0.0.1:" + std::to_string(other.port()) + "/there"));
  EXPECT_EQ(call(request("GET", "/", "", "Authorization: Basic eA==\r\nX-Mine: 1\r\n")).status, 200);
  EXPECT_THAT(server_->requests[1].head, HasSubstr("Authorization: Basic eA==\r\n"));
  ASSERT_EQ(other.requests.size(), 1U);
  EXPECT_THAT(other.requests[0].head, Not(HasSubstr("Authorization")));
  EXPECT_THAT(other.requests[0].head, HasSubstr("X-Mine: 1\r\n"));
  EXPECT_THAT(other.requests[0].head, HasSubstr("Host: 127.0.0.1:" + std::to_string(other.port()) + "\r\n"));
}

TEST_F(ClientTest, the_whole_time_covers_all_redirects) {
  limits_.timeout = Duration::millis(60);
  server_->answer(redirect(302, "/two"));
  EXPECT_EQ(error_after("", Then::kStall), ErrorKind::kTimeout);
}

TEST_F(ClientTest, cookies_are_kept_for_each_session) {
  server_->answer("HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Path=/\r\nContent-Length: 2\r\n\r\nok");
  get("/login");
  get("/page");
  EXPECT_THAT(server_->requests[0].head, Not(HasSubstr("Cookie")));
  EXPECT_THAT(server_->requests[1].head, HasSubstr("\r\nCookie: id=7\r\n\r\n"));
  session_ = std::make_unique<Session>();
  get("/page");
  EXPECT_THAT(server_->requests[2].head, Not(HasSubstr("Cookie")));
}

TEST_F(ClientTest, cookies_of_a_redirect_go_with_the_next_request) {
  server_->answer(redirect(302, "/home", "Set-Cookie: id=7\r\n"));
  get("/login");
  EXPECT_THAT(server_->requests[1].head, HasSubstr("Cookie: id=7\r\n"));
  session_->cookies.clear();
  get("/login");
  EXPECT_THAT(server_->requests[2].head, Not(HasSubstr("Cookie")));
}

TEST_F(ClientTest, cookies_of_the_request_and_of_the_user_are_one_field) {
  server_->answer(
      "HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Path=/\r\nSet-Cookie: b=1; Path=/\r\nContent-Length: 0\r\n\r\n");
  get("/login");
  call(request("POST", "/page", "body", "cookie: b=2; c=3\r\nX-Mine: 1\r\n"));
  EXPECT_THAT(server_->requests[1].head, HasSubstr("X-Mine: 1\r\nContent-Length: 4\r\nCookie: b=2; c=3; id=7\r\n\r\n"));
  EXPECT_THAT(server_->requests[1].head, Not(HasSubstr("cookie:")));
  EXPECT_EQ(server_->requests[1].body, "body");
}

TEST_F(ClientTest, an_unknown_coding_fails_only_who_asked_for_one) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Encoding: lz4\r\nContent-Length: 2\r\n\r\nok";
  for (const char* fields : {"", "Accept-Encoding: identity\r\n"}) {
    server_->answer(answer);
    const Response plain = call(request("GET", "/", "", fields));
    EXPECT_EQ(plain.error, ErrorKind::kNone) << fields;
    EXPECT_EQ(plain.body, "ok") << fields;
  }
  server_->answer(answer);
  const Response asked = call(request("GET", "/", "", "accept-encoding: gzip\r\n"));
  EXPECT_EQ(asked.error, ErrorKind::kDecode);
  EXPECT_THAT(asked.detail, HasSubstr("gzip, deflate, br and zstd"));
}

}  // namespace
}  // namespace bellwether::http1
