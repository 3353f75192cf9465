// What a policy sheet promises, set against what its values can keep. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/base/time.h"
#include "election/budget.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

struct LoopBudget {
  election::BudgetInput input;
  election::FailoverBudget budget;
  Duration stale_worst;           // between two ticks, over a crash
  std::optional<bool> slo_holds;  // nothing: the sheet promises nothing
  std::optional<bool> stale_holds;
  std::optional<election::Suggestion> suggestion;  // when something does not hold, and other values could

  bool holds() const { return slo_holds.value_or(true) && stale_holds.value_or(true); }
};

// `operation`: of the store, 99 of 100 times. `default_store`: the URL where the sheet names none; may be empty.
LoopBudget budget_of_loop(const LoopPolicy& loop, Duration operation, const std::string& default_store);

}  // namespace bellwether::lead
