#include "load/scenario/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "load/scenario/keys.h"
#include "load/scenario/statuses.h"

namespace bellwether::scenario {
namespace {

using Json = nlohmann::ordered_json;

// As core/base/units.h reads them; or the text mentions a constant, whose value shows when the file is read.
constexpr const char* kMention = R"(\$\{)";
constexpr const char* kDurationText = R"(((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h|d))+)";
constexpr const char* kSizeText = R"((\d+\.?\d*|\.\d+)\s*([KMG]i?B|kB|B)?)";
constexpr const char* kRateText = R"(\s*(\d+\.?\d*|\.\d+)\s*(/\s*[0-9a-zµ.]+\s*)?)";

std::string either(const std::string& text) { return fmt::format("^({})$|{}", text, kMention); }
Json text_like(const std::string& text) { return {{"type", "string"}, {"pattern", either(text)}}; }
Json reference(std::string_view name) { return {{"$ref", "#/definitions/" + std::string(name)}}; }

class Writer {
 public:
  std::string write() {
    Json out{{"$schema", "http://json-schema.org/draft-07/schema#"},
             {"title", "Bellwether scenario"},
             {"description", "What virtual users do for how long, and what must hold for the run to pass."}};
    out.update(object(maps::kScenario));
    // Maps are defined as they are met.
    while (next_ < met_.size()) {
      const Map& map = *met_[next_++];
      definitions_[std::string(map.name)] = object(map);
    }
    definitions_["text"] = {{"type", {"string", "number", "boolean"}}};
    definitions_["scalar"] = {{"type", {"string", "number", "boolean", "null"}}};
    definitions_["mention"] = {{"type", "string"}, {"pattern", kMention}};
    definitions_["truth"] = {{"anyOf", {{{"type", "boolean"}}, text_like("true|false")}}};
    definitions_["duration"] = {{"anyOf", {{{"const", 0}}, text_like(std::string("0|") + kDurationText)}}};
    definitions_["some_duration"] = {{"allOf",
                                      {reference("duration"),
                                       {{"not", {{"const", 0}}}},
                                       {{"not", {{"type", "string"}, {"pattern", "^(0|([0.]+[a-zµ]+)+)$"}}}}}}};
    definitions_["span"] = {{"anyOf",
                             {{{"const", 0}},
                              text_like("0|" + std::string(kDurationText) + "|(0|" + kDurationText + R"()\.\.(0|)" +
                                        kDurationText + ")")}}};
    definitions_["size"] = {{"anyOf", {{{"type", "number"}, {"minimum", 0}}, text_like(kSizeText)}}};
    definitions_["rate"] = {{"anyOf", {{{"type", "number"}, {"minimum", 0}}, text_like(kRateText)}}};
    definitions_["statuses"] = {
        {"anyOf", {whole({kMinStatus, kMaxStatus}), text_like(R"([1-9][xX]{2}|[1-9]\d{2}-[1-9]\d{2})")}}};
    out["definitions"] = std::move(definitions_);
    return out.dump(1) + "\n";
  }

