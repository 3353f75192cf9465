// bellwether loops: which loops of a deployment are elected, who runs them, and running them.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/loop_rows.h"
#include "cli/seen_lease.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "election/store/open_store.h"
#include "lead/loops/loop_host.h"

namespace bellwether::cli {
namespace {

using lead::LoopPolicy;

struct LoopOptions {
  std::string file;
  std::string via;
  std::vector<std::string> names;
  Duration timeout = Duration::seconds(5);
  bool json = false;
  // run
  lead::LoopHostOptions host;
  std::vector<std::string> on_tick;
  std::string key_suffix;
  bool quiet = false;
  int verbose = 0;
};

// The loops of the sheet that were asked for, each with a store.
Result<std::vector<LoopPolicy>> choose(const LoopOptions& options) {
  std::vector<yaml::Diagnostic> warnings;
  BW_TRY(auto policy, load_policy(options.file, warnings));
  std::vector<LoopPolicy> chosen;
  for (LoopPolicy& loop : policy.loops) {
    const bool wanted = options.names.empty() ||
                        std::find(options.names.begin(), options.names.end(), loop.name) != options.names.end();
    if (!wanted) continue;
    if (!options.via.empty()) loop.store = options.via;
    if (loop.store.empty()) {
      return fail(Errc::kInvalid, "loop " + loop.name + " has no store: name one in the sheet, or with --via URL");
    }
    chosen.push_back(std::move(loop));
  }
  for (const std::string& name : options.names) {
    const auto is_it = [&](const LoopPolicy& loop) { return loop.name == name; };
    if (std::none_of(chosen.begin(), chosen.end(), is_it)) {
      return fail(Errc::kNotFound, options.file + " has no loop '" + name + "'");
    }
  }
  return chosen;
}

// --- run -------------------------------------------------------------------------------------------------------------

// NAME=COMMAND, beside the sheet's own.
Status give_commands(const LoopOptions& options, std::vector<LoopPolicy>& loops) {
  for (const std::string& text : options.on_tick) {
    const auto equals = text.find('=');
    const auto loop = std::find_if(loops.begin(), loops.end(),
                                   [&](const LoopPolicy& one) { return one.name == text.substr(0, equals); });
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return fail(Errc::kInvalid, "--on-tick '" + text + "': write NAME=COMMAND");
    }
    if (loop == loops.end()) {
      return fail(Errc::kInvalid, "--on-tick: there is no loop '" + text.substr(0, equals) + "' here");
    }
    loop->command = text.substr(equals + 1);
  }
  for (const LoopPolicy& loop : loops) {
    if (loop.command.empty()) {
      return fail(Errc::kInvalid, "what does loop " + loop.name +
                                      " do at a tick? Say 'command:' in the sheet, or --on-tick '" + loop.name +
                                      "=COMMAND'; --loop NAME chooses loops");
    }
  }
  return {};
}

int run_these(LoopOptions& options) {
  auto loops = choose(options);
  if (!loops) return refuse("loops", loops.error().message);
  if (const auto given = give_commands(options, *loops); !given) return refuse("loops", given.error().message);
  for (LoopPolicy& loop : *loops) {
    loop.lock_key += options.key_suffix;
    options.host.loops.push_back({loop, loop.command});
  }
  options.host.verbosity = options.quiet ? 0 : 1 + options.verbose;
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return refuse("loops", runtime.error().message);
  return lead::run_loops(**runtime, options.host);
}

// --- the inventory ---------------------------------------------------------------------------------------------------

void print_table(const std::vector<LoopRow>& rows, WallTime now) {
  Table table({"LOOP", "KEY", "POLL", "TTL", "RENEW", "RELEASE", "HOLDER", "EPOCH", "SINCE", "VALID FOR", "IDLE DATA",
               "STORE"});
  for (const LoopRow& row : rows) {
    const LoopPolicy& loop = row.loop;
    std::vector<std::string> cells{loop.name,
                                   loop.lock_key,
                                   format_duration(loop.poll_interval),
                                   format_duration(loop.lock_ttl),
                                   loop.renew_every > Duration::zero() ? format_duration(loop.renew_every) : "never",
                                   std::string(to_string(loop.release_mode))};
    if (row.seen) {
      const election::LeaseRecord& record = row.seen->record;
      const Duration held = between(record.acquired_at, now);
      const int64_t left = record.held() ? left_of(*row.seen, now).ms() : 0;
      cells.push_back(record.held() ? record.holder : "nobody");
      cells.push_back(std::to_string(record.epoch.value()));
      cells.push_back(record.held() && record.acquired_at.unix_ns > 0 ? format_duration(Duration::millis(held.ms()))
                                                                      : "-");
      cells.push_back(!record.held() ? "-" : left > 0 ? std::to_string(left) + " ms" : "overdue");
      cells.push_back(idle_text(row));
    } else {
      cells.insert(cells.end(), {"? " + row.seen.error().message, "?", "?", "?", idle_text(row)});
    }
    cells.push_back(loop.store);
    table.add(std::move(cells));
  }
  std::fputs(table.text().c_str(), stdout);
}

void print_json(const std::vector<LoopRow>& rows, WallTime now) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const LoopRow& row : rows) {
    const LoopPolicy& loop = row.loop;
    nlohmann::ordered_json one{{"loop", loop.name},
                               {"store", loop.store},
                               {"key", loop.lock_key},
                               {"poll_ms", loop.poll_interval.ms()},
                               {"ttl_ms", loop.lock_ttl.ms()},
                               {"renew_ms", loop.renew_every.ms()},
                               {"release_mode", to_string(loop.release_mode)}};
    if (row.seen) {
      const election::LeaseRecord& record = row.seen->record;
      one["held"] = record.held();
      one["holder"] = record.holder;
      one["epoch"] = record.epoch.value();
      one["acquired_unix_ms"] = record.acquired_at.unix_ns / 1'000'000;
      one["valid_for_ms"] = record.held() ? left_of(*row.seen, now).ms() : 0;
    } else {
      one["error"] = row.seen.error().message;
    }
    one["guards"] = nlohmann::ordered_json::array();
    for (const IdleData& idle : row.idle) {
      nlohmann::ordered_json data{{"data", idle.data}};
      if (idle.time) {
        data["idle_ms"] = idle.time->ms();
      } else {
        data["error"] = idle.time.error().message;
      }
      one["guards"].push_back(std::move(data));
    }
    all.push_back(std::move(one));
  }
  const nlohmann::ordered_json out{{"format", "bellwether.loops/1"}, {"loops", std::move(all)}};
  std::printf("%s\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int list_loops(const LoopOptions& options) {
  if (options.file.empty())
    return refuse("loops", "give the policy sheet whose loops are to be shown:  bellwether loops POLICY");
  auto loops = choose(options);
  if (!loops) return refuse("loops", loops.error().message);
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return refuse("loops", runtime.error().message);
  std::vector<LoopRow> rows;
  for (LoopPolicy& loop : *loops) rows.push_back({.loop = std::move(loop), .idle = {}});
  (*runtime)->run(look_at_loops(**runtime, rows, options.timeout));
  const WallTime now = (*runtime)->wall_now();
  if (options.json) {
    print_json(rows, now);
  } else {
    print_table(rows, now);
  }
  return std::any_of(rows.begin(), rows.end(), [](const LoopRow& row) { return !row.seen; }) ? 1 : kExitOk;
}

