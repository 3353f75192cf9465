// The open suspicions: the suspect, its accusers, and the time at which it is declared dead. Until then it may refute
// the suspicion. While too many members seem to fail at once, none is declared dead. Pure; times are of this node's
// monotonic clock. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cluster/membership/self.h"
#include "core/base/time.h"

namespace bellwether::membership {

// Delays declarations of death while more than half of the members of one kind (role) seem to fail at once: the cause
// is then more likely the network, or this node. It delays only deaths by silence, never proven ones. It needs at least
// four members of the kind. It ends after `limit`, so that the cluster acts on a real catastrophe.
class CorrelationGuard {
 public:
  explicit CorrelationGuard(Duration limit) : limit_(limit) {}

  // True: no suspect of this kind may be declared dead now. `alive` and `suspect` count members of the kind, without
  // this node.
  bool holds(uint8_t kind, std::size_t alive, std::size_t suspect, Instant now);
  void died_silently(uint8_t kind, Instant now) { deaths_.push_back({kind, now}); }
  // The time since which it delays deaths of this kind; never(): it does not.
  Instant since(uint8_t kind) const { return since_[kind]; }
  Duration limit() const { return limit_; }

 private:
  struct Death {
    uint8_t kind;
    Instant at;
  };
  Duration limit_;
  std::vector<Death> deaths_;  // of the last `limit`
  std::array<Instant, 256> since_ = filled();
  static std::array<Instant, 256> filled() {
    std::array<Instant, 256> all{};
    all.fill(Instant::never());
    return all;
  }
};

// The more members accuse a suspect independently of each other, the sooner it is declared dead (Lifeguard,
// LHA-Suspicion):
//
//   timeout = max(min, max − (max − min) · log(C + 1) / log(K + 1))
//
// C is the number of accusers beside the first; with K of them the timeout is `min`. Time in which this node received
// nothing does not count.
struct Suspicion {
  NodeIndex node = 0;
  uint32_t incarnation = 0;
  Instant since;
  Duration min;
  Duration max;
  int enough = 0;        // K
  Accusers accusers;     // the first one included
  Duration deaf_before;  // the total time in which this node had received nothing, at the begin of the suspicion
  Duration extended;     // the delay by the correlation guard

  // With the present accusers.
  Duration timeout() const;
};

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough);

class Suspicions {
 public:
  // All must outlive it.
  Suspicions(const Self& self, const MemberTable& table, const SelfTrust& trust)
      : self_(self), table_(table), trust_(trust) {}

  void begin(NodeIndex node, const Update& update);
  // True: at least one of the accusers is new and shortens the timeout.
  bool confirm(NodeIndex node, const Accusers& accusers);
  void end(NodeIndex node) {
    std::erase_if(suspicions_, [&](const Suspicion& one) { return one.node == node; });
  }
  // The accusers of a suspect.
  const Accusers& accusers_of(NodeIndex suspect) const { return suspicions_[find(suspect)].accusers; }
  // Copies of the suspicions whose timeout has passed. The caller ends them.
  std::vector<Suspicion> due(Effects& out);
  // No suspect is declared dead before `when`.
  void wait_until(Instant when);
  Instant wake() const { return next_; }

  // Whether no member of the node's kind may be declared dead now.
  bool guard_holds(NodeIndex node, Effects& out);
  void died_silently(NodeIndex node) { guard_.died_silently(table_.profile(node).role, self_.now); }

 private:
  std::size_t find(NodeIndex suspect) const;
  Instant deadline_of(const Suspicion& suspicion) const;

  const Self& self_;
  const MemberTable& table_;
  const SelfTrust& trust_;
  const Figures& figures_ = self_.config.figures;
  CorrelationGuard guard_{figures_.guard_limit};
  std::vector<Suspicion> suspicions_;
  Instant next_ = Instant::never();
};

}  // namespace bellwether::membership
