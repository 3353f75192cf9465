#include "cli/live_screen.h"

#include <algorithm>
#include <csignal>

#include "election/store/environment.h"
#include "load/console/draw.h"
#include "load/console/paint.h"

namespace bellwether::cli {
namespace {

using runtime::task;

// How often it is asked whether a job of the background has come to the front.
constexpr Duration kAway = Duration::millis(250);

bool is_set(const char* name) { return !store::variable(&store::own_environment, name).empty(); }

}  // namespace

Result<Ui> ui_of(const std::string& word) {
  if (word == "none") return Ui::kNone;
  if (word == "ci") return Ui::kCi;
  if (!word.empty() && word != "full") return fail(Errc::kInvalid, "--ui '" + word + "': write full, ci or none");
  const bool asked = !word.empty();
  const auto terminal = console::Terminal::open();
  if (asked && !terminal) {
    return fail(Errc::kUnsupported, "--ui full: " + terminal.error().message + "; write --ui ci");
  }
  if (!terminal || (!asked && (is_set("CI") || !(*terminal)->in_foreground()))) return Ui::kCi;
  return Ui::kFull;
}

Result<std::unique_ptr<runtime::Signals>> collect_signals(runtime::EpollRuntime& runtime, Ui ui) {
  if (ui != Ui::kFull) return runtime::Signals::collect(runtime, {SIGINT, SIGTERM});
  return runtime::Signals::collect(runtime, {SIGINT, SIGTERM, SIGWINCH, SIGTSTP, SIGCONT});
}

task<void> LiveScreen::run(runtime::Cancellation* cancel) {
  running_ = true;
  beat_ = drawn_ = steering_.turned = runtime_.read_clock();
  while (!cancel->cancelled() && !terminal_.gone()) {
    const Instant now = runtime_.read_clock();
    if (!terminal_.in_foreground()) {
      // The terminal is somebody else's. What stands there is theirs to draw over.
      terminal_.leave();
      co_await runtime_.sleep_until(now + kAway, cancel);
      continue;
    }
    if (!terminal_.entered()) {
      terminal_.enter();
      shown_ = {};
      changed_ = true;
    }
    if (now - beat_ >= kBeat) {
      beat_ = now;
      ++steering_.beat;
      changed_ = true;
      obey({});
    }
    draw(now);
    const Instant next = changed_ && !terminal_.busy() ? std::min(beat_ + kBeat, drawn_ + kFrame) : beat_ + kBeat;
    const auto ready = co_await runtime_.wait_descriptor(terminal_.fd(), true, terminal_.busy(), next, cancel);
    if (!ready) {
      if (ready.error().code != Errc::kTimeout) break;
      continue;
    }
    if (ready->writable) terminal_.flush();
    if (ready->readable) obey(terminal_.read());
  }
  terminal_.leave();
  running_ = false;
}

// A frame that would wait for the one before is not made; a later one shows what it would have shown.
void LiveScreen::draw(Instant now) {
  if (!changed_ || terminal_.busy() || !terminal_.entered() || now - drawn_ < kFrame) return;
  changed_ = false;
  drawn_ = now;
  board_.look(view_, version_);
  steering_.can_pause = controls_.can_pause();
  steering_.paused = controls_.paused();
  console::turn(steering_, view_, now);
  const console::Terminal::Size size = terminal_.size();
  console::Drawn drawn = console::draw(view_, steering_, utf8_, size.columns, size.rows);
  steering_.steps_shown = drawn.steps_shown;
  std::string bytes = console::paint(shown_, drawn.grid, terminal_.codes());
  shown_ = std::move(drawn.grid);
  if (!bytes.empty()) terminal_.send(std::move(bytes));
}

void LiveScreen::obey(const std::string& typed) {
  for (const console::Key key : typed.empty() ? keys_.rest() : keys_.read(typed)) {
    console::press(steering_, key, view_, controls_);
    changed_ = true;
  }
}

void LiveScreen::on_signal(int number) {
  if (number == SIGTSTP) terminal_.suspend();
  if (!running_) return;
  // Whatever happened meanwhile to the terminal, it is set and drawn anew.
  if (number == SIGCONT && terminal_.in_foreground()) terminal_.leave();
  shown_ = {};
  changed_ = true;
}

}  // namespace bellwether::cli
