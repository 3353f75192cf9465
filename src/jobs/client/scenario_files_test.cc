#include "jobs/client/scenario_files.h"

#include <gmock/gmock.h>

#include "core/runtime/temporary_testing.h"

namespace bellwether::client::detail {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"(
env:
  BASE: "http://127.0.0.1:1"
workflows:
  w:
    vus: 3
    duration: 10s
    steps:
      s:
        http: {get: "${BASE}/"}
)";

Scenario text_of(std::string text) {
  Scenario out;
  out.text = std::move(text);
  return out;
}

bellwether::Error refused(const Scenario& scenario) {
  const auto bundled = bundle_of(scenario);
  return bundled ? bellwether::Error{Errc::kOk, "it was taken"} : bundled.error().error;
}

uint32_t vus_of(const Scenario& scenario) {
  const auto bundled = bundle_of(scenario);
  if (!bundled) return 0;
  return std::get<plan::ConstantVus>(bundled->plan.workflows.at(0).executor).vus;
}

TEST(ScenarioFiles, a_load_of_its_own_must_be_one) {
  const auto why = [](const auto& change) {
    Scenario scenario = text_of(kText);
    change(scenario);
    return refused(scenario).message;
  };
  const Scenario::Stage stage{std::chrono::seconds(1), 5};
  EXPECT_THAT(why([](Scenario& one) { one.iterations = 0; }), HasSubstr("iterations must be 1 to"));
  EXPECT_THAT(why([](Scenario& one) { one.iterations = 1, one.rate_per_s = 1; }), HasSubstr("exclude each other"));
  EXPECT_THAT(why([&](Scenario& one) { one.iterations = 1, one.stages = {stage}; }), HasSubstr("exclude each other"));
  EXPECT_THAT(why([&](Scenario& one) { one.duration = std::chrono::seconds(1), one.stages = {stage}; }),
              HasSubstr("their own durations"));
  EXPECT_THAT(why([&](Scenario& one) { one.rate_per_s = 1, one.stages = {stage}; }), HasSubstr("exclude a rate"));
  EXPECT_THAT(why([&](Scenario& one) { one.stages = {{std::chrono::seconds(1), 1e9}}; }), HasSubstr("the target"));
  EXPECT_THAT(why([&](Scenario& one) { one.stages = {{Span::zero(), 5}}; }), HasSubstr("longer than 0"));
  EXPECT_EQ(why([&](Scenario& one) { one.vus = 2, one.stages = {stage}; }), "it was taken");
  EXPECT_EQ(why([&](Scenario& one) { one.rate_per_s = 2, one.stages_of_rate = true, one.stages = {stage}; }),
            "it was taken");
}

TEST(ScenarioFiles, tags_are_names_and_values_that_a_threshold_can_name) {
  const auto why = [](std::vector<std::pair<std::string, std::string>> tags) {
    Scenario scenario = text_of(kText);
    scenario.tags = std::move(tags);
    return refused(scenario).message;
  };
  EXPECT_THAT(why({{"step", "a"}}), HasSubstr("'step' cannot be the name of a tag"));
  EXPECT_THAT(why({{"a b", "a"}}), HasSubstr("cannot be the name of a tag"));
  EXPECT_THAT(why({{"a", "x,y"}}), HasSubstr("the value of tag 'a'"));
  EXPECT_THAT(why({{"a", "x"}, {"a", "y"}}), HasSubstr("given twice"));
  EXPECT_EQ(why({{"a", "x"}, {"b", "x"}}), "it was taken");
}

TEST(ScenarioFiles, a_text_needs_no_file_and_figures_of_the_caller_win) {
  Scenario scenario = text_of(kText);
  EXPECT_EQ(vus_of(scenario), 3U);
  scenario.vus = 5;
  EXPECT_EQ(vus_of(scenario), 5U);
}

TEST(ScenarioFiles, mistakes_have_the_name_that_the_text_was_given) {
  Scenario scenario = text_of("workflows: 7\n");
  auto bundled = bundle_of(scenario);
  ASSERT_FALSE(bundled);
  ASSERT_FALSE(bundled.error().diagnostics.empty());
  EXPECT_EQ(bundled.error().diagnostics[0].file, "scenario");
  EXPECT_EQ(bundled.error().diagnostics[0].line, 1);
  scenario.file = "folder/shop.yaml";
  bundled = bundle_of(scenario);
  ASSERT_FALSE(bundled);
  EXPECT_EQ(bundled.error().diagnostics[0].file, "folder/shop.yaml");
  EXPECT_THAT(bundled.error().error.message, HasSubstr("folder/shop.yaml: 1 error"));
}

