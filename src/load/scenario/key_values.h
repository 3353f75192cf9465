// The values that keys hold, for the tables of keys (keys.cc, keys_step.cc).
#pragma once

#include "load/scenario/keys.h"
#include "load/scenario/model.h"

namespace bellwether::scenario::holds {

template <const Map& kMap>
inline constexpr Value kMapOf[] = {{.form = Form::kMap, .map = &kMap}};
template <const auto& kChoices>
inline constexpr Value kChoiceOf[] = {{.form = Form::kChoice, .choices = kChoices}};
template <uint64_t kLow, uint64_t kHigh>
inline constexpr Value kWholeIn[] = {{.form = Form::kWhole, .range = {kLow, kHigh}}};
inline constexpr Value kText[] = {{.form = Form::kText}};
inline constexpr Value kScalar[] = {{.form = Form::kScalar}};
inline constexpr Value kJson[] = {{.form = Form::kJson}};
inline constexpr Value kBool[] = {{.form = Form::kBool}};
inline constexpr Value kDuration[] = {{.form = Form::kDuration}};
inline constexpr Value kSomeDuration[] = {{.form = Form::kDuration, .range = {.low = 1}}};
inline constexpr Value kSize[] = {{.form = Form::kSize}};
inline constexpr Value kRate[] = {{.form = Form::kRate}};
inline constexpr Value kTexts[] = {{.form = Form::kText}, {.form = Form::kList, .elements = kText}};
inline constexpr Value kPairs[] = {{.form = Form::kNamed, .elements = kTexts}};
inline constexpr Value kPause[] = {{.form = Form::kSpan}, {.form = Form::kMap, .map = &maps::kDelay}};

// Names of workflows and steps, and of values.
inline constexpr std::string_view kStepNames = "[A-Za-z0-9_-]{1,100}";
inline constexpr std::string_view kValueNames = "[A-Za-z_][A-Za-z0-9_]*";
inline constexpr std::string_view kMetricNames = "[A-Za-z_][A-Za-z0-9_]{0,127}";
inline constexpr Value kTags[] = {
    {.form = Form::kNamed, .range = {0, kMaxTags}, .elements = kText, .names = kValueNames}};
inline constexpr Value kSteps[] = {
    {.form = Form::kNamed, .range = {1, kMaxSteps}, .elements = kMapOf<maps::kStep>, .names = kStepNames}};

constexpr Key required(Key key) {
  key.required = true;
  return key;
}
constexpr Key beside(std::string_view other, Key key) {
  key.with = other;
  return key;
}

}  // namespace bellwether::scenario::holds
