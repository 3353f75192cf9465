#include <gtest/gtest.h>

#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

std::string error_of(const QuickRun& run) {
  const auto plan = make_plan(run);
  return plan ? std::string() : plan.error().message;
}

TEST(QuickRun, a_url_is_a_plan_of_one_step) {
  const auto plan = make_plan({.url = "http://host:8080?x=1", .vus = 5, .duration = Duration::seconds(3)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->name, "http://host:8080?x=1");
  ASSERT_EQ(plan->workflows.size(), 1u);
  const Workflow& workflow = plan->workflows[0];
  EXPECT_EQ(std::get<ConstantVus>(workflow.executor).vus, 5u);
  EXPECT_EQ(std::get<ConstantVus>(workflow.executor).duration, Duration::seconds(3));
  EXPECT_EQ(workflow.layers, (std::vector<std::vector<uint16_t>>{{0}}));
  const auto& call = std::get<HttpCall>(workflow.steps.at(0).work);
  EXPECT_EQ(call.method, "GET");
  EXPECT_EQ(call.url.text(), "http://host:8080/?x=1");
  EXPECT_FALSE(call.body);
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].name, "url.get");
}

TEST(QuickRun, a_rate_makes_it_an_arrival_rate) {
  const auto plan = make_plan({.url = "http://h/", .vus = 50, .rate_per_s = 200.0});
  ASSERT_TRUE(plan);
  const auto& executor = std::get<ArrivalRate>(plan->workflows[0].executor);
  EXPECT_DOUBLE_EQ(executor.stages.at(0).to_per_s, 200);
  EXPECT_EQ(executor.users.preallocated, 50u);
  EXPECT_EQ(executor.users.most, 50u);
}

TEST(QuickRun, method_headers_and_body_are_taken_as_they_are) {
  const auto plan = make_plan({.url = "https://h/${vu}",
                               .method = "post",
                               .headers = {{"X-A", "${vu}"}},
                               .body = "${uuid}",
                               .skip_tls_verify = true});
  ASSERT_TRUE(plan);
  const auto& call = std::get<HttpCall>(plan->workflows[0].steps[0].work);
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.url.text(), "https://h/$%7Bvu%7D");
  EXPECT_EQ(call.headers.at(0).value.text(), "${vu}");
  EXPECT_EQ(call.body->text(), "${uuid}");
  EXPECT_FALSE(call.tls.verify);
}

TEST(QuickRun, what_is_wrong_is_said) {
  EXPECT_EQ(error_of({.url = "localhost:8080"}),
            "wrong URL 'localhost:8080': the URL does not begin with http:// or https://; did you mean "
            "http://localhost:8080?");
  EXPECT_EQ(error_of({.url = "ftp://h/"}), "wrong URL 'ftp://h/': 'ftp' is no protocol of this client");
  EXPECT_EQ(error_of({.url = "http://"}), "wrong URL 'http://': the URL names no host");
  EXPECT_EQ(error_of({.url = "http://h/", .method = "GET /"}), "'GET /' is no method that a request can have");
  EXPECT_EQ(error_of({.url = "http://h/", .headers = {{"a", "b\r\nc"}}}),
            "wrong header 'a'; write for example 'Accept: text/html'");
  EXPECT_EQ(error_of({.url = "http://h/", .vus = 0}), "--vus must be from 1 to 1000000");
  EXPECT_EQ(error_of({.url = "http://h/", .duration = Duration::zero()}), "--duration must be longer than 0");
  EXPECT_EQ(error_of({.url = "http://h/", .rate_per_s = 0.0}), "--rate must be above 0 and at most 10000000/s");
}

}  // namespace
}  // namespace bellwether::plan
