// What a member does with news: about others it changes the view and passes it on, about itself it answers.
#pragma once

#include <cstdint>

#include "cluster/membership/gossip.h"

namespace bellwether::membership {

// What the group says of this member itself, and its answer: it refutes an accusation with a higher incarnation, and
// asks another process under its name whether it lives.
class Refuter {
 public:
  // All must outlive it.
  Refuter(Self& self, Roster& roster, SelfTrust& trust, Gossip& gossip)
      : self_(self), roster_(roster), trust_(trust), gossip_(gossip) {}

  void enter() { roster_.enter_self(incarnation_); }
  uint32_t incarnation() const { return incarnation_; }
  void set_meta(const std::string& meta, Effects& out);
  void hear(const Update& update, const Source& source, Effects& out);
  // Whether it is the answer of the process that claims our name.
  bool on_ack(const PacketHead& head, const Endpoint& from, Effects& out);
  void check_claim(Effects& out) {
    if (self_.now >= claimant_.deadline) settle_claim(false, out);
  }
  Instant wake() const { return claimant_.deadline; }

 private:
  struct Claimant {  // another process under our name, asked whether it lives
    Endpoint endpoint;
    uint32_t life = 0;
    uint32_t incarnation = 0;
    uint32_t sequence = 0;
    Instant deadline = Instant::never();
  };
  void refute(const Update& update, const Source& source, Effects& out);
  void question(const Update& update, Effects& out);
  void settle_claim(bool answered, Effects& out);
  void go_beyond(uint32_t incarnation, Effects& out);

  Self& self_;
  Roster& roster_;
  SelfTrust& trust_;
  Gossip& gossip_;
  Claimant claimant_;
  uint32_t incarnation_ = self_.config.incarnation;
};

// How news about members changes the view and is passed on. News about this member goes to its Refuter.
class Updates {
 public:
  // All must outlive it.
  Updates(Self& self, Roster& roster, SelfTrust& trust, Suspicions& suspicions, Gossip& gossip, Refuter& refuter)
      : self_(self), roster_(roster), trust_(trust), suspicions_(suspicions), gossip_(gossip), refuter_(refuter) {}

  // Another member is there.
  void heard();
  // All updates that are left in a packet.
  void read(PacketReader& in, const Source& source, Effects& out);
  void apply(const Update& update, const Source& source, Effects& out);
  void prove(const ProofOfDeath& proof, Effects& out);
  void check_suspicions(Effects& out);

 private:
  void apply_alive(const Update& update, const Source& source, Effects& out);
  void enter(const Update& update, const Source& source, Effects& out);
  void find_address_conflict(NodeIndex node, Effects& out) const;
  void apply_suspect(const Update& update, const Source& source, Effects& out);
  void suspect(NodeIndex node, const Update& update, const Source& source, Effects& out);
  void apply_dead(const Update& update, const Source& source, Effects& out);
  void apply_leave(const Update& update, const Source& source, Effects& out);
  void bury(NodeIndex node, MemberState state, const Update& update, const Source& source, const Accusers& accusers,
            Effects& out);

  Self& self_;
  Roster& roster_;
  SelfTrust& trust_;
  Suspicions& suspicions_;
  Gossip& gossip_;
  Refuter& refuter_;
  const MemberTable& table_ = roster_.table();
  const Figures& figures_ = self_.config.figures;
};

}  // namespace bellwether::membership
