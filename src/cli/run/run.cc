// bellwether run FILE|URL: a load test on this machine.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/random.h>
#include <vector>

#include "cli/cluster/job_session.h"
#include "cli/run/ctl.h"
#include "cli/run/machine_limits.h"
#include "cli/run/reports.h"
#include "cli/run/results.h"
#include "cli/run/screen.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "election/store/environment.h"
#include "load/local/control_socket.h"
#include "load/local/local_run.h"
#include "load/local/request_log.h"
#include "load/plan/load.h"
#include "load/plan/plan.h"
#include "load/plan/sequence.h"
#include "load/results/recorder.h"
#include "load/scenario/model.h"
#include "load/script/lua/state.h"
#include "load/vuser/instruments.h"
#include "load/vuser/prepared_step.h"

namespace bellwether::cli {
namespace {

// One run on this machine from start to exit code: limits of the machine, signals, progress, summary, result files.
struct RunSettings {
  uint32_t cores = 0;  // 0: all processors that may be used
  std::vector<int> pin;
  uint64_t seed = 0;
  Ui ui = Ui::kCi;
  bool ignore_limits = false;  // start although this machine has too little
  bool look_up = true;         // the hosts, before the load
  bool connect = false;        // to the targets, before the load
  std::vector<Out> outs;
  script::lua::Permissions scripts;
  std::string store;        // the file in which the run is kept; empty: in none
  std::string request_log;  // empty: none
  std::optional<vuser::HttpDebug::Options> http_debug;
};

using runtime::task;

class Progress {
 public:
  // `recorder` may be nullptr.
  Progress(RunScreen& screen, results::Recorder* recorder) : screen_(screen), recorder_(recorder) {}
  void second_over(const aggregate::Totals& totals) { screen_.second_over(totals); }
  void measured(const metrics::Window& window, Duration covered) {
    if (recorder_ != nullptr) recorder_->second(window, covered);
  }
  void happened(const report::Event& event) {
    if (event.kind == "paused") screen_.set_state("paused");
    if (event.kind == "resumed") screen_.set_state("running");
    if (event.kind == "stopping") screen_.set_state("stopping");
    const bool about_us = event.kind.starts_with("generator_");
    if (screen_.ui() == Ui::kFull || about_us)
      screen_.tell(event.at, printable(fmt::format("{}: {}", event.kind, event.detail)));
  }

 private:
  RunScreen& screen_;
  results::Recorder* recorder_;
};

// A person's ways to end a run early, with a signal or on the screen.
class LocalControls final : public console::Controls {
 public:
  LocalControls(node::LocalRun& run, RunScreen& screen) : run_(run), screen_(screen) {}

  bool can_pause() const override { return !run_.stopping(); }
  bool paused() const override { return run_.paused(); }
  void pause() override { run_.pause(); }
  void resume() override { run_.resume(); }
  const char* stop_question() const override {
    return run_.stopping() ? "End at once?" : "Stop the run? Running iterations may finish.";
  }

  void stop(const std::string& why) override {
    const char* const before = screen_.ui() == Ui::kFull ? "" : "\n";
    screen_.say(std::string(before) + (run_.stopping()
                                           ? "Ending at once."
                                           : "Stopping: running iterations may finish. Stop again to end at once."));
    run_.interrupt(aggregate::Ending::kSignal, why);
  }

