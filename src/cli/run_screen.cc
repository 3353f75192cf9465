#include "cli/run_screen.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include "cli/commands.h"
#include "load/plan/stages.h"
#include "load/report/json.h"
#include "load/report/summary.h"

namespace bellwether::cli {
namespace {

constexpr Duration kEvery = Duration::seconds(2);

// False when it did not all get out. A reader that went away (`| head`) has had all it wanted.
bool print_all(const std::string& text, std::string_view verb) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return true;
  std::fprintf(stderr, "bellwether %.*s: the summary could not be written: %s\n", static_cast<int>(verb.size()),
               verb.data(), std::system_category().message(errno).c_str());
  return false;
}

}  // namespace

void RunScreen::begin(const std::string& where) {
  if (ui_ != Ui::kFull) return;
  board_.change([&](console::View& view) {
    view.where = where;
    view.state = state_;
  });
}

void RunScreen::begin(const plan::Plan& plan, const std::string& where) {
  begin(where);
  if (ui_ != Ui::kFull) return;
  plan_ = &plan;
  board_.change([&](console::View& view) { begin_view(view, plan); });
}

void RunScreen::begin_view(console::View& view, const plan::Plan& plan) {
  maker_.begin(view, plan, plan::planned_length(plan, cores_));
}

void RunScreen::set_state(std::string_view state) {
  state_ = state;
  if (ui_ != Ui::kFull) return;
  board_.change([&](console::View& view) { view.state = state; });
}

void RunScreen::second_over(const aggregate::Totals& totals) {
  if (ui_ == Ui::kFull) {
    board_.change([&](console::View& view) {
      if (plan_ != &totals.plan()) begin_view(view, totals.plan());
      maker_.update(view, totals);
    });
    plan_ = &totals.plan();
    return;
  }
  if (ui_ == Ui::kNone || totals.elapsed() - last_.elapsed < kEvery) return;
  last_ = console::snapshot_of(totals, last_, plan::planned_length(totals.plan(), cores_), state_);
  std::fprintf(stderr, "%s\n", console::ci_line(last_).c_str());
}

void RunScreen::tell(Duration at, const std::string& text) {
  if (ui_ == Ui::kFull) board_.change([&](console::View& view) { view.add_event(at, text); });
  if (ui_ != Ui::kCi) return;
  std::fprintf(stderr, "%5llds  %s\n", static_cast<long long>(at.ns() / 1'000'000'000), text.c_str());
}

void RunScreen::place(std::vector<std::string> lines) {
  if (ui_ == Ui::kFull) board_.change([&](console::View& view) { view.placement = std::move(lines); });
}

void RunScreen::say(const std::string& text) {
  if (ui_ == Ui::kFull) {
    board_.change([&](console::View& view) { view.add_event(view.elapsed, text); });
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

int deliver(const report::RunReport& report, const std::vector<Out>& outs, std::string_view verb) {
  report::SummaryOptions look;
  look.color = ::isatty(STDOUT_FILENO) == 1;
  int exit_code = report.verdict.exit_code;
  if (!outs.empty() && !write_outs(report::to_json(report), outs, verb) && exit_code == kExitOk) exit_code = kExitUsage;
  // Last, for a terminal that is stopped can keep it waiting.
  if (!print_all(report::summary(report, look), verb) && exit_code == kExitOk) exit_code = kExitUsage;
  return exit_code;
}

}  // namespace bellwether::cli
