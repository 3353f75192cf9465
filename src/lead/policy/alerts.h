// Prometheus alerts for the loops of a policy sheet, with limits from its own figures: the budget, not a guess, is the
// limit of a time without a holder. Pure.
#pragma once

#include <string>

#include "core/base/time.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

struct AlertSettings {
  Duration operation = Duration::millis(50);  // of the store, p99, that the budget counts on
  Duration scrape = Duration::seconds(15);    // how often Prometheus looks
  std::string runbook_url;                    // empty: none; else the alert's name is appended as a fragment
};

// A rules file: one group a loop, one alert a trouble.
std::string prometheus_rules(const Policy& policy, const AlertSettings& settings);

}  // namespace bellwether::lead
