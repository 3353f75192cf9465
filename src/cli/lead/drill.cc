// bellwether drill POLICY: break the leader of a loop again and again, and compare with the promised times. bellwether
// sim: break leadership in virtual time.

#include "lead/drill/drill.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "lead/drill/candidates.h"
#include "load/report/write_file.h"
#include "sim/all_worlds.h"

namespace bellwether::cli {
namespace {

using lead::DrillReport;
using lead::DrillRound;

constexpr int kExitOver = 1;
constexpr int kExitOverlap = 2;
constexpr int kExitSignal = 105;

struct DrillArguments {
  lead::DrillOptions options;
  std::string loop;
  std::string via;
  std::string fault = "kill";
  std::string report_file;
  std::vector<std::string> pids;
  std::optional<std::size_t> rounds;
  std::optional<std::size_t> candidates;
  bool yes = false;
  bool json = false;
};

std::string rounded(Duration span) { return format_duration(Duration::millis(span.ms())); }

const char* verdict(const DrillReport& report, const DrillRound& round) {
  if (!round.taken_over) return "NOBODY TOOK OVER";
  return round.from_fault <= report.limit ? "within" : "OVER";
}

int exit_code_of(const DrillReport& report) {
  if (report.overlaps > 0 || !report.epochs_grew) return kExitOverlap;
  if (!report.within()) return kExitOver;
  if (report.interrupted) return kExitSignal;
  return report.error.empty() ? kExitOk : kExitOver;
}

// A round, with its place.
Fields round_fields(const DrillReport& report, const DrillRound& round, std::size_t place) {
  return {shown("ROUND", std::to_string(place)),
          {"OLD", "old_holder", round.old_holder},
          {"EPOCH", "old_epoch", round.old_epoch},
          {"NEW", "new_holder", round.new_holder},
          {"EPOCH", "new_epoch", round.new_epoch},
          told("taken_over", round.taken_over),
          {"FROM FAULT", "from_fault_s", seconds_of(round.from_fault), rounded(round.from_fault)},
          {"IDLE", "idle_s", seconds_of(round.idle), rounded(round.idle)},
          {"", "within", round.taken_over && round.from_fault <= report.limit, verdict(report, round)}};
}

Rows rounds_of(const DrillReport& report) {
  std::size_t place = 0;  // of the headings
  return {report.rounds, [&](const DrillRound& round) { return round_fields(report, round, place++); }};
}

Value report_of(const DrillArguments& given, const DrillReport& report) {
  const lead::LoopPolicy& loop = given.options.loop;
  const bool attached = given.options.attach;
  const auto load = [&] {
    return object_of({told("requests", report.load->requests), told("failed", report.load->failed)});
  };
  return object_of({told("format", "bellwether.drill/1"),
                    told("loop", loop.name),
                    told("key", loop.lock_key + (attached ? "" : given.options.suffix)),
                    told("store", loop.store),
                    told("fault", to_string(given.options.fault)),
                    told("attached", attached),
                    told("rounds_wanted", given.options.rounds),
                    told("poll_s", seconds_of(loop.poll_interval)),
                    told("ttl_s", seconds_of(loop.lock_ttl)),
                    told("budget_s", seconds_of(report.worst_budget)),
                    told("arithmetic", report.arithmetic),
                    told("limit_s", seconds_of(report.limit)),
                    told("candidates", attached ? Value() : Value(given.options.candidates)),
                    told("takeover_slo_s", report.slo ? Value(seconds_of(*report.slo)) : Value()),
                    told("rounds", rounds_of(report).list()),
                    told("acts", report.acts),
                    told("acts_known", report.acts_known),
                    told("overlaps", report.overlaps),
                    told("epochs_grew", report.epochs_grew),
                    told("load", report.load ? load() : Value()),
                    told("within", report.within()),
                    told("interrupted", report.interrupted),
                    told("error", report.error),
                    told("exit_code", exit_code_of(report))});
}

void print_report(const DrillArguments& given, const DrillReport& report) {
  Duration longest;
  for (const DrillRound& round : report.rounds) longest = std::max(longest, round.from_fault);
  print(rounds_of(report).table());
  std::printf("\n%s, fault %s: %zu of %zu rounds, longest takeover %s\n", given.options.loop.name.c_str(),
              to_string(given.options.fault), report.rounds.size(), given.options.rounds, rounded(longest).c_str());
  std::printf("budget %s: %s\n", rounded(report.worst_budget).c_str(), report.arithmetic.c_str());
  if (report.slo) std::printf("promised (takeover_slo): %s\n", rounded(*report.slo).c_str());
  if (report.acts_known) {
    std::printf("%s acts, %s of them by a former holder\n", format_count(report.acts).c_str(),
                format_count(report.overlaps).c_str());
  } else {
    std::printf("measured by the key; whether two acted at once is unknown without --acts FILE\n");
    if (report.overlaps > 0) std::printf("THE KEY WENT BACK TO AN OLDER EPOCH\n");
  }
  if (report.load) {
    std::printf("load: %s requests, %s failed\n", format_count(report.load->requests).c_str(),
                format_count(report.load->failed).c_str());
  }
  if (report.interrupted) std::printf("ended by a signal; the report is partial\n");
}

// NAME=PID
Status take_pids(DrillArguments& given) {
  for (const std::string& text : given.pids) {
    const auto equals = text.rfind('=');
    const auto pid = equals == std::string::npos ? std::nullopt : parse_u64(std::string_view(text).substr(equals + 1));
    if (!pid || *pid < 2 || *pid > INT32_MAX) return fail(Errc::kInvalid, "--pid '{}': write HOLDER=PID", text);
    given.options.pids.emplace_back(text.substr(0, equals), static_cast<int64_t>(*pid));
  }
  return {};
}

// Checks that the options fit each other.
Status check_given(DrillArguments& given) {
  lead::DrillOptions& options = given.options;
  const bool commanded = !options.break_command.empty();
  if (commanded) options.fault = lead::DrillFault::kCommand;
  const bool for_attached =
      commanded || !options.repair_command.empty() || !options.acts.empty() || !given.pids.empty();
  if (for_attached && !options.attach) {
    return fail(Errc::kInvalid, "--pid, --break-with, --repair-with and --acts go with --attach");
  }
  if (!options.attach) return {};
  if (options.fault == lead::DrillFault::kCut) {
    return fail(Errc::kInvalid,
                "what runs already is not reached over a way of this drill: cut it off with --break-with "
                "COMMAND (and --repair-with), such as nft rules");
  }
  if (!options.command.empty()) {
    return fail(Errc::kInvalid,
                "--load runs in the ticks of the drill's own candidates; --scenario FILE goes with --attach");
  }
  if (!given.yes) {
    return fail(Errc::kInvalid,
                "--attach breaks the real leader of the real loop, once in each of at most {} rounds. A killed process "
                "stays dead unless something starts it again: give fewer --rounds than there are candidates. If this "
                "is what you want, say --yes",
                options.rounds);
  }
  BW_RETURN_IF_ERROR(take_pids(given));
  if (options.fault != lead::DrillFault::kKill || !options.repair_command.empty()) return {};
  // Each round has one candidate less, and the last one has nobody to take over from it.
  const std::size_t candidates = given.candidates.value_or(given.pids.size());
  if (candidates == 0) {
    return fail(Errc::kInvalid,
                "how many candidates run now? Say --candidates N: a killed process stays dead unless --repair-with "
                "COMMAND, or a supervisor, starts it again");
  }
  if (!given.rounds) options.rounds = std::min(options.rounds, candidates - 1);
  if (options.rounds < 1 || options.rounds >= candidates) {
    return fail(Errc::kInvalid,
                "{} would kill as many of {}, and nobody could take over from the last: give fewer --rounds than "
                "candidates (--candidates N, if more of them run), or --repair-with COMMAND if they are started again",
                format_count(std::max<std::size_t>(options.rounds, 1), "round"), format_count(candidates, "candidate"));
  }
  return {};
}

Result<int> run_drill_command(DrillArguments& given) {
  lead::DrillOptions& options = given.options;
  BW_TRY(auto loops, choose_loops(options.policy_file, given.via, {given.loop}));
  options.loop = std::move(loops.front());
  options.fault = given.fault == "kill"    ? lead::DrillFault::kKill
                  : given.fault == "pause" ? lead::DrillFault::kPause
                                           : lead::DrillFault::kCut;
  options.rounds = given.rounds.value_or(options.rounds);
  options.candidates = given.candidates.value_or(options.candidates);
  BW_RETURN_IF_ERROR(check_given(given));
  DrillReport report;
  const auto drill = [&](auto& runtime) {
    report = run_drill(runtime, options);
    return report.error.empty() ? kExitOk : refuse("drill", report.error);
  };
  const int began = in_runtime("drill", drill);
  if (began != kExitOk && report.acts == 0) return began;
  const std::string text = report_of(given, report).document();
  if (!given.report_file.empty()) {
    BW_RETURN_IF_ERROR(report::write_file(given.report_file, text));
  }
  given.json ? void(print(text)) : print_report(given, report);
  return exit_code_of(report);
}

// The work of a drill's candidate in its ticks; not for people.
void add_drill_act(CLI::App& app, int& exit_code) {
  struct Act {
    std::string file;
    int64_t ms = 0;
  };
  auto act = std::make_shared<Act>();
  CLI::App* command = app.add_subcommand("drill-act")->group("");
  command->add_option("FILE", act->file)->required();
  command->add_option("MS", act->ms)->required();
  command->callback([act, &exit_code] { exit_code = lead::act_for(act->file, Duration::millis(act->ms)); });
}

void add_attach(CLI::App* command, DrillArguments& given) {
  lead::DrillOptions& options = given.options;
  command->add_flag(
      "--attach", options.attach,
      "Break the processes that run the loop now, instead of starting some; takeovers are measured by the key");
  command->add_flag("--yes", given.yes, "Confirm that --attach may break the real leader");
  add_more(command, "--pid", given.pids, "Process of a holder whose name is not HOST:PID; repeatable", "HOLDER=PID");
  add_text(command, "--break-with", options.break_command, "COMMAND",
           "Break the leader by this shell command, which sees BELLWETHER_HOLDER, _EPOCH, _KEY and _PID");
  add_text(command, "--repair-with", options.repair_command, "COMMAND",
           "Shell command after each takeover, with the same variables");
  add_text(command, "--acts", options.acts, "FILE",
           "File to which the candidates append a line for each act: HOLDER EPOCH NANOSECONDS (of the boot clock)");
}

// --- sim: the simulated worlds that ship with the product, or one run of one of them --------------------------------

int code_of(sim::SimOutcome outcome) {
  switch (outcome) {
    case sim::SimOutcome::kHeld: return kExitOk;
    case sim::SimOutcome::kViolated: return 1;
    case sim::SimOutcome::kNotFound: return 2;
  }
  return kExitUsage;
}

int run_sim(const sim::SimRequest& request, bool list) {
  std::vector<sim::WorldRow> worlds(sim::leadership_worlds().begin(), sim::leadership_worlds().end());
  for (const sim::WorldRow& world :
       {sim::quorum_world(), sim::vote_world(), sim::register_world(), sim::membership_world(), sim::cluster_world()}) {
    worlds.push_back(world);
  }
  worlds.insert(worlds.end(), sim::datacenter_worlds().begin(), sim::datacenter_worlds().end());
  const sim::SimReport report(worlds, sim::membership_measurements(), [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  });
  if (list || request.world.empty()) {
    report.list();
    return list ? kExitOk : kExitUsage;
  }
  const auto outcome = report.run(request);
  if (outcome) return code_of(*outcome);
  return refuse("sim", outcome.error().message);
}

}  // namespace

void add_drill(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<DrillArguments>();
  lead::DrillOptions& options = given->options;
  CLI::App* command = new_verb(app, "drill");
  command->add_option("POLICY", options.policy_file, "Policy sheet (YAML)")->required();
  add_text(command, "--loop", given->loop, "NAME", "Name of the loop")->required();
  add_text(command, "--via", given->via, "URL", "Store in place of the one in the sheet");
  add_choice(command, "--fault", given->fault, {"kill", "pause", "cut"},
             "kill (SIGKILL), pause (SIGSTOP beyond the TTL) or cut (from the store)");
  command->add_option("--rounds", given->rounds, "Number of takeovers (default 5)")->check(CLI::Range(1, 1000));
  command
      ->add_option("--candidates", given->candidates,
                   "Number of processes (default 3); with --attach, of the candidates that run now")
      ->check(CLI::Range(2, 50));
  add_text(
      command, "--load", options.command, "COMMAND",
      "A shell command that also runs in each tick, such as a short 'bellwether run' against what the loop works on");
  add_text(command, "--key-suffix", options.suffix, "SUFFIX",
           "Appended to the lock key (default :drill), so that the real loop goes on beside the drill");
  add_text(command, "--scenario", options.scenario, "FILE|URL",
           "Scenario or URL; its load runs from the first round to the last");
  add_attach(command, *given);
  add_duration(command, "--store-p99", options.operation, "p99 of one operation of the store (default 50ms)");
  add_text(command, "--report", given->report_file, "FILE", "Also write the report to this file, as JSON");
  command->add_flag("--json", given->json, "Print the report as JSON in place of the table");
  command->add_flag("-q,--quiet", options.quiet, "Print no progress");
  command->footer(
      "The candidates are processes of this program ('bellwether loops run'); their ticks record each act with its "
      "epoch. The time from the fault to the first act of the next leader is compared with takeover_slo, or else with "
      "the budget.\n"
      "\n"
      "Exit codes: 0 all takeovers in time, 1 one was late or missing, 2 two processes acted at once, 104 wrong sheet, "
      "store or command line, 105 ended by a signal.");
  command->callback([given, &exit_code] { exit_code = answer("drill", run_drill_command(*given)); });
  add_drill_act(app, exit_code);
}

void add_sim(CLI::App& app, int& exit_code) {
  auto* command = new_verb(app, "sim");
  static sim::SimRequest request;
  static bool list = false;
  command->add_option("--world", request.world, "Name of the world (see --list)")->type_name("NAME");
  command->add_option("--seed", request.seed, "Repeat the run of this seed, and print its events");
  command->add_option("--seeds", request.seeds, "Number of seeds (default 1000)")->check(CLI::PositiveNumber);
  command->add_option("--from", request.from, "First seed (default 1)");
  command->add_option("--mistake", request.mistake, "Add a known mistake, to see that the checker finds it")
      ->type_name("NAME");
  command->add_flag("--list", list, "List the worlds and the mistakes");
  command->footer(
      "Exit codes: 0 all invariants held, 1 an invariant was violated (with --mistake: the mistake was found), 2 the "
      "mistake was not found, 104 wrong command line.");
  command->callback([&exit_code] { exit_code = run_sim(request, list); });
}

}  // namespace bellwether::cli