 private:
  node::LocalRun& run_;
  RunScreen& screen_;
};

// `socket`: nullptr: none.
task<void> supervise(node::LocalRun* run, Attendance* attendance, RunScreen* screen, LocalControls* controls,
                     node::ControlSocket* socket) {
  runtime::Scope scope;
  attendance->begin(scope, screen->board(), *controls);
  if (socket != nullptr) scope.spawn(socket->serve(scope.cancellation()));
  co_await run->run();
  scope.cancel();
  co_await scope.join();
}

// Without the seed, because a repeated run is another run.
std::string new_run_id(WallTime now) {
  uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) id = static_cast<uint64_t>(now.unix_ns);
  return hex(id);
}

bool is_controlled(const plan::Plan& plan) {
  return std::ranges::any_of(plan.workflows, [](const plan::Workflow& workflow) {
    return std::holds_alternative<plan::ExternallyControlled>(workflow.executor);
  });
}

Status check_debug(const plan::Plan& plan) {
  uint64_t vus = 0;
  for (const plan::Workflow& workflow : plan.workflows) vus += plan::facts_of(workflow.executor).vus_most;
  if (vus <= vuser::HttpDebug::kMaxVus) return {};
  return fail(Errc::kInvalid,
              "--http-debug prints each request: at most {} virtual users, and here are {}; write --vus 1",
              vuser::HttpDebug::kMaxVus, vus);
}

// Returns the exit code of the process. Reports on stdout, problems on stderr.
Result<int> run_session(const plan::Plan& plan, const RunSettings& settings) {
  std::vector<std::string_view> steps;
  for (const plan::StepInfo& step : plan.steps) {
    if (step.measured) steps.emplace_back(step.name);
  }
  BW_RETURN_IF_ERROR(has_steps(settings.outs, steps));
  BW_RETURN_IF_ERROR(can_deliver(settings.outs));
  if (settings.http_debug) BW_RETURN_IF_ERROR(check_debug(plan));
  node::LocalOptions options;
  options.cores = settings.cores != 0
                      ? settings.cores
                      : (settings.pin.empty() ? usable_cpus() : static_cast<uint32_t>(settings.pin.size()));
  const uint32_t cores = plan::cores_used(plan, options.cores);
  const Connections connections = connections_of(plan, cores);
  const Result<std::string> descriptors = ensure_descriptors(connections);
  if (!descriptors && !settings.ignore_limits) {
    return fail(Errc::kInvalid, descriptors.error().message + " (--ignore-limits starts it all the same)");
  }
  BW_RETURN_IF_ERROR(check_pin(settings.pin));
  for (const std::string& warning :
       {descriptors ? *descriptors : descriptors.error().message, port_warning(connections.at_most)}) {
    if (!warning.empty()) std::fprintf(stderr, "warning: %s.\n", warning.c_str());
  }

  BW_TRY(auto control, runtime::EpollRuntime::create({.seed = settings.seed}));
  if (settings.look_up) {
    const Status reached = control->run(vuser::check_targets(*control, plan, settings.connect));
    if (!reached) {
      const Errc code = reached.error().code;
      return fail(code, "{}; nothing was sent{}", reached.error().message,
                  code == Errc::kInvalid ? ""
                  : code == Errc::kDns   ? "; --no-lookup starts the run all the same"
                                         : "; leave out --check-targets to start the run all the same");
    }
  }
  BW_TRY(auto attendance, Attendance::open(*control, settings.ui));

  options.pin = settings.pin;
  options.seed = settings.seed;
  options.scripts = settings.scripts;
  std::unique_ptr<node::RequestLog> request_log;
  if (!settings.request_log.empty()) {
    BW_TRY(request_log, node::RequestLog::open(settings.request_log, plan));
  }
  options.request_log = request_log.get();
  std::optional<vuser::HttpDebug> debug;
  const auto print = [](const std::string& block) { std::fwrite(block.data(), 1, block.size(), stderr); };
  if (settings.http_debug) options.watch = debug.emplace(*settings.http_debug, print).watch();
  RunScreen screen(settings.ui, options.cores);
  const std::string id = new_run_id(control->wall_now());
  std::optional<results::Recorder> recorder;
  if (!settings.store.empty()) {
    recorder.emplace(settings.store, id, plan, control->wall_now(), static_cast<int>(cores));
  }
  Progress progress(screen, recorder ? &*recorder : nullptr);
  node::LocalRun run(
      *control, plan, options,
      node::LocalRun::Observer{callback_to<&Progress::second_over>(progress),
                               callback_to<&Progress::measured>(progress), callback_to<&Progress::happened>(progress)});
  BW_RETURN_IF_ERROR(run.prepare());
  LocalControls controls(run, screen);
  node::RunControls outside(run, plan, id);
  auto socket = node::ControlSocket::open(*control, running_folder(), socket_name(id),
                                          callback_to<&node::RunControls::answer>(outside));
  if (!socket) {
    std::fprintf(stderr, "warning: `bellwether ctl` cannot control this run: %s.\n",
                 printable(socket.error().message).c_str());
  }
  screen.begin(plan, format_count(cores, "core"));
  if (socket && is_controlled(plan)) {
    screen.say(fmt::format("Controlled from outside: `bellwether ctl {} vus N`, or pause, resume, stop.", id));
  }
  control->run(supervise(&run, attendance.get(), &screen, &controls, socket ? socket->get() : nullptr));

  report::RunReport report = report::conclude(run.totals(), {.run_id = id,
                                                             .started_at = run.started_at(),
                                                             .elapsed = run.elapsed(),
                                                             .cores = static_cast<int>(run.cores()),
                                                             .ending = run.ending(),
                                                             .why = run.why(),
                                                             .events = run.events(),
                                                             .workflows = run.workflow_states(),
                                                             .findings = run.findings()});
  if (request_log != nullptr) judge_log(request_log->end(), report);
  const int exit_code = deliver(report, settings.outs, "run");
  if (recorder) keep(*recorder, report);
  return exit_code;
}

struct RunArguments {
  std::string what;
  std::vector<std::string> sets;
  std::vector<std::string> outs;
  std::vector<std::string> headers, stages, tags, hosts;
  uint64_t iterations = 0;
  std::string vus, duration, rate, timeout, method, body, pin, ca_file, request_log, http_debug, local_ips;
  std::string ui;
  uint32_t cores = 0;
  uint64_t seed = 0;
  std::string store;
  std::string sign_key;
  bool no_store = false;
  bool insecure = false;
  bool show_credentials = false;
  bool ignore_limits = false;
  bool no_lookup = false;
  bool check_targets = false;
  script::lua::Permissions scripts;
  ClusterOptions cluster;
  // Only the option and the variable move a run to a cluster; the choice of `cluster use` does not.
  bool on_cluster() const {
    return !cluster.cluster.empty() || !store::variable(&store::own_environment, kClusterVariable).empty();
  }
};

bool is_url(const std::string& text) { return text.find("://") != std::string::npos; }

// The options of the command line that replace the scenario's figures.
Status put_overrides(const RunArguments& arguments, client::Scenario& scenario) {
  if (!arguments.vus.empty()) {
    const auto vus = parse_u64(arguments.vus);
    if (!vus || *vus == 0 || *vus > scenario::kMaxVus) {
      return fail(Errc::kInvalid, "--vus '{}': write a whole number from 1 to {}", arguments.vus, scenario::kMaxVus);
    }
    scenario.vus = static_cast<uint32_t>(*vus);
  }
  if (!arguments.duration.empty()) {
    auto duration = parse_duration(arguments.duration);
    if (!duration) return fail(Errc::kInvalid, "--duration: " + duration.error().message);
    if (*duration <= Duration::zero()) return fail(Errc::kInvalid, "--duration: write more than 0");
    scenario.duration = client::Span(duration->ns());
  }
  if (!arguments.rate.empty()) {
    auto rate = parse_rate(arguments.rate);
    if (!rate) return fail(Errc::kInvalid, "--rate: " + rate.error().message);
    if (*rate <= 0) return fail(Errc::kInvalid, "--rate: write more than 0");
    scenario.rate_per_s = *rate;
  }
  if (arguments.iterations > 0) scenario.iterations = arguments.iterations;
  for (const std::string& text : arguments.stages) {
    BW_RETURN_IF_ERROR(add_stage(text, scenario));
  }
  BW_TRY(scenario.tags, parse_pairs(arguments.tags, "--tag", "KEY=VALUE"));
  BW_TRY(scenario.hosts, parse_pairs(arguments.hosts, "--resolve", "HOST=IP or HOST=IP:PORT"));
  scenario.local_ips = arguments.local_ips;
  BW_TRY(const auto timeout, parse_timeout(arguments.timeout));
  if (timeout) scenario.timeout = client::Span(timeout->ns());
  return {};
}

Status put_url(const RunArguments& arguments, client::Scenario& scenario) {
  if (!arguments.sets.empty()) return fail(Errc::kInvalid, "--set belongs to a scenario file, not to a URL");
  scenario.url = arguments.what;
  scenario.method = arguments.method;
  for (const std::string& header : arguments.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) return fail(Errc::kInvalid, "--header '{}': write 'Name: value'", header);
    scenario.headers.emplace_back(std::string(trim(header.substr(0, colon))),
                                  std::string(trim(header.substr(colon + 1))));
  }
  if (!arguments.body.empty()) {
    BW_TRY(scenario.body, read_body(arguments.body));
  }
  const bool is_plain = iequals(std::string_view(arguments.what).substr(0, 7), "http://");
  if (is_plain && (arguments.insecure || !arguments.ca_file.empty())) {
    std::fputs("warning: --insecure and --cacert count only after a redirect to https: the URL is no https://.\n",
               stderr);
  }
  scenario.verify_certificate = !arguments.insecure;
  scenario.ca_file = arguments.ca_file;
  return {};
}

