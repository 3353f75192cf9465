// What a simulated leader does with its office.
#include "sim/quorum/quorum_run.h"

namespace bellwether::sim {

void QuorumWorld::elected(QuorumMember& m, const quorum::Elected& elected) {
  const quorum::Term term(elected.epoch.value());
  const quorum::Configuration& members = m.elector->members();
  std::vector<std::vector<uint64_t>> electorates{values(members.voters)};
  if (members.joint()) electorates.push_back(values(members.next));
  checker_.elected(m.id.value(), term, electorates, now());
  work_->elected(m, term, elected.ends, m.elector->stopped_by());
  if (m.elector->active()) return;
  // It has the state once it has asked everybody who may have some of it.
  timeline_.after(draw(network_->slowest(), timing_.lease), [this, &m, life = m.life] {
    if (m.up && m.life == life) deliver(m, quorum::Synced{});
  });
}

void QuorumWorld::work_has_stopped(GroupMember& member) { deliver(members_[member.index], quorum::WorkStopped{}); }

void QuorumWorld::has_acted(GroupMember& member) {
  QuorumMember& m = members_[member.index];
  if (prng().below(4) == 0) deliver(m, quorum::StateWritten{++m.state});
}

}  // namespace bellwether::sim
