#include "lead/lease_tools.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "election/lease_record.h"
#include "election/lease_timing.h"

namespace bellwether::lead {

using election::LeaseRecord;
using election::Observation;
using election::WriteRequest;

namespace {

constexpr int kTries = 5;  // a holder that renews meanwhile changes the version
constexpr Duration kPoll = Duration::millis(200);
constexpr Duration kRepairLease = Duration::seconds(5);  // of the term of a repair, should it be cut short

LeaseRecord asked_to_hand_over(LeaseRecord record, const std::string& heir, const std::string& by) {
  record.heir = heir.empty() ? std::string(election::kAnybody) : heir;
  record.cause = heir.empty() ? "released by " + by : fmt::format("transferred to {} by {}", heir, by);
  return record;
}

LeaseRecord stolen(const LeaseRecord& from, election::Epoch floor, const std::string& heir, const std::string& by) {
  LeaseRecord record;
  record.epoch = std::max(next_epoch(from.epoch, from.epoch), floor);
  record.lease = from.lease;
  record.heir = heir;
  record.cause = fmt::format("taken from {} by {}", from.holder, by);
  return record;
}

}  // namespace

runtime::task<Result<Observation>> LeaseTools::show(std::string key) {
  BW_CO_TRY(const auto opened, store_.open(std::move(key)));
  auto seen = co_await opened->look(deadline(), nullptr);
  co_return seen;
}

runtime::task<Result<LeaseRecord>> LeaseTools::amend(std::string key, std::string heir, bool steal,
                                                     std::optional<election::Epoch> only) {
  BW_CO_TRY(const auto opened, store_.open(key));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    BW_CO_TRY(const auto seen, co_await opened->look(deadline(), nullptr));
    if (!seen.present || !seen.record.held()) {
      co_return fail(Errc::kNotFound,
                     fmt::format("'{}' has no holder{}", key,
                                 seen.record.cause.empty() ? "" : fmt::format(" ({})", seen.record.cause)));
    }
    if (only && seen.record.epoch != *only) {
      co_return fail(Errc::kInvalid, "epoch {} of '{}' is over: now {} holds it, epoch {}", only->value(), key,
                     seen.record.holder, seen.record.epoch.value());
    }
    if (seen.foreign && !steal) {
      co_return fail(
          Errc::kUnsupported,
          "'{}' is held by {}, a program that cannot hand over on request; `lease steal` takes the key from it", key,
          seen.record.holder);
    }
    if (!steal && !heir.empty() && heir == seen.record.holder)
      co_return fail(Errc::kInvalid, "'{}' is held by {} already, epoch {}", key, heir, seen.record.epoch.value());
    WriteRequest request;
    request.kind = WriteRequest::Kind::kAmend;
    request.expected = seen.version;
    request.token = seen.record.token;
    request.record = steal ? stolen(seen.record, seen.floor, heir, by_) : asked_to_hand_over(seen.record, heir, by_);
    const auto outcome = co_await opened->act(std::move(request), deadline(), nullptr);
    if (!outcome) {
      co_return fail(outcome.error().code,
                     outcome.error().message + "; the change may have happened: check with `lease show`");
    }
    if (outcome->applied) co_return seen.record;
  }
  co_return fail(Errc::kExists, "'{}' changed during {} attempts; try again", key, kTries);
}

// The key while it has no holder.
runtime::task<Result<Observation>> LeaseTools::look_at_vacant(store::StoreKey& key, std::string name) {
  auto seen = co_await key.look(deadline(), nullptr);
  if (!seen || !seen->record.held() || seen->sight == election::HolderSight::kDead) co_return seen;
  const std::string holder = seen->record.holder;
  if (seen->sight == election::HolderSight::kUnknown) {
    const Duration wait = election::LeaseTiming().takeable_after(seen->record.lease);
    co_await runtime_.sleep(wait);
    auto later = co_await key.look(deadline(), nullptr);
    if (!later || later->version == seen->version) co_return later;
  }
  co_return fail(Errc::kExists, "'{}' is held by {}: stop it and all other candidates first", name, holder);
}