 private:
  Json object(const Map& map) {
    Json out{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    for (const Key& key : map.keys) {
      out["properties"][std::string(key.name)] = described(key, std::string(key.text) + ".");
      if (!key.alias.empty()) {
        out["properties"][std::string(key.alias)] =
            described(key, fmt::format("{} (k6's name of {}).", key.text, key.name));
      }
      if (!key.alias.empty()) {
        out["allOf"].push_back({{"not", {{"required", Json::array({key.name, key.alias})}}}});
      }
      if (key.required) out["required"].push_back(key.name);
      if (!key.with.empty()) out["dependencies"][std::string(key.name)] = Json::array({key.with});
    }
    if (map.not_empty) out["minProperties"] = 1;
    for (const Kind& kind : map.kinds) out["allOf"].push_back(rules_of(map, kind));
    for (const std::string_view one : map.exactly_one) {
      out["oneOf"].push_back({{"required", Json::array({one})}});
    }
    if (!map.suffices.empty()) {
      const Json any_of_them = out["oneOf"];
      out["oneOf"].push_back({{"required", Json::array({map.suffices})}, {"not", {{"anyOf", any_of_them}}}});
    }
    return out;
  }

  // The keys that a map of this kind needs, and the exclusion of those of other kinds.
  static Json rules_of(const Map& map, const Kind& kind) {
    const auto has = [](Names names, std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    Json others = Json::object();
    for (const Key& key : map.keys) {
      const bool is_of_kinds =
          std::any_of(map.kinds.begin(), map.kinds.end(), [&](const Kind& one) { return has(one.keys, key.name); });
      if (!is_of_kinds || has(kind.keys, key.name)) continue;
      others[std::string(key.name)] = false;
      if (!key.alias.empty()) others[std::string(key.alias)] = false;
    }
    const std::string of(map.kind_key);
    Json then{{"properties", std::move(others)}};
    for (const std::string_view key : kind.required) then["required"].push_back(key);
    return {{"if", {{"required", Json::array({of})}, {"properties", {{of, {{"const", kind.name}}}}}}},
            {"then", std::move(then)}};
  }

  // Editors do not show text beside a bare reference.
  Json described(const Key& key, const std::string& text) {
    Json out{{"description", text}};
    Json held = any(key.values);
    if (held.contains("$ref")) {
      out["allOf"] = Json::array({std::move(held)});
    } else {
      out.update(held);
    }
    return out;
  }

  Json any(Values values) {
    if (values.size() == 1) return one(values.front());
    Json out;
    for (const Value& value : values) out["anyOf"].push_back(one(value));
    return out;
  }

  Json one(const Value& value) {
    switch (value.form) {
      case Form::kText: return reference("text");
      case Form::kScalar: return reference("scalar");
      case Form::kJson: return Json::object();
      case Form::kWhole: return whole(value.range);
      case Form::kNumber:
        return {{"anyOf",
                 {{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", value.range.high}},
                  text_like(R"([0-9.eE+-]+)")}}};
      case Form::kNothing: return {{"type", "null"}};
      case Form::kDuration: return reference(value.range.low > 0 ? "some_duration" : "duration");
      case Form::kSpan: return reference("span");
      case Form::kSize: return reference("size");
      case Form::kRate: return reference("rate");
      case Form::kStatuses: return reference("statuses");
      case Form::kBool: return reference("truth");
      case Form::kChoice: {
        Json choices{{"enum", Json::array()}};
        for (const std::string_view choice : value.choices) {
          choices["enum"].push_back(choice);
          const Json read = Json::parse(choice, nullptr, false);
          if (read.is_number()) choices["enum"].push_back(read);  // as YAML reads it without quotes
        }
        return {{"anyOf", {choices, reference("mention")}}};
      }
      case Form::kMap: meet(*value.map); return reference(value.map->name);
      case Form::kNamed: return counted(named(value), value.range, "minProperties", "maxProperties");
      case Form::kList:
        return counted({{"type", "array"}, {"items", any(value.elements)}}, value.range, "minItems", "maxItems");
    }
    return Json::object();
  }

  Json named(const Value& value) {
    Json out{{"type", "object"}};
    if (!value.names.empty()) out["propertyNames"] = {{"pattern", fmt::format("^{}$", value.names)}};
    out["additionalProperties"] = any(value.elements);
    return out;
  }

  static Json whole(Range range) {
    Json number{{"type", "integer"}, {"minimum", range.low}};
    if (range.high != UINT64_MAX) number["maximum"] = range.high;
    return {{"anyOf", {number, text_like(R"(\d+)")}}};
  }

  static Json counted(Json of, Range range, const char* least, const char* most) {
    if (range.low > 0) of[least] = range.low;
    if (range.high != UINT64_MAX) of[most] = range.high;
    return of;
  }

  void meet(const Map& map) {
    if (std::find(met_.begin(), met_.end(), &map) == met_.end()) met_.push_back(&map);
  }

  std::vector<const Map*> met_;
  std::size_t next_ = 0;
  Json definitions_ = Json::object();
};

}  // namespace

std::string schema_text() { return Writer().write(); }

}  // namespace bellwether::scenario
