// bellwether lease list --policy: the runbook's first look at the loops of a policy sheet: who holds each key, how long
// the lease and the guarded data have been left alone, and how hard the lock is fought for.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/lease_commands.h"
#include "cli/loop_rows.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "core/base/units.h"
#include "core/runtime/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "core/runtime/until.h"
#include "core/web/http_server.h"
#include "election/store/web/web_client.h"
#include "lead/lease_words.h"
#include "lead/metrics/metrics_reader.h"

namespace bellwether::cli {
namespace {

using lead::LockPressure;
using nlohmann::ordered_json;

constexpr int kExitPart = 1;

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
    page.samples = fail(Errc::kProtocol, page.at + " answers with status " + std::to_string(answer->status));
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

// What is not known is not guessed: no store tells who waits for its keys.
std::string pressure_text(const LockPressure& pressure) {
  if (pressure.processes == 0) return "not known";
  std::string text = std::to_string(pressure.waiting()) + " of " + std::to_string(pressure.processes) + " wait, " +
                     wait_text(pressure);
  if (pressure.renewal_failures > 0) text += ", " + std::to_string(pressure.renewal_failures) + " failed renewals";
  if (pressure.stale_jobs) text += ", stale jobs " + std::to_string(std::llround(*pressure.stale_jobs));
  return text;
}

void print_table(const std::vector<LoopRow>& rows, const std::vector<LockPressure>& pressures, WallTime now) {
  Table table({"LOOP", "KEY", "HOLDER", "EPOCH", "SINCE", "VALID FOR", "IDLE DATA", "LOCK PRESSURE"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LoopRow& row = rows[i];
    std::vector<std::string> cells{row.loop.name, row.loop.lock_key};
    if (row.seen) {
      const election::LeaseRecord& record = row.seen->record;
      cells.insert(cells.end(),
                   {record.held() ? record.holder : "nobody", std::to_string(record.epoch.value()),
                    record.held() ? lead::ago(record.acquired_at, now) : "-", lead::left_text(*row.seen, now)});
    } else {
      cells.insert(cells.end(), {"? " + row.seen.error().message, "?", "?", "?"});
    }
    cells.push_back(idle_text(row));
    cells.push_back(pressure_text(pressures[i]));
    table.add(std::move(cells));
  }
  std::fputs(table.text().c_str(), stdout);
}

ordered_json to_json(const LockPressure& pressure) {
  if (pressure.processes == 0) return nullptr;
  ordered_json out{{"processes", pressure.processes},
                   {"holders", pressure.holders},
                   {"waiting", pressure.waiting()},
                   {"waits", pressure.waits},
                   {"renewal_failures", pressure.renewal_failures}};
  // No number stands for "beyond the last bucket".
  out["wait_p99_s"] =
      pressure.wait_p99_s && std::isfinite(*pressure.wait_p99_s) ? ordered_json(*pressure.wait_p99_s) : ordered_json();
  out["stale_jobs"] = pressure.stale_jobs ? ordered_json(*pressure.stale_jobs) : ordered_json();
  return out;
}

ordered_json to_json(const LoopRow& row, const LockPressure& pressure, WallTime now) {
  ordered_json one{{"loop", row.loop.name}, {"key", row.loop.lock_key}, {"store", row.loop.store}};
  if (row.seen) {
    const election::LeaseRecord& record = row.seen->record;
    one["held"] = record.held();
    one["holder"] = record.holder;
    one["epoch"] = record.epoch.value();
    one["acquired_unix_ms"] = record.acquired_at.unix_ns / 1'000'000;
    one["left_ms"] = record.held() ? lead::left_of(*row.seen, now).ms() : 0;
    one["status"] = lead::status_of(*row.seen);
  } else {
    one["error"] = row.seen.error().message;
  }
  one["guards"] = ordered_json::array();
  for (const IdleData& idle : row.idle) {
    ordered_json data{{"data", idle.data}};
    if (idle.time) {
      data["idle_ms"] = idle.time->ms();
    } else {
      data["error"] = idle.time.error().message;
    }
    one["guards"].push_back(std::move(data));
  }
  one["pressure"] = to_json(pressure);
  return one;
}

}  // namespace

int list_policy(const PolicyListing& options) {
  std::vector<yaml::Diagnostic> warnings;
  auto policy = load_policy(options.policy, warnings);
  if (!policy) return refuse("lease", policy.error().message);
  std::vector<LoopRow> rows;
  for (lead::LoopPolicy& loop : policy->loops) {
    if (!options.via.empty()) loop.store = options.via;
    if (loop.store.empty())
      return refuse("lease", "loop " + loop.name + " has no store: name one in the sheet, or with --via URL");
    rows.push_back({.loop = std::move(loop), .idle = {}});
  }
  std::vector<Scrape> pages;
  for (const std::string& at : options.metrics) pages.push_back({.at = at});
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return refuse("lease", runtime.error().message);
  (*runtime)->run(look(**runtime, rows, pages, options.timeout));
  std::vector<std::vector<lead::MetricSample>> read;
  for (Scrape& page : pages) {
    if (page.samples) {
      read.push_back(std::move(*page.samples));
    } else {
      std::fprintf(stderr, "bellwether lease: metrics of %s: %s\n", page.at.c_str(),
                   page.samples.error().message.c_str());
    }
  }
  std::vector<LockPressure> pressures;
  for (const LoopRow& row : rows) pressures.push_back(pressure_of(read, row.loop.name, row.loop.lock_key));
  const WallTime now = (*runtime)->wall_now();
  if (options.json) {
    ordered_json all = ordered_json::array();
    for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(to_json(rows[i], pressures[i], now));
    const ordered_json out{{"format", "bellwether.lease_list/1"}, {"loops", std::move(all)}};
    std::printf("%s\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    print_table(rows, pressures, now);
    if (pages.empty()) std::printf("\nlock pressure: --metrics HOST:PORT of each process that runs the loops tells\n");
  }
  const bool all_seen = std::all_of(rows.begin(), rows.end(), [](const LoopRow& row) { return row.seen.has_value(); });
  return all_seen && read.size() == pages.size() ? kExitOk : kExitPart;
}

}  // namespace bellwether::cli
