// A person's view of a run in progress, on any machine, and the controls: a screen or a line every few seconds, keys
// and signals.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "load/aggregate/totals.h"
#include "load/console/steering.h"
#include "load/console/view.h"
#include "load/plan/plan.h"

namespace bellwether::cli {

// The view of a run in progress.
enum class Ui : uint8_t { kNone, kCi, kFull };

// Of `--ui`; empty: full on a capable terminal, unless $CI is set or it is a job of the background, else ci. An error
// names the reason when the requested full is impossible.
Result<Ui> ui_of(const std::string& word);
inline constexpr const char* kUiHelp =
    "full: a screen, ci: a line every few seconds, none (default: full on a terminal, else ci)";
inline constexpr const char* kUiKind = "full|ci|none";

// Lines on standard error, or a board for a screen. One thread reports a run; say() may be called on another.
class RunScreen {
 public:
  // `cores`: the cores of this machine for it; none: a cluster runs it.
  explicit RunScreen(Ui ui, std::optional<uint32_t> cores = {}) : ui_(ui), cores_(cores) {}
  Ui ui() const { return ui_; }
  console::Board& board() { return board_; }

  // Before the first measurement. `where`: the machine or cluster that runs it.
  void begin(const std::string& where);
  void begin(const plan::Plan& plan, const std::string& where);
  void set_state(std::string_view state);
  void second_over(const aggregate::Totals& totals);
  // An event, at a time of the run.
  void tell(Duration at, const std::string& text);
  // The workers of each workflow, one line each.
  void place(std::vector<std::string> lines);
  // Words about the run: an event on the board, or a line on standard error.
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

class LiveScreen;

// Obeys SIGINT and SIGTERM during a run, and draws the screen of `--ui full`.
class Attendance {
 public:
  // From here on the signals are collected. `runtime` must outlive it.
  static Result<std::unique_ptr<Attendance>> open(runtime::EpollRuntime& runtime, Ui ui);
  ~Attendance();

  // Until the scope is cancelled. The others must outlive that.
  void begin(runtime::Scope& scope, console::Board& board, console::Controls& controls);

 private:
  explicit Attendance(runtime::EpollRuntime& runtime);
  runtime::task<void> obey_signals(console::Controls* controls, runtime::Cancellation* cancel);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace bellwether::cli
