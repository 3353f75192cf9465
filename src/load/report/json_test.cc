#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

using Json = nlohmann::json;

// The part of JSON Schema that docs/formats/result.schema.json uses. Returns what is wrong, empty for nothing.
class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::string check(const Json& schema, const Json& value, const std::string& at = "$") const {
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      return check(root_.at(Json::json_pointer(ref.substr(1))), value, at);
    }
    if (schema.contains("type") && !has_type(schema["type"], value)) {
      return at + ": is not of type " + schema["type"].dump();
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
      return at + ": is not one of " + schema["enum"].dump();
    }
    if (value.is_object()) return check_object(schema, value, at);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string wrong = check(schema["items"], value[i], at + "[" + std::to_string(i) + "]");
        if (!wrong.empty()) return wrong;
      }
    }
    return {};
  }

 private:
  static bool has_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      return std::any_of(type.begin(), type.end(), [&](const Json& one) { return has_type(one, value); });
    }
    const std::string name = type;
    return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
           (name == "string" && value.is_string()) || (name == "boolean" && value.is_boolean()) ||
           (name == "null" && value.is_null()) || (name == "integer" && value.is_number_integer()) ||
           (name == "number" && value.is_number());
  }

  std::string check_object(const Json& schema, const Json& value, const std::string& at) const {
    for (const auto& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) return at + ": has no " + name.dump();
    }
    const Json properties = schema.value("properties", Json::object());
    const Json others = schema.value("additionalProperties", Json(true));
    for (const auto& [name, member] : value.items()) {
      std::string wrong;
      if (properties.contains(name)) {
        wrong = check(properties[name], member, at + "." + name);
      } else if (others.is_object()) {
        wrong = check(others, member, at + "." + name);
      } else if (!others.get<bool>()) {
        wrong = at + ": must not have \"" + name + "\"";
      }
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  const Json& root_;
};

Json schema() { return Json::parse(std::ifstream("docs/formats/result.schema.json")); }

std::string wrong_with(const Json& document) {
  const Json root = schema();
  return Validator(root).check(root, document);
}

TEST(ResultFile, keeps_to_its_published_schema) {
  EXPECT_EQ(wrong_with(Json::parse(to_json(open_run()->report))), "");
  EXPECT_EQ(wrong_with(Json::parse(to_json(closed_run()->report))), "");
  EXPECT_EQ(wrong_with(Json::parse(to_json(spread_run()->report))), "");
  EXPECT_EQ(wrong_with(Json::parse(to_json(measured_run()->report))), "");
  plan::Plan plan = open_run()->plan;
  const aggregate::Totals nothing(plan);
  EXPECT_EQ(wrong_with(Json::parse(to_json(conclude(nothing, {.run_id = "id", .ending = aggregate::Ending::kSignal})))),
            "");
}

TEST(ResultFile, the_schema_notices_what_is_missing_wrong_or_unknown) {
  const Json good = Json::parse(to_json(open_run()->report));
  Json document = good;
  document.erase("series");
  EXPECT_EQ(wrong_with(document), "$: has no \"series\"");
  document = good;
  document["steps"]["browse.pay"]["count"] = "many";
  EXPECT_NE(wrong_with(document), "");
  document = good;
  document["run"]["verdict"] = "maybe";
  EXPECT_NE(wrong_with(document), "");
  document = good;
  document["run"]["colour"] = "red";
  EXPECT_NE(wrong_with(document), "");
}

TEST(ResultFile, says_what_the_generator_found_about_itself) {
  auto sample = closed_run();
  sample->report.generator.findings = {
      {aggregate::Saturation::kThrottled, Duration::seconds(1), Duration::millis(4500), 0.8, true}};
  const Json document = Json::parse(to_json(sample->report));
  EXPECT_EQ(wrong_with(document), "");
  const Json& generator = document["run"]["generator"];
  EXPECT_EQ(generator["reason"], "its CPU was fully used");
  EXPECT_EQ(generator["remedy"], "give it more cores or machines, or reduce the load");
  EXPECT_EQ(generator["findings"],
            Json::parse(R"([{"cause": "throttled", "from": 1.0, "to": 4.5, "worst": 0.8, "what": "its control group )"
                        R"(throttled it in 80 % of its periods, because its CPU quota was used up"}])"));
}

