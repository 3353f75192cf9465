#include "target/routes.h"

#include <gmock/gmock.h>

namespace bellwether::target {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = Answer::Kind;
using Then = Answer::Then;

Answer answer(std::string_view method, std::string_view path) {
  http1::RequestHead head;
  head.method = method;
  head.target = head.path = path;
  return answer_to(head);
}

TEST(Routes, what_is_always_the_same_is_sent_as_it_lies) {
  for (const std::string_view path : {"/", "/json", "/items", "/cart", "/gzip", "/br"}) {
    const Answer got = answer("GET", path);
    ASSERT_EQ(got.kind, Kind::kReady) << path;
    EXPECT_THAT(got.ready->bytes, StartsWith("HTTP/1.1 200 OK\r\n"));
    const std::string length = "Content-Length: " + std::to_string(got.ready->bytes.size() - got.ready->head_size);
    EXPECT_THAT(got.ready->bytes, HasSubstr(length + "\r\n\r\n"));
    EXPECT_EQ(got.ready->answer_to("HEAD").size(), got.ready->head_size) << path;
  }
}

TEST(Routes, a_method_that_a_path_does_not_have_is_told_which_it_has) {
  const Answer got = answer("DELETE", "/json");
  EXPECT_EQ(got.status, 405);
  EXPECT_EQ(got.fields, "Allow: GET, HEAD\r\n");
  EXPECT_EQ(answer("GET", "/pay").status, 405);
  EXPECT_EQ(answer("GET", "/login").status, 405);
  EXPECT_EQ(answer("POST", "/pay").kind, Kind::kReady);
}

TEST(Routes, the_last_part_of_a_path_is_a_number_within_limits) {
  EXPECT_EQ(answer("GET", "/bytes/4096").count, 4096u);
  EXPECT_EQ(answer("GET", "/bytes/0").kind, Kind::kFill);
  EXPECT_EQ(answer("GET", "/stream/3").kind, Kind::kLines);
  EXPECT_EQ(answer("GET", "/status/503").status, 503);
  for (const std::string_view path : {"/bytes/", "/bytes/x", "/bytes/1073741825", "/bytes/-1", "/stream/10000001",
                                      "/status/199", "/status/600", "/redirect/1001", "/delay/5", "/delay/2h"}) {
    EXPECT_EQ(answer("GET", path).status, 400) << path;
  }
}

TEST(Routes, redirects_count_down) {
  EXPECT_EQ(answer("GET", "/redirect/2").status, 302);
  EXPECT_EQ(answer("GET", "/redirect/2").fields, "Location: /redirect/1\r\n");
  EXPECT_EQ(answer("GET", "/redirect/0").status, 200);
}

TEST(Routes, delays_are_times_with_units) {
  EXPECT_EQ(answer("GET", "/delay/250ms").delay, Duration::millis(250));
  EXPECT_EQ(answer("GET", "/delay/0").delay, Duration::zero());
}

TEST(Routes, items_are_found_by_number) {
  EXPECT_THAT(answer("GET", "/items/2").text, HasSubstr("\"name\":\"bell\""));
  EXPECT_EQ(answer("GET", "/items/0").status, 404);
  EXPECT_EQ(answer("GET", "/items/two").status, 404);
}

TEST(Routes, unknown_paths_are_not_found) {
  for (const std::string_view path : {"/nothing", "/json/", "/fault/unheard-of", "*", "/bytesx/4"}) {
    EXPECT_EQ(answer("GET", path).status, 404) << path;
  }
}

TEST(Routes, headers_come_back_as_json_whatever_bytes_they_hold) {
  http1::RequestHead head;
  head.method = "GET";
  head.path = "/headers";
  head.fields[0] = {"X-Odd", "a \"quote\", a \\ and \xff"};
  head.field_count = 1;
  EXPECT_EQ(answer_to(head).text, "{\"X-Odd\":\"a \\\"quote\\\", a \\\\ and \\u00ff\"}\n");
}

Answer login(std::string_view body) {
  Prng prng(7);
  Answer answer;
  answer_login(body, prng, answer);
  return answer;
}

TEST(Login, gives_a_token_and_a_cookie_that_carry_the_same_value) {
  const Answer got = login(R"({ "user" : "ada", "pass":"x" })");
  EXPECT_EQ(got.status, 200);
  EXPECT_THAT(got.text, HasSubstr(R"(,"user":"ada"})"));
  const std::string token = got.text.substr(std::string_view("{\"token\":\"").size(), 16);
  EXPECT_EQ(got.fields, "Set-Cookie: session=" + token + "; Path=/; HttpOnly\r\n");
}

TEST(Login, members_are_told_from_values_and_text_is_escaped) {
  EXPECT_THAT(login(R"({"note":"user","user":"a\"b","pass":"x"})").text, HasSubstr(R"("user":"a\"b")"));
  EXPECT_EQ(login(R"({"note":"\"user\":\"ada\"","pass":"x"})").status, 401);
}

TEST(Login, anything_else_is_not_let_in) {
  for (const std::string_view body :
       {"", "{}", R"({"user":"ada"})", R"({"user":"","pass":"x"})", R"({"user":1,"pass":"x"})",
        R"({"user":"ada","pass":"x)", "{\"user\":\"a\nb\",\"pass\":\"x\"}"}) {
    EXPECT_EQ(login(body).status, 401) << body;
  }
}

TEST(FaultPaths, break_the_rules_on_purpose) {
  EXPECT_EQ(answer("GET", "/fault/reset").then, Then::kReset);
  EXPECT_EQ(answer("GET", "/fault/hang").then, Then::kHang);
  EXPECT_EQ(answer("GET", "/fault/close").then, Then::kClose);
  EXPECT_EQ(answer("GET", "/fault/truncate").kind, Kind::kRaw);
  EXPECT_GT(answer("GET", "/fault/long-header").text.size(), 64u * 1024);
  EXPECT_EQ(answer("GET", "/fault/bad-gzip").fields, "Content-Encoding: gzip\r\n");
}

TEST(Head, statuses_without_a_body_have_no_type) {
  Answer got;
  got.status = 204;
  std::string head;
  append_head(head, got, "", "Connection: close\r\n");
  EXPECT_EQ(head, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace bellwether::target
