#include "election/quorum/quorum_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/overloaded.h"

namespace bellwether::quorum {

void QuorumElector::step(Instant now, const Event& event, Effects& out) {
  if (lives_.silent() && !std::holds_alternative<WorkStopped>(event)) return;
  // Comes before every event: a leader that was paused past its end notices that first.
  if (book_.role == Role::kLeader && now >= book_.ends) {
    book_.end_term(now, election::EndReason::kExpired, "no quorum answered in time", out);
  }
  if (const auto* start = std::get_if<Start>(&event)) return on_start(now, *start, out);
  if (book_.role == Role::kIdle) return;
  Eligibility& own = book_.eligibility;
  std::visit(Overloaded{
                 [](const Start&) {},  // above
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Received& received) { on_received(now, received.message, out); },
                 [&](const Persisted& persisted) { on_persisted(now, persisted, out); },
                 [&](const LocalHealth& health) { lead_.on_health(now, health, out); },
                 [&](const LeaderSuspected& suspected) { on_suspected(suspected); },
                 [&](const LeaderDead& dead) { voter_.on_leader_dead(now, dead, out); },
                 [&](const WorkStopped&) { lead_.work_stopped(now, out); },
                 [&](const StepDown& wish) { lead_.step_down(now, wish, out); },
                 [&](const Stand& wish) { on_stand(now, wish); },
                 [&](const Synced&) {
                   if (!own.active) out.push_back(Note{false, "has the state of the group, and is active"});
                   own.active = true;
                 },
                 [&](const SyncFailed& failed) {
                   out.push_back(Note{true, "continues without the state of the group, still syncing: " + failed.why});
                 },
                 [&](const StateWritten& written) { own.state = std::max(own.state, written.state); },
                 [&](const ChangeMembers& change) { lead_.on_change(now, change, out); },
             },
             event);
}

Instant QuorumElector::wake() const {
  if (book_.role == Role::kIdle || lives_.silent()) return Instant::never();
  return std::min({book_.ledger.wake(), lives_.wake(), campaign_.wake(), lead_.wake()});
}

void QuorumElector::on_start(Instant now, const Start& start, Effects& out) {
  check(book_.role == Role::kIdle, "a member starts once");
  const QuorumConfig& config = book_.config;
  Record& record = book_.record;
  book_.role = Role::kFollower;
  book_.eligibility.priority = config.priority;
  book_.eligibility.electable = !config.witness;
  // A record that no member can have written is as bad as an unreadable one.
  const bool sound = start.found != Start::Found::kUnreadable && start.record.members.stamp.term <= start.record.term;
  if (sound) book_.ledger.load(start.record);
  const auto declared = config.bootstrap.empty() ? Result<Configuration>() : declare(config.bootstrap);
  if (start.found == Start::Found::kNew) {
    check(record == Record{}, "a new member has no record");
    check(declared.has_value(), "the declared members are validated before they are used");
    record.members = *declared;
    record.longest_lease = config.timing.lease;
    book_.ledger.persist(out);
  }
  book_.use(record.members);
  book_.quiet_until = now + config.timing.promise(std::max(record.longest_lease, config.timing.lease));
  book_.stand_at = book_.quiet_until + book_.turn();
  if (!sound) {
    if (declared) book_.use(*declared);
    lives_.lose_record(now, "it cannot be read", out);
  } else if (record.lost) {
    lives_.lose_record(now, "an earlier start found it lost", out);
  }
  if (!book_.follows_only) lives_.begin(now, out);
}

void QuorumElector::on_tick(Instant now, Effects& out) {
  lives_.tick(now, out);
  book_.ledger.tick(now, out);
  lead_.go_on_handing_over(now, out);
  campaign_.tick(now, out);
  if (book_.beats_now()) lead_.tick(now, out);
}

void QuorumElector::on_received(Instant now, const Message& message, Effects& out) {
  if (message.from == book_.config.self || message.from == kNobody) return;
  QuorumPeer* peer = book_.find_or_add(message.from);
  if (peer == nullptr || !lives_.listens_to(now, *peer, message, out)) return;
  QuorumPeer& from = *peer;
  if (book_.follows_only) return voter_.on_word_of_leader(now, message, out);
  if (const auto* ask = std::get_if<PreVote>(&message.body)) return voter_.on_pre_vote(now, from, message, *ask, out);
  if (const auto* ask = std::get_if<Vote>(&message.body)) return voter_.on_vote(now, from, message, *ask, out);
  if (const auto* beat = std::get_if<Heartbeat>(&message.body)) {
    return voter_.on_heartbeat(now, from, message, *beat, out);
  }
  if (!book_.ledger.verified) return;
  if (message.term > book_.record.term) {
    book_.adopt_term(now, message.term, kNobody, fmt::format("member {} knows a later term", from.id.value()), out);
  }
  std::visit(
      Overloaded{
          []<OneOf<Greeting, GreetingAnswer, Superseded, WhoAreYou, PreVote, Vote, Heartbeat> Above>(const Above&) {},
          [&](const PreVoteAnswer& answer) { campaign_.on_pre_vote_answer(now, from, answer, out); },
          [&](const VoteAnswer& answer) { campaign_.on_vote_answer(now, from, message, answer, out); },
          [&](const HeartbeatAnswer& promise) { lead_.on_heartbeat_answer(now, from, message, promise, out); },
          [&](const StandNow&) { campaign_.on_stand_now(now, message, out); },
          [&](const Resigned&) { voter_.on_resigned(now, message, out); },
          [&](const Configure& told) { voter_.on_configure(message, told, out); },
      },
      message.body);
}

void QuorumElector::on_persisted(Instant now, const Persisted& done, Effects& out) {
  const bool ok = book_.ledger.persisted(now, done, out);
  campaign_.on_persisted(now, ok, out);
  if (ok) return lead_.advance_members(now, out);
  if (book_.role == Role::kLeader) lead_.consider_stepping_down(now, out);
}

// A member that no longer stands does not use the votes that it has requested.
void QuorumElector::on_stand(Instant now, const Stand& wish) {
  if (std::exchange(book_.stands, wish.stands) == wish.stands) return;
  book_.eligibility.electable = book_.electable();
  if (!book_.is_candidate()) return;
  book_.role = Role::kFollower;
  book_.wait_for_turn(now + book_.config.timing.lease);
}

void QuorumElector::on_suspected(const LeaderSuspected& suspected) {
  const MemberId leader = book_.leader;
  if (suspected.leader != leader || leader == book_.config.self || leader == kNobody || book_.suspected) return;
  book_.suspected = true;
  if (book_.role == Role::kFollower) book_.wait_for_turn(book_.promised_until);
}

}  // namespace bellwether::quorum
