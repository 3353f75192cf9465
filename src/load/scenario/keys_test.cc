// The published schema is what the code says, and what the reader of files takes. After a change of the table of keys,
// run with BW_UPDATE_GOLDEN=1 to write the file anew, and read the difference.
#include "load/scenario/keys.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "load/scenario/schema_testing.h"

namespace bellwether::scenario {
namespace {

constexpr const char* kFile = "docs/formats/scenario.schema.json";

bool any_has(const std::vector<std::string>& messages, const std::string& words) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

std::string all(const std::vector<std::string>& messages) {
  std::string out;
  for (const std::string& one : messages) out += one + "\n";
  return out;
}

TEST(Schema, the_published_one_is_what_the_code_says) {
  const std::string text = schema_text();
  if (std::getenv("BW_UPDATE_GOLDEN") != nullptr) std::ofstream(kFile) << text;
  std::stringstream published;
  published << std::ifstream(kFile).rdbuf();
  EXPECT_EQ(published.str(), text);
}

TEST(Schema, each_key_is_explained_in_a_line) {
  for (const auto& [name, map] : maps_of(Json::parse(schema_text()))) {
    for (const auto& [key, property] : map["properties"].items()) {
      const std::string text = property.value("description", "");
      EXPECT_GT(text.size(), 5u) << name << "." << key;
      EXPECT_LE(text.size(), 120u) << name << "." << key;
      EXPECT_FALSE(text.ends_with("..")) << name << "." << key;
    }
  }
}

// All of them, in every place, and others that look like them.
TEST(Schema, the_reader_takes_the_keys_that_are_in_it_and_no_others) {
  const auto maps = maps_of(Json::parse(schema_text()));
  std::set<std::string> keys{"data", "include", "proxy", "zzz"};
  for (const auto& [name, map] : maps) {
    for (const auto& [key, property] : map["properties"].items()) {
      keys.insert({key, key + "s", key.substr(1), "x" + key});
    }
  }
  keys.erase("");
  ASSERT_GT(keys.size(), 250u);
  for (const auto& [name, map] : maps) {
    ASSERT_TRUE(places().contains(name)) << name << " is new: say where it stands";
    for (const std::string& key : keys) {
      const std::string yaml = file_with(name, key, "~");
      const auto answer = told(yaml);
      const bool refused =
          any_has(answer, "unknown key '" + key + "'") || any_has(answer, "is not available in this version yet");
      EXPECT_EQ(!refused, map["properties"].contains(key)) << yaml << "\n" << all(answer);
    }
  }
  EXPECT_EQ(maps.size(), places().size());
}

// Nothing can hold this but what holds anything.
TEST(Schema, each_key_that_is_in_it_is_read) {
  for (const auto& [name, map] : maps_of(Json::parse(schema_text()))) {
    for (const auto& [key, property] : map["properties"].items()) {
      if (key == "include") continue;  // is read before the rest, and gone then
      const std::string yaml = file_with(name, key, "[[[]]]");
      const bool holds_anything = property.size() == 1;  // only explained
      EXPECT_NE(any_has(told(yaml), "'" + key + "'"), holds_anything) << yaml << "\n" << all(told(yaml));
    }
  }
}

// Values of all kinds under all keys. What the reader takes the schema takes too, so that editors mark nothing that is
// right; and the other way round but for what only the reader can know.
TEST(Schema, both_judge_values_alike) {
  const Json schema = Json::parse(schema_text());
  const Validator validator(schema);
  const std::vector<std::string> values{
      "1",
      "0",
      "-1",
      "1.2",
      "1.5",
      "99",
      "200",
      "5000000",
      "true",
      "false",
      "~",
      "abc",
      "''",
      "'10'",
      "'true'",
      "10s",
      "0s",
      ".5s",
      "1.5.5s",
      "1h30m",
      "250µs",
      "5",
      "10 s",
      "1s..2s",
      "0..1s",
      "1s..",
      "64KiB",
      "5 MB",
      "1TB",
      "500/s",
      "30 / m",
      "10/250ms",
      "x/s",
      "[]",
      "[1]",
      "[abc]",
      "[200, abc]",
      "[[1]]",
      "[{}]",
      "{}",
      "{a: 1}",
      "{a: ~}",
      "{a: [1]}",
      "{a: {}}",
      "[10s]",
      "{a: {b: c}}",
      "all",
      "kill",
      "ramping-vus",
      "auto",
      "continue",
      "pass",
      "{get: /}",
      "{set: {a: b}}",
      "{max: 2}",
      "{verify: true}",
      "{basic: {user: a, password: b}}",
      "{bearer: x}",
      "{times: 1}",
      "{file: x}",
      "{lt: 1s}",
      "{equals: 1}",
      "{exists: true}",
      "{x: {json: $.a}}",
      "{normal: {mean: 1s, stddev: 1s}}",
      "[{duration: 1s, target: 1}]",
  };
  // What depends on the executor, on the world, or on other rules than those of kinds and ranges.
  const std::set<std::pair<std::string, std::string>> for_the_reader{
      {"", "env"},          {"", "include"},     {"workflow", "duration"}, {"workflow", "executor"},
      {"workflow", "rate"}, {"workflow", "vus"}, {"data", "delimiter"},    {"stage", "duration"},
      {"stage", "target"},  {"http", "method"},  {"extraction", "body"},   {"extraction", "status"},
      {"extraction", "url"}};
  std::size_t taken = 0;
  for (const auto& [name, map] : maps_of(schema)) {
    for (const auto& [key, property] : map["properties"].items()) {
      if (key == "include") continue;  // is read before the rest, and gone then
      const auto without = told(file_with(name, what_else_for(name, key)));
      for (const std::string& value : values) {
        const std::string yaml = file_with(name, key, value);
        const auto answer = told(yaml);
        const bool refused = std::any_of(answer.begin(), answer.end(), [&](const std::string& one) {
          const bool is_new = std::find(without.begin(), without.end(), one) == without.end();
          return is_new && one.find("has no effect") == std::string::npos;
        });
        Diagnostics none("x");
        const Json json = json_of(parse_yaml("v: " + value, none)->items.at(0));
        const bool valid = validator.takes(property, json);
        taken += valid;
        EXPECT_TRUE(refused || valid) << "the schema refuses " << yaml;
        if (for_the_reader.contains({name, key}) || value.starts_with('\'')) continue;
        EXPECT_TRUE(!refused || !valid) << "the schema takes " << yaml << "\n" << all(answer);
      }
    }
  }
  EXPECT_GT(taken, 1'000u);
}

// A workflow with this executor and these keys.
std::string executed(const Kind& kind, const std::map<std::string, std::string>& keys) {
  std::string text = "executor: " + std::string(kind.name);
  for (const auto& [key, value] : keys) text += ", " + key + ": " + value;
  return file_with("workflow", text);
}

// Each key that only some executors have, with each executor that a file can name.
TEST(Schema, both_know_which_keys_an_executor_has) {
  const Json schema = Json::parse(schema_text());
  const Validator validator(schema);
  const auto takes = [&](const std::string& yaml) {
    Diagnostics none("x");
    return validator.takes(schema, json_of(*parse_yaml(yaml, none)));
  };
  const std::map<std::string, std::string> right{{"vus", "1"},
                                                 {"duration", "1s"},
                                                 {"rate", "1/s"},
                                                 {"time_unit", "1s"},
                                                 {"timeUnit", "1s"},
                                                 {"pacing", "1s"},
                                                 {"max_wait", "1s"},
                                                 {"rebalance", "true"},
                                                 {"max_vus", "5"},
                                                 {"maxVUs", "5"},
                                                 {"start_vus", "1"},
                                                 {"startVUs", "1"},
                                                 {"start_rate", "1/s"},
                                                 {"startRate", "1/s"},
                                                 {"iterations", "9"},
                                                 {"max_duration", "1s"},
                                                 {"maxDuration", "1s"},
                                                 {"graceful_ramp_down", "1s"},
                                                 {"stages", "[{duration: 1s, target: 1}]"},
                                                 {"preAllocatedVUs", "1"},
                                                 {"gracefulRampDown", "1s"}};
  for (const Kind& kind : maps::kWorkflow.kinds) {
    for (const std::string_view key : kind.keys) EXPECT_TRUE(right.contains(std::string(key))) << key;
    std::map<std::string, std::string> needed;
    for (const std::string_view key : kind.required) needed[std::string(key)] = right.at(std::string(key));
    for (const auto& one : right) {
      auto keys = needed;
      keys.insert(one);
      const std::string yaml = executed(kind, keys);
      const bool refused = any_has(told(yaml), "'" + one.first + "' in workflow 'w' has no effect");
      EXPECT_EQ(!refused, takes(yaml)) << yaml << "\n" << all(told(yaml));
    }
    for (const auto& one : needed) {
      auto keys = needed;
      keys.erase(one.first);
      const std::string yaml = executed(kind, keys);
      EXPECT_TRUE(any_has(told(yaml), "'" + one.first + "' is missing in workflow 'w'")) << yaml;
      EXPECT_FALSE(takes(yaml)) << yaml;
    }
  }
}

}  // namespace
}  // namespace bellwether::scenario
