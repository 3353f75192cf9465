// The reader of scenario files and their schema, side by side: where each map of the schema stands in a file, what the
// reader says of a file, and whether a value is one that the schema takes.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <re2/re2.h>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "load/scenario/keys.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {

class NoOutside final : public Outside {
 public:
  std::optional<std::string> env(const std::string& /*name*/) const override { return std::nullopt; }
  Result<std::string> read_file(const std::string& /*path*/, uint64_t /*bytes_max*/) const override {
    return fail(Errc::kNotFound, "no such file");
  }
};

// The messages about the shape of a file.
inline std::vector<std::string> told(const std::string& yaml) {
  Diagnostics diagnostics("x.yaml");
  const NoOutside outside;
  Sources sources;
  sources.outside = &outside;
  if (const auto root = parse_yaml(yaml, diagnostics)) {
    const auto env =
        std::find_if(root->items.begin(), root->items.end(), [](const Node& one) { return one.key == "env"; });
    const Environment environment =
        Environment::resolve(env == root->items.end() ? nullptr : &*env, sources, diagnostics);
    Reading reading{diagnostics, environment};
    parse_scenario(*root, "x", reading);
  }
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : diagnostics.take()) {
    const std::string text = format(diagnostic);
    out.push_back(text.substr(text.find(": ") + 2));  // without its place
  }
  return out;
}

inline std::string workflow(const std::string& more, const std::string& step = "http: {get: /}") {
  return "workflows: {w: {steps: {a: {" + step + "}}, " + more + "}}";
}
inline std::string step(const std::string& text) { return workflow("vus: 1, duration: 1s", text); }

// A file for each map of the schema, by its name there, which is empty for the whole file; @ stands where a key can.
inline const std::map<std::string, std::string>& places() {
  static const std::map<std::string, std::string> kPlaces{
      {"", "{workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: /}}}}}, @}"},
      {"data", "{data: {d: {@}}}"},
      {"defaults", "{defaults: {@}}"},
      {"http_defaults", "{defaults: {http: {@}}}"},
      {"metric", "{metrics: {m: {@}}}"},
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
      {"code", step("lua: {@}")},
      {"http", step("http: {@}")},
      {"tls", step("http: {get: /, tls: {@}}")},
      {"auth", step("http: {get: /, auth: {@}}")},
      {"basic", step("http: {get: /, auth: {basic: {@}}}")},
      {"digest", step("http: {get: /, auth: {digest: {@}}}")},
      {"oauth2", step("http: {get: /, auth: {oauth2: {@}}}")},
      {"retries", step("http: {get: /, retries: {@}}")},
      {"file_body", step("http: {get: /, body: {@}}")},
      {"form_part", step("http: {post: /, multipart: {x: {@}}}")},
      {"check", step("http: {get: /}, check: {@}")},
      {"status_check", step("http: {get: /}, check: {status: {@}}")},
      {"body_check", step("http: {get: /}, check: {body: {@}}")},
      {"size_check", step("http: {get: /}, check: {size: {@}}")},
      {"duration_check", step("http: {get: /}, check: {duration: {@}}")},
      {"json_check", step("http: {get: /}, check: {json: {$.a: {@}}}")},
      {"header_check", step("http: {get: /}, check: {header: {A: {@}}}")},
      {"css_check", step("http: {get: /}, check: {css: {a: {@}}}")},
      {"xpath_check", step("http: {get: /}, check: {xpath: {//a: {@}}}")},
      {"condition", step("if: {'${a}': {@}}, http: {get: /}")},
      {"count_check", step("http: {get: /}, check: {css: {a: {count: {@}}}}")},
      {"extraction", step("http: {get: /}, extract: {x: {@}}")},
  };
  return kPlaces;
}

