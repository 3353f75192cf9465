// bellwether lease repair: a key whose epochs were lost goes on, above what its operator knows.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/lease_commands.h"
#include "cli/verb.h"
#include "core/base/printable.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll_runtime.h"
#include "election/store/open_store.h"
#include "lead/epoch_memory.h"
#include "lead/lease_tools.h"

namespace bellwether::cli {
namespace {

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

std::string who(const LeaseRepairArguments& given) {
  if (!given.by.empty()) return given.by;
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  return user == nullptr || *user == '\0' ? "an operator" : user;
}

int end_with(int code, const Error& error) {
  std::fprintf(stderr, "bellwether lease: %s\n", printable(error.message).c_str());
  return code;
}

// What keeps leases on a disk refuses to go on without its epochs, unless told that they may be lost.
std::string accepting_loss(const std::string& url) {
  const bool on_disk = url.starts_with("file:") || url.starts_with("flock:");
  if (!on_disk || url.find("accept_epoch_loss=") != std::string::npos) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "accept_epoch_loss=true";
}

runtime::task<int> repair(runtime::Runtime& runtime, const LeaseRepairArguments& given, Journal& journal) {
  const auto store = co_await store::open_store(runtime, accepting_loss(given.via));
  if (!store) co_return end_with(kExitUsage, store.error());
  const std::string folder = lead::default_epoch_folder();
  if (given.forget && folder.empty()) {
    co_return end_with(kExitUsage, {Errc::kInvalid,
                                    "nobody knows where this machine remembers epochs: set HOME or "
                                    "XDG_STATE_HOME as it is for the candidates, and --forget again"});
  }
  lead::EpochMemory memory(runtime, folder, (*store)->describe(), given.key);
  if (given.forget) {
    const auto forgotten = co_await memory.forget();
    if (!forgotten) co_return end_with(kExitNo, forgotten.error());
    const std::string text = who(given) + ": this machine has forgotten the epochs that it saw of '" + given.key + "'";
    journal.transition(runtime.wall_now(), "epochs-forgotten", text, {{"key", given.key}, {"by", who(given)}});
    std::printf("%s\n", printable(text).c_str());
    if ((*store)->traits().chooses_epoch) co_return kExitOk;
  }
  election::Epoch floor(given.floor);
  if (!folder.empty()) {
    const auto known = co_await memory.load();
    if (!known) co_return end_with(kExitNo, known.error());
    floor = std::max(floor, *known);
  }
  lead::LeaseTools tools(runtime, **store, who(given), given.timeout);
  const auto epoch = co_await tools.repair(given.key, floor);
  if (!epoch) co_return end_with(kExitNo, epoch.error());
  if (!folder.empty()) {
    const auto kept = co_await memory.save(*epoch);
    if (!kept) co_return end_with(kExitNo, kept.error());
  }
  const std::string text =
      who(given) + ": '" + given.key + "' is free, and its epochs go on above " + std::to_string(epoch->value());
  journal.transition(runtime.wall_now(), "repaired", text,
                     {{"key", given.key}, {"by", who(given)}, {"epoch", static_cast<int64_t>(epoch->value())}});
  std::printf("%s\n", printable(text).c_str());
  co_return kExitOk;
}

int run_repair(const LeaseRepairArguments& given) {
  if (!given.yes) {
    std::fprintf(stderr,
                 "bellwether lease: a repair says that no resource remembers a higher epoch of this key than the one "
                 "that it goes on from, which nobody can check for you, and that all candidates are stopped. The "
                 "highest epoch that any log or resource knows is a good --epoch-floor. If this is what you want, say "
                 "--yes.\n");
    return kExitUsage;
  }
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) return end_with(kExitNo, runtime.error());
  Journal journal(0, false, "lease repair");
  if (!journal.open_audit((*runtime)->wall_now(), given.audit)) return kExitUsage;
  return (*runtime)->run(repair(**runtime, given, journal));
}

}  // namespace

void add_lease_repair(CLI::App* lease, int& exit_code) {
  auto given = std::make_shared<LeaseRepairArguments>();
  CLI::App* verb = new_verb(*lease, "repair", "Let a key go on whose epochs were lost, or are in doubt");
  verb->add_option("--via", given->via, "Where the leases are kept")->required()->type_name("URL");
  verb->add_option("KEY,-k,--key", given->key, "Which one")->required();
  verb->add_option("--epoch-floor", given->floor,
                   "The highest epoch that anybody may have seen (default: as far as\nknown)")
      ->type_name("N");
  verb->add_flag("--forget", given->forget, "Forget what this machine remembers of the key's epochs, first");
  verb->add_option("--by", given->by, "Who repairs (default $USER)");
  verb->add_option("--audit", given->audit, "Append what was done to this file, as JSON")->type_name("FILE");
  verb->add_flag("--yes", given->yes, "Yes: all candidates are stopped, and no higher epoch was given out");
  add_duration(verb, "--store-timeout", given->timeout, "Wait so long for the store (default 5s)");
  verb->footer(
      "For a lock or lease file whose epochs (NAME.epoch) are gone or damaged, and for a store that says that it may\n"
      "have lost data: afterwards the key is free, nobody waits for a lease, and the next term has a higher epoch "
      "than\n"
      "the floor, than any that the store shows, and than any that this machine has seen. An epoch never goes down.\n"
      "Where the store gives out epochs itself (etcd), only --forget helps, on each machine.\n\n"
      "Example:\n"
      "  bellwether lease repair orders --via flock:/run/locks --epoch-floor 41 --yes\n\n"
      "Exit codes: 0 done, 1 not done, 104 wrong command line.");
  verb->callback([given, &exit_code] { exit_code = run_repair(*given); });
}

}  // namespace bellwether::cli
