// The times of an elected group, and what follows from them. A leader counts from the sending of the heartbeat that a
// quorum has acknowledged. A follower promises, from the later moment of receipt, to vote for no other member. With
// every clock within `drift` of true time
//
//   leader:    acts until   sent + lease x (1 - drift) - stop_grace,  has stopped by  sent + lease x (1 - drift)
//   follower:  promised until   received + lease x (1 + drift)
//
// so that the last act of a leader comes before the first vote for the next one (Gray and Cheriton, 1989).
//
// After a crash of the leader, in the worst case right after a heartbeat:
//
//   lease x (1 + drift)       the promises run out
//   + (members + 1) x step    the candidates stand in an order, one `step` apart
//   + 3 x rtt + 2 x sync      pre-vote; vote, durable at the candidate and at the voters; first heartbeat
//
// A hand-over costs half a round trip for the permission, and then the last line without the pre-vote.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/budget.h"
#include "election/lease_timing.h"

namespace bellwether::quorum {

// No leader is promised anything for longer.
inline constexpr Duration kLongestLease = Duration::seconds(60);
// A campaign without a win by then is given up.
inline constexpr Duration kLongestCampaign = Duration::seconds(30);

struct QuorumTiming {
  Duration heartbeat = Duration::millis(100);
  Duration lease = Duration::millis(500);
  Duration stop_grace = Duration::millis(40);  // for the work to stop after the end of a term
  Duration pre_vote_timeout = Duration::millis(60);
  Duration vote_timeout = Duration::millis(200);  // doubled with each campaign that fails, up to kLongestCampaign
  Duration step = Duration::millis(15);           // between candidates, in their order
  double drift = 0.01;                            // how far a clock may run from true time, as a share
  election::FlapSettings flap;                    // no member challenges the leader in the cool-down

  // One network of a site, round trips of about a millisecond.
  static QuorumTiming lan() { return {}; }
  // Sites up to 250 ms apart.
  static QuorumTiming wan();

  // Refuses an unsafe configuration, or one that cannot elect a leader, with the arithmetic that shows it.
  Status validate() const;

  Duration longest_act() const;  // after the sending of the acknowledged heartbeat
  Duration promise(Duration lease_of_leader) const;
};

struct QuorumBudgetInput {
  std::size_t members = 5;
  Duration round_trip = Duration::millis(2);
  Duration sync = Duration::millis(10);  // of the disk, p99
};
// Typical: half a heartbeat into the lease, the first candidate in order stands.
election::GroupBudget budget_of(const QuorumTiming& timing, const QuorumBudgetInput& input);

}  // namespace bellwether::quorum
