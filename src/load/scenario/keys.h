// Every key of a scenario file, its place, and its values. One table serves the reader (section.h), which takes only
// its keys, and the JSON Schema, from which editors complete and explain.
//
// To add a key, add its row in keys.cc or keys_step.cc, and read it by its name in the function that has the Section;
// then write docs/formats/scenario.schema.json anew as keys_test.cc says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bellwether::scenario {

using Names = std::span<const std::string_view>;

struct Range {
  uint64_t low = 0;
  uint64_t high = UINT64_MAX;
  bool operator==(const Range&) const = default;
};

enum class Form : uint8_t {
  kText,      // a text; a number, true and false count as written
  kScalar,    // the same, or nothing
  kJson,      // anything
  kWhole,     // a whole number in `range`
  kNumber,    // a number above 0, up to the high end of `range`
  kNothing,   // the key alone
  kDuration,  // 250ms, 1h30m, 0; longer than 0 when `range` begins above it
  kSpan,      // a duration, or 200ms..1s
  kSize,      // 512, 64KiB
  kRate,      // 500/s, 30/m, 500
  kStatuses,  // of responses: 404, 3xx, 200-399
  kBool,      // true, false
  kChoice,    // one of `choices`
  kMap,       // a map with the keys of `map`
  kNamed,     // a map of names that the writer chooses; `range` of them, each with one of `elements`
  kList,      // `range` of `elements`
};

struct Map;

// One of the values that a key can hold. All scalars may mention constants.
struct Value {
  Form form = Form::kText;
  Range range = {};
  Names choices = {};
  const Map* map = nullptr;
  std::span<const Value> elements = {};
  std::string_view names = {};  // kNamed: a regular expression for the whole name; empty: any
};
using Values = std::span<const Value>;

struct Key {
  std::string_view name;
  std::string_view text;  // for people: a line without a full stop
  Values values;
  std::string_view alias = {};  // another name of it, that of k6
  bool required = false;
  bool unlisted = false;       // not offered in messages
  std::string_view with = {};  // another required key beside it
};

// One of the kinds of a map, named by one of its keys: its keys that not all kinds have.
struct Kind {
  std::string_view name;
  Names keys;
  Names required;
};

struct Map {
  std::string_view name;  // in the schema
  std::span<const Key> keys;
  Names later = {};                // belong to the format but not to this version, which an error says
  Names exactly_one = {};          // of these, one must be there
  std::string_view suffices = {};  // a key with which none of them is needed
  bool not_empty = false;
  std::string_view kind_key = {};  // the key that names the kind, if the map has kinds
  std::span<const Kind> kinds = {};
};

// The key of this name or alias; nullptr: none.
const Key* find_key(const Map& map, std::string_view name);
// The first of its values that has this form; nullptr: it has none.
const Value* find_value(const Key& key, Form form);

namespace maps {

extern const Map kScenario, kData, kMetric, kDefaults, kHttpDefaults, kThreshold;
extern const Map kWorkflow, kStage, kUsers, kProvide;
extern const Map kDelay, kUniform, kNormal, kExponential, kLognormal;
extern const Map kStep, kAction, kCode, kHttp, kTls, kAuth, kBasic, kDigest, kOAuth2, kRetries, kFileBody, kFormPart;
extern const Map kCheck, kStatusCheck, kBodyCheck, kSizeCheck, kJsonCheck, kHeaderCheck, kDurationCheck;
extern const Map kCssCheck, kXpathCheck, kCountCheck, kCondition;
extern const Map kExtraction;

}  // namespace maps

// The table of keys as JSON Schema, draft 7, for editors: docs/formats/scenario.schema.json.

// It takes every file that the reader takes. It refuses unknown keys, missing ones, values of the wrong kind, and keys
// that the executor named in the file does not have. Only the reader resolves names. Ends with a line break.
std::string schema_text();

}  // namespace bellwether::scenario
