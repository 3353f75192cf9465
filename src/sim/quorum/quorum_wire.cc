// What simulated members say to each other, and what they write down.
#include "base/probe.h"
#include "sim/quorum/quorum_run.h"

namespace bellwether::sim {

using quorum::Message;
using quorum::Record;

void QuorumWorld::send(QuorumMember& from, const quorum::Send& sending) {
  Message message = sending.message;
  if (auto* answer = std::get_if<quorum::GreetingAnswer>(&message.body);
      answer != nullptr && (is(QuorumMistake::kLostRecordIsNew) || is(QuorumMistake::kOlderDiskUnnoticed))) {
    answer->newest_record = 0;
  }
  if (const auto* answer = std::get_if<quorum::VoteAnswer>(&message.body);
      answer != nullptr && answer->refusal == quorum::Refusal::kNone) {
    checker_.voted(from.id.value(), from.index, message.term, sending.to.value(), now());
    if (kills_voters_ && prng().chance(0.3)) kill_voter(from);
  }
  if (std::holds_alternative<quorum::Vote>(message.body))
    checker_.voted(from.id.value(), from.index, message.term, from.id.value(), now());
  if (std::holds_alternative<quorum::StandNow>(message.body) ||
      std::holds_alternative<quorum::Resigned>(message.body)) {
    if (from.working && from.clock.local(now()) < from.stop_by) {
      checker_.fail("I12: a leader hands over while its work runs", now());
    }
  }
  for (const QuorumMember& to : members_) {
    if (to.id != sending.to || &to == &from) continue;
    GroupWorld::send(from, to, message);
  }
}

void QuorumWorld::persist(QuorumMember& m, const Record& record) {
  const Duration usually = draw(Duration::micros(100), calm_ ? Duration::millis(5) : timing_.step / 2);
  m.disk.write(timeline_, record, usually, [this, &m](const Record& written, bool ok) {
    if (!ok) BW_PROBE("quorum world: a disk fails");
    deliver(m, quorum::Persisted{written.version, ok || is(QuorumMistake::kDiskErrorIgnored), "the disk failed"});
  });
  if (is(QuorumMistake::kVoteBeforeDurable)) {
    timeline_.after(Duration::micros(1), [this, &m, life = m.life, version = record.version] {
      if (m.life == life) deliver(m, quorum::Persisted{version, true, {}});
    });
  }
}

}  // namespace bellwether::sim
