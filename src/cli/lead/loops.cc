// bellwether loops: the elected loops of a deployment, their leaders, and running them. bellwether lease list --policy:
// the runbook's first look at them, with the competition for each lock.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cli/lead/lease.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/units.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "core/web/http_server.h"
#include "election/store/lease_store.h"
#include "election/store/web/web_client.h"
#include "lead/lease_tools.h"
#include "lead/loops/loop_host.h"
#include "lead/metrics/lease_figures.h"
#include "lead/policy/policy.h"

namespace bellwether::cli {
namespace {

using lead::LockPressure;
using lead::LoopPolicy;

constexpr int kExitPart = 1;

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
  Telling telling;
};

// --- run -------------------------------------------------------------------------------------------------------------

// NAME=COMMAND, beside the sheet's own.
Status give_commands(const LoopOptions& options, std::vector<LoopPolicy>& loops) {
  for (const std::string& text : options.on_tick) {
    const auto equals = text.find('=');
    const auto loop =
        std::ranges::find_if(loops, [&](const LoopPolicy& one) { return one.name == text.substr(0, equals); });
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return fail(Errc::kInvalid, "--on-tick '{}': write NAME=COMMAND", text);
    }
    if (loop == loops.end()) {
      return fail(Errc::kInvalid, "--on-tick: there is no loop '{}' here", text.substr(0, equals));
    }
    loop->command = text.substr(equals + 1);
  }
  for (const LoopPolicy& loop : loops) {
    if (loop.command.empty()) {
      return fail(Errc::kInvalid,
                  "loop '{}' has no command: write 'command:' in the sheet, or --on-tick '{}=COMMAND'; --loop NAME "
                  "chooses loops",
                  loop.name, loop.name);
    }
  }
  return {};
}

Result<int> run_these(LoopOptions& options) {
  BW_TRY(auto loops, choose_loops(options.file, options.via, options.names));
  BW_RETURN_IF_ERROR(give_commands(options, loops));
  for (LoopPolicy& loop : loops) {
    loop.lock_key += options.key_suffix;
    options.host.loops.push_back({loop, loop.command});
  }
  options.host.verbosity = options.telling.verbosity();
  return in_runtime("loops", [&](auto& runtime) { return lead::run_loops(runtime, options.host); });
}

// --- what is seen of loops: their keys, and the data that they guard -------------------------------------------------

struct IdleData {
  std::string data;
  Result<Duration> time = Duration::zero();
};

struct LoopRow {
  lead::LoopPolicy loop;  // with a store
  Result<election::Observation> seen = fail(Errc::kIo, "not looked at");
  std::vector<IdleData> idle;  // the data that the loop guards, if its store counts their idle time
};

runtime::task<void> look_at(runtime::Runtime& runtime, LoopRow& row, Duration timeout) {
  auto store = co_await store::open_store(runtime, row.loop.store);
  if (!store) {
    row.seen = tl::unexpected(store.error());
    co_return;
  }
  auto key = (*store)->open(row.loop.lock_key);
  if (!key) {
    row.seen = tl::unexpected(key.error());
    co_return;
  }
  const Instant deadline = runtime.read_clock() + timeout;
  row.seen = co_await (*key)->look(deadline, nullptr);
  for (const std::string& data : row.loop.guards) {
    auto time = co_await (*store)->idle_time(data, deadline, nullptr);
    const bool unknown = !time && time.error().code == Errc::kUnsupported;
    if (!unknown) row.idle.push_back({data, std::move(time)});
  }
}

// Looks at all of them in parallel, at each for at most `timeout`.
runtime::task<void> look_at_loops(runtime::Runtime& runtime, std::vector<LoopRow>& rows, Duration timeout) {
  runtime::Scope scope;
  for (LoopRow& row : rows) scope.spawn(look_at(runtime, row, timeout));
  co_await scope.join();
}

// "snapshot 5s, queue (not there)"; "-" when nothing is known.
std::string idle_text(const LoopRow& row) {
  std::string text;
  for (const IdleData& idle : row.idle) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", idle.data, idle.time ? format_duration(*idle.time) : std::string("(not there)"));
  }
  return text.empty() ? "-" : text;
}

Value guards_of(const LoopRow& row) {
  std::vector<Value> out;
  for (const IdleData& idle : row.idle) {
    out.push_back(object_of({told("data", idle.data),
                             idle.time ? told("idle_ms", idle.time->ms()) : told("error", idle.time.error().message)}));
  }
  return out;
}

// The holder of a loop's key. `left_key`: the JSON name of its remaining time.
void add_holder(Fields& out, const LoopRow& row, WallTime now, const char* left_key) {
  if (!row.seen) {
    out.emplace_back("HOLDER", "error", row.seen.error().message, "? " + row.seen.error().message);
    for (const char* heading : {"EPOCH", "SINCE", "VALID FOR"}) out.push_back(shown(heading, "?"));
    return;
  }
  const election::LeaseRecord& record = row.seen->record;
  const bool held = record.held();
  const Fields known{
      told("held", held),
      {"HOLDER", "holder", record.holder, held ? record.holder : "nobody"},
      {"EPOCH", "epoch", record.epoch.value()},
      {"SINCE", "acquired_unix_ms", record.acquired_at.unix_ns / 1'000'000,
       held ? lead::ago(record.acquired_at, now) : "-"},
      {"VALID FOR", left_key, held ? lead::left_of(*row.seen, now).ms() : 0, lead::left_text(*row.seen, now)}};
  out.insert(out.end(), known.begin(), known.end());
}

