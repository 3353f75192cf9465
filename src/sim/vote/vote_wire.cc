// What simulated nodes say to each other, and what they write down.
#include "base/probe.h"
#include "sim/vote/vote_run.h"

namespace bellwether::sim {

using vote::Message;
using vote::NodeId;

// kNobody: to all.
void VoteWorld::tell(VoteMember& from, const Message& message, NodeId to) {
  from.spoke = message;
  const auto* vote = std::get_if<vote::Vote>(&message.body);
  if (vote != nullptr) {
    checker_.voted(from.id.value(), from.index, vote->term, vote->candidate.value(), now());
    if (kills_voters_ && prng().chance(0.3)) kill_voter(from);
  }
  const auto* started = std::get_if<vote::ElectionStarted>(&message.body);
  if (started != nullptr && started->permission && from.working && from.clock.local(now()) < from.stop_by) {
    checker_.fail("I12: an admin hands over while its work runs", now());
  }
  for (VoteMember& other : members_) {
    if (&other == &from || (to != vote::kNobody && other.id != to)) continue;
    if (vote != nullptr && is(VoteMistake::kSignatureUnchecked)) forge_vote(from, other, *vote);
    tell_one(from, other, message);
  }
}

void VoteWorld::tell_one(VoteMember& from, VoteMember& to, Message message) {
  auto* vote = std::get_if<vote::Vote>(&message.body);
  if (vote != nullptr && is(VoteMistake::kMemberVotesTwice) && from.index == 0) vote->candidate = to.id;
  GroupWorld::send(from, to, message);
}

// Somebody tells `to` that all others have voted for it.
void VoteWorld::forge_vote(const VoteMember& from, VoteMember& to, const vote::Vote& vote) {
  for (const VoteMember& other : members_) {
    if (&other == &from || &other == &to || !other.spoke || !prng().chance(0.2)) continue;
    Message forged = *other.spoke;
    forged.sequence += 20;
    forged.body = vote::Vote{vote.term, to.id};
    timeline_.after(draw(network_->quickest(), network_->slowest()),
                    [this, &to, forged] { deliver(to, vote::Received{forged}); });
  }
}

void VoteWorld::persist(VoteMember& m, const vote::Record& record) {
  const Duration usually = draw(Duration::micros(100), calm_ ? Duration::millis(5) : timing_.gather / 4);
  m.disk.write(timeline_, record, usually, [this, &m](const vote::Record& written, bool ok) {
    if (!ok) BW_PROBE("vote world: a disk fails");
    deliver(m, vote::Persisted{written.version, ok || is(VoteMistake::kDiskErrorIgnored), "the disk failed"});
  });
  if (is(VoteMistake::kVoteBeforeDurable)) {
    timeline_.after(Duration::micros(1), [this, &m, life = m.life, version = record.version] {
      if (m.life == life) deliver(m, vote::Persisted{version, true, {}});
    });
  }
}

}  // namespace bellwether::sim
