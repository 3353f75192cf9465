// What a member sends: packets to others, each with news that waits to be passed on, and events to its subscribers.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/membership/packet.h"
#include "cluster/membership/roster.h"
#include "cluster/membership/suspicions.h"

namespace bellwether::membership {

// News that waits to be passed on. One entry a member, the newest. Each is sent a number of times that grows with the
// logarithm of the group, then forgotten. Packets are filled by urgency (join, leave, alive, suspect, dead); within one
// kind, the news sent least often goes first, and of that the one that came last. Bounded: when full, the least urgent
// and most often sent news is dropped. A packet costs what it carries, however much waits.
class GossipBuffer {
 public:
  explicit GossipBuffer(std::size_t limit) : limit_(limit) {}

  // Replaces waiting news of the same member. Returns the kind of a displaced update, if any.
  struct Pushed {
    bool dropped = false;
    UpdateKind kind = UpdateKind::kDead;  // of what was dropped
  };
  Pushed push(const Update& update);
  void forget(NodeId node);

  // Appends updates below `limit` bytes of `out`, but not about `except`, and counts each as sent; those sent `times`
  // times are forgotten. When an update does not fit, it tries a few further ones of the kind. Returns how many were
  // appended.
  int fill(std::string& out, std::size_t limit, int times, NodeId except);

  bool empty() const { return places_.empty(); }
  std::size_t size() const { return places_.size(); }

 private:
  struct Entry {
    NodeId node;
    std::string bytes;  // as it goes into a packet
    std::size_t kind = 0;
    std::size_t sent = 0;
  };
  using Entries = std::list<Entry>;
  Pushed drop_last();

  std::size_t limit_;
  std::array<std::vector<Entries>, kUpdateKinds> by_kind_;  // each by times sent, from 0
  std::unordered_map<NodeId, Entries::iterator> places_;
};

// λ·⌈log10(n + 1)⌉, the number of times that each node of n passes an update on (SWIM, section 4.1, with the base that
// implementations use).
int transmissions(int lambda, std::size_t members);

// Where news came from.
struct Source {
  NodeId node;
  Endpoint endpoint;
  bool reachable = false;  // by datagram at `endpoint`, and without an answer on its way there
  Cause cause = Cause::kGossip;
  bool pass_on = true;
};

// The sender of packets and events.
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
