// The times of a group that elects an admin by scored votes, and what follows from them. An admin counts from the
// sending of the heartbeat that a quorum has answered. A node that answers gives its vote to no other from the later
// moment of receipt. With every clock within `drift` of true time
//
//   admin:   acts until   sent + heartbeat_timeout x (1 - drift) - stop_grace,  has stopped stop_grace later
//   others:  promised until   received + heartbeat_timeout x (1 + drift)
//
// so that the last act of an admin comes before the first vote for the next one (Gray and Cheriton, 1989).
//
// After a crash of the admin, in the worst case right after a heartbeat:
//
//   heartbeat_timeout x (1 + drift)   the promises run out
//   + gather                          the first node to start is drawn, and all candidates announce themselves
//   + gather                          if a node stays silent
//   + 4 x rtt / 2 + 2 x sync          start, candidacies, votes (durable first), the winner and its answers
#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/budget.h"

namespace bellwether::vote {

// No admin is promised anything for longer.
inline constexpr Duration kLongestHeartbeatTimeout = Duration::minutes(10);

struct VoteTiming {
  Duration discovery = Duration::seconds(10);         // between requests while no admin is known
  Duration discovery_backoff = Duration::seconds(5);  // after an election without a winner, twice as long at most
  Duration election = Duration::seconds(30);          // the longest election, in any state
  Duration heartbeat_timeout = Duration::seconds(15);
  Duration gather = Duration::seconds(1);              // how long candidacies of all are waited for
  Duration stop_grace = Duration::seconds(1);          // for the work to stop after the end of a term
  Duration transfer = Duration::seconds(30);           // for the heir to take over
  Duration election_min_term = Duration::seconds(20);  // between elections
  Duration leader_min_term = Duration::seconds(45);    // in which an admin is not challenged
  double drift = 0.01;                                 // how far a clock may run from true time, as a share

  // The values above: of a network where seconds do not matter.
  static VoteTiming standard() { return {}; }
  // One network of a site: a new admin within two seconds.
  static VoteTiming lan();

  // The windows that follow from the other times: twice discovery, and three times heartbeat_timeout.
  void set_windows();
  Duration heartbeat() const { return heartbeat_timeout / 2; }  // at the latest
  // After the sending of the answered heartbeat, with a promise of this length, or of this node's own if shorter.
  Duration longest_act(Duration promised = kLongestHeartbeatTimeout) const;
  Duration promise() const;

  // Refuses an unsafe configuration, or one that cannot elect an admin, with the arithmetic that shows it.
  Status validate() const;
};

struct VoteBudgetInput {
  Duration round_trip = Duration::millis(2);
  Duration sync = Duration::millis(10);  // of the disk, p99
};
// Typical: half a heartbeat into the promise; all candidates are heard.
election::GroupBudget budget_of(const VoteTiming& timing, const VoteBudgetInput& input);

}  // namespace bellwether::vote
