#include "cli/run_session.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <sys/random.h>

#include "base/printable.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/kept_run.h"
#include "cli/live_screen.h"
#include "cli/machine_limits.h"
#include "cli/run_screen.h"
#include "cli/running.h"
#include "node/local/control_socket.h"
#include "node/local/local_run.h"
#include "node/local/run_controls.h"
#include "plan/stages.h"
#include "results/recorder.h"
#include "runtime/scope.h"
#include "runtime/signals.h"

namespace bellwether::cli {
namespace {

using runtime::task;

int complain(const std::string& message) {
  std::fprintf(stderr, "bellwether run: %s\n", message.c_str());
  return kExitUsage;
}

class Progress final : public node::LocalRun::Observer {
 public:
  // `recorder` may be nullptr.
  Progress(RunScreen& screen, results::Recorder* recorder) : screen_(screen), recorder_(recorder) {}
  void second_over(const aggregate::Totals& totals) override { screen_.second_over(totals); }
  void measured(const metrics::Window& window, Duration covered) override {
    if (recorder_ != nullptr) recorder_->second(window, covered);
  }
  void happened(const report::Event& event) override {
    if (event.kind == "paused") screen_.set_state("paused");
    if (event.kind == "resumed") screen_.set_state("running");
    if (event.kind == "stopping") screen_.set_state("stopping");
    const bool about_us = event.kind.starts_with("generator_");
    if (screen_.ui() == Ui::kFull || about_us) screen_.tell(event.at, printable(event.kind + ": " + event.detail));
  }

 private:
  RunScreen& screen_;
  results::Recorder* recorder_;
};

// How a person ends a run before its time, with a signal or on the screen.
class LocalControls final : public console::Controls {
 public:
  LocalControls(node::LocalRun& run, RunScreen& screen) : run_(run), screen_(screen) {}

  bool can_pause() const override { return !run_.stopping(); }
  bool paused() const override { return run_.paused(); }
  void pause() override { run_.pause(); }
  void resume() override { run_.resume(); }
  void stop() override { stop("the q key"); }
  const char* stop_question() const override {
    return run_.stopping() ? "End at once?" : "Stop the run? Iterations that run may finish.";
  }

  void stop(const std::string& why) {
    const char* const before = screen_.ui() == Ui::kFull ? "" : "\n";
    screen_.say(std::string(before) + (run_.stopping()
                                           ? "Ending at once."
                                           : "Stopping: iterations that run may finish. Once more ends at once."));
    run_.interrupt(aggregate::Ending::kSignal, why);
  }

