// How news about members changes the view and is passed on.
#pragma once

#include "cluster/membership/refuter.h"

namespace bellwether::membership {

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
