// The published schema is what the code says, and what the reader of files takes. After a change of the table of keys,
// run with BW_UPDATE_GOLDEN=1 to write the file anew, and read the difference.
#include "scenario/schema.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "scenario/keys.h"
#include "scenario/parse.h"

namespace bellwether::scenario {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "docs/formats/scenario.schema.json";

class NoOutside final : public Outside {
 public:
  std::optional<std::string> env(const std::string& /*name*/) const override { return std::nullopt; }
  Result<std::string> read_file(const std::string& /*path*/, uint64_t /*bytes_max*/) const override {
    return fail(Errc::kNotFound, "no such file");
  }
};

// All that the reader says of the shape of a file.
std::string told(const std::string& yaml) {
  Diagnostics diagnostics("x.yaml");
  const NoOutside outside;
  Sources sources;
  sources.outside = &outside;
  const Environment environment = Environment::resolve(nullptr, sources, diagnostics);
  Reading reading{diagnostics, environment};
  if (const auto root = parse_yaml(yaml, diagnostics)) parse_scenario(*root, "x", reading);
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.take()) out += format(diagnostic) + "\n";
  return out;
}

std::string workflow(const std::string& more, const std::string& step = "http: {get: /}") {
  return "workflows: {w: {" + more + ", steps: {a: {" + step + "}}}}";
}
std::string step(const std::string& text) { return workflow("vus: 1, duration: 1s", text); }

// A file for each map of the schema; @ stands where a key of that map can.
const std::map<std::string, std::string> kPlaces{
    {"", "{@, workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: /}}}}}}"},
    {"defaults", "{defaults: {@}}"},
    {"http_defaults", "{defaults: {http: {@}}}"},
    {"threshold", "{thresholds: {checks: {@}}}"},
    {"workflow", workflow("@")},
    {"stage", workflow("executor: ramping-vus, stages: [{@}]")},
    {"users", workflow("rate: 1/s, duration: 1s, vus: {@}")},
    {"provide", workflow("vus: 1, duration: 1s, provide: {x: {y: {@}}}")},
    {"delay", step("http: {get: /}, think: {@}")},
    {"uniform", step("http: {get: /}, think: {uniform: {@}}")},
    {"normal", step("http: {get: /}, think: {normal: {@}}")},
    {"exponential", step("http: {get: /}, think: {exponential: {@}}")},
    {"lognormal", step("http: {get: /}, think: {lognormal: {@}}")},
    {"step", step("@")},
    {"action", step("action: {@}")},
    {"http", step("http: {@}")},
    {"tls", step("http: {get: /, tls: {@}}")},
    {"auth", step("http: {get: /, auth: {@}}")},
    {"basic", step("http: {get: /, auth: {basic: {@}}}")},
    {"digest", step("http: {get: /, auth: {digest: {@}}}")},
    {"retries", step("http: {get: /, retries: {@}}")},
    {"file_body", step("http: {get: /, body: {@}}")},
    {"check", step("http: {get: /}, check: {@}")},
    {"status_check", step("http: {get: /}, check: {status: {@}}")},
    {"body_check", step("http: {get: /}, check: {body: {@}}")},
    {"size_check", step("http: {get: /}, check: {size: {@}}")},
    {"duration_check", step("http: {get: /}, check: {duration: {@}}")},
    {"json_check", step("http: {get: /}, check: {json: {$.a: {@}}}")},
    {"header_check", step("http: {get: /}, check: {header: {A: {@}}}")},
    {"extraction", step("http: {get: /}, extract: {x: {@}}")},
};

// By name; that of the whole file has none.
std::map<std::string, Json> maps_of(const Json& schema) {
  std::map<std::string, Json> out{{"", schema}};
  for (const auto& [name, definition] : schema["definitions"].items()) {
    if (definition.contains("properties")) out[name] = definition;
  }
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
    const auto place = kPlaces.find(name);
    ASSERT_NE(place, kPlaces.end()) << name << " is new: say where it stands";
    const std::size_t at = place->second.find('@');
    for (const std::string& key : keys) {
      std::string yaml = place->second;
      yaml.replace(at, 1, "\"" + key + "\": ~");
      const std::string answer = told(yaml);
      const bool unknown = answer.find("unknown key '" + key + "'") != std::string::npos;
      const bool later = answer.find("is not available in this version yet") != std::string::npos;
      EXPECT_EQ(!unknown && !later, map["properties"].contains(key)) << yaml << "\n" << answer;
    }
  }
  EXPECT_EQ(maps.size(), kPlaces.size());
}

}  // namespace
}  // namespace bellwether::scenario
