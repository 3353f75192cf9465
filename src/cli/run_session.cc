#include "cli/run_session.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/machine_limits.h"
#include "console/ci.h"
#include "node/local/local_run.h"
#include "report/json.h"
#include "report/summary.h"
#include "report/write_file.h"
#include "runtime/scope.h"
#include "runtime/signals.h"

namespace bellwether::cli {
namespace {

using runtime::task;

int complain(const std::string& message) {
  std::fprintf(stderr, "bellwether run: %s\n", message.c_str());
  return kExitUsage;
}

// The length of the run by its plan, without graceful stops.
Duration planned_length(const plan::Plan& plan) {
  Duration longest;
  for (const plan::Workflow& workflow : plan.workflows) {
    Duration length = workflow.start_time;
    if (const auto* vus = std::get_if<plan::ConstantVus>(&workflow.executor)) length += vus->duration;
    if (const auto* rate = std::get_if<plan::ConstantArrivalRate>(&workflow.executor)) length += rate->duration;
    longest = std::max(longest, length);
  }
  return longest;
}

class Progress final : public node::LocalRun::Observer {
 public:
  Progress(bool wanted, Duration planned) : wanted_(wanted), planned_(planned) {}
  void stopping() { state_ = "stopping"; }
  void second_over(const aggregate::Totals& totals) override {
    if (!wanted_ || totals.elapsed() - last_.elapsed < kEvery) return;
    last_ = console::snapshot_of(totals, last_, planned_, state_);
    std::fprintf(stderr, "%s\n", console::ci_line(last_).c_str());
  }

 private:
  static constexpr Duration kEvery = Duration::seconds(2);
  bool wanted_;
  Duration planned_;
  std::string_view state_ = "running";
  console::Snapshot last_;
};

task<void> obey_signals(runtime::Signals* signals, node::LocalRun* run, Progress* progress,
                        runtime::Cancellation* cancel) {
  for (bool first = true;; first = false) {
    const int signal = co_await signals->next(cancel);
    if (signal == 0) co_return;
    std::fprintf(stderr, first ? "\nStopping: iterations that run may finish. Once more ends at once.\n"
                               : "\nEnding at once.\n");
    progress->stopping();
    run->interrupt(aggregate::Ending::kSignal, signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM");
  }
}

task<void> supervise(node::LocalRun* run, runtime::Signals* signals, Progress* progress) {
  runtime::Scope scope;
  scope.spawn(obey_signals(signals, run, progress, scope.cancellation()));
  co_await run->run();
  scope.cancel();
  co_await scope.join();
}

// False when it did not all get out. A reader that went away (`| head`) has had all it wanted.
bool print_all(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return true;
  std::fprintf(stderr, "bellwether run: the summary could not be written: %s\n",
               std::system_category().message(errno).c_str());
  return false;
}

std::string new_run_id(Prng& prng) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(prng.next()));
  return text;
}

}  // namespace

int run_session(const plan::Plan& plan, const RunSettings& settings) {
  for (const std::string& file : settings.json_files) {
    if (auto can = report::can_write_file(file); !can) return complain(can.error().message);
  }
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
  auto signals = runtime::Signals::collect(**control, {SIGINT, SIGTERM});
  if (!signals) return complain(signals.error().message);

  node::LocalOptions options;
  options.cores = settings.cores != 0
                      ? settings.cores
                      : (settings.pin.empty() ? usable_cpus() : static_cast<uint32_t>(settings.pin.size()));
  options.pin = settings.pin;
  options.seed = settings.seed;
  Progress progress(settings.progress, planned_length(plan));
  node::LocalRun run(**control, plan, options, &progress);
  if (auto prepared = run.prepare(); !prepared) return complain(prepared.error().message);
  (*control)->run(supervise(&run, signals->get(), &progress));

  const report::RunReport report = report::conclude(run.totals(), {.run_id = new_run_id((*control)->prng()),
                                                                   .started_at = run.started_at(),
                                                                   .elapsed = run.elapsed(),
                                                                   .cores = static_cast<int>(run.cores()),
                                                                   .ending = run.ending(),
                                                                   .events = run.events()});
  report::SummaryOptions look;
  look.color = ::isatty(STDOUT_FILENO) == 1;
  int exit_code = report.verdict.exit_code;
  if (!print_all(report::summary(report, look)) && exit_code == kExitOk) exit_code = kExitUsage;
  for (const std::string& file : settings.json_files) {
    if (auto written = report::write_file(file, report::to_json(report)); !written) {
      std::fprintf(stderr, "bellwether run: %s\n", written.error().message.c_str());
      if (exit_code == kExitOk) exit_code = kExitUsage;
    }
  }
  return exit_code;
}

}  // namespace bellwether::cli
