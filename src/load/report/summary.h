// What a person reads when a run has ended: thresholds and checks, what was sent and how long it took, what went wrong
// and what to do about it, how the generator fared, and the verdict as the last line.
#pragma once

#include <string>

#include "load/report/run_report.h"

namespace bellwether::report {

struct SummaryOptions {
  bool color = false;  // ANSI colours; without, the text holds no escape code
  int width = 100;     // columns to stay within; less than 60 counts as 60
};

std::string summary(const RunReport& run, const SummaryOptions& options = {});

}  // namespace bellwether::report
