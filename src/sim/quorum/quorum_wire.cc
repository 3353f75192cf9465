// The network between simulated members, and the disks under them.
#include <algorithm>

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
    checker_.voted(from.id, from.index, message.term, sending.to, now());
    if (kills_voters_ && prng().chance(0.3)) kill_voter(from);
  }
  if (std::holds_alternative<quorum::Vote>(message.body))
    checker_.voted(from.id, from.index, message.term, from.id, now());
  if (std::holds_alternative<quorum::StandNow>(message.body) ||
      std::holds_alternative<quorum::Resigned>(message.body)) {
    if (from.working && from.clock.local(now()) < from.stop_by) {
      checker_.fail("I12: a leader hands over while its work runs", now());
    }
  }
  for (const QuorumMember& to : members_) {
    if (to.id != sending.to || &to == &from) continue;
    if (way(from.index, to.index) > 0 || (loss_ > 0 && prng().chance(loss_))) continue;
    travel(message, from.index, to.index, draw(quickest_, slowest_));
    if (twice_ > 0 && prng().chance(twice_)) travel(message, from.index, to.index, draw(quickest_, slowest_ * 2));
    if (!calm_ && prng().below(16) == 0) {
      Old old{message, from.index, to.index};
      if (old_.size() < kReplays) {
        old_.push_back(std::move(old));
      } else {
        old_[prng().below(kReplays)] = std::move(old);
      }
    }
  }
}

void QuorumWorld::travel(const Message& message, uint32_t from, uint32_t to, Duration span) {
  timeline_.after(span, [this, message, from, to] {
    if (way(from, to) == 0) arrive(message, to);
  });
}

void QuorumWorld::arrive(const Message& message, uint32_t to) {
  QuorumMember& m = members_[to];
  if (!m.up) return;
  deliver(m, quorum::Received{message});
}

// Somebody who has recorded messages says them again.
void QuorumWorld::replay() {
  if (old_.empty()) return;
  BW_PROBE("quorum world: old messages are replayed");
  for (int i = 0; i < 8; ++i) {
    const Old& old = old_[prng().below(old_.size())];
    travel(old.message, old.from, old.to, draw(quickest_, slowest_));
  }
}

// --- disks -----------------------------------------------------------------------------------------------------------

Duration QuorumWorld::sync_time(const QuorumMember& m) {
  return draw(Duration::micros(100), calm_ ? Duration::millis(5) : timing_.step / 2) +
         draw(Duration::zero(), m.sync_slow);
}

// Writes are carried out in their order; each is durable once it has been confirmed, and perhaps before.
void QuorumWorld::persist(QuorumMember& m, const Record& record) {
  const uint64_t number = ++m.write_number;
  m.writes.push_back({record, number});
  m.disk_free_world = std::max(m.disk_free_world, now()) + sync_time(m);
  const uint32_t life = m.life;
  timeline_.after(m.disk_free_world - now(), [this, &m, life, number] { synced(m, life, number); });
  if (is(QuorumMistake::kVoteBeforeDurable)) {
    timeline_.after(Duration::micros(1), [this, &m, life, version = record.version] {
      if (m.life == life) deliver(m, quorum::Persisted{version, true, {}});
    });
  }
}

void QuorumWorld::synced(QuorumMember& m, uint32_t life, uint64_t number) {
  if (!m.up || m.life != life) return;
  if (m.suspended) {
    timeline_.after(timing_.heartbeat, [this, &m, life, number] { synced(m, life, number); });
    return;
  }
  while (m.up && !m.writes.empty() && m.writes.front().number <= number) {
    const Record record = m.writes.front().record;
    m.writes.pop_front();
    if (m.sync_fails > 0 && prng().chance(m.sync_fails)) {
      BW_PROBE("quorum world: a disk fails");
      // It may be there all the same.
      if (prng().chance(0.3)) m.disk.push_back(record);
      const bool ignored = is(QuorumMistake::kDiskErrorIgnored);
      deliver(m, quorum::Persisted{record.version, ignored, "the disk failed"});
    } else {
      m.disk.push_back(record);
      deliver(m, quorum::Persisted{record.version, true, {}});
    }
  }
}

}  // namespace bellwether::sim
