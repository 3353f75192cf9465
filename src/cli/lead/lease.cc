// bellwether lease: the holders of keys, and the operator's actions on them.

#include "cli/lead/lease.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/journal/journal.h"
#include "election/store/lease_store.h"
#include "lead/lease_tools.h"
#include "lead/run/candidate_host.h"
#include "lead/run/leader_run.h"
#include "lead/web/lease_web.h"

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

Fields fields_of(const std::string& key, const Observation& seen, WallTime now) {
  const LeaseRecord& record = seen.record;
  const bool held = record.held();
  return {
      {"KEY", "key", key},
      told("held", held),
      {"HOLDER", "holder", record.holder, held ? record.holder : "-"},
      {"EPOCH", "epoch", record.epoch.value()},
      told("lease_ms", record.lease.ms()),
      {"SINCE", "acquired_unix_ms", record.acquired_at.unix_ns / 1'000'000, held ? ago(record.acquired_at, now) : "-"},
      {"VALID FOR", "left_ms", held ? lead::left_of(seen, now).ms() : 0, left_text(seen, now)},
      told("renewed_unix_ms", record.renewed_at.unix_ns / 1'000'000),
      told("renewals", record.renewal),
      told("region", record.region),
      told("heir", record.heir),
      told("cause", record.cause),
      told("foreign", seen.foreign),
      told("holder_dead", seen.sight == election::HolderSight::kDead),
      told("may_have_lost_data", seen.may_have_lost_data),
      {"STATUS", "status", status_of(seen)}};
}

// The answer about a single key is longer.
std::string text_of(const std::string& key, const Observation& seen, WallTime now) {
  const LeaseRecord& record = seen.record;
  Fields out{shown("key", key), shown("holder", record.held() ? record.holder : "nobody"),
             shown("epoch", std::to_string(record.epoch.value())), shown("status", status_of(seen))};
  if (record.held()) {
    out.push_back(shown("since", ago(record.acquired_at, now)));
    out.push_back(shown("renewed", fmt::format("{}, {} times", ago(record.renewed_at, now), record.renewal)));
    out.push_back(
        shown("valid for", fmt::format("{}, of a lease of {}", left_text(seen, now), format_duration(record.lease))));
  }
  out.push_back(shown("region", record.region));
  out.push_back(shown("last change", record.cause));
  out.push_back(shown("evidence", seen.evidence));
  return lines_of(out, 12);
}

runtime::task<Result<int>> list(runtime::Runtime& runtime, lead::LeaseTools& tools, const LeaseOptions& options) {
  BW_CO_TRY(const auto found, co_await tools.list(options.prefix, options.most));
  const Rows view(
      found, [now = runtime.wall_now()](const store::ListedKey& one) { return fields_of(one.key, one.seen, now); });
  print(options.json ? view.list().document() : view.table());
  if (found.size() == options.most && !options.json) {
    std::printf("(only the first %zu; --most shows more)\n", options.most);
  }
  if (found.empty() && !options.json) {
    const std::string with =
        options.prefix.empty() ? std::string() : fmt::format(" with the prefix '{}'", options.prefix);
    std::printf("%s\n", printable(fmt::format("(no keys{} in {})", with, options.via)).c_str());
  }
  co_return kExitOk;
}

runtime::task<Result<int>> show(runtime::Runtime& runtime, lead::LeaseTools& tools, const LeaseOptions& options) {
  BW_CO_TRY(const auto seen, co_await tools.show(options.key));
  const WallTime now = runtime.wall_now();
  print(options.json ? object_of(fields_of(options.key, seen, now)).document() : text_of(options.key, seen, now));
  co_return seen.record.held() ? kExitOk : kExitNo;
}