TEST(ResultFile, holds_the_figures_of_the_run) {
  const Json d = Json::parse(to_json(open_run()->report));
  EXPECT_EQ(d["format"], "bellwether.result/1");
  EXPECT_EQ(d["run"]["id"], "01J0SAMPLE");
  EXPECT_EQ(d["run"]["scenario"], "shop");
  EXPECT_EQ(d["run"]["started_at"], "2026-07-01T12:00:00.123Z");
  EXPECT_EQ(d["run"]["elapsed_s"], 10.25);
  EXPECT_EQ(d["run"]["verdict"], "fail");
  EXPECT_EQ(d["run"]["exit_code"], 99);
  EXPECT_EQ(d["run"]["targets"], (Json{"http://shop.example:8080", "https://pay.example"}));
  EXPECT_EQ(d["workflows"][0]["executor"], "constant-arrival-rate");
  EXPECT_EQ(d["workflows"][0]["load"], "1050/s for 10s");
  EXPECT_EQ(d["run"]["generator"]["saturated"], false);
  EXPECT_DOUBLE_EQ(d["run"]["generator"]["cpu_cores"], 0.42);
  EXPECT_EQ(d["totals"]["requests"], 20'000);
  EXPECT_EQ(d["totals"]["failed"], 250);
  EXPECT_EQ(d["totals"]["rate_per_s"], 2000);
  EXPECT_EQ(d["totals"]["scheduled_iterations"], 10'500);
  EXPECT_EQ(d["totals"]["dropped_iterations"], 500);
  EXPECT_EQ(d["datacenters"][0]["totals"], d["totals"]);
  EXPECT_FALSE(d["steps"].contains("browse.note")) << "actions are not measured";
  EXPECT_EQ(d["steps"]["browse.pay"]["status"], (Json{{"200", 9850}, {"503", 50}}));
  EXPECT_EQ(d["steps"]["browse.pay"]["errors"], (Json{{"connect_refused", 10}, {"reset", 90}}));
  EXPECT_EQ(d["steps"]["browse.pay"]["phases_ms"]["tls"], nullptr);
  EXPECT_EQ(d["steps"]["browse.list"]["phases_ms"]["connect"]["count"], 40);
  EXPECT_EQ(d["workflows"][0]["iterations"]["late"], 50);
  EXPECT_EQ(d["workflows"][0]["errors"][1]["kind"], "reset");
  EXPECT_EQ(d["workflows"][0]["errors"][1]["count"], 180);
  EXPECT_EQ(d["metrics"]["http_reqs"]["count"], 20'000);
  EXPECT_EQ(d["metrics"]["http_req_failed"]["matches"], 250);
  EXPECT_EQ(d["checks"][1], (Json{{"name", "status is 200"}, {"step", "browse.pay"}, {"passes", 9850}, {"fails", 50}}));
  EXPECT_EQ(d["thresholds"][0]["ok"], true);
  EXPECT_EQ(d["thresholds"][1]["ok"], false);
  EXPECT_EQ(d["thresholds"][3]["value"], nullptr);
  EXPECT_EQ(d["thresholds"][0]["unit"], "fraction");
  EXPECT_EQ(d["thresholds"][1]["unit"], "ms");
  EXPECT_EQ(d["thresholds"][1]["limit"], 15);
  EXPECT_EQ(d["thresholds"][2]["unit"], "per_s");
  EXPECT_EQ(d["series"].size(), 10u);
  EXPECT_EQ(d["series"][9]["t"], 9);
  EXPECT_EQ(d["series"][9]["vus"], 49);
  EXPECT_EQ(d["events"][0]["t"], 4.2);
  EXPECT_EQ(d["lost"], Json::array());
  EXPECT_EQ(d["generators"], Json::array());
}

TEST(ResultFile, has_no_point_of_an_idle_moment_at_the_end) {
  const auto points_with = [](Duration covered, uint64_t requests) {
    const auto run = open_run();
    metrics::Window w({3, 1, 3});
    w.second = 10;
    w.steps[0].count = requests;
    run->totals->add(w, covered);
    return Json::parse(to_json(run->report))["series"].size();
  };
  EXPECT_EQ(points_with(Duration::millis(2), 0), 10u);
  EXPECT_EQ(points_with(Duration::millis(2), 1), 11u);
  EXPECT_EQ(points_with(Duration::millis(900), 0), 11u) << "a stall";
}

TEST(ResultFile, says_the_scenarios_own_metrics_over_time) {
  const Json d = Json::parse(to_json(measured_run()->report));
  const Json& metrics = d["metrics"];
  EXPECT_EQ(metrics["orders"]["series"].size(), 12u);
  EXPECT_EQ(metrics["orders"]["series"][3], (Json{{"t", 3}, {"count", 3.5}, {"rate", 3.5}}));
  EXPECT_EQ(metrics["orders"]["series"][11], (Json{{"t", 11}, {"count", 11.5}, {"rate", 23.0}})) << "of half a second";
  EXPECT_EQ(
      metrics["depth"]["series"],
      Json::parse(R"([{"t": 4, "value": -3, "min": -3, "max": -3}, {"t": 8, "value": 12, "min": 12, "max": 20}])"));
  EXPECT_EQ(metrics["sold"]["series"].size(), 11u) << "nothing in the seventh second";
  EXPECT_EQ(metrics["sold"]["series"][6], (Json{{"t", 7}, {"rate", 0.75}, {"matches", 3}, {"total", 4}}));
  const Json& price = metrics["price"]["series"][0];
  EXPECT_EQ(price["count"], 20);
  EXPECT_NEAR(price["med"], 10, 0.01);
  EXPECT_NEAR(price["p(95)"], 19, 0.02);
  ASSERT_EQ(metrics["took"]["series"].size(), 1u);
  EXPECT_NEAR(metrics["took"]["series"][0]["med"], 250, 0.25) << "in the unit of the metric";
  EXPECT_EQ(metrics["never"]["series"], Json::array());
  EXPECT_FALSE(metrics["http_reqs"].contains("series"));
}

TEST(ResultFile, has_each_step_over_time_with_the_times_that_thresholds_judge) {
  Json d = Json::parse(to_json(open_run()->report));
  const Json& pay = d["steps"]["browse.pay"];
  EXPECT_EQ(pay["due_times"], true);
  ASSERT_EQ(pay["series"].size(), 10u);
  EXPECT_EQ(pay["series"][9]["t"], 9);
  EXPECT_EQ(pay["series"][9]["covered_s"], 1.0);
  EXPECT_EQ(pay["series"][9]["requests"], 1'000);
  EXPECT_EQ(pay["series"][9]["failed"], 15);
  EXPECT_NEAR(pay["series"][9]["duration_ms"]["p95"], 19.7, 0.1) << "the response time";
  d = Json::parse(to_json(closed_run()->report));
  const Json& get = d["steps"]["main.get"];
  EXPECT_EQ(get["due_times"], false);
  EXPECT_EQ(get["series"][0]["duration_ms"], d["series"][0]["response_ms"]);
}

TEST(ResultFile, has_the_steps_of_each_tag_together) {
  const auto run = tagged_run();
  const Json d = Json::parse(to_json(run->report));
  EXPECT_EQ(wrong_with(d), "");
  ASSERT_EQ(d["by_tag"].size(), 3u);
  EXPECT_EQ(d["by_tag"]["page:shop"]["count"], d["totals"]["requests"]);
  EXPECT_EQ(d["by_tag"]["page:shop"]["unfinished"], 500);
  Json pay = d["steps"]["browse.pay"];
  for (const char* alone : {"tags", "series", "due_times"}) pay.erase(alone);
  EXPECT_EQ(d["by_tag"]["api:v2"], pay);
  EXPECT_FALSE(d.contains("tags_left_out"));
  for (int i = 0; i < 100; ++i) run->plan.steps[0].tags.push_back({"z", std::to_string(i)});
  const std::string many = to_json(run->report);
  const auto result = read_result(many);
  EXPECT_EQ(result->by_tag.size(), aggregate::TagSums::kMax);
  EXPECT_EQ(result->tags_left_out, 3u);
  Json few = Json::parse(many);
  few["by_tag"] = d["by_tag"];  // the schema says of each the same
  EXPECT_EQ(wrong_with(few), "");
}

TEST(ResultFile, a_plan_of_names_only_does_not_invent_a_load) {
  auto sample = closed_run();
  sample->plan.workflows[0].steps.clear();
  const Json d = Json::parse(to_json(sample->report));
  EXPECT_FALSE(d["workflows"][0].contains("load"));
  EXPECT_EQ(d["run"]["targets"], Json::array());
  EXPECT_EQ(wrong_with(d), "");
}

TEST(ResultFile, says_what_was_lost_and_who_made_the_load) {
  const Json d = Json::parse(to_json(spread_run()->report));
  EXPECT_EQ(d["run"]["verdict"], "inconclusive");
  EXPECT_EQ(d["run"]["exit_code"], 120);
  ASSERT_EQ(d["lost"].size(), 2u);
  EXPECT_EQ(d["lost"][0], (Json{{"from", 0.75}, {"to", 1.75}, {"ratio", 0.25}, {"cause", "worker w2 died"}}));
  ASSERT_EQ(d["generators"].size(), 4u);
  EXPECT_EQ(d["generators"][1], (Json{{"name", "w2"}, {"cores", 2}, {"assignments", 1}, {"state", "lost"}}));
  EXPECT_EQ(d["generators"][2]["state"], "drained");
}

TEST(ResultFile, says_whether_it_is_confirmed) {
  const std::string text = to_json(unconfirmed_run()->report);
  const Json d = Json::parse(text);
  EXPECT_EQ(wrong_with(d), "");
  EXPECT_EQ(d["run"]["confirmed"], false);
  EXPECT_EQ(d["run"]["verdict"], "inconclusive");
  EXPECT_EQ(d["run"]["exit_code"], 120);
  EXPECT_EQ(d["run"]["reason"], "unconfirmed: no manager answers");
  EXPECT_EQ(d["workflows"][0]["status"], "unconfirmed");
  EXPECT_EQ(d["generators"][0]["state"], "unconfirmed");
  EXPECT_FALSE(read_result(text)->confirmed);
  const std::string confirmed = to_json(closed_run()->report);
  EXPECT_FALSE(Json::parse(confirmed)["run"].contains("confirmed"));
  EXPECT_TRUE(read_result(confirmed)->confirmed);
}

TEST(ResultFile, of_a_run_that_did_not_take_place_keeps_to_the_schema) {
  plan::Plan plan = open_run()->plan;
  const aggregate::Totals nothing(plan);
  const Json d = Json::parse(
      to_json(conclude(nothing, {.run_id = "id", .ending = aggregate::Ending::kNotRun, .why = "no worker was there"})));
  EXPECT_EQ(wrong_with(d), "");
  EXPECT_EQ(d["run"]["exit_code"], 1);
  EXPECT_EQ(d["run"]["reason"], "the run did not take place: no worker was there");
  EXPECT_EQ(d["workflows"][0]["status"], "skipped");
}

TEST(ResultFile, histograms_can_be_rebuilt_exactly) {
  const auto run = open_run();
  const Json h = Json::parse(to_json(run->report))["steps"]["browse.list"]["response_ms"]["histogram"];
  std::vector<metrics::Histogram::Bucket> buckets;
  for (const Json& pair : h["buckets"]) buckets.push_back({metrics::Histogram::index_of(pair[0]), pair[1]});
  EXPECT_EQ(h["unit"], "ns");
  metrics::Histogram again;
  again.assign(buckets, h["sum"].get<uint64_t>(), h["min"], h["max"]);
  EXPECT_TRUE(again == run->totals->sum().steps[0].response.answered);
}

TEST(ResultFile, survives_names_that_are_no_text) {
  auto run = open_run();
  run->plan.name = "caf\xe9 \x1b";
  EXPECT_EQ(wrong_with(Json::parse(to_json(run->report))), "");
}

}  // namespace
}  // namespace bellwether::report
