// News that waits to be passed on. One entry a member, the newest. Each is sent a number of times that grows with the
// logarithm of the group, then forgotten. Packets are filled by urgency (join, leave, alive, suspect, dead); within one
// kind, the news sent least often goes first. Bounded: when full, the least urgent and most often sent news is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
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

  // Appends as many updates as fit below `limit` bytes of `out`, but not about `except`, and counts each as sent;
  // those sent `times` times are forgotten. Returns how many were appended.
  int fill(std::string& out, std::size_t limit, int times, NodeId except);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    NodeId node;
    int sent = 0;
    std::string bytes;  // as it goes into a packet
  };
  std::size_t limit_;
  std::size_t size_ = 0;
  // Each ordered by times sent, the least often first. Their order changes with nearly every packet.
  std::array<std::vector<std::unique_ptr<Entry>>, kUpdateKinds> by_kind_;
};

// λ·⌈log10(n + 1)⌉, the number of times that each node of n passes an update on (SWIM, section 4.1, with the base that
// implementations use).
int transmissions(int lambda, std::size_t members);

}  // namespace bellwether::membership
