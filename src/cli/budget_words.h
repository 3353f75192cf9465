// Sums of a budget, as people read them.
#pragma once

#include <string>

#include "election/budget.h"

namespace bellwether::cli {

double seconds(Duration span);
// To a tenth of a second, below a second to a hundredth, rounded up: these are promises.
std::string about(Duration span);
// Two lines: the total and the formula, then the arithmetic.
void print_sum(const char* title, const election::Sum& sum);
void print_failover(const election::FailoverBudget& budget);

}  // namespace bellwether::cli
