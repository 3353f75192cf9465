// What a simulated admin does with its office.
#include "sim/vote/vote_run.h"

namespace bellwether::sim {

void VoteWorld::elected(VoteMember& m, const vote::Elected& elected) {
  const election::Term term(elected.epoch.value());
  checker_.elected(m.id.value(), term, {values(declared_)}, now());
  work_->elected(m, term, elected.ends, m.elector->stopped_by());
}

void VoteWorld::work_has_stopped(GroupMember& member) { deliver(members_[member.index], vote::WorkStopped{}); }

}  // namespace bellwether::sim