Status put_file(const RunArguments& arguments, client::Scenario& scenario) {
  if (!arguments.method.empty() || !arguments.body.empty() || !arguments.headers.empty() || arguments.insecure ||
      !arguments.ca_file.empty()) {
    return fail(Errc::kInvalid,
                fmt::format("--method, --header, --body, --insecure and --cacert belong to a URL; a scenario file says "
                            "these things itself (for a URL, write it with its scheme: http://{})",
                            arguments.what));
  }
  BW_TRY(auto sets, parse_pairs(arguments.sets));
  scenario.file = arguments.what;
  scenario.variables = std::move(sets);
  return {};
}

Result<plan::Bundled> bundle_of(const RunArguments& arguments) {
  client::Scenario scenario;
  BW_RETURN_IF_ERROR(put_overrides(arguments, scenario));
  BW_RETURN_IF_ERROR(is_url(arguments.what) ? put_url(arguments, scenario) : put_file(arguments, scenario));
  client::detail::Native native;
  if (!arguments.sign_key.empty() && (!arguments.on_cluster() || !scenario.url.empty())) {
    return fail(Errc::kInvalid,
                "--sign-key is for a workflow in C++ that goes to a cluster; `bellwether build` signs a file");
  }
  if (scenario.url.empty()) {
    BW_TRY(native,
           arguments.on_cluster() ? native_for_cluster(arguments.what, arguments.sign_key) : native_of(arguments.what));
  }
  auto bundled = load_scenario(scenario, native, arguments.scripts);
  const bool names_a_file = arguments.what.ends_with(".yaml") || arguments.what.ends_with(".yml") ||
                            arguments.what.ends_with(".lua") || arguments.what.ends_with(".bw");
  if (bundled || bundled.error().code != Errc::kNotFound || names_a_file || !scenario.url.empty()) return bundled;
  return fail(Errc::kNotFound, "{}; a URL needs its scheme: http://{}", bundled.error().message, arguments.what);
}