// An empty `to`: any candidate may take the key.
runtime::task<int> tell_end(lead::LeaseTools& tools, const LeaseOptions& options, LeaseRecord before) {
  const Duration at_most = options.wait.value_or(before.lease * 2 + Duration::seconds(1));
  const std::string lease = format_duration(before.lease);
  auto after = co_await tools.wait_for_change(options.key, before.epoch, false, at_most);
  if (!after) {
    co_return refuse(
        "lease",
        fmt::format("{} has not handed over ({}). If it is dead, others take over when its lease of {} has run out.",
                    printable(before.holder), after.error().message, lease),
        kExitNo);
  }
  const std::string to = printable(options.to);
  if (!to.empty() && !after->record.held()) {
    std::printf("%s has stopped leading; the key has no leader and waits for '%s' for at most %s\n",
                printable(before.holder).c_str(), to.c_str(), lease.c_str());
    std::fflush(stdout);
    after = co_await tools.wait_for_change(options.key, before.epoch, true, at_most);
  }
  const std::string nobody = fmt::format(
      "no candidate named '{}' took the key: check the name (--id of `bellwether lead`, HOST:PID by default)", to);
  if (!after) {
    co_return refuse("lease",
                     fmt::format("{}. It has no leader; any candidate may take it once {} have passed", nobody, lease),
                     kExitNo);
  }
  if (!after->record.held()) {
    std::printf("free\n");
    co_return kExitOk;
  }
  std::printf("now held by %s, epoch %llu\n", printable(after->record.holder).c_str(),
              static_cast<unsigned long long>(after->record.epoch.value()));
  if (to.empty() || after->record.holder == options.to) co_return kExitOk;
  co_return refuse("lease", nobody, kExitNo);
}

runtime::task<Result<int>> hand_over(runtime::Runtime&, lead::LeaseTools& tools, const LeaseOptions& options) {
  BW_CO_TRY(const auto before, co_await tools.ask_to_hand_over(options.key, options.to));
  std::printf("asked %s (epoch %llu) to hand over\n", printable(before.holder).c_str(),
              static_cast<unsigned long long>(before.epoch.value()));
  std::fflush(stdout);
  const int code = co_await tell_end(tools, options, before);
  co_return code;
}

runtime::task<Result<int>> steal(runtime::Runtime&, lead::LeaseTools& tools, const LeaseOptions& options) {
  if (!options.yes) {
    co_return refuse("lease",
                     "a steal takes the key away at once. Its holder learns of it only at its next renewal; until then "
                     "both may act, and only what checks the fencing token is safe. `lease transfer` asks instead. If "
                     "this is what you want, say --yes.");
  }
  BW_CO_TRY(const auto before, co_await tools.steal(options.key, options.to));
  std::printf("taken from %s; epoch %llu is over\n", printable(before.holder).c_str(),
              static_cast<unsigned long long>(before.epoch.value()));
  co_return kExitOk;
}

bool is_on_disk(const std::string& url) { return url.starts_with("file:") || url.starts_with("flock:"); }

// Of a server that cannot be reached, or lets nobody in.
constexpr std::array kNoAnswer{Errc::kRefused, Errc::kReset,       Errc::kClosed,
                               Errc::kTimeout, Errc::kUnreachable, Errc::kDns};

using Action = runtime::task<Result<int>> (*)(runtime::Runtime&, lead::LeaseTools&, const LeaseOptions&);

runtime::task<int> with_store(runtime::Runtime& runtime, const LeaseOptions& options, Action action) {
  const auto store = co_await store::open_store(runtime, options.via);
  if (!store) co_return refuse("lease", store.error().message, kExitUsage);
  lead::LeaseTools tools(runtime, **store, who_asks(options.by), options.timeout);
  auto done = co_await action(runtime, tools, options);
  if (!done && !is_on_disk(options.via) && std::ranges::count(kNoAnswer, done.error().code) > 0) {
    done.error().message =
        fmt::format("the store {} cannot be asked: {}. Check --via, and that the server runs and permits this",
                    (*store)->describe(), done.error().message);
  }
  co_return answer("lease", done, kExitNo);
}

int run_action(const LeaseOptions& options, Action action) {
  return in_runtime(
      "lease", [&](auto& runtime) { return runtime.run(with_store(runtime, options, action)); }, kExitNo);
}

