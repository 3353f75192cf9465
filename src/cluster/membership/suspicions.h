// The suspicions under way: accusers, suspects, and the time when each becomes a death unless it is refuted.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/membership/correlation_guard.h"
#include "cluster/membership/self.h"

namespace bellwether::membership {

// The more members have found the suspect silent independently of each other, the sooner it is declared dead
// (Lifeguard, LHA-Suspicion):
//
//   timeout = max(min, max − (max − min) · log(C + 1) / log(K + 1))
//
// with C accusers beside the first and K of them enough. Time in which this node received nothing is not counted.
struct Suspicion {
  NodeIndex node = 0;
  uint32_t incarnation = 0;
  Instant since;
  Duration min;
  Duration max;
  int enough = 0;        // K
  Accusers accusers;     // the first one included
  Duration deaf_before;  // what this node had been deaf in total when the suspicion began
  Duration extended;     // held by the correlation guard for so long

  // How long it lasts with the accusers that there are.
  Duration timeout() const;
};

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough);

class Suspicions {
 public:
  // All must outlive it.
  Suspicions(const Self& self, const MemberTable& table, const SelfTrust& trust)
      : self_(self), table_(table), trust_(trust) {}

  void begin(NodeIndex node, const Update& update);
  // True when one of the accusers is a new one and counts.
  bool confirm(NodeIndex node, const Accusers& accusers);
  void end(NodeIndex node);
  // The accusers of a suspect.
  const Accusers& accusers_of(NodeIndex suspect) const { return suspicions_[find(suspect)].accusers; }
  // Those whose time has run out.
  std::vector<Suspicion> due(Effects& out);
  // No verdict before that.
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