Result<RunSettings> settings_of(const RunArguments& arguments) {
  RunSettings settings;
  settings.cores = arguments.cores;
  settings.seed = arguments.seed;
  settings.ignore_limits = arguments.ignore_limits;
  settings.look_up = !arguments.no_lookup;
  settings.connect = arguments.check_targets;
  settings.scripts = arguments.scripts;
  BW_TRY(settings.ui, ui_of(arguments.ui.empty() && !arguments.http_debug.empty() ? "ci" : arguments.ui));
  settings.request_log = arguments.request_log;
  if (!arguments.http_debug.empty()) {
    const bool full = arguments.http_debug == "full";
    // The parser's value of a flag without one.
    if (!full && arguments.http_debug != "true") {
      return fail(Errc::kInvalid, "--http-debug={}: write --http-debug or --http-debug=full", arguments.http_debug);
    }
    if (settings.ui == Ui::kFull) return fail(Errc::kInvalid, "--http-debug has no place on the screen of --ui full");
    settings.http_debug = {.bodies = full, .credentials = arguments.show_credentials};
  } else if (arguments.show_credentials) {
    return fail(Errc::kInvalid, "--show-credentials belongs to --http-debug");
  }
  if (!arguments.pin.empty()) {
    BW_TRY(settings.pin, parse_pin(arguments.pin));
  }
  BW_TRY(settings.outs, parse_outs(arguments.outs));
  for (const Out& out : settings.outs) {
    std::error_code code;
    if (!settings.request_log.empty() && std::filesystem::weakly_canonical(out.file, code) ==
                                             std::filesystem::weakly_canonical(settings.request_log, code)) {
      return fail(Errc::kInvalid, "--request-log '{}': a report goes to that file", settings.request_log);
    }
  }
  if (!arguments.no_store && !is_store_off()) {
    // Without a known place for the store, the run goes on without it.
    if (auto store = store_path(arguments.store)) settings.store = std::move(*store);
  }
  return settings;
}

