// What goes wrong in a simulated group.
#include <algorithm>

#include "base/probe.h"
#include "sim/vote/vote_run.h"

namespace bellwether::sim {

using vote::NodeId;

void VoteWorld::something_goes_wrong() {
  if (now() < hold_until_) return;
  VoteMember& m = members_[prng().below(members_.size())];
  switch (prng().below(14)) {
    case 0:
    case 1:
    case 2: break_node(m); break;
    case 3:
    case 4:
    case 5:
      network_->break_somehow(static_cast<uint32_t>(members_.size()), draw(lease() / 4, lease() * 4),
                              timing_.heartbeat() / 5, lease());
      break;
    case 6: break_disk(m); break;
    case 7: m.clock.set_rate(now(), 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99); break;
    case 8: undermine(); break;
    case 9: replay(); break;
    case 10:
    case 11: change_worth(m); break;
    default: bother(m); break;
  }
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void VoteWorld::break_node(VoteMember& m) {
  const Duration span = draw(lease() / 2, lease() * 3);
  switch (prng().below(8)) {
    case 0:
    case 1:
      crash(m, prng().chance(0.5));
      restart_later(m);
      break;
    case 2:
      // The power fails.
      if (prng().chance(0.7)) break;
      BW_PROBE("vote world: everybody crashes");
      for (VoteMember& one : members_) {
        crash(one, true);
        restart_later(one);
      }
      break;
    case 3:
      if (VoteMember* chief = leader()) crash(*chief, prng().chance(0.5)), restart_later(*chief);
      break;
    case 4:
      if (is(VoteMistake::kOlderDiskUnnoticed) || whole()) roll_back(m);
      break;
    case 5:
      if (prng().chance(0.3) && whole()) clone(m);
      break;
    default:
      pause(m, prng().chance(0.3));
      if (m.suspended && is(VoteMistake::kClockStopsInSuspend)) {
        m.clock.base_local = m.clock.local(now());
        m.clock.base_world = now() + span;
      }
      timeline_.after(span, [this, &m] {
        if (prng().chance(0.3)) cut_off(m);
        resume(m);
      });
      break;
  }
}

// As a machine that was moved elsewhere: it hears what came meanwhile, and nothing more for a while.
void VoteWorld::cut_off(const VoteMember& m) {
  BW_PROBE("vote world: a node goes on, and nobody hears it");
  const Duration span = draw(lease() / 2, lease() * 3);
  for (const VoteMember& other : members_) {
    network_->cut(m.index, other.index, span);
    network_->cut(other.index, m.index, span);
  }
}

// What an election without memory falls for: one node does not hear the admin any more and calls an election, another
// one that has just promised itself to the admin starts anew and is asked for its vote.
void VoteWorld::undermine() {
  VoteMember* chief = leader();
  if (chief == nullptr) return;
  BW_PROBE("vote world: a promised node starts anew beside a candidate");
  VoteMember& candidate = members_[prng().below(declared_.size())];
  VoteMember& voter = members_[prng().below(declared_.size())];
  if (&candidate == chief || &voter == chief || &candidate == &voter) return;
  const Duration span = lease() * 4;
  network_->cut(chief->index, candidate.index, span);
  network_->cut(candidate.index, chief->index, span);
  const uint32_t chief_index = chief->index;
  timeline_.after(draw(lease() / 2, lease() * 2), [this, &voter, chief_index, span] {
    if (prng().chance(0.5)) {
      network_->cut(chief_index, voter.index, span);
      network_->cut(voter.index, chief_index, span);
    }
    if (is(VoteMistake::kOlderDiskUnnoticed) && prng().chance(0.5)) return roll_back(voter);
    crash(voter, prng().chance(0.3));
    lose_record(voter, 0.3);
    timeline_.after(draw(Duration::millis(1), lease() / 8), [this, &voter] { start(voter); });
  });
}

// A node that has just voted is killed, and is back at once.
void VoteWorld::kill_voter(VoteMember& m) {
  timeline_.after(draw(Duration::zero(), timing_.gather / 2), [this, &m] {
    if (!m.up) return;
    BW_PROBE("vote world: a node is killed right after its vote");
    crash(m, false);
    timeline_.after(draw(Duration::millis(1), timing_.gather), [this, &m] { start(m); });
  });
}

void VoteWorld::lose_record(VoteMember& m, double chance) {
  if (m.lost || m.gone || !prng().chance(chance) || !may_be_lost(m)) return;
  BW_PROBE("vote world: a record is lost");
  say(m, "loses its record");
  m.disk.lose();
  m.lost = true;
}

void VoteWorld::restart_later(VoteMember& m) {
  lose_record(m, 0.15);
  timeline_.after(draw(Duration::millis(1), lease() * 2), [this, &m] { start(m); });
}

// Fewer than half are lost, and one of those that are left may stand.
bool VoteWorld::may_be_lost(const VoteMember& m) const {
  const auto lost = std::count_if(members_.begin(), members_.end(), [](const VoteMember& one) { return one.lost; });
  const bool one_stands = std::any_of(members_.begin(), members_.end(), [&m](const VoteMember& one) {
    return one.id != m.id && !one.lost && !one.gone && vote::may_stand(one.claim.capabilities);
  });
  return one_stands && (static_cast<std::size_t>(lost) + 1) * 2 < declared_.size();
}

bool VoteWorld::whole() const {
  return network_->whole() && std::all_of(members_.begin(), members_.end(), [](const VoteMember& m) {
           return m.gone || (m.up && !m.paused && (m.lost || !m.elector->follows_only()));
         });
}

// The disk of a node goes back in time. The others have heard of its last start, or it could not be found out.
void VoteWorld::roll_back(VoteMember& m) {
  if (m.gone || m.lost || m.disk.kept().size() < 2 || !may_be_lost(m)) return;
  const std::size_t kept = 1 + prng().below(m.disk.kept().size() - 1);
  // An older record of the same start would be as good as the newest: it is the same life that goes on.
  const bool earlier = m.disk.kept()[kept - 1].start + 1 < m.disk.newest().start;
  if (!earlier && !is(VoteMistake::kOlderDiskUnnoticed)) return;
  BW_PROBE("vote world: a disk goes back in time");
  crash(m, true);
  say(m, "goes back to version " + std::to_string(m.disk.kept()[kept - 1].version) + " of its record");
  m.disk.roll_back(kept);
  m.lost = true;
  hold_until_ = now() + timing_.promise() * 2;
  start(m);
}

// A copy of a node is started beside it.
void VoteWorld::clone(VoteMember& m) {
  if (m.gone || !m.up || m.paused || m.lost || members_.size() == members_.capacity() || clones_ == 1) return;
  // Either of them may end as one that follows only.
  if (!may_be_lost(m)) return;
  BW_PROBE("vote world: one id, two processes");
  ++clones_;
  VoteMember& twin = members_.emplace_back();
  twin.index = static_cast<uint32_t>(members_.size() - 1);
  twin.id = m.id;
  twin.clock = m.clock;
  twin.claim = m.claim;
  twin.disk = RecordDisk<vote::Record>(m.disk.kept());
  twin.lost = true;
  work_->add(twin);
  say(m, "is started a second time");
  hold_until_ = now() + timing_.promise() * 2;
  start(twin);
  timeline_.after(timing_.promise() * 2, [this, &m, &twin] {
    // One of them is ended, and the other one started anew: it may be silent. Its disk may have become the older one.
    crash(m, false);
    m.gone = true;
    crash(twin, false);
    start(twin);
  });
}

// --- disks, words, worth ---------------------------------------------------------------------------------------------

void VoteWorld::break_disk(VoteMember& m) {
  BW_PROBE("vote world: a disk is slow or fails");
  const Duration span = draw(lease(), lease() * 6);
  if (prng().chance(0.5)) {
    m.disk.set_failing(prng().unit());
  } else {
    m.disk.set_slow(draw(timing_.gather / 2, lease() * 3));
  }
  timeline_.after(span, [&m] { m.disk.mend(); });
}

// What people say to it.
void VoteWorld::bother(VoteMember& m) {
  if (!m.up) return;
  const NodeId heir = prng().chance(0.5) ? members_[prng().below(members_.size())].id : vote::kNobody;
  switch (prng().below(5)) {
    case 0: deliver(m, vote::CallElection{prng().chance(0.5)}); break;
    case 1: deliver(m, vote::Transfer{heir, "asked to"}); break;
    case 2:
      if (VoteMember* chief = leader()) deliver(*chief, vote::CallElection{prng().chance(0.5)});
      break;
    case 3:
      BW_PROBE("vote world: a node leaves");
      deliver(m, vote::Leave{"asked to"});
      timeline_.after(draw(lease(), lease() * 4), [this, &m] {
        crash(m, false);
        restart_later(m);
      });
      break;
    default:
      if (VoteMember* chief = leader()) deliver(*chief, vote::Transfer{heir, "asked to"});
      break;
  }
}

// Machines become better and worse, nodes say more than is true, and what they know of each other differs.
void VoteWorld::change_worth(VoteMember& m) {
  switch (prng().below(4)) {
    case 0:
      BW_PROBE("vote world: a node claims what it has not");
      m.boast = draw(Duration::minutes(1), Duration::hours(48));
      break;
    case 1: m.boast = Duration::zero(); break;
    case 2:
      if (m.up) {
        deliver(m, vote::PeerMeasured{declared_[prng().below(declared_.size())], prng().unit()});
      }
      break;
    default:
      m.claim.resources = {prng().unit(), prng().unit(), prng().unit(), prng().unit()};
      if (prng().chance(0.3)) m.claim.capabilities = {"admin_election", "key_reconstruction", "project_manager"};
      break;
  }
  if (m.up) measure(m);
}

void VoteWorld::make_whole() {
  kills_voters_ = false;
  keys_are_there_ = true;
  network_->mend();
  for (VoteMember& m : members_) {
    m.disk.mend();
    m.boast = Duration::zero();
    m.claim.resources = {0.5, 0.5, 0.5, 0.9};
    resume(m);
    start(m);
    if (!m.up) continue;
    measure(m);
    for (const NodeId other : declared_) deliver(m, vote::PeerMeasured{other, 0.9});
  }
}

}  // namespace bellwether::sim