// What else a file needs for what a key holds to be read, or to be judged for itself.
inline std::string what_else_for(const std::string& place, const std::string& key) {
  static const std::string kStages = "stages: [{duration: 1s, target: 1}]";
  static const std::map<std::pair<std::string, std::string>, std::string> kBeside{
      {{"workflow", "vus"}, "duration: 1s"},
      {{"workflow", "duration"}, "vus: 1"},
      {{"workflow", "executor"}, "vus: 1, duration: 1s"},
      {{"workflow", "pacing"}, "vus: 1, duration: 1s"},
      {{"workflow", "rate"}, "vus: 1, duration: 1s"},
      {{"workflow", "time_unit"}, "rate: 1, vus: 1, duration: 1s"},
      {{"workflow", "timeUnit"}, "rate: 1, vus: 1, duration: 1s"},
      {{"workflow", "max_wait"}, "rate: 1/s, vus: 1, duration: 1s"},
      {{"workflow", "rebalance"}, "rate: 1/s, vus: 1, duration: 1s"},
      {{"workflow", "preAllocatedVUs"}, "rate: 1/s, duration: 1s"},
      {{"workflow", "max_vus"}, "rate: 1/s, preAllocatedVUs: 1, duration: 1s"},
      {{"workflow", "maxVUs"}, "rate: 1/s, preAllocatedVUs: 1, duration: 1s"},
      {{"workflow", "stages"}, "executor: ramping-vus"},
      {{"workflow", "start_vus"}, kStages},
      {{"workflow", "startVUs"}, kStages},
      {{"workflow", "graceful_ramp_down"}, kStages},
      {{"workflow", "gracefulRampDown"}, kStages},
      {{"workflow", "start_rate"}, "vus: 1, " + kStages},
      {{"workflow", "startRate"}, "vus: 1, " + kStages},
      {{"workflow", "max_duration"}, "iterations: 1"},
      {{"workflow", "maxDuration"}, "iterations: 1"},
      {{"metric", "unit"}, "kind: trend"},
      {{"oauth2", "token_url"}, "client_id: x, client_secret: x"},
      {{"oauth2", "client_id"}, "token_url: x, client_secret: x"},
      {{"oauth2", "client_secret"}, "token_url: x, client_id: x"},
      {{"oauth2", "scope"}, "token_url: x, client_id: x, client_secret: x"},
      {{"oauth2", "audience"}, "token_url: x, client_id: x, client_secret: x"},
      {{"oauth2", "auth_style"}, "token_url: x, client_id: x, client_secret: x"},
      {{"tls", "certificate"}, "key: x"},
      {{"tls", "key"}, "certificate: x"},
      {{"file_body", "pick"}, "glob: x"},
      {{"form_part", "filename"}, "text: x"},
      {{"form_part", "type"}, "text: x"},
      {{"form_part", "template"}, "file: x"},
      {{"data", "pick"}, "csv: x"},
      {{"data", "wrap"}, "csv: x, pick: unique-per-vu"},
      {{"data", "delimiter"}, "csv: x"},
      {{"data", "at_end"}, "csv: x"},
      {{"css_check", "attribute"}, "exists: true"},
      {{"code", "file"}, "call: x"},
      {{"code", "call"}, "file: x"},
      {{"code", "args"}, "file: x, call: x"},
      {{"code", "sets"}, "file: x, call: x"},
      {{"code", "checks"}, "file: x, call: x"},
      {{"stage", "duration"}, "target: 1"},
      {{"stage", "target"}, "duration: 1s"},
      {{"http", "method"}, "url: /"},
      {{"http", "url"}, "method: GET"},
      {{"retries", "on"}, "times: 1"},
      {{"extraction", "group"}, "regex: a"},
      {{"extraction", "attribute"}, "css: a"},
      {{"extraction", "pick"}, "json: $..a"},
      {{"lognormal", "median"}, "sigma: 1"},
      {{"lognormal", "sigma"}, "median: 1s"},
  };
  const auto found = kBeside.find({place, key});
  return found == kBeside.end() ? std::string() : found->second;
}

// The file of that place with this text there.
inline std::string file_with(const std::string& place, const std::string& text) {
  std::string yaml = places().at(place);
  return yaml.replace(yaml.find('@'), 1, text);
}
inline std::string file_with(const std::string& place, const std::string& key, const std::string& value) {
  const std::string more = what_else_for(place, key);
  return file_with(place, "\"" + key + "\": " + value + (more.empty() ? "" : ", ") + more);
}

using Json = nlohmann::json;

// By name; that of the whole file has none.
inline std::map<std::string, Json> maps_of(const Json& schema) {
  std::map<std::string, Json> out{{"", schema}};
  for (const auto& [name, definition] : schema["definitions"].items()) {
    if (definition.contains("properties")) out[name] = definition;
  }
  return out;
}