TEST(ScenarioFiles, a_mistake_in_a_script_has_each_line_once) {
  Scenario scenario = text_of(
      "local w = workflow('w', {vus = 1, duration = '1s'})\n"
      "w:step('a', {http = {get = 'http://h/${x}', headers = {A = '${x}', B = '${x}'}}})\n"
      "w:step('b', {http = {get = 'http://h/${x}', headers = {A = '${x}'}}})\n");
  scenario.file = "shop.lua";
  const auto bundled = bundle_of(scenario);
  ASSERT_FALSE(bundled);
  ASSERT_EQ(bundled.error().diagnostics.size(), 1U) << bundled.error().error.message;
  const auto& one = bundled.error().diagnostics[0];
  EXPECT_EQ(one.line, 2) << one.message;
  EXPECT_EQ(one.column, 0);
  EXPECT_EQ(one.also, std::vector<std::string>{"shop.lua:3"});
}

TEST(ScenarioFiles, what_a_scenario_names_is_looked_for_beside_it) {
  const runtime::TemporaryFolder folder;
  folder.file("body.json", "{}");
  std::string text = kText;
  text.replace(text.find("{get: \"${BASE}/\"}"), 17, "{post: \"${BASE}/\", body: {file: body.json}}");
  Scenario scenario = text_of(text);
  scenario.file = folder.path("shop.yaml");  // missing: only its folder matters
  const auto beside = bundle_of(scenario);
  EXPECT_TRUE(beside) << beside.error().error.message << beside.error().diagnostics[0].message;
  scenario.file = folder.path("elsewhere/shop.yaml");
  EXPECT_FALSE(bundle_of(scenario));
}

TEST(ScenarioFiles, variables_of_the_caller_go_before_those_of_the_process) {
  std::string text = kText;
  text.replace(text.find("\"http://127.0.0.1:1\""), 20, "\"http://${BW_TEST_HOST}\"");
  Scenario scenario = text_of(text);
  EXPECT_FALSE(bundle_of(scenario)) << "no such variable is set";
  scenario.environment = {{"BW_TEST_HOST", "127.0.0.1:1"}};
  EXPECT_TRUE(bundle_of(scenario));
}

TEST(ScenarioFiles, a_url_is_a_scenario_of_its_own) {
  Scenario scenario;
  scenario.url = "http://127.0.0.1:1/";
  EXPECT_EQ(vus_of(scenario), 1U);
  scenario.rate_per_s = 10;
  const auto open = bundle_of(scenario);
  ASSERT_TRUE(open);
  EXPECT_EQ(std::get<plan::ArrivalRate>(open->plan.workflows.at(0).executor).stages.at(0).to_per_s, 10);
  scenario.ca_file = "/nowhere.pem";
  EXPECT_THAT(refused(scenario).message, HasSubstr("/nowhere.pem"));
  scenario.ca_file = "/dev/null";
  EXPECT_THAT(refused(scenario).message, HasSubstr("empty"));
}

TEST(ScenarioFiles, a_view_of_a_small_file_is_a_copy_and_of_a_large_one_the_file) {
  const runtime::TemporaryFolder folder;
  const std::string small = folder.file("small.csv", "a\n1\n");
  const auto copy = view_whole_file(small, 100);
  ASSERT_TRUE(copy) << copy.error().message;
  folder.file("small.csv", "");
  EXPECT_EQ(copy->bytes, "a\n1\n");
  const std::string text = std::string(20U << 20U, 'x') + "end";
  const std::string large = folder.file("large.csv", text);
  auto mapped = view_whole_file(large, text.size());
  ASSERT_TRUE(mapped) << mapped.error().message;
  ASSERT_EQ(mapped->bytes.size(), text.size());
  EXPECT_TRUE(mapped->bytes.ends_with("xend"));
  EXPECT_EQ(view_whole_file(large, text.size() - 1).error().code, Errc::kTooLarge);
  EXPECT_EQ(view_whole_file(small + "x", 100).error().code, Errc::kNotFound);
  EXPECT_EQ(view_whole_file(folder.path(), 100).error().message, "cannot read '" + folder.path() + "': it is a folder");
}

TEST(ScenarioFiles, what_makes_no_sense_is_refused_before_anything_is_read) {
  Scenario scenario;
  EXPECT_THAT(refused(scenario).message, HasSubstr("exactly one of"));
  scenario.url = "http://127.0.0.1:1/";
  scenario.file = "shop.yaml";
  EXPECT_THAT(refused(scenario).message, HasSubstr("exactly one of"));
  scenario.file.clear();
  scenario.variables = {{"A", "b"}};
  EXPECT_THAT(refused(scenario).message, HasSubstr("variables"));
  scenario = text_of(kText);
  scenario.vus = 0;
  EXPECT_THAT(refused(scenario).message, HasSubstr("users"));
  scenario.vus.reset();
  scenario.duration = Span::zero();
  EXPECT_THAT(refused(scenario).message, HasSubstr("duration"));
  scenario.duration.reset();
  scenario.rate_per_s = -1;
  EXPECT_THAT(refused(scenario).message, HasSubstr("rate"));
  scenario = {};
  scenario.file = "/nowhere/shop.yaml";
  EXPECT_EQ(refused(scenario).code, Errc::kNotFound);
}

}  // namespace
}  // namespace bellwether::client::detail