std::vector<LoopRow> rows_of(std::vector<LoopPolicy> loops) {
  std::vector<LoopRow> out;
  for (LoopPolicy& loop : loops) out.push_back({.loop = std::move(loop), .idle = {}});
  return out;
}

bool all_seen(const std::vector<LoopRow>& rows) {
  return std::ranges::all_of(rows, [](const LoopRow& row) { return row.seen.has_value(); });
}

// --- the inventory ---------------------------------------------------------------------------------------------------

Fields fields_of(const LoopRow& row, WallTime now) {
  const LoopPolicy& loop = row.loop;
  Fields out{{"LOOP", "loop", loop.name},
             {"KEY", "key", loop.lock_key},
             {"POLL", "poll_ms", loop.poll_interval.ms(), format_duration(loop.poll_interval)},
             {"TTL", "ttl_ms", loop.lock_ttl.ms(), format_duration(loop.lock_ttl)},
             {"RENEW", "renew_ms", loop.renew_every.ms(),
              loop.renew_every > Duration::zero() ? format_duration(loop.renew_every) : "never"},
             {"RELEASE", "release_mode", to_string(loop.release_mode)}};
  add_holder(out, row, now, "valid_for_ms");
  out.emplace_back("IDLE DATA", "guards", guards_of(row), idle_text(row));
  out.emplace_back("STORE", "store", loop.store);
  return out;
}

Result<int> list_loops(const LoopOptions& options) {
  if (options.file.empty())
    return fail(Errc::kInvalid, "give the policy sheet whose loops are to be shown:  bellwether loops POLICY");
  BW_TRY(auto loops, choose_loops(options.file, options.via, options.names));
  return in_runtime("loops", [&](auto& runtime) {
    std::vector<LoopRow> rows = rows_of(std::move(loops));
    runtime.run(look_at_loops(runtime, rows, options.timeout));
    const Rows view(rows, [now = runtime.wall_now()](const LoopRow& row) { return fields_of(row, now); });
    const Fields document{told("format", "bellwether.loops/1"), told("loops", view.list())};
    print(options.json ? object_of(document).document() : view.table());
    return all_seen(rows) ? kExitOk : kExitPart;
  });
}

// --- lease list --policy ---------------------------------------------------------------------------------------------

// One page of metrics.
struct Scrape {
  std::string at;
  Result<std::vector<lead::MetricSample>> samples = fail(Errc::kIo, "not read");
};

runtime::task<void> scrape(runtime::Runtime& runtime, Scrape& page, Duration timeout) {
  const Instant deadline = runtime.read_clock() + timeout;
  runtime::Until until(runtime, deadline, nullptr);
  const auto endpoint = co_await web::endpoint_of(runtime, page.at, until.cancellation());
  if (!endpoint) {
    const bool late = endpoint.error().code == Errc::kCancelled;
    page.samples = late ? fail(Errc::kTimeout, "the name is not resolved in time") : tl::unexpected(endpoint.error());
    co_return;
  }
  store::WebClient client(runtime, {{endpoint->address.to_string(), endpoint->port}}, nullptr);
  store::WebRequest request{.method = "GET", .target = "/metrics", .fields = {}, .body = {}, .repeatable = true};
  const auto answer = co_await client.call(std::move(request), deadline, nullptr);
  if (!answer) {
    page.samples = tl::unexpected(answer.error());
  } else if (answer->status != 200) {
    page.samples = fail(Errc::kProtocol, "{} answers with status {}", page.at, answer->status);
  } else {
    page.samples = lead::parse_metrics(answer->body);
  }
}

runtime::task<void> look(runtime::Runtime& runtime, std::vector<LoopRow>& rows, std::vector<Scrape>& pages,
                         Duration timeout) {
  runtime::Scope scope;
  scope.spawn(look_at_loops(runtime, rows, timeout));
  for (Scrape& page : pages) scope.spawn(scrape(runtime, page, timeout));
  co_await scope.join();
}

std::string wait_text(const LockPressure& pressure) {
  if (!pressure.wait_p99_s) return "never waited";
  if (std::isinf(*pressure.wait_p99_s)) return "wait p99 over 10s";
  return "wait p99 <= " +
         format_duration(Duration::nanos(static_cast<int64_t>(std::llround(*pressure.wait_p99_s * 1e9))));
}

