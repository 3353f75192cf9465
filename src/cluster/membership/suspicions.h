// The suspicions under way: accusers, suspects, and the time when each becomes a death, unless it is refuted or too
// many members seem to fail at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cluster/membership/self.h"
#include "core/base/time.h"

namespace bellwether::membership {

// Holds evictions while more than half of the members of a kind seem to fail at once: then the fault is likelier in the
// network, or here, than in all of them. It holds silent failures only, never proven deaths. It needs at least four
// members of the kind. It ends after a limit, so that the cluster acts on a real catastrophe.
class CorrelationGuard {
 public:
  explicit CorrelationGuard(Duration limit) : limit_(limit) {}

  // May a suspect of this kind be declared dead? `alive` and `suspect`: members of the kind, both without this node.
  bool holds(uint8_t kind, std::size_t alive, std::size_t suspect, Instant now);
  void died_silently(uint8_t kind, Instant now) { deaths_.push_back({kind, now}); }
  // Since when it holds; never() when it does not.
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
