#include "cli/run_screen.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include "cli/commands.h"
#include "report/json.h"
#include "report/summary.h"

namespace bellwether::cli {
namespace {

constexpr Duration kEvery = Duration::seconds(2);

// The length of the run by its plan, without graceful stops.
Duration planned_length(const plan::Plan& plan) {
  Duration longest;
  for (const plan::Workflow& workflow : plan.workflows) {
    const plan::ExecutorFacts facts = plan::facts_of(workflow.executor);
    if (facts.endless) return Duration::zero();
    longest = std::max(longest, workflow.start_time + facts.length);
  }
  return longest;
}

// False when it did not all get out. A reader that went away (`| head`) has had all it wanted.
bool print_all(const std::string& text, std::string_view verb) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return true;
  std::fprintf(stderr, "bellwether %.*s: the summary could not be written: %s\n", static_cast<int>(verb.size()),
               verb.data(), std::system_category().message(errno).c_str());
  return false;
}

}  // namespace

void RunScreen::second_over(const aggregate::Totals& totals) {
  if (!wanted_ || totals.elapsed() - last_.elapsed < kEvery) return;
  last_ = console::snapshot_of(totals, last_, planned_length(totals.plan()), state_);
  std::fprintf(stderr, "%s\n", console::ci_line(last_).c_str());
}

void RunScreen::tell(Duration at, const std::string& text) {
  if (!wanted_) return;
  std::fprintf(stderr, "%5llds  %s\n", static_cast<long long>(at.ns() / 1'000'000'000), text.c_str());
}

int deliver(const report::RunReport& report, const std::vector<Out>& outs, std::string_view verb) {
  report::SummaryOptions look;
  look.color = ::isatty(STDOUT_FILENO) == 1;
  int exit_code = report.verdict.exit_code;
  if (!print_all(report::summary(report, look), verb) && exit_code == kExitOk) exit_code = kExitUsage;
  if (!outs.empty() && !write_outs(report::to_json(report), outs, verb) && exit_code == kExitOk) exit_code = kExitUsage;
  return exit_code;
}

}  // namespace bellwether::cli
