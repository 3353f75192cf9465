#include <fmt/format.h>

#include "load/import/import_testing.h"

namespace bellwether::imports {
namespace {

struct Entry {
  std::string method = "GET";
  std::string url;
  std::string headers;  // of the request: {"name": …}
  std::string data;     // the value of postData
  int status = 200;
  std::string type = "application/json";
  std::string response;  // more members of the response, with a comma before
  std::string begin = "2026-01-01T10:00:00.000Z";
};

std::string har_of(const std::vector<Entry>& entries) {
  std::string list;
  for (const Entry& entry : entries) {
    list += list.empty() ? "" : ",\n";
    list += fmt::format(
        R"({{"startedDateTime": "{}", "time": 100, "request": {{"method": "{}", "url": "{}", "headers": [{}]{}}}, )"
        R"("response": {{"status": {}, "content": {{"mimeType": "{}", "text": "ignored"}}{}}}}})",
        entry.begin, entry.method, entry.url, entry.headers,
        entry.data.empty() ? std::string() : ", \"postData\": " + entry.data, entry.status, entry.type, entry.response);
  }
  return fmt::format(R"({{"log": {{"version": "1.2", "entries": [{}]}}}})", list);
}

std::string header(const char* name, const char* value) {
  return fmt::format(R"({{"name": "{}", "value": "{}"}})", name, value);
}

TEST(Har, requests_follow_each_other_and_share_what_all_have) {
  const std::string shared = header(":authority", "shop.example") + "," + header("User-Agent", "Browser 1") + "," +
                             header("Accept-Encoding", "gzip, br") + "," + header("sec-fetch-mode", "cors") + "," +
                             header("If-None-Match", "x");
  EXPECT_EQ(scenario_of(from_har,
                        har_of({{.url = "https://shop.example/", .headers = shared, .status = 304, .type = "text/html"},
                                {.url = "https://shop.example/api/items?page=1", .headers = shared},
                                {.method = "POST",
                                 .url = "https://shop.example/api/cart",
                                 .headers = shared + "," + header("content-type", "application/json"),
                                 .data = R"({"mimeType": "application/json", "text": "{\"id\": 7}"})",
                                 .status = 201},
                                {.url = "https://other.example/x?a=1", .headers = shared, .status = 404}})),
            "env:\n"
            "  BASE: https://shop.example\n"
            "defaults:\n"
            "  http:\n"
            "    base: \"${BASE}\"\n"
            "    compressed: true\n"
            "    headers:\n"
            "      User-Agent: Browser 1\n"
            "workflows:\n"
            "  main:\n"
            "    vus: 1\n"
            "    duration: 10s\n"
            "    steps:\n"
            "      get:\n"
            "        http:\n"
            "          get: /\n"
            "        check: {status: 200}\n"
            "      get_api_items:\n"
            "        after: get\n"
            "        http:\n"
            "          get: /api/items?page=1\n"
            "        check: {status: 200}\n"
            "      post_api_cart:\n"
            "        after: get_api_items\n"
            "        http:\n"
            "          post: /api/cart\n"
            "          json:\n"
            "            id: 7\n"
            "        check: {status: 201}\n"
            "      get_x:\n"
            "        after: post_api_cart\n"
            "        http:\n"
            "          get: https://other.example/x?a=1\n"
            "        check: {status: 404}\n");
}

TEST(Har, static_content_other_hosts_and_other_schemes_are_left_out) {
  const std::string har = har_of({{.url = "https://shop.example/a"},
                                  {.url = "https://api.shop.example/b"},
                                  {.url = "https://notshop.example/c"},
                                  {.url = "https://shop.example/logo.png"},
                                  {.url = "https://shop.example/style", .type = "text/css; charset=utf-8"},
                                  {.method = "OPTIONS",
                                   .url = "https://shop.example/b",
                                   .headers = header("Access-Control-Request-Method", "POST")},
                                  {.url = "wss://shop.example/live"},
                                  {.url = "https://shop.example/blocked", .status = 0}});
  EXPECT_EQ(warnings_of(from_har, har, {.hosts = {"shop.example"}}),
            "3 requests left out: static content and preflight requests; --all keeps them\n"
            "1 request left out: of other hosts\n"
            "1 request left out: neither http nor https\n"
            "1 request left out: without a response\n");
  const std::string steps = steps_of(from_har, har, {.hosts = {"shop.example"}});
  EXPECT_NE(steps.find("https://api.shop.example/b"), std::string::npos);
  EXPECT_EQ(steps.find("notshop"), std::string::npos);
  EXPECT_EQ(steps.find("logo"), std::string::npos);
  EXPECT_NE(steps_of(from_har, har, {.all = true}).find("/logo.png"), std::string::npos);
}

TEST(Har, the_client_follows_redirects_by_itself) {
  EXPECT_EQ(
      steps_of(from_har, har_of({{.method = "POST",
                                  .url = "http://h/login",
                                  .status = 302,
                                  .response = R"(, "redirectURL": "/home?x=1")"},
                                 {.url = "http://h/home?x=1", .status = 301, .response = R"(, "redirectURL": "/in")"},
                                 {.url = "http://h/in"},
                                 {.url = "http://h/in"}})),
      "      post_login:\n"
      "        http:\n"
      "          post: /login\n"
      "        check: {status: 200}\n"
      "      get_in:\n"
      "        after: post_login\n"
      "        http:\n"
      "          get: /in\n"
      "        check: {status: 200}\n");
}

TEST(Har, the_user_keeps_cookies_and_older_ones_are_named) {
  const std::string har =
      har_of({{.url = "http://h/a",
               .headers = header("Cookie", "old=1; seen=2"),
               .response = R"(, "headers": [{"name": "Set-Cookie", "value": "sid=1; Path=/\nb=2"}])"},
              {.url = "http://h/b", .headers = header("cookie", "sid=1; b=2; old=1")}});
  EXPECT_EQ(steps_of(from_har, har).find("ookie"), std::string::npos);
  EXPECT_EQ(warnings_of(from_har, har),
            "cookies of before the recording are left out: old, seen; record the login too, or add a header Cookie\n");
}

TEST(Har, pauses_become_think_times) {
  const std::string har = har_of({{.url = "http://h/a", .begin = "2026-01-01T10:00:00.000Z"},
                                  {.url = "http://h/b", .begin = "2026-01-01T10:00:02.130Z"},
                                  {.url = "http://h/c", .begin = "2026-01-01T11:00:02.300+01:00"}});
  EXPECT_EQ(steps_of(from_har, har).find("think"), std::string::npos);
  const std::string steps = steps_of(from_har, har, {.pauses = true});
  EXPECT_NE(steps.find("get: /a\n        check: {status: 200}\n        think: 2s\n"), std::string::npos) << steps;
  EXPECT_EQ(steps.find("think"), steps.rfind("think")) << steps;
}

TEST(Har, bodies_in_all_their_forms) {
  const auto body_of = [](const std::string& data) {
    return steps_of(from_har, har_of({{.method = "POST", .url = "http://h/", .data = data}}));
  };
  EXPECT_NE(body_of(R"({"mimeType": "application/x-www-form-urlencoded", "text": "a=1&pass=x"})")
                .find("form:\n            a: \"1\"\n            pass: \"${PASS}\"\n"),
            std::string::npos);
  EXPECT_NE(
      body_of(R"({"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "c%20d"}]})")
          .find("a b: c d\n"),
      std::string::npos);
  EXPECT_NE(body_of(R"({"mimeType": "text/plain", "text": "aGk=", "encoding": "base64"})").find("body: \"hi\""),
            std::string::npos);
  const std::string binary = har_of(
      {{.method = "POST", .url = "http://h/", .data = R"({"mimeType": "x", "text": "/w==", "encoding": "base64"})"}});
  EXPECT_NE(warnings_of(from_har, binary).find("it is no text"), std::string::npos);
}

TEST(Har, errors_have_their_place) {
  EXPECT_NE(scenario_of(from_har, "{\"log\": 1}").find("source:1:1: this is no HAR file"), std::string::npos);
  EXPECT_NE(scenario_of(from_har, "{\"log\": {\"entries\": [\n {}]}}").find("source:2:2: an entry has no 'request'"),
            std::string::npos);
  EXPECT_NE(scenario_of(from_har, "<html>").find("source:1:1: this is not JSON"), std::string::npos);
  EXPECT_NE(scenario_of(from_har, "env: a scenario").find("not JSON: it is neither an object nor an array"),
            std::string::npos);
  EXPECT_NE(scenario_of(from_har, har_of({{.url = "http://h/"}}), {.hosts = {"x"}}).find("no request is left"),
            std::string::npos);
}

TEST(Har, too_many_requests_are_refused) {
  EXPECT_NE(scenario_of(from_har, har_of(std::vector<Entry>(1001, Entry{.url = "http://h/"}))).find("at most 1000"),
            std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
