#include "election/quorum/quorum_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"
#include "election/quorum/configuration.h"

namespace bellwether::quorum {

using election::EndReason;

// A member cannot see that its own disk went back in time. The members that have heard from it since can detect it,
// because every message carries the number of writes of the record.

void QuorumLives::begin(Instant now, Effects& out) {
  verify(now, out);
  if (!ledger_.verified) greet_all(now, out);
}

void QuorumLives::tick(Instant now, Effects& out) {
  if (ledger_.verified || book_.follows_only) return;
  verify(now, out);
  if (!ledger_.verified && now >= next_greeting_) greet_all(now, out);
}

Instant QuorumLives::wake() const {
  return ledger_.verified || book_.follows_only ? Instant::never() : std::min(book_.quiet_until, next_greeting_);
}

bool QuorumLives::listens_to(Instant now, QuorumPeer& from, const Message& message, Effects& out) {
  if (const auto* greeting = std::get_if<Greeting>(&message.body))
    return on_greeting(from, message, *greeting, out), false;
  if (const auto* answer = std::get_if<GreetingAnswer>(&message.body)) {
    if (!book_.follows_only) on_greeting_answer(now, from, *answer, out);
    return false;
  }
  if (const auto* superseded = std::get_if<Superseded>(&message.body))
    return on_superseded(now, *superseded, out), false;
  if (std::holds_alternative<WhoAreYou>(message.body)) return greet(message.from, 0, out), false;
  if (!is_known_life(from, message, out)) return false;
  from.newest_record = std::max(from.newest_record, message.record);
  return true;
}

// Its earlier votes and promises are unknown from now on, so it sends nothing more that others could count on.
void QuorumLives::lose_record(Instant now, std::string why, Effects& out) {
  if (book_.follows_only) return;
  BW_PROBE("quorum: a member finds its record lost");
  book_.follows_only = true;
  if (!record_.lost) {
    record_.lost = true;
    ledger_.persist(out);
  }
  book_.eligibility.electable = false;
  if (book_.role == Role::kLeader) book_.end_term(now, EndReason::kLostData, "its record was lost: " + why, out);
  if (book_.role != Role::kStopping) book_.role = Role::kFollower;
  out.push_back(Note{true, fmt::format("the record of this member is lost ({}): it follows and does not vote or stand "
                                       "as a candidate. {}",
                                       why, kNoRecordRemedy)});
}

void QuorumLives::verify(Instant now, Effects& out) {
  if (ledger_.verified) return;
  bool everybody = true;
  for (const QuorumPeer& peer : book_.peers) {
    if (peer.votes() && !book_.is_self(peer) && !peer.greeted) everybody = false;
  }
  if (!everybody && now < book_.quiet_until) return;
  ledger_.verified = true;
  if (everybody && ledger_.version_at_start() == 0 && record_.members.has(config_.self)) {
    // No member knows an earlier life of this new one, so it has promised nothing to a leader that still acts: such a
    // leader would be among the members that have answered.
    book_.quiet_until = now;
    book_.stand_at = now + config_.timing.pre_vote_timeout + book_.turn();  // so that the others are ready too
  }
  if (!everybody) out.push_back(Note{false, "takes part although not every member has answered"});
}

void QuorumLives::greet_all(Instant now, Effects& out) {
  next_greeting_ = now + book_.beats.next();
  for (const QuorumPeer& peer : book_.peers) {
    if (!book_.is_self(peer) && !peer.greeted) greet(peer.id, 0, out);
  }
}

void QuorumLives::on_greeting(QuorumPeer& from, const Message& message, const Greeting& greeting, Effects& out) {
  if (from.is_past(message.life)) return ledger_.send(from.id, Superseded{message.life}, out);
  const uint64_t newest = from.newest_record;
  if (from.life != message.life) {
    const bool answers =
        greeting.challenge != 0 && greeting.challenge == from.challenge && from.challenged_life == message.life;
    if (!answers) {
      if (from.challenged_life != message.life) from.challenge = book_.prng.next() | 1;
      from.challenged_life = message.life;
      return ledger_.send(from.id, GreetingAnswer{message.life, from.challenge, newest}, out);
    }
    // A record older than a seen one is not the member's: the sender learns that, and its message is ignored.
    if (message.record < newest) return ledger_.send(from.id, GreetingAnswer{message.life, 0, newest}, out);
    if (from.life != 0) {
      std::rotate(from.past_lives.begin(), from.past_lives.end() - 1, from.past_lives.end());
      from.past_lives.front() = from.life;
    }
    from.life = message.life;
    from.challenge = from.challenged_life = 0;
    from.acked = false;
    if (from.id == voter_.promised_to() && voter_.promised_life() != 0 && voter_.promised_life() != from.life) {
      out.push_back(Note{false, fmt::format("member {} has restarted", from.id.value())});
    }
  }
  ledger_.send(from.id, GreetingAnswer{message.life, 0, newest}, out);
}

void QuorumLives::on_greeting_answer(Instant now, QuorumPeer& from, const GreetingAnswer& answer, Effects& out) {
  if (answer.life != book_.life) return;
  if (!ledger_.verified && answer.newest_record > ledger_.version_at_start()) {
    BW_PROBE("quorum: an older record is found out");
    return lose_record(now,
                       fmt::format("member {} has seen version {} of it, but the disk has version {}", from.id.value(),
                                   answer.newest_record, ledger_.version_at_start()),
                       out);
  }
  if (answer.challenge != 0) return greet(from.id, answer.challenge, out);
  from.greeted = true;
  verify(now, out);
}

void QuorumLives::on_superseded(Instant now, const Superseded& superseded, Effects& out) {
  if (superseded.life != book_.life) return;
  BW_PROBE("quorum: a second process under one id");
  if (book_.role == Role::kLeader)
    book_.end_term(now, EndReason::kLostData, "another process has the id of this member", out);
  silent_ = true;
  if (book_.role != Role::kStopping) book_.role = Role::kFollower;
  book_.set_leader(now, kNobody, "another process has the id of this member", out);
  out.push_back(Note{
      true,
      "another process has the id of this member: this process no longer takes part. Run only one process per id"});
}

// Only the life that greeted last is listened to.
bool QuorumLives::is_known_life(QuorumPeer& from, const Message& message, Effects& out) {
  if (from.life == message.life) return true;
  if (from.life == 0) {
    from.life = message.life;
    // A late answer of an earlier life to its challenge must not end this one.
    from.challenge = from.challenged_life = 0;
    return true;
  }
  BW_PROBE("quorum: a message of another life");
  ledger_.send(from.id, from.is_past(message.life) ? Body(Superseded{message.life}) : Body(WhoAreYou{}), out);
  return false;
}

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
