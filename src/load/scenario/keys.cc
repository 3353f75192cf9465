#include "load/scenario/keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "load/scenario/key_values.h"
#include "load/scenario/statuses.h"

namespace bellwether::scenario {

const Key* find_key(const Map& map, std::string_view name) {
  for (const Key& key : map.keys) {
    if (key.name == name || (!key.alias.empty() && key.alias == name)) return &key;
  }
  return nullptr;
}

const Value* find_value(const Key& key, Form form) {
  for (const Value& value : key.values) {
    if (value.form == form) return &value;
  }
  return nullptr;
}

namespace maps {
namespace {

using namespace holds;

// --- pauses ----------------------------------------------------------------------------------------------------------

constexpr Key kUniformKeys[] = {
    required({"min", "The shortest pause", kDuration}),
    required({"max", "The longest pause", kDuration}),
};
constexpr Key kNormalKeys[] = {
    required({"mean", "Around which pauses are drawn", kDuration}),
    required({"stddev", "The standard deviation", kDuration}),
    {"min", "Shorter ones count as this; 0 without it", kDuration},
    {"max", "Longer ones count as this", kDuration},
};
constexpr Key kExponentialKeys[] = {
    required({"mean", "The mean of the pauses", kSomeDuration}),
    {"max", "Longer ones count as this", kDuration},
};
constexpr Value kSigma[] = {{.form = Form::kNumber, .range = {.high = kMaxSigma}}};
constexpr Key kLognormalKeys[] = {
    required({"median", "Half of the pauses are shorter", kSomeDuration}),
    required({"sigma", "The standard deviation of the natural logarithm, up to 10", kSigma}),
    {"max", "Longer ones count as this", kDuration},
};
// In the order of Delay::Law.
constexpr Key kDelayKeys[] = {
    {"uniform", "Anything between two durations, all of it equally likely", kMapOf<kUniform>},
    {"normal", "Around a mean (normal distribution)", kMapOf<kNormal>},
    {"exponential", "Often short, now and then long", kMapOf<kExponential>},
    {"lognormal", "Around a median, with a long tail", kMapOf<kLognormal>},
};
constexpr std::string_view kLaws[] = {"uniform", "normal", "exponential", "lognormal"};

// --- workflows -------------------------------------------------------------------------------------------------------

constexpr std::string_view kExecutors[] = {"constant-vus",         "ramping-vus",           "shared-iterations",
                                           "per-vu-iterations",    "constant-arrival-rate", "ramping-arrival-rate",
                                           "externally-controlled"};
constexpr std::string_view kOfConstantVus[] = {"vus", "duration", "pacing"};
constexpr std::string_view kOfRampingVus[] = {"start_vus", "stages", "graceful_ramp_down", "pacing"};
constexpr std::string_view kOfIterations[] = {"vus", "iterations", "max_duration"};
constexpr std::string_view kOfConstantRate[] = {"rate",    "time_unit", "duration", "vus", "preAllocatedVUs",
                                                "max_vus", "max_wait",  "rebalance"};
constexpr std::string_view kOfRampingRate[] = {"start_rate",      "stages",  "time_unit", "vus",
                                               "preAllocatedVUs", "max_vus", "max_wait",  "rebalance"};
constexpr std::string_view kOfExternal[] = {"vus", "max_vus", "duration", "graceful_ramp_down", "pacing"};
constexpr std::string_view kVusAndDuration[] = {"vus", "duration"};
constexpr std::string_view kRateAndDuration[] = {"rate", "duration"};
constexpr std::string_view kStagesAlone[] = {"stages"};
constexpr Kind kExecutorKinds[] = {
    {kExecutors[0], kOfConstantVus, kVusAndDuration},
    {kExecutors[1], kOfRampingVus, kStagesAlone},
    {kExecutors[2], kOfIterations, {}},
    {kExecutors[3], kOfIterations, {}},
    {kExecutors[4], kOfConstantRate, kRateAndDuration},
    {kExecutors[5], kOfRampingRate, kStagesAlone},
    {kExecutors[6], kOfExternal, {}},
};
constexpr std::string_view kPriorities[] = {"auto", "low", "normal", "high", "exclusive"};
constexpr std::string_view kOnOvertimes[] = {"kill", "pause", "notify"};
constexpr std::string_view kCollects[] = {"one", "all"};

constexpr Value kVus[] = {{.form = Form::kWhole, .range = {0, kMaxVus}}, {.form = Form::kMap, .map = &kUsers}};
constexpr Value kOneVuOrMore[] = {{.form = Form::kWhole, .range = {1, kMaxVus}}};
constexpr Value kTarget[] = {{.form = Form::kWhole, .range = {0, kMaxVus}}, {.form = Form::kRate}};
constexpr Value kStages[] = {{.form = Form::kList, .range = {1, kMaxStages}, .elements = kMapOf<kStage>}};
constexpr Value kUsed[] = {{.form = Form::kText},
                           {.form = Form::kList, .elements = kText},
                           {.form = Form::kNamed, .elements = kText, .names = kValueNames}};
constexpr Value kUses[] = {{.form = Form::kNamed, .elements = kUsed}};
constexpr Value kProvided[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kProvide}};
constexpr Value kProvidedTo[] = {{.form = Form::kNamed, .elements = kProvided, .names = kValueNames}};
constexpr Value kProvides[] = {{.form = Form::kNamed, .elements = kProvidedTo}};

constexpr Key kUsersKeys[] = {
    {"preallocated", "Virtual users that are there from the beginning", kOneVuOrMore},
    {"max", "Virtual users that there may be", kOneVuOrMore},
};
constexpr Key kStageKeys[] = {
    required({"duration", "How long it takes; 0s: at once", kDuration}),
    required({"target", "What is reached at its end: users, or a rate", kTarget}),
};
constexpr Key kProvideKeys[] = {
    required({"value", "The value, a template such as ${login.token}", kText}),
    {"collect", "all: the list of the values of all virtual users; one: a single value", kChoiceOf<kCollects>},
};
constexpr Key kWorkflowKeys[] = {
    {"vus", "How many virtual users", kVus},
    {"duration", "How long it runs", kDuration},
    {"executor", "What decides when iterations begin", kChoiceOf<kExecutors>},
    {"rate", "How many iterations begin in a time: 500/s, 30/m", kRate},
    {"time_unit", "What a rate without a unit is counted in", kSomeDuration, "timeUnit"},
    required({"steps", "What a virtual user does in an iteration", kSteps}),
    {"start_time", "How long after the start of the run, or the end of what it depends on, it begins", kDuration,
     "startTime"},
    {"graceful_stop", "How long running iterations may take to end", kDuration, "gracefulStop"},
    {"pacing", "How long after the one before it an iteration starts, at the earliest", kPause},
    {"max_wait", "How long an arrival waits for a free virtual user before it is dropped", kDuration},
    {"rebalance", "Whether parts of it move to workers that come to the cluster while it runs", kBool},
    {"stages", "The course of users, or of the rate, as straight lines", kStages},
    {"max_vus", "How many virtual users there may be", kOneVuOrMore, "maxVUs"},
    {"start_vus", "Virtual users at its begin", kWholeIn<0, kMaxVus>, "startVUs"},
    {"start_rate", "The rate at its begin", kRate, "startRate"},
    {"iterations", "How many iterations, of all users or of each", kWholeIn<1, kMaxIterations>},
    {"max_duration", "How long its iterations may take altogether; what was not begun by then is dropped",
     kSomeDuration, "maxDuration"},
    {"graceful_ramp_down", "How long a user who is one too many may take to end its iteration", kDuration,
     "gracefulRampDown"},
    {"use", "Values of other workflows, which provide them for this one", kUses},
    {"depends", "Workflows that must have completed before it begins", kTexts},
    {"provide", "Values for other workflows, which use them", kProvides},
    {"priority", "How many cores it gets, beside others", kChoiceOf<kPriorities>},
    {"on_overtime", "What becomes of its load when that runs for longer than it may, on a cluster",
     kChoiceOf<kOnOvertimes>},
    {"keep_cookies", "Whether a user keeps its cookies from one iteration to the next", kBool},
    {"keep_connections", "Whether a user keeps its connections from one iteration to the next", kBool},
    {"tags", "Names and texts by which thresholds take its steps together", kTags},
    {"timeout", "How long it may take from when it may begin; then it is ended at once", kSomeDuration},
    {.name = "preAllocatedVUs",
     .text = "Virtual users that are there from the beginning (k6's name of vus: {preallocated: N})",
     .values = kOneVuOrMore,
     .unlisted = true},
};
constexpr std::string_view kWorkflowLater[] = {"data"};

// --- the whole file --------------------------------------------------------------------------------------------------

constexpr std::string_view kFormatKeys[] = {"csv", "json", "jsonl"};
constexpr std::string_view kPicks[] = {"sequential", "random", "unique-per-vu"};
constexpr Value kDatas[] = {
    {.form = Form::kNamed, .range = {0, kMaxFeeders}, .elements = kMapOf<kData>, .names = kValueNames}};
constexpr std::string_view kAtEnds[] = {"restart", "stop"};
constexpr Key kDataKeys[] = {
    {"csv", "A file of rows, with a line of names at its top (RFC 4180)", kText},
    {"json", "A file with an array of objects", kText},
    {"jsonl", "A file with an object in each line", kText},
    {"pick", "Which row an iteration takes", kChoiceOf<kPicks>},
    {"wrap", "With unique-per-vu: whether there may be more users than rows", kBool},
    {"at_end", "With sequential: whether the rows begin again, or the workflow ends", kChoiceOf<kAtEnds>},
    {"delimiter", "With 'csv': what stands between columns, one character or tab", kText},
};
constexpr std::string_view kOnLosses[] = {"inconclusive", "pass", "fail"};
constexpr Value kThresholdOf[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kThreshold}};
constexpr Value kThresholdsOf[] = {{.form = Form::kText},
                                   {.form = Form::kMap, .map = &kThreshold},
                                   {.form = Form::kList, .range = {1, kMaxThresholds}, .elements = kThresholdOf}};
constexpr Value kThresholds[] = {{.form = Form::kNamed, .range = {0, kMaxThresholds}, .elements = kThresholdsOf}};
constexpr Value kEnv[] = {{.form = Form::kNamed, .elements = kScalar, .names = kValueNames}, {.form = Form::kNothing}};
constexpr Value kWorkflows[] = {
    {.form = Form::kNamed, .range = {1, kMaxWorkflows}, .elements = kMapOf<kWorkflow>, .names = kStepNames}};

constexpr std::string_view kMetricKinds[] = {"counter", "gauge", "rate", "trend"};
constexpr Value kMetricOf[] = {{.form = Form::kChoice, .choices = kMetricKinds}, {.form = Form::kMap, .map = &kMetric}};
constexpr Value kMetrics[] = {
    {.form = Form::kNamed, .range = {0, kMaxMetrics}, .elements = kMetricOf, .names = kMetricNames}};

constexpr Key kMetricKeys[] = {
    required({"kind", "What is known of it: a sum, a last value, a ratio, or a spread", kChoiceOf<kMetricKinds>}),
    {"unit", "What its values are; with ms they are times", kText},
};
constexpr Key kThresholdKeys[] = {
    required({"threshold", "An expression such as p(95)<300", kText}),
    {"abort_on_fail", "Whether the run ends as soon as it fails", kBool, "abortOnFail"},
    {"delay_abort_eval", "How long after the start it ends the run at the earliest", kDuration, "delayAbortEval"},
};
constexpr Key kDefaultsKeys[] = {
    {"http", "Settings of every http step", kMapOf<kHttpDefaults>},
};
constexpr Key kScenarioKeys[] = {
    {"name", "Name of the run in reports; without it that of the file", kText},
    {"include", "Other files that say a part of it", kTexts},
    {"env", "Constants; --set and environment variables win over them", kEnv},
    {"data", "Files whose rows iterations take, by name", kDatas},
    {"metrics", "The scenario's own metrics, which its steps record", kMetrics},
    {"defaults", "Settings of all steps", kMapOf<kDefaults>},
    {"setup", "What comes before all workflows, once, and is not measured", kMapOf<kWorkflow>},
    required({"workflows", "What to run: groups of virtual users", kWorkflows}),
    {"teardown", "What comes after all workflows, once, and is not measured", kMapOf<kWorkflow>},
    {"thresholds", "What must hold for the run to pass, by metric", kThresholds},
    {"on_loss", "The verdict when part of the run was lost", kChoiceOf<kOnLosses>},
    {"timeout", "How long the run may take; then it is ended at once", kSomeDuration},
};
constexpr std::string_view kScenarioLater[] = {"tags", "report"};

}  // namespace

