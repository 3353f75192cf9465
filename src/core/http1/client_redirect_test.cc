#include <deque>
#include <gmock/gmock.h>

#include "core/http1/client.h"

namespace bellwether::http1 {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RedirectTest : public testing::Test {
 protected:
  RedirectTest() {
    origin_.host = "here.test";
    origin_.port = 8080;
    request_.origin = &origin_;
    request_.method = "POST";
    request_.target = "/a/b?q=1";
    request_.head =
        "POST /a/b?q=1 HTTP/1.1\r\nHost: here.test:8080\r\nAuthorization: Basic eA==\r\nCookie: a=1\r\n"
        "Proxy-Authorization: x\r\nX-Mine: kept\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n";
    request_.body = "body";
  }
  RedirectedRequest followed(int status, std::string_view location, std::string_view set_cookie = {}) {
    ResponseHead head;
    head.status = status;
    head.location = location;
    if (!set_cookie.empty()) head.fields[head.field_count++] = {"Set-Cookie", set_cookie};
    return follow_redirect(request_, head);
  }
  Origin origin_;
  Request request_;
  std::deque<std::string> kept_;
};

TEST_F(RedirectTest, what_is_a_redirect) {
  for (const int status : {301, 302, 303, 307, 308}) EXPECT_TRUE(is_redirect(status)) << status;
  for (const int status : {200, 300, 304, 305, 306, 309, 400}) EXPECT_FALSE(is_redirect(status)) << status;
}

TEST_F(RedirectTest, the_old_kinds_turn_a_post_into_a_get_without_a_body) {
  for (const int status : {301, 302, 303}) {
    const RedirectedRequest next = followed(status, "/c");
    ASSERT_TRUE(next.valid);
    EXPECT_EQ(next.method, "GET");
    EXPECT_EQ(next.target, "/c");
    EXPECT_EQ(next.body, "");
    EXPECT_THAT(next.head, StartsWith("GET /c HTTP/1.1\r\nHost: here.test:8080\r\n"));
    EXPECT_THAT(next.head, HasSubstr("X-Mine: kept\r\n"));
    EXPECT_THAT(next.head, Not(HasSubstr("Content-")));
  }
}

TEST_F(RedirectTest, a_get_and_a_head_stay_what_they_are) {
  for (const char* method : {"GET", "HEAD"}) {
    request_.method = method;
    request_.body = "";
    EXPECT_EQ(followed(303, "/c").method, method);
  }
}

TEST_F(RedirectTest, the_new_kinds_repeat_the_request) {
  for (const int status : {307, 308}) {
    const RedirectedRequest next = followed(status, "/c");
    EXPECT_EQ(next.method, "POST");
    EXPECT_EQ(next.body, "body");
    EXPECT_THAT(next.head, StartsWith("POST /c HTTP/1.1\r\n"));
    EXPECT_THAT(next.head, HasSubstr("Content-Type: text/plain\r\nContent-Length: 4\r\n"));
  }
}

TEST_F(RedirectTest, credentials_stay_with_their_origin) {
  for (const char* location : {"/c", "c", "?x", "http://here.test:8080/c", "http://HERE.test:8080/c"}) {
    const RedirectedRequest next = followed(307, location);
    EXPECT_THAT(next.head, HasSubstr("Authorization: Basic eA==\r\nCookie: a=1\r\n")) << location;
  }
  for (const char* location :
       {"http://here.test/c", "https://here.test:8080/c", "http://there.test:8080/c", "//there.test:8080/"}) {
    const RedirectedRequest next = followed(307, location);
    ASSERT_TRUE(next.valid) << location;
    EXPECT_THAT(next.head, Not(HasSubstr("uthorization"))) << location;
    EXPECT_THAT(next.head, Not(HasSubstr("Cookie"))) << location;
    EXPECT_THAT(next.head, HasSubstr("X-Mine: kept\r\n")) << location;
  }
}

TEST_F(RedirectTest, the_next_request_goes_where_the_location_says) {
  const RedirectedRequest next = followed(302, "https://there.test/x?y#z");
  EXPECT_TRUE(next.tls);
  EXPECT_EQ(next.host, "there.test");
  EXPECT_EQ(next.port, 443);
  EXPECT_EQ(next.target, "/x?y");
  EXPECT_THAT(next.head, HasSubstr("Host: there.test\r\n"));
  EXPECT_EQ(followed(302, "c").target, "/a/c");
  EXPECT_EQ(followed(302, "../../c").target, "/c");
}

TEST_F(RedirectTest, the_host_has_a_port_only_if_it_is_not_the_schemes) {
  const auto host_after = [this](bool tls, uint16_t port, std::string_view location) {
    origin_.tls = tls;
    origin_.port = port;
    request_.head = kept_.emplace_back("GET / HTTP/1.1\r\nHost: here.test:" + std::to_string(port) + "\r\n");
    const std::string head = followed(302, location).head;
    const std::size_t at = head.find("Host: ") + 6;
    return head.substr(at, head.find("\r\n", at) - at);
  };
  EXPECT_EQ(host_after(false, 80, "/c"), "here.test");
  EXPECT_EQ(host_after(true, 443, "c"), "here.test");
  EXPECT_EQ(host_after(true, 80, "/c"), "here.test:80");
  EXPECT_EQ(host_after(false, 443, "?x"), "here.test:443");
  EXPECT_EQ(host_after(false, 8080, "http://there.test:80/"), "there.test");
  EXPECT_EQ(host_after(false, 8080, "https://there.test:443/"), "there.test");
  EXPECT_EQ(host_after(false, 8080, "https://there.test:80/"), "there.test:80");
}

TEST_F(RedirectTest, a_host_of_the_user_stays_with_the_server) {
  request_.head = "POST / HTTP/1.1\r\nX: y\r\nhost: shop.test\r\n";
  EXPECT_EQ(followed(302, "/c").head, "GET /c HTTP/1.1\r\nX: y\r\nhost: shop.test\r\n");
  EXPECT_THAT(followed(302, "http://there.test/c").head, HasSubstr("Host: there.test\r\n"));
  EXPECT_THAT(followed(302, "http://there.test/c").head, Not(HasSubstr("shop.test")));
}

TEST_F(RedirectTest, a_cookie_that_the_redirect_sets_replaces_that_of_the_request) {
  request_.head = "POST / HTTP/1.1\r\nHost: here.test:8080\r\nCookie: a=1; b=2\r\n";
  EXPECT_THAT(followed(302, "/c", "a=9; Path=/").head, HasSubstr("\r\nCookie: b=2\r\n"));
  request_.head = "POST / HTTP/1.1\r\nHost: here.test:8080\r\nCookie: a=1\r\n";
  EXPECT_THAT(followed(302, "/c", "a=9").head, Not(HasSubstr("Cookie")));
}

TEST_F(RedirectTest, a_location_is_read_as_browsers_read_it) {
  EXPECT_EQ(followed(302, "/a b?ü").target, "/a%20b?%C3%BC");
  EXPECT_EQ(followed(302, "http://Bücher.test/").host, "xn--bcher-kva.test");
  EXPECT_THAT(followed(302, "http://Bücher.test/").head, HasSubstr("Host: xn--bcher-kva.test\r\n"));
}

TEST_F(RedirectTest, an_ipv6_origin_can_redirect) {
  origin_.host = "::1";
  request_.head = "POST /a/b?q=1 HTTP/1.1\r\nHost: [::1]:8080\r\n";
  const RedirectedRequest next = followed(302, "/c");
  EXPECT_EQ(next.host, "::1");
  EXPECT_THAT(next.head, HasSubstr("Host: [::1]:8080\r\n"));
}

TEST_F(RedirectTest, a_location_that_cannot_be_fetched_is_refused) {
  for (const char* location : {"ftp://h/", "mailto:a@b", "https://", "http://me:pw@h/", "//a b/", "javascript:x"}) {
    EXPECT_FALSE(followed(302, location).valid) << location;
  }
}

TEST_F(RedirectTest, the_view_shows_the_new_request) {
  const CallLimits limits;
  const RedirectedRequest next = followed(307, "/c");
  const Request view = next.request(limits, true);
  EXPECT_EQ(view.method, "POST");
  EXPECT_EQ(view.target, "/c");
  EXPECT_EQ(view.head, next.head);
  EXPECT_EQ(view.body, "body");
  EXPECT_EQ(view.whole, "");
  EXPECT_EQ(view.limits, &limits);
  EXPECT_TRUE(view.want_body);
}

}  // namespace
}  // namespace bellwether::http1
