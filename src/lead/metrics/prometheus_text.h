// The figures of keys in the text format of Prometheus (version 0.0.4). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {

std::string prometheus_text(const std::vector<LeaseSnapshot>& keys);

// A text of any bytes as the value of a label, without quotes. What is no UTF-8, and control characters, are shown as
// \xNN, so that no key makes the page unreadable.
std::string label_value(std::string_view text);

}  // namespace bellwether::lead
