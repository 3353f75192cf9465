#include "cli/budget_words.h"

#include <cstdio>

namespace bellwether::cli {

double seconds(Duration span) { return static_cast<double>(span.ns()) / 1e9; }

std::string about(Duration span) {
  const Duration tenth = span < Duration::seconds(1) ? Duration::millis(10) : Duration::millis(100);
  const int64_t steps = (span + tenth - Duration::nanos(1)) / tenth;
  char text[32];
  std::snprintf(text, sizeof text, "%gs", seconds(tenth * steps));
  return text;
}

void print_sum(const char* title, const election::Sum& sum) {
  std::printf("  %-22s %-8s %s\n  %-22s %-8s = %s\n", title, about(sum.total).c_str(), sum.formula().c_str(), "", "",
              sum.arithmetic().c_str());
}

void print_failover(const election::FailoverBudget& budget) {
  print_sum("crash, worst", budget.crash_worst);
  print_sum("crash, typical", budget.crash_typical);
  if (budget.hang_worst) print_sum("hang, worst", *budget.hang_worst);
  print_sum("release, worst", budget.release_worst);
  print_sum("release, typical", budget.release_typical);
}

}  // namespace bellwether::cli
