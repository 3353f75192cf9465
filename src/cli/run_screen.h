// What a person sees of a run, wherever it runs: a line every few seconds while it goes on, and its result at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate/totals.h"
#include "cli/outs.h"
#include "console/ci.h"
#include "plan/plan.h"
#include "report/run_report.h"

namespace bellwether::cli {

// On standard error.
class RunScreen {
 public:
  // `wanted`: false keeps quiet.
  explicit RunScreen(bool wanted) : wanted_(wanted) {}
  void set_state(std::string_view state) { state_ = state; }
  void second_over(const aggregate::Totals& totals);
  // Something that happened, at a time of the run.
  void tell(Duration at, const std::string& text);

 private:
  bool wanted_;
  std::string_view state_ = "running";
  console::Snapshot last_;
};

// The summary on standard output, and the reports. The exit code of the process: that of the verdict, unless
// something could not be written. `verb` speaks in messages: "run".
int deliver(const report::RunReport& report, const std::vector<Out>& outs, std::string_view verb);

}  // namespace bellwether::cli
