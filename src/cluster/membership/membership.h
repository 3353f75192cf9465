// One node's part in a group: its view of who is in it, suspected, or gone. SWIM with all of Lifeguard, and the
// additions of docs/contributing/membership.md: proxies whose probe fails confirm the suspicion, a node that receives
// nothing accuses no member, suspects learn of it first, one neighbour is watched beside the random rounds, views are
// compared by digest.
//
// A state machine without clock, socket or thread: each step takes the time of the monotonic clock and answers with
// effects. Deadlines pass only in Tick steps, so a driver that reads its sockets before its timers is fair to others.
//
// What it guarantees:
//   - only the process that bears a name raises its incarnation;
//   - a member that learns of its own death refutes it, also after a restart without memory;
//   - memory, packets and work a step are bounded for any input.
//
// Its parts, each of which knows only those above it:
//
//   self.h              the member itself, and how far it may trust its own watch
//   roster.h            the group
//   suspicions.h        accusers and suspects, each with a deadline
//   gossip.h            the messages of the member
//   updates.h           news about others, news about the member itself, and its answers
//   failure_detector.h  probes
//   view_sync.h         joining, and comparing views
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster/membership/failure_detector.h"
#include "cluster/membership/view_sync.h"

namespace bellwether::membership {

class Membership {
 public:
  using State = MembershipState;

  // `directory` must outlive it and may be shared by the nodes of one thread. `seed` must differ between nodes.
  Membership(MembershipConfig config, Directory& directory, uint64_t seed)
      : self_(std::move(config), seed), roster_(self_, directory) {}

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  State state() const { return self_.state; }
  const MemberTable& table() const { return table_; }
  const std::string& name() const { return self_.config.name; }
  const Profile& profile() const { return self_.config.profile; }
  uint32_t incarnation() const { return refuter_.incarnation(); }
  int health_score() const { return trust_.score(); }
  Degradation degradation() const { return trust_.level(); }
  uint64_t malformed() const { return self_.malformed; }
  // The name behind a mark; empty when no member of the view has it. Looks at the whole view.
  std::string name_of(AccuserMark mark) const { return roster_.name_of(mark); }
  // All present members, for Start::remembered of a later life.
  std::vector<Update> remember() const { return roster_.remember(); }

 private:
  void on_start(const Start& start, Effects& out);
  void on_tick(Effects& out);
  void on_leave(Effects& out);
  void on_datagram(const DatagramArrived& arrived, Effects& out);
  void on_ping(const PacketHead& head, const Endpoint& from, Effects& out);
  void on_ack(const PacketHead& head, const Endpoint& from, Effects& out);

  Self self_;
  Roster roster_;
  const MemberTable& table_ = roster_.table();
  SelfTrust trust_{self_, table_};
  Suspicions suspicions_{self_, table_, trust_};
  Gossip gossip_{self_, roster_, trust_, suspicions_};
  Refuter refuter_{self_, roster_, trust_, gossip_};
  Updates updates_{self_, roster_, trust_, suspicions_, gossip_, refuter_};
  FailureDetector detector_{self_, roster_, trust_, gossip_, updates_};
  ViewSync view_sync_{self_, roster_, gossip_, updates_};
  Instant leave_ends_ = Instant::never();
  std::string state_bytes_;  // what rides on our acks
  uint64_t state_version_ = 0;
};

}  // namespace bellwether::membership
