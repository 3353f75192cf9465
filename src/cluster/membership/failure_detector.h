// The failure detector: which member to probe next, probes and their proxies, probes for others, and the consequence of
// a missing answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/membership/updates.h"

namespace bellwether::membership {

class FailureDetector {
 public:
  // All must outlive it.
  FailureDetector(Self& self, Roster& roster, SelfTrust& trust, Gossip& gossip, Updates& updates)
      : self_(self), roster_(roster), trust_(trust), gossip_(gossip), updates_(updates) {}

  void begin();
  // It sends no more probes.
  void end() { next_probe_ = next_dead_probe_ = Instant::never(); }
  // Deadlines move: this process has not yet read all that arrived.
  void postpone(Duration lateness);

  // --- when it is time
  void check(Effects& out);
  void probe_next(Effects& out);
  void probe_the_dead(Effects& out);
  Instant wake() const { return std::min({next_check_, next_probe_, next_dead_probe_}); }

  // --- packets
  void on_ping_req(const PacketHead& head, const Endpoint& from, Effects& out);
  void on_nack(const PacketHead& head);
  // Whether the probe was one for another member, which has its answer now.
  bool on_ack(const PacketHead& head, Effects& out);

 private:
  struct Probe {
    uint32_t sequence = 0;
    NodeIndex target = 0;
    Instant sent;
    Instant indirect_at;
    Instant verdict_at;
    bool indirect = false;
    int asked = 0;
    int points = 0;   // added to our health score so far
    Accusers silent;  // proxies that got no answer either
  };
  struct Errand {  // a probe for another member
    uint32_t sequence = 0;
    uint32_t their_sequence = 0;
    Endpoint asked_by;
    NodeId target;
    Instant deadline;
  };
  std::optional<NodeIndex> next_target();
  void probe(NodeIndex target, Effects& out);
  Duration timeout(NodeIndex target) const;
  void check_probes(Effects& out);
  void check_errands(Effects& out);
  void go_indirect(Probe& probe, Effects& out);
  void judge(const Probe& probe, Effects& out);

  Self& self_;
  Roster& roster_;
  SelfTrust& trust_;
  Gossip& gossip_;
  Updates& updates_;
  const MemberTable& table_ = roster_.table();
  const Figures& figures_ = self_.config.figures;
  std::vector<Probe> probes_;
  std::vector<Errand> errands_;
  bool successors_turn_ = false;
  Instant next_check_ = Instant::never();  // of probes and errands
  Instant next_probe_ = Instant::never();
  Instant next_dead_probe_ = Instant::never();
};

}  // namespace bellwether::membership