 private:
  node::LocalRun& run_;
  RunScreen& screen_;
};

// The screen: nullptr: there is none.
task<void> obey_signals(runtime::Signals* signals, LocalControls* controls, LiveScreen* screen,
                        runtime::Cancellation* cancel) {
  while (true) {
    const int signal = co_await signals->next(cancel);
    if (signal == 0) co_return;
    if (signal == SIGINT || signal == SIGTERM) {
      controls->stop(signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM");
    } else if (screen != nullptr) {
      screen->on_signal(signal);
    }
  }
}

task<void> supervise(node::LocalRun* run, runtime::Signals* signals, LocalControls* controls, LiveScreen* screen,
                     node::ControlSocket* socket) {
  runtime::Scope scope;
  scope.spawn(obey_signals(signals, controls, screen, scope.cancellation()));
  if (screen != nullptr) scope.spawn(screen->run(scope.cancellation()));
  if (socket != nullptr) scope.spawn(socket->serve(scope.cancellation()));
  co_await run->run();
  scope.cancel();
  co_await scope.join();
}

// Not of the seed, for a run that is repeated is another run.
std::string new_run_id(WallTime now) {
  uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) id = static_cast<uint64_t>(now.unix_ns);
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

bool is_controlled(const plan::Plan& plan) {
  return std::any_of(plan.workflows.begin(), plan.workflows.end(), [](const plan::Workflow& workflow) {
    return std::holds_alternative<plan::ExternallyControlled>(workflow.executor);
  });
}

}  // namespace

int run_session(const plan::Plan& plan, const RunSettings& settings) {
  std::vector<std::string_view> steps;
  for (const plan::StepInfo& step : plan.steps) {
    if (step.measured) steps.emplace_back(step.name);
  }
  if (auto has = has_steps(settings.outs, steps); !has) return complain(has.error().message);
  if (auto can = can_deliver(settings.outs); !can) return complain(can.error().message);
  const Connections connections = connections_of(plan);
  const Result<std::string> descriptors = ensure_descriptors(connections);
  if (!descriptors && !settings.ignore_limits) {
    return complain(descriptors.error().message + " (--ignore-limits starts it all the same)");
  }
  if (auto pin = check_pin(settings.pin); !pin) return complain(pin.error().message);
  for (const std::string& warning :
       {descriptors ? *descriptors : descriptors.error().message, port_warning(connections.at_most)}) {
    if (!warning.empty()) std::fprintf(stderr, "warning: %s.\n", warning.c_str());
  }

  auto control = runtime::EpollRuntime::create({.seed = settings.seed});
  if (!control) return complain(control.error().message);
  auto signals = collect_signals(**control, settings.ui);
  if (!signals) return complain(signals.error().message);

  node::LocalOptions options;
  options.cores = settings.cores != 0
                      ? settings.cores
                      : (settings.pin.empty() ? usable_cpus() : static_cast<uint32_t>(settings.pin.size()));
  options.pin = settings.pin;
  options.seed = settings.seed;
  options.scripts = settings.scripts;
  const uint32_t cores = plan::cores_used(plan, options.cores);
  RunScreen screen(settings.ui, options.cores);
  const std::string id = new_run_id((*control)->wall_now());
  std::optional<results::Recorder> recorder;
  if (!settings.store.empty()) {
    recorder.emplace(settings.store, id, plan, (*control)->wall_now(), static_cast<int>(cores));
  }
  Progress progress(screen, recorder ? &*recorder : nullptr);
  node::LocalRun run(**control, plan, options, &progress);
  if (auto prepared = run.prepare(); !prepared) return complain(prepared.error().message);
  LocalControls controls(run, screen);
  node::RunControls outside(run, plan, id);
  auto socket = node::ControlSocket::open(**control, running_folder(), socket_name(id), outside);
  if (!socket) {
    std::fprintf(stderr, "warning: `bellwether ctl` cannot control this run: %s.\n",
                 printable(socket.error().message).c_str());
  }
  std::unique_ptr<console::Terminal> terminal;
  std::optional<LiveScreen> live;
  if (settings.ui == Ui::kFull) {
    auto opened = console::Terminal::open();
    if (!opened) return complain(opened.error().message);
    terminal = std::move(*opened);
    screen.begin(plan, format_count(cores, "core"));
    live.emplace(**control, *terminal, screen.board(), controls);
  }
  if (socket && is_controlled(plan)) {
    screen.say("Controlled from outside: `bellwether ctl " + id + " vus N`, or pause, resume, stop.");
  }
  (*control)->run(
      supervise(&run, signals->get(), &controls, live ? &*live : nullptr, socket ? socket->get() : nullptr));

  const report::RunReport report = report::conclude(run.totals(), {.run_id = id,
                                                                   .started_at = run.started_at(),
                                                                   .elapsed = run.elapsed(),
                                                                   .cores = static_cast<int>(run.cores()),
                                                                   .ending = run.ending(),
                                                                   .why = run.why(),
                                                                   .events = run.events(),
                                                                   .workflows = run.workflow_states(),
                                                                   .findings = run.findings()});
  const int exit_code = deliver(report, settings.outs, "run");
  if (recorder) keep(*recorder, report);
  return exit_code;
}

}  // namespace bellwether::cli
