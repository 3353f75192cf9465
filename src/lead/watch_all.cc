#include "lead/watch_all.h"

#include <csignal>

#include "core/runtime/scope.h"
#include "core/runtime/signals.h"
#include "election/watch_table.h"

namespace bellwether::lead {
namespace {

void tell(Journal& journal, WallTime now, const election::WatchTable::Change& change) {
  const std::string epoch = std::to_string(change.epoch.value());
  const std::string after = change.gone ? "gone" : change.after.empty() ? "nobody" : change.after + ", epoch " + epoch;
  journal.transition(now, change.gone ? "gone" : "leader", "'" + change.key + "': " + after,
                     {{"key", change.key}, {"before", change.before}, {"holder", change.after}, {"epoch", epoch}});
}

runtime::task<void> list_again_and_again(runtime::EpollRuntime& runtime, store::LeaseStore& store,
                                         const WatchAllOptions& options, Journal& journal,
                                         runtime::Cancellation* cancel) {
  election::WatchTable table;
  std::string trouble;
  while (!cancel->cancelled()) {
    const Instant deadline = runtime.read_clock() + options.timeout;
    const auto found = co_await store.list(options.prefix, options.most, deadline, cancel);
    if (cancel->cancelled()) co_return;
    if (found) {
      trouble.clear();
      std::vector<election::WatchTable::Change> changes;
      table.begin_round();
      for (const store::ListedKey& one : *found) table.see(runtime.boot_now(), one.key, one.seen, changes);
      table.end_round(changes);
      for (const auto& change : changes) tell(journal, runtime.wall_now(), change);
    } else if (trouble != found.error().message) {
      trouble = found.error().message;
      journal.warn(runtime.wall_now(), "the store did not answer: " + trouble);
    }
    co_await runtime.sleep(options.every, cancel);
  }
}

}  // namespace

runtime::task<void> watch_all(runtime::EpollRuntime& runtime, store::LeaseStore& store, WatchAllOptions options,
                              Journal& journal) {
  runtime::Scope scope;
  auto signals = runtime::Signals::collect(runtime, {SIGINT, SIGTERM});
  scope.spawn(list_again_and_again(runtime, store, options, journal, scope.cancellation()));
  if (signals) co_await (*signals)->next(nullptr);
  scope.cancel();
  co_await scope.join();
}

}  // namespace bellwether::lead