void add_run_command(CLI::App* parent, const std::shared_ptr<LoopOptions>& options, int& exit_code) {
  CLI::App* command = new_verb(*parent, "run", "Run loops of a policy sheet, each only while holding its lock");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)")->required();
  command->add_option("--loop", options->names, "Only this loop; may be given again")
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--on-tick", options->on_tick, "The shell command that is one tick of a loop; may be given again")
      ->type_name("NAME=COMMAND")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--via", options->via, "Store, in place of those of the sheet")->type_name("URL");
  command->add_option("--id", options->host.holder, "Our name in the locks (default HOST:PID)")->type_name("NAME");
  command
      ->add_option("--key-suffix", options->key_suffix, "Appended to each lock key: a rehearsal beside the real loops")
      ->type_name("TEXT");
  command->add_option("--metrics", options->host.metrics_at, "Serve /metrics, /healthz, /leader and /follower here")
      ->type_name("HOST:PORT");
  command->add_flag("--trust-empty", options->host.trust_empty,
                    "A store without any record of us is new, not emptied: do not wait a lease at first use");
  command->add_option("--audit", options->host.audit_file, "Append every transition to this file, as JSON")
      ->type_name("FILE");
  command->add_flag("--json", options->host.json, "Messages as JSON, one object a line");
  command->add_flag("-q,--quiet", options->quiet, "Say nothing but errors");
  command->add_flag("-v,--verbose", options->verbose, "Tell every tick and every decision");
  command->footer(
      "A tick sees BELLWETHER_LOOP, BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH, the fencing token. It may\n"
      "write 'stale_jobs N' and 'orphan_replayed N' to descriptor BELLWETHER_REPORT_FD. It is ended when its lock is\n"
      "lost; a tick that fails is counted, and the loop goes on.\n\n"
      "Example:\n"
      "  bellwether loops run policy.yaml --loop delay_poller --on-tick 'delay_poller=./poll-delays' --metrics "
      "127.0.0.1:9464\n\n"
      "Exit codes: 0 ended by a signal, all locks given back; 104 wrong sheet, store or command line.");
  command->callback([options, &exit_code] { exit_code = run_these(*options); });
}

}  // namespace

void add_loops(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LoopOptions>();
  CLI::App* command = new_verb(app, "loops", "The loops of a policy sheet: who holds each, and running them");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)");
  command->add_option("--loop", options->names, "Only this loop; may be given again")
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--via", options->via, "Store, in place of those of the sheet")->type_name("URL");
  add_duration(command, "--timeout", options->timeout, "Wait so long for a store (default 5s)");
  command->add_flag("--json", options->json, "One JSON document instead of the table");
  add_run_command(command, options, exit_code);
  command->footer(
      "Examples:\n"
      "  bellwether loops policy.yaml\n"
      "  bellwether loops run policy.yaml --on-tick 'reconciler=./reconcile --once'\n\n"
      "Exit codes: 0 shown, 1 a store did not answer, 104 wrong sheet or command line.");
  command->callback([options, command, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = list_loops(*options);
  });
}

}  // namespace bellwether::cli