runtime::task<int> watch_many(runtime::EpollRuntime& runtime, const LeaseOptions& options) {
  const auto store = co_await store::open_store(runtime, options.via);
  if (!store) co_return refuse("lease", store.error().message, kExitUsage);
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
  const auto tell = [&](auto& runtime) {
    if (options.key.empty()) return runtime.run(watch_many(runtime, options));
    const int code = run_leader(runtime, lead);
    return code == 128 + 2 ? kExitOk : code;  // Ctrl-C is how a watch ends
  };
  return in_runtime("lease", tell, kExitNo);
}

int list_or_policy(const LeaseOptions& options) {
  if (!options.policy.empty()) {
    return list_policy({options.policy, options.via, options.metrics, options.timeout, options.json});
  }
  if (!options.via.empty()) return run_action(options, &list);
  return refuse("lease", "say where the leases are kept: --via URL, or --policy FILE");
}

CLI::App* add_verb(CLI::App* command, const std::shared_ptr<LeaseOptions>& options, const char* name, bool one_key) {
  CLI::App* verb = new_verb(*command, name);
  add_text(verb, "--via", options->via, "URL", "The store with the leases")->required();
  if (one_key) verb->add_option("KEY,-k,--key", options->key, "The key")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  add_duration(verb, "--store-timeout", options->timeout, "Longest wait for the store (default 5s)");
  return verb;
}

// --- repair: a key whose epochs were lost goes on, above what its operator knows -------------------------------------

struct LeaseRepairArguments {
  std::string via;
  std::string key;
  std::string by;
  std::string audit;
  uint64_t floor = 0;
  Duration timeout = Duration::seconds(5);
  bool forget = false;
  bool yes = false;
};

// A store of leases on a disk refuses to continue without its epochs, unless the operator accepts their loss.
std::string accepting_loss(const std::string& url) {
  if (!is_on_disk(url) || url.find("accept_epoch_loss=") != std::string::npos) return url;
  return fmt::format("{}{}accept_epoch_loss=true", url, url.find('?') == std::string::npos ? "?" : "&");
}

runtime::task<Result<int>> repair(runtime::Runtime& runtime, const LeaseRepairArguments& given, Journal& journal) {
  const std::string by = who_asks(given.by);
  const auto store = co_await store::open_store(runtime, accepting_loss(given.via));
  if (!store) co_return refuse("lease", printable(store.error().message));
  const std::string folder = lead::default_epoch_folder();
  if (given.forget && folder.empty()) {
    co_return refuse("lease",
                     "nobody knows where this machine remembers epochs: set HOME or "
                     "XDG_STATE_HOME as it is for the candidates, and --forget again");
  }
  lead::EpochMemory memory(runtime, folder, (*store)->describe(), given.key);
  if (given.forget) {
    BW_CO_RETURN_IF_ERROR(co_await memory.forget());
    const std::string text =
        fmt::format("{}: this machine has forgotten the epochs that it saw of '{}'", by, given.key);
    journal.transition(runtime.wall_now(), "epochs-forgotten", text, {{"key", given.key}, {"by", by}});
    std::printf("%s\n", printable(text).c_str());
    if ((*store)->traits().chooses_epoch) co_return kExitOk;
  }
  election::Epoch floor(given.floor);
  if (!folder.empty()) {
    BW_CO_TRY(const auto known, co_await memory.load());
    floor = std::max(floor, known);
  }
  lead::LeaseTools tools(runtime, **store, by, given.timeout);
  BW_CO_TRY(const auto epoch, co_await tools.repair(given.key, floor));
  if (!folder.empty()) {
    BW_CO_RETURN_IF_ERROR(co_await memory.save(epoch));
  }
  const std::string text =
      fmt::format("{}: '{}' is free, and its next epoch is above {}", by, given.key, epoch.value());
  journal.transition(runtime.wall_now(), "repaired", text,
                     {{"key", given.key}, {"by", by}, {"epoch", static_cast<int64_t>(epoch.value())}});
  std::printf("%s\n", printable(text).c_str());
  co_return kExitOk;
}

