#include "lead/lease_tools.h"

#include <utility>

#include "base/units.h"

namespace bellwether::lead {

using election::LeaseRecord;
using election::Observation;
using election::WriteRequest;

namespace {

constexpr int kTries = 5;  // a holder that renews meanwhile changes the version
constexpr Duration kPoll = Duration::millis(200);

LeaseRecord asked_to_hand_over(LeaseRecord record, const std::string& heir, const std::string& by) {
  record.heir = heir.empty() ? std::string(election::kAnybody) : heir;
  record.cause = heir.empty() ? "released by " + by : "transferred to " + heir + " by " + by;
  return record;
}

LeaseRecord stolen(const LeaseRecord& from, election::Epoch floor, const std::string& heir, const std::string& by) {
  LeaseRecord record;
  record.epoch = std::max(next_epoch(from.epoch, from.epoch), floor);
  record.lease = from.lease;
  record.heir = heir;
  record.cause = "taken from " + from.holder + " by " + by;
  return record;
}

}  // namespace

runtime::task<Result<std::vector<store::ListedKey>>> LeaseTools::list(std::string prefix, std::size_t most) {
  auto found = co_await store_.list(std::move(prefix), most, deadline(), nullptr);
  co_return found;
}

runtime::task<Result<Observation>> LeaseTools::show(std::string key) {
  const auto opened = store_.open(std::move(key));
  if (!opened) co_return tl::unexpected(opened.error());
  auto seen = co_await (*opened)->look(deadline(), nullptr);
  co_return seen;
}

runtime::task<Result<LeaseRecord>> LeaseTools::amend(std::string key, std::string heir, bool steal) {
  const auto opened = store_.open(key);
  if (!opened) co_return tl::unexpected(opened.error());
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto seen = co_await (*opened)->look(deadline(), nullptr);
    if (!seen) co_return tl::unexpected(seen.error());
    if (!seen->present || !seen->record.held()) {
      co_return fail(Errc::kNotFound, "nobody holds '" + key + "'" +
                                          (seen->record.cause.empty() ? "" : " (" + seen->record.cause + ")"));
    }
    if (seen->foreign && !steal) {
      co_return fail(Errc::kUnsupported, "'" + key + "' is held by " + seen->record.holder +
                                             ", a program that cannot be asked to hand over; `lease steal` takes the "
                                             "key away");
    }
    WriteRequest request;
    request.kind = WriteRequest::Kind::kAmend;
    request.expected = seen->version;
    request.token = seen->record.token;
    request.record = steal ? stolen(seen->record, seen->floor, heir, by_) : asked_to_hand_over(seen->record, heir, by_);
    const auto outcome = co_await (*opened)->act(std::move(request), deadline(), nullptr);
    if (!outcome) {
      co_return fail(outcome.error().code, outcome.error().message + "; perhaps it happened: `lease show` tells");
    }
    if (outcome->applied) co_return seen->record;
  }
  co_return fail(Errc::kTimeout, "'" + key + "' changed " + std::to_string(kTries) + " times meanwhile; try again");
}

runtime::task<Result<LeaseRecord>> LeaseTools::ask_to_hand_over(std::string key, std::string heir) {
  auto done = co_await amend(std::move(key), std::move(heir), false);
  co_return done;
}

runtime::task<Result<LeaseRecord>> LeaseTools::steal(std::string key, std::string heir) {
  auto done = co_await amend(std::move(key), std::move(heir), true);
  co_return done;
}

runtime::task<Result<Observation>> LeaseTools::wait_for_change(std::string key, election::Epoch epoch, bool held,
                                                               Duration at_most) {
  const auto opened = store_.open(std::move(key));
  if (!opened) co_return tl::unexpected(opened.error());
  const Instant end = runtime_.read_clock() + at_most;
  while (runtime_.read_clock() < end) {
    const auto seen = co_await (*opened)->look(deadline(), nullptr);
    if (seen && (seen->record.epoch > epoch || !seen->record.held()) && (seen->record.held() || !held)) co_return *seen;
    co_await runtime_.sleep(kPoll);
  }
  co_return fail(Errc::kTimeout, "nothing has changed within " + format_duration(at_most));
}

}  // namespace bellwether::lead
