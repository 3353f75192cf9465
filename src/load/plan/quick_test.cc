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
  EXPECT_EQ(workflow.order.steps, std::vector<uint16_t>{0});
  EXPECT_TRUE(workflow.order.is_chain);
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

TEST(QuickRun, iterations_are_shared_by_at_most_as_many_users) {
  const auto plan = make_plan({.url = "http://h/", .vus = 50, .load = {.iterations = 20, .stages = {}}});
  ASSERT_TRUE(plan);
  const auto& executor = std::get<Iterations>(plan->workflows[0].executor);
  EXPECT_TRUE(executor.shared);
  EXPECT_EQ(executor.iterations, 20u);
  EXPECT_EQ(executor.vus, 20u);
}

TEST(QuickRun, stages_begin_at_the_users_or_the_rate) {
  const std::vector<scenario::NewLoad::Stage> stages{{Duration::seconds(2), 30}, {Duration::zero(), 10}};
  const auto users = make_plan({.url = "http://h/", .vus = 5, .load = {.iterations = {}, .stages = stages}});
  ASSERT_TRUE(users);
  const auto& course = std::get<RampingVus>(users->workflows[0].executor);
  EXPECT_EQ(course.start_vus, 5u);
  ASSERT_EQ(course.stages.size(), 2u);
  EXPECT_EQ(course.stages[0].target, 30u);
  EXPECT_EQ(course.stages[0].duration, Duration::seconds(2));
  const auto rates = make_plan({.url = "http://h/",
                                .vus = 5,
                                .rate_per_s = 7.0,
                                .load = {.iterations = {}, .stages = stages, .of_rates = true}});
  ASSERT_TRUE(rates);
  const auto& rising = std::get<ArrivalRate>(rates->workflows[0].executor);
  EXPECT_EQ(rising.users.most, 5u);
  ASSERT_EQ(rising.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(rising.stages[0].from_per_s, 7);
  EXPECT_DOUBLE_EQ(rising.stages[1].from_per_s, 30);
  EXPECT_DOUBLE_EQ(rising.stages[1].to_per_s, 10);
}

TEST(QuickRun, its_tags_are_those_of_its_step) {
  const auto plan = make_plan({.url = "http://h/", .load = {.iterations = {}, .stages = {}}, .tags = {{"build", "7"}}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tags, (std::vector<Tag>{{"build", "7"}}));
  EXPECT_EQ(plan->steps.at(0).tags, plan->tags);
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
  EXPECT_EQ(error_of({.url = "ftp://h/"}),
            "wrong URL 'ftp://h/': 'ftp' is not supported; the URL must begin with http:// or https://");
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
