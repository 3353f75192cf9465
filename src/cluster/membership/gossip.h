// What a member sends: packets to others, each with news, and events to its subscribers.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster/membership/gossip_buffer.h"
#include "cluster/membership/roster.h"
#include "cluster/membership/suspicions.h"

namespace bellwether::membership {

// Where news came from.
struct Source {
  NodeId node;
  Endpoint endpoint;
  bool reachable = false;  // by datagram at `endpoint`, and without an answer on its way there
  Cause cause = Cause::kGossip;
  bool pass_on = true;
};

class Gossip {
 public:
  // All must outlive it.
  Gossip(Self& self, Roster& roster, const SelfTrust& trust, const Suspicions& suspicions)
      : self_(self), roster_(roster), trust_(trust), suspicions_(suspicions) {}

  // Sends a packet with this head, which needs no sender. `who`: the member that is known to be there, if one is; it
  // hears news of itself first.
  void send(PacketHead head, const Endpoint& to, std::optional<NodeIndex> who, Effects& out);
  void send(const PacketHead& head, NodeIndex to, Effects& out) { send(head, table_.endpoint(to), to, out); }
  // Returns the sequence that the answer will have.
  uint32_t ping(NodeId to, const Endpoint& where, std::optional<NodeIndex> who, Effects& out);
  uint32_t ping(NodeIndex to, Effects& out) { return ping(table_.id(to), table_.endpoint(to), to, out); }
  // Sends a process that speaks from an earlier incarnation, after a restart without memory, the group's record of its
  // name, so that it can go beyond that.
  void correct(NodeIndex node, const Endpoint& who, Effects& out) const;

  // --- gossip
  void pass_on(const Update& update, Effects& out);
  // Passes our own record on.
  void announce(UpdateKind kind, Effects& out);
  void gossip_round(Effects& out);
  std::size_t pending() const { return buffer_.size(); }
  Instant wake() const { return next_gossip_; }

  void tell(MemberChange change, NodeIndex node, const Update& update, const Source& source, Effects& out) const;

 private:
  std::optional<Update> word_to(NodeIndex who) const;

  Self& self_;
  Roster& roster_;
  const SelfTrust& trust_;
  const Suspicions& suspicions_;
  const MemberTable& table_ = roster_.table();
  const Figures& figures_ = self_.config.figures;
  GossipBuffer buffer_{figures_.gossip_limit};
  Instant next_gossip_ = Instant::never();
  uint32_t next_sequence_ = 1;
};

}  // namespace bellwether::membership