int run_repair(const LeaseRepairArguments& given) {
  if (!given.yes) {
    return refuse(
        "lease",
        "the key continues above the highest epoch that is known here. Stop all candidates, and make sure that no "
        "resource knows a higher epoch: --epoch-floor N sets the highest one of all logs and resources. Then "
        "repeat the command with --yes.");
  }
  const auto act = [&](auto& runtime) {
    Journal journal(0, false, "lease repair");
    return journal.open_audit(runtime.wall_now(), given.audit)
               ? answer("lease", runtime.run(repair(runtime, given, journal)), kExitNo)
               : kExitUsage;
  };
  return in_runtime("lease", act, kExitNo);
}

void add_lease_repair(CLI::App& lease, int& exit_code) {
  auto given = std::make_shared<LeaseRepairArguments>();
  CLI::App* verb = new_verb(lease, "repair");
  add_text(verb, "--via", given->via, "URL", "The store with the leases")->required();
  verb->add_option("KEY,-k,--key", given->key, "The key")->required();
  verb->add_option("--epoch-floor", given->floor,
                   "Highest epoch that any process may have seen (default: the highest known)")
      ->type_name("N");
  verb->add_flag("--forget", given->forget, "First forget the epochs of the key that this machine remembers");
  add_text(verb, "--by", given->by, "NAME", "Name of the person who repairs (default $USER)");
  add_text(verb, "--audit", given->audit, "FILE", "Append the change to this file, as JSON");
  verb->add_flag("--yes", given->yes, "Confirm that all candidates are stopped, and that no higher epoch was issued");
  add_duration(verb, "--store-timeout", given->timeout, "Longest wait for the store (default 5s)");
  verb->footer(
      "For a lock or lease file whose epochs (NAME.epoch) are missing or damaged, and for a store that may have lost "
      "data. Afterwards the key is free, no candidate waits for a lease, and the next term has a higher epoch than the "
      "floor, than any in the store, and than any that this machine has seen. An epoch never decreases. Where the "
      "store issues epochs itself (etcd), only --forget helps, on each machine.\n"
      "\n"
      "Exit codes: 0 done, 1 not done, 104 wrong command line.");
  verb->callback([given, &exit_code] { exit_code = run_repair(*given); });
}

// --- serve -----------------------------------------------------------------------------------------------------------

constexpr uint64_t kMaxSecretBytes = 4096;

struct LeaseServeArguments {
  lead::LeaseWebOptions options;
  std::string secret_file;
};

int serve(LeaseServeArguments& given) {
  if (!given.secret_file.empty()) {
    auto secret = read_whole_file(given.secret_file, kMaxSecretBytes);
    if (!secret) return refuse("lease", secret.error().message);
    while (secret->ends_with('\n') || secret->ends_with('\r')) secret->pop_back();
    if (secret->empty()) return refuse("lease", fmt::format("'{}' is empty", given.secret_file));
    given.options.bearer = *secret;
  }
  return in_runtime("lease", [&](auto& runtime) { return lead::serve_leases(runtime, given.options); });
}

