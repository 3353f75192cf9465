// What a person sees of a run, wherever it runs: a screen or a line every few seconds while it goes on, and its result
// at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/live_screen.h"
#include "cli/outs.h"
#include "core/base/result.h"
#include "load/aggregate/totals.h"
#include "load/console/board.h"
#include "load/console/ci.h"
#include "load/console/view_maker.h"
#include "load/plan/plan.h"
#include "load/report/run_report.h"

namespace bellwether::cli {

// Lines on standard error, or a board for a screen. One thread tells of a run; say() may be called on another.
class RunScreen {
 public:
  // `cores`: those of this machine that are there for it; none: a cluster runs it.
  explicit RunScreen(Ui ui, std::optional<uint32_t> cores = {}) : ui_(ui), cores_(cores) {}
  Ui ui() const { return ui_; }
  console::Board& board() { return board_; }

  // Before anything is measured. `where`: what runs it.
  void begin(const std::string& where);
  void begin(const plan::Plan& plan, const std::string& where);
  void set_state(std::string_view state);
  void second_over(const aggregate::Totals& totals);
  // Something that happened, at a time of the run.
  void tell(Duration at, const std::string& text);
  // Who runs what, each line of one workflow.
  void place(std::vector<std::string> lines);
  // Words about the run that are told whatever the screen, but by none that stands.
  void say(const std::string& text);

 private:
  void begin_view(console::View& view, const plan::Plan& plan);

  Ui ui_;
  std::optional<uint32_t> cores_;
  std::string_view state_ = "running";
  console::Snapshot last_;
  console::Board board_;
  console::ViewMaker maker_;
  const plan::Plan* plan_ = nullptr;
};

// The reports, and the summary on standard output. The exit code of the process: that of the verdict, unless
// something could not be written. `verb` speaks in messages: "run".
int deliver(const report::RunReport& report, const std::vector<Out>& outs, std::string_view verb);

}  // namespace bellwether::cli