// What a YAML 1.2 reader makes of it.
inline Json json_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return nullptr;
    case Node::Kind::kList: {
      Json out = Json::array();
      for (const Node& item : node.items) out.push_back(json_of(item));
      return out;
    }
    case Node::Kind::kMap: {
      Json out = Json::object();
      for (const Node& item : node.items) out[item.key] = json_of(item);
      return out;
    }
    case Node::Kind::kScalar: break;
  }
  if (node.is_quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  int64_t whole = 0;
  if (RE2::FullMatch(node.text, "([-+]?[0-9]+)", &whole)) return whole;
  if (const auto number = parse_double(node.text)) return *number;
  return node.text;
}

// Whether the value is what the schema says. Knows the words that schema_text() uses, and throws at others.
class Validator {
 public:
  explicit Validator(const Json& schema) : root_(schema) {}

  bool takes(const Json& schema, const Json& value) const {
    if (schema.is_boolean()) return schema.get<bool>();
    for (const auto& [word, rule] : schema.items()) {
      if (!follows(word, rule, schema, value)) return false;
    }
    return true;
  }

 private:
  bool follows(const std::string& word, const Json& rule, const Json& schema, const Json& value) const {
    const auto takes_value = [&](const Json& one) { return takes(one, value); };
    if (word == "$ref") return takes(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value);
    if (word == "anyOf") return std::any_of(rule.begin(), rule.end(), takes_value);
    if (word == "allOf") return std::all_of(rule.begin(), rule.end(), takes_value);
    if (word == "oneOf") return std::count_if(rule.begin(), rule.end(), takes_value) == 1;
    if (word == "not") return !takes(rule, value);
    if (word == "if") return !takes(rule, value) || takes(schema["then"], value);
    if (word == "then") return true;
    if (word == "const") return value == rule;
    if (word == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (word == "type") return has_type(rule, value);
    if (word == "pattern") return !value.is_string() || matches(rule, value.get<std::string>());
    if (word == "minimum") return !value.is_number() || value.get<double>() >= rule.get<double>();
    if (word == "maximum") return !value.is_number() || value.get<double>() <= rule.get<double>();
    if (word == "exclusiveMinimum") return !value.is_number() || value.get<double>() > rule.get<double>();
    if (word == "minItems") return !value.is_array() || value.size() >= rule.get<std::size_t>();
    if (word == "maxItems") return !value.is_array() || value.size() <= rule.get<std::size_t>();
    if (word == "minProperties") return !value.is_object() || value.size() >= rule.get<std::size_t>();
    if (word == "maxProperties") return !value.is_object() || value.size() <= rule.get<std::size_t>();
    if (word == "items") {
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const Json& i) { return takes(rule, i); });
    }
    if (word == "description" || word == "$schema" || word == "title" || word == "definitions") return true;
    return !value.is_object() || object_follows(word, rule, schema, value);
  }

  bool object_follows(const std::string& word, const Json& rule, const Json& schema, const Json& value) const {
    if (word == "required") {
      return std::all_of(rule.begin(), rule.end(), [&](const Json& key) { return value.contains(key); });
    }
    for (const auto& [key, item] : value.items()) {
      if (word == "properties") {
        if (rule.contains(key) && !takes(rule[key], item)) return false;
      } else if (word == "additionalProperties") {
        const bool is_named = schema.contains("properties") && schema["properties"].contains(key);
        if (!is_named && (rule.is_boolean() ? !rule.get<bool>() : !takes(rule, item))) return false;
      } else if (word == "propertyNames") {
        if (!takes(rule, key)) return false;
      } else if (word == "dependencies") {
        if (!rule.contains(key)) continue;
        for (const Json& other : rule[key]) {
          if (!value.contains(other)) return false;
        }
      } else {
        throw std::runtime_error("the schema has a word that the test does not know: " + word);
      }
    }
    return true;
  }

  static bool has_type(const Json& rule, const Json& value) {
    if (rule.is_array()) {
      return std::any_of(rule.begin(), rule.end(), [&](const Json& one) { return has_type(one, value); });
    }
    if (rule == "integer") return value.is_number_integer();
    return std::string(value.type_name()) == rule.get<std::string>();
  }

  static bool matches(const Json& rule, const std::string& text) {
    return RE2::PartialMatch(text, rule.get<std::string>());
  }

  const Json& root_;
};

}  // namespace bellwether::scenario
