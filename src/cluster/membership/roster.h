// The group, as one member sees it: the table, and what must follow each change of it: the order of probes, the watched
// neighbour, the time since each departure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership/member_table.h"
#include "cluster/membership/self.h"

namespace bellwether::membership {

// The order of probes: all members once a round, shuffled anew each round; a member that joins in mid-round gets a
// random place (SWIM, section 4.3: completeness within two rounds). Also the urn from which random peers are drawn.
class ProbeList {
 public:
  void add(NodeIndex node, Prng& prng);
  void remove(NodeIndex node);
  // The next in turn, in any state; nothing when the list is empty.
  std::optional<NodeIndex> next(Prng& prng);
  NodeIndex any(Prng& prng) const { return order_[prng.below(order_.size())]; }
  std::size_t size() const { return order_.size(); }

 private:
  std::vector<NodeIndex> order_;
  std::size_t at_ = 0;
};

class Roster {
 public:
  // Both must outlive it.
  Roster(Self& self, Directory& directory) : self_(self), table_(directory) {}

  const MemberTable& table() const { return table_; }
  NodeIndex me() const { return me_; }
  Instant last_change() const { return last_change_; }
  // What the group hears of a member that is alive.
  Update record_of(NodeIndex node) const;
  std::string name_of(AccuserMark mark) const;
  std::vector<Update> remember() const;

  // --- changes
  void enter_self(uint32_t incarnation);
  // Nothing when its id belongs to another name.
  std::optional<NodeIndex> enter(const Update& update);
  void identify(NodeIndex node, uint32_t life, const Profile& profile);
  void become(NodeIndex node, MemberState state, uint32_t incarnation);
  // Our own incarnation. `stirs`: the view is not quiet until the group has heard of it.
  void raise(uint32_t incarnation, bool stirs);
  void measured(NodeIndex node, Duration round_trip) { table_.round_trip(node).add(round_trip); }
  // Takes the tombstones that are old enough away; the caller forgets their members.
  std::vector<NodeIndex> take_old_tombstones();
  void forget(NodeIndex node);

  // --- choices
  // The alive member whose id follows ours on the circle of ids: each has exactly one such watcher.
  std::optional<NodeIndex> successor();
  // The next present one in turn that is not `busy`.
  template <class Busy>
  std::optional<NodeIndex> next(const Busy& busy) {
    for (std::size_t tries = order_.size(); tries > 0; --tries) {
      const NodeIndex node = *order_.next(self_.prng);
      if (is_present(table_.at(node).state) && !busy(node)) return node;
    }
    return std::nullopt;
  }
  std::optional<NodeIndex> random_peer();
  std::optional<NodeIndex> random_dead();

  // --- the states that ride on acks: which one of a member's was seen last
  StateVersion known_state(NodeId of) const { return clock_.last(of.value()); }
  bool accept_state(NodeId of, StateVersion version) { return clock_.accept(of.value(), version); }

 private:
  struct Tombstone {
    NodeIndex node = 0;
    Instant since;
  };
  uint64_t distance(NodeIndex node) const { return table_.id(node).value() - self_.id.value(); }
  void changed(NodeIndex node);

  Self& self_;
  MemberTable table_;
  ProbeList order_;
  static constexpr std::size_t kMaxStates = 20'000;
  VersionedClock clock_{kMaxStates};
  std::vector<Tombstone> tombstones_;
  NodeIndex me_ = 0;
  Instant last_change_;
  bool successor_known_ = false;
  std::optional<NodeIndex> successor_;
};

}  // namespace bellwether::membership
