// bellwether lease: who holds which key, and what an operator can do about it.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/lease_commands.h"
#include "cli/seen_lease.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll_runtime.h"
#include "election/store/open_store.h"
#include "election/store/store_url.h"
#include "lead/lease_tools.h"
#include "lead/lease_words.h"
#include "lead/run/leader_run.h"
#include "lead/watch_all.h"

namespace bellwether::cli {
namespace {

using election::LeaseRecord;
using election::Observation;
using lead::ago;
using lead::left_text;
using lead::status_of;

struct LeaseOptions {
  std::string via;
  std::string key;
  std::string prefix;
  std::string to;
  std::string by;
  std::string policy;
  std::vector<std::string> metrics;
  std::size_t most = 10'000;
  Duration timeout = Duration::seconds(5);
  std::optional<Duration> wait;
  bool json = false;
  bool yes = false;
};

std::string who_am_i() {
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  return user == nullptr || *user == '\0' ? "an operator" : user;
}

nlohmann::ordered_json as_json(const std::string& key, const Observation& seen, WallTime now) {
  const LeaseRecord& record = seen.record;
  nlohmann::ordered_json one;
  one["key"] = key;
  one["held"] = record.held();
  one["holder"] = record.holder;
  one["epoch"] = record.epoch.value();
  one["lease_ms"] = record.lease.ms();
  one["left_ms"] = record.held() ? left_of(seen, now).ms() : 0;
  one["acquired_unix_ms"] = record.acquired_at.unix_ns / 1'000'000;
  one["renewed_unix_ms"] = record.renewed_at.unix_ns / 1'000'000;
  one["renewals"] = record.renewal;
  one["region"] = record.region;
  one["heir"] = record.heir;
  one["cause"] = record.cause;
  one["foreign"] = seen.foreign;
  one["holder_dead"] = seen.sight == election::HolderSight::kDead;
  one["may_have_lost_data"] = seen.may_have_lost_data;
  one["status"] = status_of(seen);
  return one;
}

void print_json(const nlohmann::ordered_json& value) {
  std::printf("%s\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_one(const std::string& key, const Observation& seen, WallTime now) {
  const LeaseRecord& record = seen.record;
  const auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) std::printf("%-12s%s\n", name, printable(value).c_str());
  };
  line("key", key);
  line("holder", record.held() ? record.holder : "nobody");
  line("epoch", std::to_string(record.epoch.value()));
  line("status", status_of(seen));
  if (record.held()) {
    line("since", ago(record.acquired_at, now));
    line("renewed", ago(record.renewed_at, now) + ", " + std::to_string(record.renewal) + " times");
    line("valid for", left_text(seen, now) + " more, of a lease of " + format_duration(record.lease));
  }
  line("region", record.region);
  line("last change", record.cause);
  line("evidence", seen.evidence);
}

runtime::task<int> list(runtime::Runtime& runtime, lead::LeaseTools& tools, const LeaseOptions& options) {
  const auto found = co_await tools.list(options.prefix, options.most);
  if (!found) {
    std::fprintf(stderr, "bellwether lease: %s\n", found.error().message.c_str());
    co_return kExitNo;
  }
  const WallTime now = runtime.wall_now();
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const store::ListedKey& one : *found) all.push_back(as_json(one.key, one.seen, now));
    print_json(all);
    co_return kExitOk;
  }
  Table table({"KEY", "HOLDER", "EPOCH", "SINCE", "VALID FOR", "STATUS"});
  for (const store::ListedKey& one : *found) {
    const LeaseRecord& record = one.seen.record;
    table.add({one.key, record.held() ? record.holder : "-", std::to_string(record.epoch.value()),
               record.held() ? ago(record.acquired_at, now) : "-", left_text(one.seen, now), status_of(one.seen)});
  }
  std::fputs(table.text().c_str(), stdout);
  if (found->size() == options.most) std::printf("(only the first %zu; --most shows more)\n", options.most);
  co_return kExitOk;
}

runtime::task<int> show(runtime::Runtime& runtime, lead::LeaseTools& tools, const LeaseOptions& options) {
  const auto seen = co_await tools.show(options.key);
  if (!seen) {
    std::fprintf(stderr, "bellwether lease: %s\n", seen.error().message.c_str());
    co_return kExitNo;
  }
  if (options.json) {
    print_json(as_json(options.key, *seen, runtime.wall_now()));
  } else {
    print_one(options.key, *seen, runtime.wall_now());
  }
  co_return seen->record.held() ? kExitOk : kExitNo;
}