void add_lease_serve(CLI::App& lease, int& exit_code) {
  auto given = std::make_shared<LeaseServeArguments>();
  lead::LeaseWebOptions& options = given->options;
  CLI::App* verb = new_verb(lease, "serve");
  add_text(verb, "--via", options.via, "URL", "The store with the leases")->required();
  add_text(verb, "--listen", options.listen, "HOST:PORT",
           "Address of the page (default 127.0.0.1:8461; port 0: a free port)");
  add_more(verb, "--name", options.names,
           "Another host name under which it is asked for, as behind a proxy; may be given again; needs --secret-file "
           "or --read-only",
           "HOST");
  add_text(verb, "--secret-file", given->secret_file, "FILE",
           "Every request must carry what is in this file; required where other machines reach the page");
  verb->add_flag("--read-only", options.read_only, "Show the keys, and refuse all changes");
  verb->add_option("--most", options.most, "Largest number of keys on the page (default 1,000)")
      ->check(CLI::Range(1, 100'000));
  add_text(verb, "--audit", options.audit_file, "FILE", "Append each request made on the page to this file, as JSON");
  add_duration(verb, "--store-timeout", options.timeout, "Longest wait for the store (default 5s)");
  verb->footer(
      "GET / is the page; GET /leases.json is the same as JSON. A change names the epoch that the user saw, and is "
      "refused if that epoch is over. The holder learns who asked. All users of the page act with the rights of this "
      "process in the store; without a secret, these are all users of this machine. The secret is sent as "
      "'Authorization: Bearer SECRET', or as the password that the browser asks for. It travels in clear text: on a "
      "network that is not yours, put a TLS proxy in front.\n"
      "\n"
      "Exit codes: 0 ended by a signal, 104 wrong command line, store or address.");
  verb->callback([given, &exit_code] { exit_code = serve(*given); });
}

}  // namespace

runtime::task<Result<election::Observation>> look_at_lease(runtime::Runtime& runtime, std::string url, std::string key,
                                                           Duration timeout) {
  BW_CO_TRY(auto store, co_await store::open_store(runtime, std::move(url)));
  BW_CO_TRY(auto opened, store->open(std::move(key)));
  const Instant deadline = runtime.read_clock() + timeout;
  auto seen = co_await opened->look(deadline, nullptr);
  co_return seen;
}

void add_lease(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LeaseOptions>();
  CLI::App* command = new_verb(app, "lease");
  command->require_subcommand(1);
  CLI::App* verb = add_verb(command, options, "list", false);
  CLI::Option* prefix = add_text(verb, "--prefix", options->prefix, "PREFIX", "Only keys with this prefix");
  CLI::Option* most = verb->add_option("--most", options->most, "Largest number of keys (default 10,000)");
  most->check(CLI::PositiveNumber);
  verb->get_option("--via")->required(false);
  CLI::Option* policy =
      verb->add_option("--policy", options->policy, "List the loops of this policy sheet and the state of their locks");
  policy->type_name("FILE")->excludes(prefix)->excludes(most);
  add_more(verb, "--metrics", options->metrics,
           "With --policy: page of metrics of a process that runs the loops; may be given again", "HOST:PORT");
  verb->get_option("--metrics")->needs(policy);
  verb->callback([options, &exit_code] { exit_code = list_or_policy(*options); });
  const auto acts = [&](Action action) {
    verb->callback([options, action, &exit_code] { exit_code = run_action(*options, action); });
  };
  verb = add_verb(command, options, "show", true);
  acts(&show);
  verb = add_verb(command, options, "watch", false);
  verb->add_option("KEY,-k,--key", options->key, "The key (default: all keys)");
  add_text(verb, "--prefix", options->prefix, "PREFIX", "Only keys with this prefix");
  verb->callback([options, &exit_code] { exit_code = watch(*options); });
  for (const bool to : {false, true}) {
    verb = add_verb(command, options, to ? "transfer" : "release", true);
    if (to) add_text(verb, "--to", options->to, "NAME", "Name of the candidate (bellwether lead --id)")->required();
    add_text(verb, "--by", options->by, "NAME", "Name of the person who asks (default $USER)");
    add_duration(verb, "--wait", options->wait, "Longest wait for the handover (default: two leases)");
    acts(&hand_over);
  }
  verb = add_verb(command, options, "steal", true);
  add_text(verb, "--to", options->to, "NAME", "Reserve the key for this candidate (default: any)");
  add_text(verb, "--by", options->by, "NAME", "Name of the person who takes the key (default $USER)");
  verb->add_flag("--yes", options->yes, "Confirm that both may act until the holder notices");
  acts(&steal);
  add_lease_repair(*command, exit_code);
  add_lease_serve(*command, exit_code);
  command->footer(
      "'valid for' is for people: for some stores it compares the wall clocks of two machines. Candidates go by how "
      "long they have seen a lease unchanged.\n"
      "\n"
      "Exit codes: 0 done (show: held), 1 not done (show: not held), 104 wrong command line.");
}

}  // namespace bellwether::cli