Result<int> run_command(const RunArguments& arguments) {
  BW_TRY(const auto settings, settings_of(arguments));
  if (arguments.no_lookup && arguments.check_targets) {
    return fail(Errc::kInvalid, "--no-lookup contradicts --check-targets: leave one of them out");
  }
  if (!arguments.on_cluster() && !arguments.cluster.by.empty()) {
    return fail(Errc::kInvalid, "--by is for the audit log of a cluster: name one with --cluster");
  }
  if (!arguments.on_cluster() && arguments.cluster.quorum_wait) {
    return fail(Errc::kInvalid, "--quorum-wait is for the managers of a cluster: name one with --cluster");
  }
  BW_TRY(auto bundled, bundle_of(arguments));
  if (arguments.on_cluster()) {
    if (arguments.scripts.files || arguments.scripts.processes) {
      return fail(Errc::kInvalid,
                  "--allow-files and --allow-processes are of this machine: on a cluster no script has either");
    }
    if (arguments.cores != 0 || !arguments.pin.empty() || arguments.ignore_limits || arguments.no_lookup ||
        arguments.check_targets) {
      return fail(Errc::kInvalid,
                  "--cores, --pin, --ignore-limits, --no-lookup and --check-targets are of this machine, and with "
                  "--cluster or BELLWETHER_CLUSTER the workers of the cluster run the load");
    }
    if (!arguments.request_log.empty() || !arguments.http_debug.empty()) {
      return fail(
          Errc::kInvalid,
          "--request-log and --http-debug are of this machine: the workers of a cluster keep no single requests");
    }
    FollowOptions options;
    options.ui = settings.ui;
    options.outs = settings.outs;
    options.store = settings.store;
    options.cluster = arguments.cluster.cluster;
    return run_on_cluster(bundled, arguments.cluster, settings.seed, options);
  }
  bundled.bundle = {};  // a run on this machine needs the plan only
  return run_session(bundled.plan, settings);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = new_verb(app, "run");
  command
      ->add_option("FILE|URL", arguments->what,
                   "Scenario (FILE.yaml, .lua, .cc, .bw), or a URL with http:// or https://")
      ->required();
  command
      ->add_option("-u,--vus", arguments->vus, "Number of virtual users (default: those of the scenario; 1 for a URL)")
      ->type_name("N");
  add_text(command, "-d,--duration", arguments->duration, "TIME", "Duration, for example 30s or 5m");
  add_text(command, "-R,--rate", arguments->rate, "RATE",
           "Arrival rate, for example 500/s: an open model, which the target cannot slow down");
  command
      ->add_option("-n,--iterations", arguments->iterations,
                   "Run this many iterations of each workflow, shared by its users (default: 1 user, at most 10m)")
      ->check(CLI::Range(uint64_t{1}, scenario::kMaxIterations));
  add_list(command, "--stage", arguments->stages,
           "Ramp to this number of users (30s:100), or to this arrival rate (30s:500/s); repeatable, in order")
      ->type_name("DURATION:TARGET");
  add_list(command, "--tag", arguments->tags, "Tag of the run and of all its steps; thresholds can select it")
      ->type_name("KEY=VALUE");
  add_text(command, "--timeout", arguments->timeout, "TIME", "End the run after this time, for example 2h");
  add_sets(command, arguments->sets);
  add_out_option(command, arguments->outs);
  add_store_option(command, arguments->store);
  command->add_flag("--no-store", arguments->no_store, "Do not store the run for `bellwether results`");
  add_text(command, "--ui", arguments->ui, kUiKind, kUiHelp);
  command->add_option("--cores", arguments->cores, "Number of load threads (default: all processors)")
      ->check(CLI::Range(1U, kMaxCores));
  add_text(command, "--pin", arguments->pin, "LIST", "Processors for the load threads, for example 1 or 0,2-3");
  add_list(command, "--resolve", arguments->hosts, "Connect to this address in place of the look-up of the host")
      ->type_name("HOST=IP[:PORT]");
  add_text(command, "--local-ips", arguments->local_ips, "LIST",
           "Connect from these addresses of the machine, by user in turn: IP, IP-IP, IP/BITS, with commas");
  add_text(command, "--request-log", arguments->request_log, "FILE",
           "Write a row for each measured request: FILE.csv or FILE.jsonl");
  command->add_flag("--http-debug", arguments->http_debug,
                    "Print each request and response on standard error, with =full their bodies too; at most 10 users");
  command->add_flag("--show-credentials", arguments->show_credentials,
                    "With --http-debug: print Authorization and cookies, which are *** otherwise");
  add_seed(command, arguments->seed, "Seed of all random values (default: random)");
  add_permissions(command, arguments->scripts);
  add_sign_option(command, arguments->sign_key);
  command->add_flag("--ignore-limits", arguments->ignore_limits, "Start even if the limit of open files is too low");
  command->add_flag("--no-lookup", arguments->no_lookup, "Start even if the name of a target cannot be resolved");
  command->add_flag("--check-targets", arguments->check_targets,
                    "Before the load, also connect to each target; refuse the run if one cannot be reached");
  add_list(command, "-H,--header", arguments->headers, "URL only: a header field")->type_name("'NAME: VALUE'");
  add_text(command, "-X,--method", arguments->method, "METHOD", "URL only: method (default GET)");
  add_text(command, "-b,--body", arguments->body, "TEXT|@FILE",
           "URL only: body of the request; @FILE: content of a file, @-: standard input");
  command->add_flag("-k,--insecure", arguments->insecure, "URL only: do not verify the certificate");
  command->add_option("--cacert", arguments->ca_file, "URL only: file with the CA certificates to trust")
      ->check(CLI::ExistingFile);
  add_cluster_option(command, arguments->cluster.cluster, "BELLWETHER_CLUSTER, then this machine");
  add_text(command, "--by", arguments->cluster.by, "NAME",
           "With a cluster: name of the person who asks, for audit logs (default: $USER)");
  add_quorum_wait(command, arguments->cluster);
  command->footer(
      "With --cluster or BELLWETHER_CLUSTER the workers of a cluster make the load; screen and reports are the same. "
      "`--cluster current` is the cluster of `bellwether cluster use`. A cluster runs workflows in C++ only if they "
      "are signed, with --sign-key or by `bellwether build`: the page \"Workflows in C++ on a cluster\" of the "
      "documentation. First Ctrl-C: running "
      "iterations finish, then comes the summary. Second: they end at once. On the screen: q stops the run after a "
      "question, n shows the next workflow, ? lists all keys.\n\nExit codes: `bellwether help` lists those of a run.");
  command->callback([arguments, &exit_code] { exit_code = answer("run", run_command(*arguments)); });
}

}  // namespace bellwether::cli