constinit const Map kUniform{.name = "uniform", .keys = kUniformKeys};
constinit const Map kNormal{.name = "normal", .keys = kNormalKeys};
constinit const Map kExponential{.name = "exponential", .keys = kExponentialKeys};
constinit const Map kLognormal{.name = "lognormal", .keys = kLognormalKeys};
constinit const Map kDelay{.name = "delay", .keys = kDelayKeys, .exactly_one = kLaws};
constinit const Map kUsers{.name = "users", .keys = kUsersKeys, .not_empty = true};
constinit const Map kStage{.name = "stage", .keys = kStageKeys};
constinit const Map kProvide{.name = "provide", .keys = kProvideKeys};
constinit const Map kWorkflow{.name = "workflow",
                              .keys = kWorkflowKeys,
                              .later = kWorkflowLater,
                              .kind_key = "executor",
                              .kinds = kExecutorKinds};
constinit const Map kData{.name = "data", .keys = kDataKeys, .exactly_one = kFormatKeys};
constinit const Map kMetric{.name = "metric", .keys = kMetricKeys};
constinit const Map kThreshold{.name = "threshold", .keys = kThresholdKeys};
constinit const Map kDefaults{.name = "defaults", .keys = kDefaultsKeys};
constinit const Map kScenario{.name = "scenario", .keys = kScenarioKeys, .later = kScenarioLater};

}  // namespace maps

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
      const bool is_of_kinds = std::ranges::any_of(map.kinds, [&](const Kind& one) { return has(one.keys, key.name); });
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
