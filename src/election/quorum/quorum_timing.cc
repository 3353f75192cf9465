#include "election/quorum/quorum_timing.h"

#include "core/base/units.h"

namespace bellwether::quorum {
namespace {

Duration quorum_ratio(Duration span, double factor) { return Duration::from_seconds_f(span.seconds_f() * factor); }

}  // namespace

QuorumTiming QuorumTiming::wan() {
  QuorumTiming timing;
  timing.heartbeat = Duration::millis(500);
  timing.lease = Duration::seconds(3);
  timing.stop_grace = Duration::millis(300);
  timing.pre_vote_timeout = Duration::millis(600);
  timing.vote_timeout = Duration::millis(1500);
  timing.step = Duration::millis(150);
  return timing;
}

Duration QuorumTiming::longest_act() const { return quorum_ratio(lease, 1 - drift); }

Duration QuorumTiming::promise(Duration lease_of_leader) const { return quorum_ratio(lease_of_leader, 1 + drift); }

Status QuorumTiming::validate() const {
  if (heartbeat <= Duration::zero() || lease <= Duration::zero() || step <= Duration::zero() ||
      pre_vote_timeout <= Duration::zero() || vote_timeout <= Duration::zero() || stop_grace < Duration::zero()) {
    return fail(Errc::kInvalid, "heartbeat, lease, step and the time limits of votes must be longer than 0");
  }
  if (drift < 0 || drift > 0.2) {
    return fail(Errc::kInvalid, "the drift is {}; it must be from 0 to 0.2", drift);
  }
  if (lease > kLongestLease) {
    return fail(Errc::kInvalid, "the lease is {}; it must not be longer than {}, the longest promise to a leader",
                format_duration(lease), format_duration(kLongestLease));
  }
  if (heartbeat * 3 + stop_grace > longest_act()) {
    return fail(Errc::kInvalid,
                "three heartbeats and the time to stop (3 x {} + {}) do not fit into the lease on the slowest clock "
                "({}): one lost message would end a term; shorten the heartbeat or lengthen the lease",
                format_duration(heartbeat), format_duration(stop_grace), format_duration(longest_act()));
  }
  if (vote_timeout > kLongestCampaign) {
    return fail(Errc::kInvalid, "the campaign is {}; it must not be longer than {}", format_duration(vote_timeout),
                format_duration(kLongestCampaign));
  }
  return {};
}

election::GroupBudget budget_of(const QuorumTiming& timing, const QuorumBudgetInput& input) {
  const auto members = static_cast<int64_t>(input.members);
  const auto campaign = [&](election::Sum& sum, bool with_pre_vote) {
    sum.add(with_pre_vote ? "3 rtt" : "2 rtt", input.round_trip * (with_pre_vote ? 3 : 2));
    sum.add("2 sync", input.sync * 2);
  };
  election::GroupBudget budget;
  budget.crash_worst.add("lease x (1 + drift)", timing.promise(timing.lease));
  budget.crash_worst.add("(members + 1) x step", timing.step * (members + 1));
  campaign(budget.crash_worst, true);
  budget.crash_typical.add("lease x (1 + drift)", timing.promise(timing.lease));
  budget.crash_typical.add("- heartbeat / 2", -(timing.heartbeat / 2));
  budget.crash_typical.add("step x 3/2", timing.step * 3 / 2);
  campaign(budget.crash_typical, true);
  budget.transfer.add("rtt / 2", input.round_trip / 2);
  campaign(budget.transfer, false);
  budget.cut_off_stops.add("lease x (1 - drift)", timing.longest_act());
  return budget;
}

}  // namespace bellwether::quorum