runtime::task<int> tell_end(lead::LeaseTools& tools, const LeaseOptions& options, LeaseRecord before, bool held) {
  const Duration at_most = options.wait.value_or(before.lease * 2 + Duration::seconds(1));
  const auto after = co_await tools.wait_for_change(options.key, before.epoch, held, at_most);
  if (!after) {
    std::fprintf(stderr,
                 "bellwether lease: %s has not handed over (%s). If it is dead, others take over when its lease of %s "
                 "has run out.\n",
                 printable(before.holder).c_str(), after.error().message.c_str(),
                 format_duration(before.lease).c_str());
    co_return kExitNo;
  }
  if (after->record.held()) {
    std::printf("now held by %s, epoch %llu\n", printable(after->record.holder).c_str(),
                static_cast<unsigned long long>(after->record.epoch.value()));
  } else {
    std::printf("free\n");
  }
  co_return !options.to.empty() && after->record.held() && after->record.holder != options.to ? kExitNo : kExitOk;
}

runtime::task<int> hand_over(runtime::Runtime&, lead::LeaseTools& tools, const LeaseOptions& options) {
  const auto before = co_await tools.ask_to_hand_over(options.key, options.to);
  if (!before) {
    std::fprintf(stderr, "bellwether lease: %s\n", before.error().message.c_str());
    co_return kExitNo;
  }
  std::printf("asked %s (epoch %llu) to hand over\n", printable(before->holder).c_str(),
              static_cast<unsigned long long>(before->epoch.value()));
  std::fflush(stdout);
  const int code = co_await tell_end(tools, options, *before, !options.to.empty());
  co_return code;
}

runtime::task<int> steal(runtime::Runtime&, lead::LeaseTools& tools, const LeaseOptions& options) {
  if (!options.yes) {
    std::fprintf(stderr,
                 "bellwether lease: a steal takes the key away at once. Its holder learns of it only at its next "
                 "renewal; until then both may act, and only what checks the fencing token is safe. `lease transfer` "
                 "asks instead. If this is what you want, say --yes.\n");
    co_return kExitUsage;
  }
  const auto before = co_await tools.steal(options.key, options.to);
  if (!before) {
    std::fprintf(stderr, "bellwether lease: %s\n", before.error().message.c_str());
    co_return kExitNo;
  }
  std::printf("taken from %s; epoch %llu is over\n", printable(before->holder).c_str(),
              static_cast<unsigned long long>(before->epoch.value()));
  co_return kExitOk;
}

using Action = runtime::task<int> (*)(runtime::Runtime&, lead::LeaseTools&, const LeaseOptions&);

runtime::task<int> with_store(runtime::Runtime& runtime, const LeaseOptions& options, Action action) {
  const auto store = co_await store::open_store(runtime, options.via);
  if (!store) {
    std::fprintf(stderr, "bellwether lease: %s\n", store.error().message.c_str());
    co_return kExitUsage;
  }
  lead::LeaseTools tools(runtime, **store, options.by.empty() ? who_am_i() : options.by, options.timeout);
  const int code = co_await action(runtime, tools, options);
  co_return code;
}

int run_action(const LeaseOptions& options, Action action) {
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) {
    std::fprintf(stderr, "bellwether lease: %s\n", runtime.error().message.c_str());
    return kExitNo;
  }
  return (*runtime)->run(with_store(**runtime, options, action));
}

runtime::task<int> watch_many(runtime::EpollRuntime& runtime, const LeaseOptions& options) {
  const auto store = co_await store::open_store(runtime, options.via);
  if (!store) {
    std::fprintf(stderr, "bellwether lease: %s\n", store.error().message.c_str());
    co_return kExitUsage;
  }
  Journal journal(1, options.json, "lease watch");
  lead::WatchAllOptions all;
  all.prefix = options.prefix;
  all.timeout = options.timeout;
  co_await lead::watch_all(runtime, **store, std::move(all), journal);
  co_return kExitOk;
}

int watch(const LeaseOptions& options) {
  lead::LeadOptions lead;
  lead.via = options.via;
  lead.key = options.key;
  lead.observe = true;
  lead.json = options.json;
  lead.timing = election::LeaseTiming::of(Duration::seconds(15));
  lead.timing.retry = Duration::millis(500);
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return kExitNo;
  if (options.key.empty()) return (*runtime)->run(watch_many(**runtime, options));
  const int code = run_leader(**runtime, lead);
  return code == 128 + 2 ? kExitOk : code;  // Ctrl-C is how a watch ends
}

