#include <gtest/gtest.h>

#include "core/web/http_server.h"

namespace bellwether::web {
namespace {

constexpr const char* kHere = "127.0.0.1:8461";
constexpr const char* kForm = "0123456789abcdef";

RequestGuard guard(std::string bearer = {}) {
  return RequestGuard({names_of_page(*runtime::Endpoint::parse(kHere), {"Leases.Example"}), kForm, std::move(bearer)});
}

Request asked(std::vector<std::pair<std::string, std::string>> fields, const char* host = kHere) {
  Request request;
  request.fields = std::move(fields);
  request.fields.emplace_back("Host", host);
  return request;
}

int reading(const RequestGuard& guard, const Request& request) {
  const auto refused = guard.against_reading(request);
  return refused ? refused->status : 0;
}

int acting(const RequestGuard& guard, const Request& request, const char* form = kForm) {
  const auto refused = guard.against_acting(request, form);
  return refused ? refused->status : 0;
}

TEST(RequestGuard, serves_the_names_of_this_machine_and_those_it_was_told_of) {
  for (const char* host :
       {"127.0.0.1:8461", "localhost:8461", "LOCALHOST:8461", "[::1]:8461", "leases.example", "leases.example:8461"}) {
    EXPECT_EQ(reading(guard(), asked({}, host)), 0) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8461", "127.0.0.1", "127.0.0.1:80",
                           "localhost.evil.example:8461", "", "127.0.0.1:8461.evil.example"}) {
    EXPECT_EQ(reading(guard(), asked({}, host)), 421) << host;
  }
}

TEST(RequestGuard, the_port_that_browsers_leave_out_need_not_be_said) {
  const RequestGuard usual({names_of_page(*runtime::Endpoint::parse("127.0.0.1:80"), {}), kForm, {}});
  for (const char* host : {"127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80", "[::1]"}) {
    EXPECT_EQ(reading(usual, asked({}, host)), 0) << host;
  }
  EXPECT_EQ(acting(usual, asked({{"Origin", "http://localhost"}}, "localhost")), 0);
  EXPECT_EQ(reading(usual, asked({}, "localhost:8461")), 421);
  EXPECT_EQ(reading(usual, asked({}, "evil.example")), 421);
}

TEST(RequestGuard, refuses_what_another_page_sends) {
  EXPECT_EQ(acting(guard(), asked({})), 0) << "a client without an Origin";
  EXPECT_EQ(acting(guard(), asked({{"Origin", "http://127.0.0.1:8461"}})), 0);
  EXPECT_EQ(acting(guard(), asked({{"Origin", "https://leases.example"}}, "leases.example")), 0);
  for (const char* origin :
       {"http://evil.example", "null", "http://127.0.0.1:81", "http://127.0.0.1:8461.evil", "http://localhost:8461"}) {
    EXPECT_EQ(acting(guard(), asked({{"Origin", origin}})), 403) << origin;
  }
  EXPECT_EQ(acting(guard(), asked({{"Origin", "http://127.0.0.1:8461"}, {"Origin", "http://evil"}})), 403);
  EXPECT_EQ(acting(guard(), asked({{"Sec-Fetch-Site", "cross-site"}})), 403);
  EXPECT_EQ(acting(guard(), asked({{"Sec-Fetch-Site", "same-origin"}})), 0);
}

TEST(RequestGuard, wants_the_secret_of_its_form) {
  EXPECT_EQ(acting(guard(), asked({}), ""), 403);
  EXPECT_EQ(acting(guard(), asked({}), "0123456789abcdee"), 403);
  EXPECT_EQ(acting(guard(), asked({}), "0123456789abcdef0"), 403);
}

TEST(RequestGuard, wants_the_secret_of_the_operator_with_every_request) {
  const RequestGuard strict = guard("open sesame");
  EXPECT_EQ(reading(strict, asked({})), 401);
  EXPECT_EQ(acting(strict, asked({})), 401);
  EXPECT_EQ(reading(strict, asked({{"Authorization", "Bearer open sesam"}})), 401);
  EXPECT_EQ(reading(strict, asked({{"Authorization", "open sesame"}})), 401);
  EXPECT_EQ(reading(strict, asked({{"Authorization", "bearer open sesame"}})), 0);
  // "me:open sesame"
  EXPECT_EQ(reading(strict, asked({{"Authorization", "Basic bWU6b3BlbiBzZXNhbWU="}})), 0);
  EXPECT_EQ(reading(strict, asked({{"Authorization", "Basic bWU6eA=="}})), 401);
}

TEST(RequestGuard, a_program_with_the_secret_needs_no_form_and_a_browser_does) {
  const RequestGuard strict = guard("open sesame");
  EXPECT_EQ(acting(strict, asked({{"Authorization", "Bearer open sesame"}}), ""), 0);
  EXPECT_EQ(acting(strict, asked({{"Authorization", "Basic bWU6b3BlbiBzZXNhbWU="}}), ""), 403);
  EXPECT_EQ(acting(guard(), asked({{"Authorization", "Bearer x"}}), ""), 403) << "there is no secret to know";
}

TEST(RequestGuard, knows_the_loopback) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(*runtime::IpAddress::parse(text))) << text;
  }
  for (const char* text : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback(*runtime::IpAddress::parse(text))) << text;
  }
}

}  // namespace
}  // namespace bellwether::web
