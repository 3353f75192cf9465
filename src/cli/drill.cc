// bellwether drill POLICY: break the leader of a loop again and again, and compare with what was promised.

#include "lead/drill/drill.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "lead/drill/act_log.h"

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
  bool yes = false;
  bool json = false;
};

double seconds(Duration span) { return static_cast<double>(span.ns()) / 1e9; }
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

nlohmann::ordered_json as_json(const DrillArguments& given, const DrillReport& report) {
  const lead::LoopPolicy& loop = given.options.loop;
  nlohmann::ordered_json out{{"format", "bellwether.drill/1"},
                             {"loop", loop.name},
                             {"key", loop.lock_key + (given.options.attach ? "" : given.options.suffix)},
                             {"store", loop.store},
                             {"fault", to_string(given.options.fault)},
                             {"attached", given.options.attach},
                             {"rounds_wanted", given.options.rounds},
                             {"poll_s", seconds(loop.poll_interval)},
                             {"ttl_s", seconds(loop.lock_ttl)},
                             {"budget_s", seconds(report.worst_budget)},
                             {"arithmetic", report.arithmetic},
                             {"limit_s", seconds(report.limit)}};
  out["contenders"] =
      given.options.attach ? nlohmann::ordered_json() : nlohmann::ordered_json(given.options.contenders);
  out["takeover_slo_s"] = report.slo ? nlohmann::ordered_json(seconds(*report.slo)) : nlohmann::ordered_json();
  out["rounds"] = nlohmann::ordered_json::array();
  for (const DrillRound& round : report.rounds) {
    out["rounds"].push_back({{"old_holder", round.old_holder},
                             {"old_epoch", round.old_epoch},
                             {"new_holder", round.new_holder},
                             {"new_epoch", round.new_epoch},
                             {"taken_over", round.taken_over},
                             {"from_fault_s", seconds(round.from_fault)},
                             {"idle_s", seconds(round.idle)},
                             {"within", round.taken_over && round.from_fault <= report.limit}});
  }
  out["acts"] = report.acts;
  out["acts_known"] = report.acts_known;
  out["overlaps"] = report.overlaps;
  out["epochs_grew"] = report.epochs_grew;
  out["load"] = nullptr;
  if (report.load) out["load"] = {{"requests", report.load->requests}, {"failed", report.load->failed}};
  out["within"] = report.within();
  out["interrupted"] = report.interrupted;
  out["error"] = report.error;
  out["exit_code"] = exit_code_of(report);
  return out;
}

void print_report(const DrillArguments& given, const DrillReport& report) {
  Table table({"ROUND", "OLD", "EPOCH", "NEW", "EPOCH", "FROM FAULT", "IDLE", ""});
  Duration longest;
  for (std::size_t i = 0; i < report.rounds.size(); ++i) {
    const DrillRound& round = report.rounds[i];
    longest = std::max(longest, round.from_fault);
    table.add({std::to_string(i + 1), round.old_holder, std::to_string(round.old_epoch), round.new_holder,
               std::to_string(round.new_epoch), rounded(round.from_fault), rounded(round.idle),
               verdict(report, round)});
  }
  std::fputs(table.text().c_str(), stdout);
  std::printf("\n%s, fault %s: %zu of %zu rounds, longest takeover %s\n", given.options.loop.name.c_str(),
              to_string(given.options.fault), report.rounds.size(), given.options.rounds, rounded(longest).c_str());
  std::printf("budget %s: %s\n", rounded(report.worst_budget).c_str(), report.arithmetic.c_str());
  if (report.slo) std::printf("promised (takeover_slo): %s\n", rounded(*report.slo).c_str());
  if (report.acts_known) {
    std::printf("%s acts, %s by a holder that was none any more\n", format_count(report.acts).c_str(),
                format_count(report.overlaps).c_str());
  } else {
    std::printf("measured by the key; whether two acted at once is not known (--acts FILE tells)\n");
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
    if (!pid || *pid < 2 || *pid > INT32_MAX) return fail(Errc::kInvalid, "--pid '" + text + "': write HOLDER=PID");
    given.options.pids.emplace_back(text.substr(0, equals), static_cast<int64_t>(*pid));
  }
  return {};
}

// What goes with what.
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
                "--load runs in the ticks of the drill's own contenders; --scenario FILE goes with --attach");
  }
  if (!given.yes) {
    return fail(Errc::kInvalid, "--attach breaks the real leader of the real loop, " + std::to_string(options.rounds) +
                                    " times; if this is what you want, say --yes");
  }
  return take_pids(given);
}