int list_or_policy(const LeaseOptions& options) {
  if (!options.policy.empty()) {
    return list_policy({options.policy, options.via, options.metrics, options.timeout, options.json});
  }
  if (!options.via.empty()) return run_action(options, &list);
  std::fprintf(stderr, "bellwether lease: say where the leases are kept: --via URL, or --policy FILE\n");
  return kExitUsage;
}

CLI::App* add_verb(CLI::App* command, const std::shared_ptr<LeaseOptions>& options, const char* name, const char* help,
                   bool one_key) {
  CLI::App* verb = new_verb(*command, name, help);
  verb->add_option("--via", options->via, "Where the leases are kept")->required()->type_name("URL");
  if (one_key) verb->add_option("KEY,-k,--key", options->key, "Which one")->required();
  verb->add_flag("--json", options->json, "As JSON");
  add_duration(verb, "--store-timeout", options->timeout, "Wait so long for the store (default 5s)");
  return verb;
}

}  // namespace

void add_lease(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LeaseOptions>();
  CLI::App* command = new_verb(app, "lease", "Who holds which key; ask for it, or take it away");
  command->require_subcommand(1);
  CLI::App* verb = add_verb(command, options, "list", "All keys", false);
  CLI::Option* prefix = verb->add_option("--prefix", options->prefix, "Only keys that begin so");
  CLI::Option* most = verb->add_option("--most", options->most, "At most so many (default 10,000)");
  most->check(CLI::PositiveNumber);
  verb->get_option("--via")->required(false);
  CLI::Option* policy = verb->add_option("--policy", options->policy,
                                         "The loops of this policy sheet, with what is known of their locks");
  policy->type_name("FILE")->excludes(prefix)->excludes(most);
  verb->add_option("--metrics", options->metrics,
                   "With --policy: page of metrics of a process that runs\n"
                   "the loops; may be given again")
      ->type_name("HOST:PORT")
      ->needs(policy)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  verb->callback([options, &exit_code] { exit_code = list_or_policy(*options); });
  verb = add_verb(command, options, "show", "One key: holder, epoch, since when, valid for how long", true);
  verb->callback([options, &exit_code] { exit_code = run_action(*options, &show); });
  verb = add_verb(command, options, "watch", "Tell each change of leader, until Ctrl-C", false);
  verb->add_option("KEY,-k,--key", options->key, "Which one (default: all)");
  verb->add_option("--prefix", options->prefix, "Only keys that begin so");
  verb->callback([options, &exit_code] { exit_code = watch(*options); });
  verb = add_verb(command, options, "release", "Ask the holder to stop and give the key up", true);
  verb->add_option("--by", options->by, "Who asks (default $USER)");
  add_duration(verb, "--wait", options->wait, "Wait so long for it (default two leases)");
  verb->callback([options, &exit_code] { exit_code = run_action(*options, &hand_over); });
  verb = add_verb(command, options, "transfer", "Ask the holder to hand over to another candidate", true);
  verb->add_option("--to", options->to, "Its name (bellwether lead --id)")->required();
  verb->add_option("--by", options->by, "Who asks (default $USER)");
  add_duration(verb, "--wait", options->wait, "Wait so long for it (default two leases)");
  verb->callback([options, &exit_code] { exit_code = run_action(*options, &hand_over); });
  verb = add_verb(command, options, "steal", "Take the key away at once", true);
  verb->add_option("--to", options->to, "For this candidate (else for anybody)");
  verb->add_option("--by", options->by, "Who takes it (default $USER)");
  verb->add_flag("--yes", options->yes, "Yes, although both may act until the holder notices");
  verb->callback([options, &exit_code] { exit_code = run_action(*options, &steal); });
  add_lease_repair(command, exit_code);
  add_lease_serve(command, exit_code);
  command->footer(
      "Examples:\n"
      "  bellwether lease list --via redis://10.0.0.5\n"
      "  bellwether lease list --policy policy.yaml --metrics node-1:9464 --metrics node-2:9464\n"
      "  bellwether lease show orders --via etcd://a,b,c --json\n"
      "  bellwether lease transfer orders --to node-2 --via redis://10.0.0.5\n\n"
      "'valid for' counts by the wall clocks of two machines where the store does not tell: it is for people. What\n"
      "contenders go by is how long a lease has not changed as they see it.\n\n"
      "Exit codes: 0 done (show: held), 1 not done (show: not held), 104 wrong command line.");
}

}  // namespace bellwether::cli
