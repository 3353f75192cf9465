// The full screen of `--ui full` at work: draws what a board shows, obeys keys and the signals of a terminal, and never
// waits for a terminal that does not take what is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/runtime.h"
#include "core/runtime/signals.h"
#include "load/console/board.h"
#include "load/console/grid.h"
#include "load/console/keys.h"
#include "load/console/steering.h"
#include "load/console/terminal.h"

namespace bellwether::cli {

// What is seen of a run while it goes on.
enum class Ui : uint8_t { kNone, kCi, kFull };

// Of `--ui`; empty: full on a terminal that can, unless $CI is set or it is a job of the background, else ci. An error
// says why full cannot be, when it was asked for.
Result<Ui> ui_of(const std::string& word);
inline constexpr const char* kUiHelp =
    "full: a screen, ci: a line every few seconds, none (usual: full on a terminal, else ci)";

// SIGINT and SIGTERM, and with a screen what a terminal tells beside them.
Result<std::unique_ptr<runtime::Signals>> collect_signals(runtime::EpollRuntime& runtime, Ui ui);

// On one thread, that of `runtime`.
class LiveScreen {
 public:
  // At most so often; and the spinner turns on every beat.
  static constexpr Duration kFrame = Duration::millis(33);
  static constexpr Duration kBeat = Duration::millis(100);

  // All must outlive it.
  LiveScreen(runtime::Runtime& runtime, console::Terminal& terminal, console::Board& board, console::Controls& controls)
      : runtime_(runtime), terminal_(terminal), board_(board), controls_(controls) {}

  // Until it is cancelled or the terminal is closed. Leaves the screen.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // One that collect_signals() gives beside SIGINT and SIGTERM.
  void on_signal(int number);

 private:
  void draw(Instant now);
  void obey(const std::string& typed);

  runtime::Runtime& runtime_;
  console::Terminal& terminal_;
  console::Board& board_;
  console::Controls& controls_;
  console::View view_;
  uint64_t version_ = 0;
  console::Steering steering_;
  console::KeyReader keys_;
  console::Grid shown_;
  Instant beat_;
  Instant drawn_;
  bool changed_ = true;
  bool utf8_ = console::locale_is_utf8();
  bool running_ = false;
};

}  // namespace bellwether::cli
