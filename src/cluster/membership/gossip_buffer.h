// News that waits to be passed on. One entry a member, the newest. Each is sent a number of times that grows with the
// logarithm of the group, then forgotten. Packets are filled by urgency (join, leave, alive, suspect, dead); within one
// kind, the news sent least often goes first, and of that the one that came last. Bounded: when full, the least urgent
// and most often sent news is dropped. A packet costs what it carries, however much waits.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/membership/packet.h"

namespace bellwether::membership {

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

}  // namespace bellwether::membership