int run_drill_command(DrillArguments& given) {
  lead::DrillOptions& options = given.options;
  std::vector<yaml::Diagnostic> warnings;
  const auto policy = load_policy(options.policy_file, warnings);
  if (!policy) return refuse("drill", policy.error().message);
  const auto loop = std::find_if(policy->loops.begin(), policy->loops.end(),
                                 [&](const lead::LoopPolicy& one) { return one.name == given.loop; });
  if (loop == policy->loops.end()) return refuse("drill", options.policy_file + " has no loop '" + given.loop + "'");
  options.loop = *loop;
  if (!given.via.empty()) options.loop.store = given.via;
  if (options.loop.store.empty())
    return refuse("drill", "the loop has no store: name one in the sheet, or with --via URL");
  options.fault = given.fault == "kill"    ? lead::DrillFault::kKill
                  : given.fault == "pause" ? lead::DrillFault::kPause
                                           : lead::DrillFault::kCut;
  if (const auto fits = check_given(given); !fits) return refuse("drill", fits.error().message);
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return refuse("drill", runtime.error().message);
  const DrillReport report = run_drill(**runtime, options);
  if (!report.error.empty()) std::fprintf(stderr, "bellwether drill: %s\n", report.error.c_str());
  if (!report.error.empty() && report.acts == 0) return kExitUsage;
  const std::string text = as_json(given, report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!given.report_file.empty()) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(given.report_file.c_str(), "we"), &std::fclose);
    if (file == nullptr || std::fputs(text.c_str(), file.get()) < 0) {
      return refuse("drill", "the report cannot be written to '" + given.report_file + "'");
    }
  }
  if (given.json) {
    std::fputs(text.c_str(), stdout);
  } else {
    print_report(given, report);
  }
  return exit_code_of(report);
}

// What a contender of a drill does in its ticks; not for people.
void add_drill_act(CLI::App& app, int& exit_code) {
  struct Act {
    std::string file;
    int64_t ms = 0;
  };
  auto act = std::make_shared<Act>();
  CLI::App* command = new_verb(app, "drill-act", "")->group("");
  command->add_option("FILE", act->file)->required();
  command->add_option("MS", act->ms)->required();
  command->callback([act, &exit_code] { exit_code = lead::act_for(act->file, Duration::millis(act->ms)); });
}

void add_attach(CLI::App* command, DrillArguments& given) {
  lead::DrillOptions& options = given.options;
  command->add_flag("--attach", options.attach,
                    "Break the processes that run the loop now, instead of starting\n"
                    "some; takeovers are measured by the key");
  command->add_flag("--yes", given.yes, "Yes, although --attach breaks the real leader");
  command->add_option("--pid", given.pids, "Process of a holder whose name is not HOST:PID; may be given again")
      ->type_name("HOLDER=PID")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--break-with", options.break_command,
                   "Break the leader by this shell command, which sees\n"
                   "BELLWETHER_HOLDER, _EPOCH, _KEY and _PID")
      ->type_name("COMMAND");
  command->add_option("--repair-with", options.repair_command, "Run this after each takeover; sees the same")
      ->type_name("COMMAND");
  command
      ->add_option("--acts", options.acts,
                   "File to which the contenders append a line for each act:\n"
                   "HOLDER EPOCH NANOSECONDS (of the boot clock)")
      ->type_name("FILE");
}

}  // namespace

void add_drill(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<DrillArguments>();
  lead::DrillOptions& options = given->options;
  CLI::App* command = new_verb(app, "drill", "Break the leader of a loop, and measure the takeover");
  command->add_option("POLICY", options.policy_file, "Policy sheet (YAML)")->required();
  command->add_option("--loop", given->loop, "The loop")->required()->type_name("NAME");
  command->add_option("--via", given->via, "Store, in place of that of the sheet")->type_name("URL");
  command->add_option("--fault", given->fault, "kill (SIGKILL), pause (SIGSTOP past the TTL), cut (from the store)")
      ->check(CLI::IsMember({"kill", "pause", "cut"}));
  command->add_option("--rounds", options.rounds, "So many takeovers (default 5)")->check(CLI::Range(1, 1000));
  command->add_option("--contenders", options.contenders, "So many processes (default 3)")->check(CLI::Range(2, 50));
  command
      ->add_option("--load", options.command,
                   "A shell command that also runs in each tick, such as a short\n"
                   "'bellwether run' against what the loop works on")
      ->type_name("COMMAND");
  command->add_option("--key-suffix", options.suffix,
                      "Appended to the lock key (default :drill), so that the real loop\n"
                      "goes on beside the drill");
  command
      ->add_option("--scenario", options.scenario, "Load from the first round to the last: what 'bellwether run' runs")
      ->type_name("FILE|URL");
  add_attach(command, *given);
  add_duration(command, "--store-p99", options.operation, "One operation of the store, 99 of 100 times (default 50ms)");
  command->add_option("--report", given->report_file, "Write the report here too, as JSON")->type_name("FILE");
  command->add_flag("--json", given->json, "The report as JSON instead of the table");
  command->add_flag("-q,--quiet", options.quiet, "No progress");
  command->footer(
      "Contenders are processes of this program ('bellwether loops run'), whose ticks note each act with its epoch. "
      "The\n"
      "time from the fault to the first act of the next leader is compared with takeover_slo, or else the budget.\n\n"
      "Examples:\n"
      "  bellwether drill policy.yaml --loop delay_poller --fault pause --rounds 10 --report drill.json\n"
      "  bellwether drill policy.yaml --loop delay_poller --attach --yes --rounds 1 --scenario peak.yaml\n\n"
      "Exit codes: 0 every takeover in time, 1 one was late or did not come, 2 two acted at once, 104 wrong sheet,\n"
      "  store or command line, 105 ended by a signal.");
  command->callback([given, &exit_code] { exit_code = run_drill_command(*given); });
  add_drill_act(app, exit_code);
}

}  // namespace bellwether::cli