// Unknown figures are not guessed: no store reports the waiters of its keys.
std::string pressure_text(const LockPressure& pressure) {
  if (pressure.processes == 0) return "not known";
  std::string text = fmt::format("{} of {} wait, {}", pressure.waiting(), pressure.processes, wait_text(pressure));
  if (pressure.renewal_failures > 0) text += fmt::format(", {} failed renewals", pressure.renewal_failures);
  if (pressure.stale_jobs) text += fmt::format(", stale jobs {}", std::llround(*pressure.stale_jobs));
  return text;
}

Value value_of(const LockPressure& pressure) {
  if (pressure.processes == 0) return {};
  // "Beyond the last bucket" has no number.
  const bool known = pressure.wait_p99_s && std::isfinite(*pressure.wait_p99_s);
  return object_of(
      {told("processes", pressure.processes), told("holders", pressure.holders), told("waiting", pressure.waiting()),
       told("waits", pressure.waits), told("renewal_failures", pressure.renewal_failures),
       told("wait_p99_s", known ? Value(*pressure.wait_p99_s) : Value()), told("stale_jobs", pressure.stale_jobs)});
}

Fields fields_of(const LoopRow& row, const LockPressure& pressure, WallTime now) {
  Fields out{{"LOOP", "loop", row.loop.name}, {"KEY", "key", row.loop.lock_key}, told("store", row.loop.store)};
  add_holder(out, row, now, "left_ms");
  if (row.seen) out.push_back(told("status", lead::status_of(*row.seen)));
  out.emplace_back("IDLE DATA", "guards", guards_of(row), idle_text(row));
  out.emplace_back("LOCK PRESSURE", "pressure", value_of(pressure), pressure_text(pressure));
  return out;
}

void add_run_command(CLI::App* parent, const std::shared_ptr<LoopOptions>& options, int& exit_code) {
  CLI::App* command = new_verb(*parent, "run");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)")->required();
  add_more(command, "--loop", options->names, "Only this loop; repeatable", "NAME");
  add_more(command, "--on-tick", options->on_tick, "Shell command that is one tick of a loop; repeatable",
           "NAME=COMMAND");
  add_text(command, "--via", options->via, "URL", "Store in place of those in the sheet");
  add_text(command, "--id", options->host.holder, "NAME", "Name of this process in the locks (default HOST:PID)");
  add_text(command, "--key-suffix", options->key_suffix, "SUFFIX",
           "Suffix of each lock key, for a rehearsal beside the real loops");
  command->add_flag("--trust-empty", options->host.trust_empty,
                    "Treat a store without records as new, not as emptied: do not wait for a lease at first use");
  add_telling(command, options->telling, options->host.audit_file, &options->host.metrics_at, options->host.json,
              "transition", "tick and every decision");
  command->footer(
      "A tick gets BELLWETHER_LOOP, BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH, the fencing token. It may "
      "write 'stale_jobs N' and 'orphan_replayed N' to descriptor BELLWETHER_REPORT_FD. It is stopped when its lock is "
      "lost. A failed tick is counted, and the loop continues.\n"
      "\n"
      "Exit codes: 0 ended by a signal, all locks released; 104 wrong sheet, store or command line.");
  command->callback([options, &exit_code] { exit_code = answer("loops", run_these(*options)); });
}

}  // namespace

int list_policy(const PolicyListing& options) {
  auto loops = choose_loops(options.policy, options.via);
  if (!loops) return refuse("lease", loops.error().message);
  return in_runtime("lease", [&](auto& runtime) {
    std::vector<LoopRow> rows = rows_of(std::move(*loops));
    std::vector<Scrape> pages;
    for (const std::string& at : options.metrics) pages.push_back({.at = at});
    runtime.run(look(runtime, rows, pages, options.timeout));
    std::vector<std::vector<lead::MetricSample>> read;
    for (Scrape& page : pages) {
      if (page.samples) {
        read.push_back(std::move(*page.samples));
      } else {
        refuse("lease", fmt::format("metrics of {}: {}", page.at, page.samples.error().message));
      }
    }
    const Rows view(rows, [&, now = runtime.wall_now()](const LoopRow& row) {
      return fields_of(row, pressure_of(read, row.loop.name, row.loop.lock_key), now);
    });
    if (options.json) {
      print_json({told("format", "bellwether.lease_list/1"), told("loops", view.list())});
    } else {
      print(view.table());
      if (pages.empty()) print("\nlock pressure is known with --metrics HOST:PORT of each `bellwether loops run`\n");
    }
    return all_seen(rows) && read.size() == pages.size() ? kExitOk : kExitPart;
  });
}

void add_loops(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LoopOptions>();
  CLI::App* command = new_verb(app, "loops");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)");
  add_more(command, "--loop", options->names, "Only this loop; repeatable", "NAME");
  add_text(command, "--via", options->via, "URL", "Store in place of those in the sheet");
  add_duration(command, "--timeout", options->timeout, "Longest wait for a store (default 5s)");
  command->add_flag("--json", options->json, "Print one JSON document in place of the table");
  add_run_command(command, options, exit_code);
  command->footer("Exit codes: 0 shown, 1 a store did not answer, 104 wrong sheet or command line.");
  command->callback([options, command, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = answer("loops", list_loops(*options));
  });
}

}  // namespace bellwether::cli
