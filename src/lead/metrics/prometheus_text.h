// The figures of keys in the text format of Prometheus (version 0.0.4). Pure.
#pragma once

#include <string>
#include <vector>

#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {

std::string prometheus_text(const std::vector<LeaseSnapshot>& keys);

}  // namespace bellwether::lead
