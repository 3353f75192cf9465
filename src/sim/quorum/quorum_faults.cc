// What goes wrong in a simulated group.
#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "sim/quorum/quorum_run.h"

namespace bellwether::sim {

using quorum::MemberId;

void QuorumWorld::something_goes_wrong() {
  if (now() < hold_until_) return;
  QuorumMember& m = members_[prng().below(members_.size())];
  switch (prng().below(13)) {
    case 0:
    case 1:
    case 2: break_member(m); break;
    case 12: undermine(); break;
    case 3:
    case 4:
    case 5:
      network_->break_somehow(static_cast<uint32_t>(members_.size()), draw(timing_.lease / 4, timing_.lease * 4),
                              timing_.heartbeat, timing_.lease);
      break;
    case 6: break_disk(m); break;
    case 7: m.clock.set_rate(now(), 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99); break;
    case 8: change_members(); break;
    case 9: replay(); break;
    default: bother(m); break;
  }
}

// --- members ---------------------------------------------------------------------------------------------------------

void QuorumWorld::break_member(QuorumMember& m) {
  const Duration span = draw(timing_.lease / 2, timing_.lease * 3);
  switch (prng().below(8)) {
    case 0:
    case 1:
      crash(m, prng().chance(0.5));
      restart_later(m);
      break;
    case 2:
      // The power fails.
      if (prng().chance(0.7)) break;
      BW_PROBE("quorum world: everybody crashes");
      for (QuorumMember& one : members_) {
        crash(one, true);
        restart_later(one);
      }
      break;
    case 3:
      if (QuorumMember* chief = leader()) crash(*chief, prng().chance(0.5)), restart_later(*chief);
      break;
    case 4:
      if (is(QuorumMistake::kOlderDiskUnnoticed) || whole()) roll_back(m);
      break;
    case 5:
      if (prng().chance(0.3) && whole()) clone(m);
      break;
    default:
      pause(m, prng().chance(0.3));
      if (m.suspended && is(QuorumMistake::kClockStopsInSuspend)) {
        m.clock.base_local = m.clock.local(now());
        m.clock.base_world = now() + span;
      }
      timeline_.after(span, [this, &m] { resume(m); });
      break;
  }
}

// What an election without memory falls for: one member does not hear the leader any more and stands, another one that
// has just promised itself to the leader starts anew and is asked for its vote.
void QuorumWorld::undermine() {
  QuorumMember* chief = leader();
  if (chief == nullptr) return;
  BW_PROBE("quorum world: a promised member starts anew beside a candidate");
  QuorumMember& candidate = members_[prng().below(declared_.size())];
  QuorumMember& voter = members_[prng().below(declared_.size())];
  if (&candidate == chief || &voter == chief || &candidate == &voter) return;
  const Duration span = timing_.lease * 4;
  network_->cut(chief->index, candidate.index, span);
  network_->cut(candidate.index, chief->index, span);
  const uint32_t chief_index = chief->index;
  timeline_.after(draw(timing_.lease / 2, timing_.lease * 2), [this, &voter, chief_index, span] {
    if (prng().chance(0.5)) {
      network_->cut(chief_index, voter.index, span);
      network_->cut(voter.index, chief_index, span);
    }
    if (is(QuorumMistake::kOlderDiskUnnoticed) && prng().chance(0.5)) return roll_back(voter);
    crash(voter, prng().chance(0.3));
    lose_record(voter, 0.3);
    timeline_.after(draw(Duration::millis(1), timing_.lease / 8), [this, &voter] { start(voter); });
  });
}

// A member that has just voted is killed, and is back at once.
void QuorumWorld::kill_voter(QuorumMember& m) {
  timeline_.after(draw(Duration::zero(), timing_.step / 2), [this, &m] {
    if (!m.up || m.removed) return;
    BW_PROBE("quorum world: a member is killed right after its vote");
    crash(m, false);
    timeline_.after(draw(Duration::millis(1), timing_.step), [this, &m] {
      if (!m.removed) start(m);
    });
  });
}

void QuorumWorld::lose_record(QuorumMember& m, double chance) {
  if (m.lost || m.removed || !prng().chance(chance) || !may_lose_another()) return;
  BW_PROBE("quorum world: a record is lost");
  say(m, "loses its record");
  m.disk.lose();
  m.lost = true;
}

void QuorumWorld::restart_later(QuorumMember& m) {
  lose_record(m, 0.15);
  timeline_.after(draw(Duration::millis(1), timing_.lease * 2), [this, &m] {
    if (!m.removed || m.life > 0) start(m);
  });
}

bool QuorumWorld::may_lose_another() const {
  const auto lost = std::count_if(members_.begin(), members_.end(), [](const QuorumMember& m) { return m.lost; });
  return (static_cast<std::size_t>(lost) + 1) * 2 < declared_.size();
}

bool QuorumWorld::whole() const {
  return network_->whole() && std::all_of(members_.begin(), members_.end(), [](const QuorumMember& m) {
           return m.removed || (m.up && !m.paused && (m.lost || m.elector->takes_part()));
         });
}

// The disk of a member goes back in time. Somebody who knows better is up, or it could not be found out by anybody.
void QuorumWorld::roll_back(QuorumMember& m) {
  if (m.removed || m.lost || m.disk.kept().size() < 2 || !may_lose_another()) return;
  const std::size_t kept = 1 + prng().below(m.disk.kept().size() - 1);
  const uint64_t version = m.disk.kept()[kept - 1].version;
  const bool known = std::any_of(members_.begin(), members_.end(), [&](const QuorumMember& other) {
    return &other != &m && !other.removed && other.up && other.elector->record_seen_of(m.id) > version;
  });
  if (!known && !is(QuorumMistake::kOlderDiskUnnoticed)) return;
  BW_PROBE("quorum world: a disk goes back in time");
  crash(m, true);
  say(m, "goes back to version " + std::to_string(version) + " of its record");
  m.disk.roll_back(kept);
  m.lost = true;
  hold_until_ = now() + timing_.promise(timing_.lease) * 2;
  start(m);
}

// A copy of a member is started beside it.
void QuorumWorld::clone(QuorumMember& m) {
  if (m.removed || !m.up || m.paused || members_.size() == members_.capacity() || clones_ == 1) return;
  BW_PROBE("quorum world: one id, two processes");
  ++clones_;
  // Either of them may end as one that follows only.
  if (!may_lose_another()) return;
  QuorumMember& twin = members_.emplace_back();
  twin.index = static_cast<uint32_t>(members_.size() - 1);
  twin.id = m.id;
  twin.clock = m.clock;
  twin.disk = RecordDisk<quorum::Record>(m.disk.kept());
  twin.state = m.state;
  twin.lost = true;
  work_->add(twin);
  say(m, "is started a second time");
  hold_until_ = now() + timing_.promise(timing_.lease) * 2;
  start(twin);
  timeline_.after(timing_.promise(timing_.lease) * 2, [this, &m, &twin] {
    // Whoever of them is not listened to is taken away.
    QuorumMember& other = twin.elector->takes_part() ? m : twin;
    crash(other, false);
    other.removed = other.gone = true;
  });
}

// --- disks, words, members -------------------------------------------------------------------------------------------

void QuorumWorld::break_disk(QuorumMember& m) {
  BW_PROBE("quorum world: a disk is slow or fails");
  const Duration span = draw(timing_.lease, timing_.lease * 6);
  if (prng().chance(0.5)) {
    m.disk.set_failing(prng().unit());
  } else {
    m.disk.set_slow(draw(timing_.step, timing_.lease * 3));
  }
  timeline_.after(span, [&m] { m.disk.mend(); });
}

// What people and other parts say to it.
void QuorumWorld::bother(QuorumMember& m) {
  if (!m.up) return;
  switch (prng().below(5)) {
    case 0: {
      const MemberId heir = prng().chance(0.5) ? members_[prng().below(members_.size())].id : quorum::kNobody;
      deliver(m, quorum::StepDown{"asked to", heir, false, prng().chance(0.5)});
      break;
    }
    case 1: {
      quorum::LocalHealth health;
      health.score = static_cast<uint8_t>(prng().below(9));
      health.load = static_cast<quorum::Load>(prng().below(5));
      health.ready = prng().chance(0.7);
      health.disk = prng().chance(0.9);
      for (int check = 0; check < 3; ++check) deliver(m, health);
      timeline_.after(timing_.lease * 4, [this, &m] { deliver(m, quorum::LocalHealth{}); });
      break;
    }
    case 2:
      if (QuorumMember* chief = leader()) deliver(*chief, quorum::StepDown{"asked to", m.id, false, true});
      break;
    default: {
      const MemberId suspect = m.elector->leader();
      deliver(m, quorum::LeaderSuspected{suspect});
      if (is(QuorumMistake::kSuspicionEndsPromise)) {
        deliver(m, quorum::LeaderDead{suspect, m.elector->promised_life()});
      }
      // Death is said only of lives that are over.
      const MemberId promised = m.elector->promised_to();
      const uint64_t life = m.elector->promised_life();
      const bool over = std::none_of(members_.begin(), members_.end(), [&](const QuorumMember& other) {
        return other.id == promised && other.elector && other.elector->life() == life && (other.up || other.working);
      });
      if (over) deliver(m, quorum::LeaderDead{promised, life});
      break;
    }
  }
}

// The spare member comes in, or goes out again.
void QuorumWorld::change_members() {
  QuorumMember* chief = leader();
  QuorumMember& spare = members_[declared_.size()];
  if (chief == nullptr || chief == &spare) return;
  const bool member = chief->elector->members().has(spare.id);
  if (member && (spare.lost || chief->elector->members().voters.size() <= 3)) return;
  if (!spare.up && !member) {
    if (spare.life > 0) return;
    start(spare);
  }
  const auto kind = member ? quorum::MemberChange::Kind::kRemove : quorum::MemberChange::Kind::kAdd;
  deliver(*chief, quorum::ChangeMembers{{kind, spare.id}});
}

void QuorumWorld::make_whole() {
  kills_voters_ = false;
  network_->mend();
  for (QuorumMember& m : members_) {
    m.disk.mend();
    resume(m);
    if (!m.removed || m.life > 0) start(m);
    deliver(m, quorum::LocalHealth{});
  }
}

}  // namespace bellwether::sim
