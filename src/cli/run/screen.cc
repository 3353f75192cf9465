#include "cli/run/screen.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "election/store/environment.h"
#include "load/console/draw.h"
#include "load/console/grid.h"
#include "load/console/terminal.h"
#include "load/plan/sequence.h"

namespace bellwether::cli {
namespace {

using runtime::task;

constexpr Duration kEvery = Duration::seconds(2);
// The interval of the checks whether a background job has come to the front.
constexpr Duration kAway = Duration::millis(250);

bool is_set(const char* name) { return !store::variable(&store::own_environment, name).empty(); }

}  // namespace

Result<Ui> ui_of(const std::string& word) {
  if (word == "none") return Ui::kNone;
  if (word == "ci") return Ui::kCi;
  if (!word.empty() && word != "full") return fail(Errc::kInvalid, "--ui '{}': write full, ci or none", word);
  const bool asked = !word.empty();
  const auto terminal = console::Terminal::open();
  if (asked && !terminal) {
    return fail(Errc::kUnsupported, "--ui full: {}; write --ui ci", terminal.error().message);
  }
  if (!terminal || (!asked && (is_set("CI") || !(*terminal)->in_foreground()))) return Ui::kCi;
  return Ui::kFull;
}

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

// The full screen at work: draws the content of a board, obeys keys and the signals of a terminal, and never waits for
// a slow terminal. On one thread, that of `runtime`.
class LiveScreen {
 public:
  // The shortest time between two frames; the spinner turns on every beat.
  static constexpr Duration kFrame = Duration::millis(33);
  static constexpr Duration kBeat = Duration::millis(100);

  // All must outlive it.
  LiveScreen(runtime::Runtime& runtime, console::Terminal& terminal, console::Board& board, console::Controls& controls)
      : runtime_(runtime), terminal_(terminal), board_(board), controls_(controls) {}

  // Until it is cancelled or the terminal is closed. Leaves the screen.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // A signal that an Attendance collects beside SIGINT and SIGTERM.
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

task<void> LiveScreen::run(runtime::Cancellation* cancel) {
  running_ = true;
  beat_ = drawn_ = steering_.turned = runtime_.read_clock();
  while (!cancel->cancelled() && !terminal_.gone()) {
    const Instant now = runtime_.read_clock();
    if (!terminal_.in_foreground()) {
      // Another process has the terminal, and may draw over its content.
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

// A frame that would wait for the one before is skipped; a later one shows its content.
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
  steering_.shown = drawn.shown;
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
  // The terminal may have changed meanwhile, so it is set and drawn anew.
  if (number == SIGCONT && terminal_.in_foreground()) terminal_.leave();
  shown_ = {};
  changed_ = true;
}

struct Attendance::Parts {
  runtime::EpollRuntime& runtime;
  std::unique_ptr<runtime::Signals> signals;
  std::unique_ptr<console::Terminal> terminal;
  std::optional<LiveScreen> screen;
};

Attendance::Attendance(runtime::EpollRuntime& runtime) : parts_(new Parts{runtime, nullptr, nullptr, {}}) {}
Attendance::~Attendance() = default;

Result<std::unique_ptr<Attendance>> Attendance::open(runtime::EpollRuntime& runtime, Ui ui) {
  std::unique_ptr<Attendance> out(new Attendance(runtime));
  if (ui == Ui::kFull) {
    BW_TRY(out->parts_->terminal, console::Terminal::open());
    BW_TRY(out->parts_->signals, runtime::Signals::collect(runtime, {SIGINT, SIGTERM, SIGWINCH, SIGTSTP, SIGCONT}));
  } else {
    BW_TRY(out->parts_->signals, runtime::Signals::collect(runtime, {SIGINT, SIGTERM}));
  }
  return out;
}

void Attendance::begin(runtime::Scope& scope, console::Board& board, console::Controls& controls) {
  Parts& parts = *parts_;
  if (parts.terminal) {
    parts.screen.emplace(parts.runtime, *parts.terminal, board, controls);
    scope.spawn(parts.screen->run(scope.cancellation()));
  }
  scope.spawn(obey_signals(&controls, scope.cancellation()));
}

task<void> Attendance::obey_signals(console::Controls* controls, runtime::Cancellation* cancel) {
  while (true) {
    const int signal = co_await parts_->signals->next(cancel);
    if (signal == 0) co_return;
    if (signal == SIGINT || signal == SIGTERM) {
      controls->stop(signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM");
    } else if (parts_->screen) {
      parts_->screen->on_signal(signal);
    }
  }
}

}  // namespace bellwether::cli
