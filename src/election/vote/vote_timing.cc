#include "election/vote/vote_timing.h"

#include <algorithm>

#include "core/base/units.h"

namespace bellwether::vote {
namespace {

Duration vote_ratio(Duration span, double factor) { return Duration::from_seconds_f(span.seconds_f() * factor); }

}  // namespace

VoteTiming VoteTiming::lan() {
  VoteTiming timing;
  timing.discovery = Duration::millis(500);
  timing.discovery_backoff = Duration::millis(250);
  timing.election = Duration::seconds(2);
  timing.heartbeat_timeout = Duration::seconds(1);
  timing.gather = Duration::millis(100);
  timing.stop_grace = Duration::millis(100);
  timing.transfer = Duration::seconds(3);
  timing.set_windows();
  return timing;
}

void VoteTiming::set_windows() {
  election_min_term = discovery * 2;
  leader_min_term = heartbeat_timeout * 3;
}

Duration VoteTiming::longest_act(Duration promised) const {
  return vote_ratio(std::min(promised, heartbeat_timeout), 1 - drift);
}

Duration VoteTiming::promise() const { return vote_ratio(heartbeat_timeout, 1 + drift); }

Status VoteTiming::validate() const {
  const auto all = {discovery, discovery_backoff, election, heartbeat_timeout, gather, transfer};
  if (std::ranges::any_of(all, [](Duration one) { return one <= Duration::zero(); }) || stop_grace < Duration::zero() ||
      election_min_term < Duration::zero() || leader_min_term < Duration::zero()) {
    return fail(Errc::kInvalid,
                "discovery_timeout, discovery_backoff, election_timeout, heartbeat_timeout, gather_timeout and "
                "transfer_timeout must be longer than 0");
  }
  if (drift < 0 || drift > 0.2) {
    return fail(Errc::kInvalid, "the drift is {}; it must be from 0 to 0.2", drift);
  }
  if (heartbeat_timeout > kLongestHeartbeatTimeout) {
    return fail(Errc::kInvalid,
                "heartbeat_timeout is {}; it must not be longer than {}, the longest promise to an admin",
                format_duration(heartbeat_timeout), format_duration(kLongestHeartbeatTimeout));
  }
  // A lost heartbeat is repeated after a tenth of the timeout.
  const Duration needed = heartbeat() + heartbeat_timeout / 5 + stop_grace;
  if (needed > longest_act()) {
    return fail(Errc::kInvalid,
                "a heartbeat, two repetitions and the time to stop ({} + {} + {}) do not fit into heartbeat_timeout on "
                "the slowest clock ({}): lengthen it, or shorten stop_grace",
                format_duration(heartbeat()), format_duration(heartbeat_timeout / 5), format_duration(stop_grace),
                format_duration(longest_act()));
  }
  if (gather * 3 > election) {
    return fail(Errc::kInvalid,
                "election_timeout is {}; it must be at least three times {} (gather_timeout): to collect candidacies, "
                "to vote, and to repeat",
                format_duration(election), format_duration(gather));
  }
  return {};
}

election::GroupBudget budget_of(const VoteTiming& timing, const VoteBudgetInput& input) {
  const auto election = [&](election::Sum& sum) {
    sum.add("2 rtt", input.round_trip * 2);
    sum.add("2 sync", input.sync * 2);
  };
  election::GroupBudget budget;
  budget.crash_worst.add("heartbeat_timeout x (1 + drift)", timing.promise());
  budget.crash_worst.add("2 gather", timing.gather * 2);
  election(budget.crash_worst);
  budget.crash_typical.add("heartbeat_timeout x (1 + drift)", timing.promise());
  budget.crash_typical.add("- heartbeat / 2", -(timing.heartbeat() / 2));
  budget.crash_typical.add("gather / 2", timing.gather / 2);
  election(budget.crash_typical);
  election(budget.transfer);
  budget.cut_off_stops.add("heartbeat_timeout x (1 - drift)", timing.longest_act());
  return budget;
}

}  // namespace bellwether::vote
