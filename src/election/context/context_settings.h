// All settings of context leadership: who is fit, and the times and limits within which it is led and handed over.
// docs/leadership/context.md says what each is for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "election/context/context_score.h"
#include "election/context/duty_settings.h"
#include "election/context/requirements.h"

namespace bellwether::context_lead {

// Those of the duties, and who is fit for them.
struct ContextSettings : DutySettings {
  double context_leadership_weight = 0.3;  // of fitness for context, in the score of who stands for admin

  ContextWeights weights;
  Requirements requirements;

  // Errors: kInvalid (outside of the limits, or times that do not fit together, with the arithmetic).
  Status validate() const;

  // The requirements that candidates are held to.
  Requirements requirements_in_force() const;
};

// The settings of one value each, for whoever reads or prints them by name.
struct ContextSetting {
  std::string_view name;  // as of the member
  std::variant<bool ContextSettings::*, uint64_t ContextSettings::*, double ContextSettings::*,
               Duration ContextSettings::*>
      member;
  double least = 0;  // seconds for a time; nothing for what is on or off
  double most = 1;
};
std::span<const ContextSetting> context_settings();

}  // namespace bellwether::context_lead