runtime::task<Result<election::Epoch>> LeaseTools::repair(std::string key, election::Epoch floor) {
  if (store_.traits().chooses_epoch) {
    co_return fail(Errc::kUnsupported, store_.describe() +
                                           " chooses epochs itself: raise them there (etcdutl snapshot restore "
                                           "--bump-revision), or delete this machine's record of epochs (--forget)");
  }
  BW_CO_TRY(const auto opened, store_.open(key));
  BW_CO_TRY(const auto seen, co_await look_at_vacant(*opened, key));
  WriteRequest take;
  take.kind = WriteRequest::Kind::kTake;
  take.expected = seen.version;
  take.token = election::make_token(runtime_.prng());
  take.record.token = take.token;
  take.record.holder = "repair by " + by_;
  take.record.epoch = std::max(next_epoch(floor, seen.record.epoch), seen.floor);
  take.record.lease = std::max(kRepairLease, store_.traits().lease_min);
  take.record.cause = "repaired by " + by_;
  const election::Epoch epoch = take.record.epoch;
  WriteRequest release{WriteRequest::Kind::kRelease, take.token, {}, {}};
  release.record.epoch = epoch;
  release.record.lease = take.record.lease;
  release.record.cause = fmt::format("repaired by {}: epochs continue above {}", by_, epoch.value());
  BW_CO_TRY(const auto taken, co_await opened->act(std::move(take), deadline(), nullptr));
  if (!taken.applied) co_return fail(Errc::kExists, "'{}' changed during the repair: stop all candidates first", key);
  release.expected = taken.after.version;
  BW_CO_RETURN_IF_ERROR(co_await opened->act(std::move(release), deadline(), nullptr));
  co_return epoch;
}

runtime::task<Result<Observation>> LeaseTools::wait_for_change(std::string key, election::Epoch epoch, bool held,
                                                               Duration at_most) {
  BW_CO_TRY(const auto opened, store_.open(std::move(key)));
  const Instant end = runtime_.read_clock() + at_most;
  while (runtime_.read_clock() < end) {
    const auto seen = co_await opened->look(deadline(), nullptr);
    if (seen && (seen->record.epoch > epoch || !seen->record.held()) && (seen->record.held() || !held)) co_return *seen;
    co_await runtime_.sleep(kPoll);
  }
  co_return fail(Errc::kTimeout, "no change within " + format_duration(at_most));
}

// --- all keys of a store ---------------------------------------------------------------------------------------------

namespace {

void tell(Journal& journal, WallTime now, const election::WatchTable::Change& change) {
  const std::string epoch = std::to_string(change.epoch.value());
  const std::string after = change.gone            ? "gone"
                            : change.after.empty() ? "nobody"
                                                   : fmt::format("{}, epoch {}", change.after, epoch);
  journal.transition(now, change.gone ? "gone" : "leader", fmt::format("'{}': {}", change.key, after),
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

Duration between(WallTime from, WallTime to) { return Duration::nanos(to.unix_ns) - Duration::nanos(from.unix_ns); }

Duration left_of(const Observation& seen, WallTime now) {
  if (seen.left) return *seen.left;
  return seen.record.lease - between(seen.record.renewed_at, now);
}

std::string left_text(const Observation& seen, WallTime now) {
  if (!seen.record.held() || seen.record.lease <= Duration::zero()) return "-";
  const Duration left = Duration::millis(left_of(seen, now).ms());
  return left > Duration::zero() ? format_duration(left) : "overdue";
}

std::string ago(WallTime then, WallTime now) {
  if (then.unix_ns == 0) return "-";
  const Duration span = between(then, now);
  return span < Duration::zero() ? "in the future" : format_duration(Duration::millis(span.ms())) + " ago";
}

std::string status_of(const Observation& seen) {
  const LeaseRecord& record = seen.record;
  if (!seen.present) return seen.evidence.empty() ? "never held" : "unknown: " + seen.evidence;
  if (!record.held()) return "free: " + (record.cause.empty() ? "released" : record.cause);
  std::string status = seen.foreign ? "held by a program that stores no epoch" : "held";
  if (seen.sight == election::HolderSight::kDead) status = "holder is dead: " + seen.evidence;
  if (!record.heir.empty())
    status += ", asked to hand over" + (record.heir == election::kAnybody ? "" : " to " + record.heir);
  if (seen.may_have_lost_data) status += "; the store may have lost data";
  return status;
}

}  // namespace bellwether::lead
